"""Statistics of campaigns: intervals of a rate, rank correlation, and the sequential test of a rate. Pure functions.

C. J. Clopper, E. S. Pearson, Biometrika 26 (1934); E. B. Wilson, JASA 22 (1927); A. Wald, Ann. Math. Stat. 16 (1945).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Interval = tuple[float, float]
Answer = Literal["above", "below", "open"]
FEWEST = 8
"""Flights below which a correlation says nothing."""


def clopper_pearson(successes: int, count: int, confidence: float = 0.95) -> Interval:
    """The exact interval of a rate: it covers the true one with at least this probability."""
    from scipy.special import betaincinv

    if count == 0:
        return 0.0, 1.0
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if successes == 0 else float(betaincinv(successes, count - successes + 1, tail))
    high = 1.0 if successes == count else float(betaincinv(successes + 1, count - successes, 1.0 - tail))
    return low, high


def lower_bound(successes: int, count: int, confidence: float = 0.95) -> float:
    """One-sided, exact: the true rate is above it with at least this probability."""
    return clopper_pearson(successes, count, 2.0 * confidence - 1.0)[0]


def wilson(successes: int, count: int, confidence: float = 0.95) -> Interval:
    """Covers the true rate with about this probability: narrower, for pictures."""
    from scipy.special import ndtri

    if count == 0:
        return 0.0, 1.0
    z, rate = float(ndtri(0.5 + confidence / 2.0)), successes / count
    scale = 1.0 + z * z / count
    middle = (rate + z * z / (2.0 * count)) / scale
    half = z / scale * math.sqrt(rate * (1.0 - rate) / count + z * z / (4.0 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def rank_correlation(x: Array, y: Array) -> float:
    """Spearman's; NaN if one of them does not vary or there are too few."""
    known = np.isfinite(x) & np.isfinite(y)
    return correlation_of_ranks(ranks(x[known]), ranks(y[known]))


def correlation_of_ranks(x: Array, y: Array) -> float:
    if len(x) < FEWEST or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def ranks(values: Array) -> Array:
    """From 1; equal values share their mean rank. (scipy.stats has it, and takes a second to import.)"""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean: Array = np.cumsum(counts) - (counts - 1) / 2.0
    return mean[inverse]


def correlation_interval(correlation: float, count: int, confidence: float = 0.95) -> Interval:
    """By Fisher's transformation."""
    from scipy.special import ndtri

    if not math.isfinite(correlation) or count <= 3:
        return -1.0, 1.0
    half = float(ndtri(0.5 + confidence / 2.0)) * 1.03 / math.sqrt(count - 3)  # 1.03: ranks instead of values
    middle = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, correlation)))
    return math.tanh(middle - half), math.tanh(middle + half)


@dataclass(frozen=True)
class RateTest:
    """Wald's sequential test whether a rate is above or below a boundary.

    Half-way from the boundary to 0 or 1, whichever is nearer, each hypothesis begins; between them either answer is
    right. `error`: probability of a wrong answer beyond them.
    """

    boundary: float
    error: float = 0.05

    @property
    def hypotheses(self) -> tuple[float, float]:
        half = min(self.boundary, 1.0 - self.boundary) / 2.0
        return self.boundary - half, self.boundary + half

    def missing(self, passed: Iterable[bool]) -> int:
        """How many more results are needed at least; 0 if it is decided."""
        decided, evidence = self._evidence(passed)[::2]
        if decided != "open":
            return 0
        gain, loss, threshold = self._steps
        return min(math.ceil((threshold - evidence) / gain), math.ceil((threshold + evidence) / -loss))

    @property
    def _steps(self) -> tuple[float, float, float]:
        """Evidence of a flight that passed, of one that did not, and what decides."""
        low, high = self.hypotheses
        return math.log(high / low), math.log((1.0 - high) / (1.0 - low)), math.log((1.0 - self.error) / self.error)

    def decide(self, passed: Iterable[bool]) -> tuple[Answer, int]:
        """From results in order: the answer, and how many of them it needed."""
        return self._evidence(passed)[:2]

    def _evidence(self, passed: Iterable[bool]) -> tuple[Answer, int, float]:
        gain, loss, threshold = self._steps
        evidence, count = 0.0, 0
        for each in passed:
            count += 1
            evidence += gain if each else loss
            if abs(evidence) >= threshold:
                return ("above" if evidence > 0.0 else "below"), count, evidence
        return "open", count, evidence
