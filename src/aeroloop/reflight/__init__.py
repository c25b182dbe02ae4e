"""A flown log flown again in the simulator: what drives it, the fit of unknown numbers of the aircraft, what came of
it. The dashboard's replay (`dashboard/replay.py`) is another thing: it shows a past run as it was recorded."""
