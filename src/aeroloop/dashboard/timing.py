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
    set_s: float  # NaN where nothing is set


LATENESS = Timing(
    "Lateness of the plant's steps: the largest in each fiftieth of a second",
    "pace",
    "lateness_s",
    LATENESS_EDGES_S,
    math.nan,
)


def period(title: str, stream: str, set_s: float) -> Timing:
    """Of a controller's cycles, against the one that is set."""
    return Timing(title, stream, "period_s", BIN_EDGES_S, set_s)
