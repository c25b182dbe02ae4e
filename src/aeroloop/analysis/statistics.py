"""Statistics of columns of a log; of nothing they are NaN, and so they are of what holds a NaN."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.signals import Event
from aeroloop.recording.log import Log

Array = NDArray[np.float64]

FAULT_SWITCHED, PARAMETER_CHANGED = "FAULT_SWITCHED", "PARAMETER_CHANGED"
"""Among the events of a flight: what somebody did to it. Their values are words."""


def rms(values: Array) -> float:
    return math.sqrt(np.mean(values**2)) if values.size else math.nan


def largest(values: Array) -> float:
    return float(np.max(values)) if values.size else math.nan


def mean(values: Array) -> float:
    return float(np.mean(values)) if values.size else math.nan


def last(values: Array) -> float:
    return float(values[-1]) if values.size else math.nan


def count(flags: Array) -> float:
    return float(np.count_nonzero(flags)) if flags.size else math.nan


def lost_rows(log: Log) -> float:
    """What the recorder could not keep up with."""
    return float(log.metadata.get("recorder", {}).get("lost_rows", math.nan))


def event_name(code: float) -> str:
    return Event(int(code)).name if code in list(Event) else f"EVENT_{code:g}"
