"""Timing of a family's flights for the links page: a cumulative histogram with fixed bins, so that memory does not
depend on the length of a flight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.timing import BIN_EDGES_S

# 16 per decade, to 0.1 s: most values are small, and the few large ones matter.
LATENESS_EDGES_S = np.geomspace(1e-5, 1e-1, 65)


@dataclass(frozen=True)
class Timing:
    title: str
    stream: str
    column: str
    edges_s: NDArray[np.float64]
    set_s: float  # NaN if nothing is set


LATENESS = Timing(
    "Step lateness of the plant: maximum of each 20 ms",
    "pace",
    "lateness_s",
    LATENESS_EDGES_S,
    math.nan,
)


def period(title: str, stream: str, set_s: float) -> Timing:
    """Periods of a controller's cycles, compared with the configured one."""
    return Timing(title, stream, "period_s", BIN_EDGES_S, set_s)


class Histogram:
    """Bins between `edges`; values beyond the last one are counted separately."""

    def __init__(self, edges: NDArray[np.float64]) -> None:
        self.edges = edges
        self.counts = np.zeros(len(edges) - 1, dtype=np.int64)
        self.beyond = 0
        self.largest = math.nan

    @property
    def count(self) -> int:
        return int(self.counts.sum()) + self.beyond

    def add(self, values: NDArray[np.float64]) -> None:
        """Values below the first edge belong to the first bin; NaN is ignored."""
        values = values[np.isfinite(values)]
        if not len(values):
            return
        self.counts += np.histogram(np.maximum(values, self.edges[0]), self.edges)[0]
        self.beyond += int(np.count_nonzero(values > self.edges[-1]))
        self.largest = float(np.fmax(self.largest, values.max()))

    def quantile(self, q: float) -> float:
        """To the width of a bin; the largest value if it is beyond the bins."""
        if not self.count:
            return math.nan
        rank = q * self.count
        cumulated = np.cumsum(self.counts)
        index = int(np.searchsorted(cumulated, rank))
        if index == len(self.counts):
            return self.largest
        before = float(cumulated[index] - self.counts[index])
        share = (rank - before) / float(self.counts[index])
        return float(self.edges[index] + share * (self.edges[index + 1] - self.edges[index]))

    def clear(self) -> None:
        self.counts[:] = 0
        self.beyond, self.largest = 0, math.nan

    def shown(self) -> slice:
        """The bins from the first to the last that is not empty, and one on either side."""
        used = np.flatnonzero(self.counts)
        if not len(used):
            return slice(0, len(self.counts))
        return slice(max(int(used[0]) - 1, 0), min(int(used[-1]) + 2, len(self.counts)))
