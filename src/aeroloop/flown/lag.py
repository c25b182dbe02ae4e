"""By how much one signal comes later than another: the maximum of their normalised cross-correlation.

    r(k) = Pearson's r of x[i] and y[i + k], over all i where both are known

A parabola through the maximum and its neighbours gives the fraction of a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from aeroloop.flown.record import Array

LEAST_OVERLAP = 0.5  # of the shorter one: fewer common samples correlate by chance
FLAT = 1e-12
EXACT = 1e-6
"""Below this, a correlation differs from one by rounding."""


@dataclass(frozen=True)
class Lag:
    lag_s: float  # of y after x: y(t + lag) is most like x(t)
    peak: float  # the correlation there
    sharpness: float  # how fast the correlation falls beside it, 1/s2
    at_limit: bool = False  # the maximum is the first or last lag: there may be a higher one beyond

    @property
    def variance(self) -> float:
        """Of the lag, but for a factor that signals of one log share.

        The sharpness is the mean square of the signal's frequency w. An error of relative power 1 - peak in n
        independent samples moves the maximum by a variance of (1 - peak) / (n w2), and n grows as w.
        """
        return (1.0 - self.peak + EXACT) / self.sharpness**1.5 if self.sharpness > 0.0 else math.inf


def correlations(x: Array, y: Array, shifts: NDArray[np.int_]) -> Array:
    """r of x[i] with y[i + shift] for whole shifts; NaN where too few samples are common or one does not move."""
    known_x, known_y = np.isfinite(x), np.isfinite(y)
    if not known_x.any() or not known_y.any():
        return np.full(len(shifts), np.nan)
    x = np.where(known_x, x - np.mean(x[known_x]), 0.0)
    y = np.where(known_y, y - np.mean(y[known_y]), 0.0)
    size = fft.next_fast_len(len(x) + len(y))
    of_x = [np.conj(fft.rfft(part, size)) for part in (known_x.astype(np.float64), x, x * x)]
    of_y = [fft.rfft(part, size) for part in (known_y.astype(np.float64), y, y * y)]

    def summed(a: int, b: int) -> Array:
        """Over i, of part a of x at i times part b of y at i + shift."""
        return np.asarray(fft.irfft(of_x[a] * of_y[b], size)[shifts % size])

    count, sum_x, sum_y = np.round(summed(0, 0)), summed(1, 0), summed(0, 1)
    count = np.maximum(count, 1.0)
    var_x, var_y = summed(2, 0) - sum_x**2 / count, summed(0, 2) - sum_y**2 / count
    least = LEAST_OVERLAP * min(np.count_nonzero(known_x), np.count_nonzero(known_y))
    moving = (var_x > FLAT * max(float(x @ x), 1e-300)) & (var_y > FLAT * max(float(y @ y), 1e-300)) & (count >= least)
    cross = summed(1, 1) - sum_x * sum_y / count
    r = np.full(len(shifts), np.nan)
    r[moving] = cross[moving] / np.sqrt(var_x[moving] * var_y[moving])
    return np.asarray(np.clip(r, -1.0, 1.0))


def find_lag(x: Array, y: Array, rate_hz: float, first_s: float, last_s: float) -> Lag | None:
    """Of y after x, between two limits; None where nothing correlates."""
    shifts = np.arange(int(np.ceil(first_s * rate_hz - 1e-9)), int(np.floor(last_s * rate_hz + 1e-9)) + 1)
    r = correlations(x, y, shifts)
    if not np.isfinite(r).any():
        return None
    at = int(np.nanargmax(r))
    if not 0 < at < len(r) - 1 or not np.isfinite(r[at - 1 : at + 2]).all():
        return Lag(float(shifts[at]) / rate_hz, float(r[at]), 0.0, at_limit=True)
    offset, peak, bend = vertex(r[at - 1], r[at], r[at + 1])
    return Lag((float(shifts[at]) + offset) / rate_hz, peak, bend * rate_hz**2)


def refined(lag: Lag, correlation_at: Callable[[float], float], step_s: float) -> Lag:
    """The parabola again, about the lag found: it has no error where its middle point is the maximum."""
    if lag.at_limit:
        return lag
    low, middle, high = (correlation_at(lag.lag_s + shift_s) for shift_s in (-step_s, 0.0, step_s))
    if not middle >= max(low, high):
        return lag
    offset, peak, bend = vertex(low, middle, high)
    return Lag(lag.lag_s + offset * step_s, peak, bend / step_s**2)


def vertex(low: float, middle: float, high: float) -> tuple[float, float, float]:
    """Of the parabola through three points a step apart: place from the middle in steps, height, and bend."""
    bend = 2.0 * middle - low - high
    if bend <= 0.0:
        return 0.0, float(middle), 0.0
    offset = 0.5 * (high - low) / bend
    return float(offset), float(min(middle + 0.25 * (high - low) * offset, 1.0)), float(bend)
