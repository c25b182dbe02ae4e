"""From a log to a verdict: metrics, timing, checks, summary and report."""
