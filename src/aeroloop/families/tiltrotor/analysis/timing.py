"""The wall-clock measurements in the log of a flight with a board."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.generic import step_timing
from aeroloop.analysis.timing import histogram, statistics
from aeroloop.recording.log import Log

MEASURED = {
    "period_s": ("cycle", "period_s"),
    "answer_latency_s": ("cycle", "answer_latency_s"),
    "step_lateness_s": ("pace", "lateness_s"),
    "round_trip_s": ("board_cycle", "round_trip_s"),
    "law_s": ("board_cycle", "law_s"),
    "timer_lateness_s": ("board_cycle", "timer_lateness_s"),
}


def timing(log: Log) -> dict[str, Any]:
    """Per measurement its statistics in seconds, the histogram of the request period, missed deadlines."""
    return {
        **step_timing(log),
        **{name: statistics(measured(log, name)) for name in MEASURED},
        "period_histogram": histogram(measured(log, "period_s")),
    }


def measured(log: Log, name: str) -> NDArray[np.float64]:
    """The finite values of one measurement; the first request has no period before it."""
    values = log.column(*MEASURED[name])
    if name == "period_s":
        values = values[1:]
    return values[np.isfinite(values)]
