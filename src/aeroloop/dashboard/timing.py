"""What the histogram of the links page counts: how evenly a family's flights keep time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.timing import BIN_EDGES_S

LATENESS_EDGES_S = np.geomspace(1e-5, 1e-1, 65)  # 16 a decade, to 0.1 s: most are tiny, the few that count are not


@dataclass(frozen=True)
class Timing:
    title: str
    stream: str
    column: str
    edges_s: NDArray[np.float64]
    missed_stream: str
    set_s: float  # NaN where nothing is set


def lateness(title: str, stream: str) -> Timing:
    """Of a plant's steps, and of the deadlines that it missed."""
    return Timing(title, stream, "lateness_s", LATENESS_EDGES_S, stream, math.nan)


def period(title: str, stream: str, pace_stream: str, set_s: float) -> Timing:
    """Of a controller's cycles, against the one that is set."""
    return Timing(title, stream, "period_s", BIN_EDGES_S, pace_stream, set_s)
