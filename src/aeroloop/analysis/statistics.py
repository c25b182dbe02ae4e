"""Statistics of columns of a log; NaN for empty columns and for columns with a NaN."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.signals import Event
from aeroloop.recording.log import Log

Array = NDArray[np.float64]

FAULT_SWITCHED, PARAMETER_CHANGED, STATUS_TEXT = "FAULT_SWITCHED", "PARAMETER_CHANGED", "STATUS_TEXT"
CHANGED = "CHANGED"
"""Events of a flight that describe external actions. Their values are texts."""


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
    """Rows that the recorder lost."""
    return float(log.metadata.get("recorder", {}).get("lost_rows", math.nan))


def event_name(code: float) -> str:
    return Event(int(code)).name if code in list(Event) else f"EVENT_{code:g}"
