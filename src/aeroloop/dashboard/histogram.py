"""How evenly a family's flights keep time, counted for the links page: a histogram that grows, in fixed bins, so that a
flight of any length takes the same memory.
"""

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


class Histogram:
    """Bins between `edges`; what lies beyond the last one is counted apart."""

    def __init__(self, edges: NDArray[np.float64]) -> None:
        self.edges = edges
        self.counts = np.zeros(len(edges) - 1, dtype=np.int64)
        self.beyond = 0
        self.largest = math.nan

    @property
    def count(self) -> int:
        return int(self.counts.sum()) + self.beyond

    def add(self, values: NDArray[np.float64]) -> None:
        """Values below the first edge belong to the first bin; NaN is no value."""
        values = values[np.isfinite(values)]
        if not len(values):
            return
        self.counts += np.histogram(np.maximum(values, self.edges[0]), self.edges)[0]
        self.beyond += int(np.count_nonzero(values > self.edges[-1]))
        self.largest = float(np.fmax(self.largest, values.max()))

    def quantile(self, q: float) -> float:
        """Within the width of a bin; the largest value where it lies beyond the bins."""
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
