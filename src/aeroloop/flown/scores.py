"""How alike two series are, and at which frequencies.

    r      Pearson's correlation: blind to scale and offset
    RMSE   of y - x
    NRMSE  RMSE of the mean-free error, over the standard deviation of x
    TIC    Theil's inequality, rms(y - x) / (rms x + rms y): 0 equal, 1 nothing alike; and of the mean-free series

x is the reference, the flown series. A yaw of 250 deg has a TIC near 0 whatever happens: the mean-free one tells.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import signal as filters

from aeroloop.flown.record import Array

BANDS_HZ = (0.1, 0.5, 1.0, 2.0, 5.0, 20.0)
WELCH = 512
LEAST_WINDOWS = 8
"""Fewer windows say little: the coherence of unrelated noise is about one over their number."""
LEAST_SAMPLES = 2


@dataclass(frozen=True)
class Score:
    r: float  # NaN where one of them does not change
    rmse: float
    nrmse: float
    tic: float
    tic_mean_free: float
    scale: float  # y is this times x, by least squares
    offset: float  # plus this


@dataclass(frozen=True)
class Band:
    low_hz: float
    high_hz: float
    amplitude_ratio: float  # of y over x
    coherence: float  # 0 to 1; NaN where the series are too short


@dataclass(frozen=True)
class Spectrum:
    frequency_hz: Array
    density_x: Array  # unit2/Hz
    density_y: Array


def score(x: Array, y: Array) -> Score:
    """Of two series of equal length without NaN."""
    x0, y0 = x - x.mean(), y - y.mean()
    std_x, std_y = _rms(x0), _rms(y0)
    still = min(std_x / max(_rms(x), 1e-300), std_y / max(_rms(y), 1e-300)) < 1e-14
    covariance = float(np.mean(x0 * y0))
    scale = math.nan if still else covariance / std_x**2
    return Score(
        r=math.nan if still else max(-1.0, min(1.0, covariance / (std_x * std_y))),
        rmse=_rms(y - x),
        nrmse=_rms(y0 - x0) / std_x if std_x else math.nan,
        tic=_over(_rms(y - x), _rms(x) + _rms(y)),
        tic_mean_free=_over(_rms(y0 - x0), std_x + std_y),
        scale=scale,
        offset=float(y.mean() - scale * x.mean()),
    )


def spectrum(x: Array, y: Array, rate_hz: float) -> tuple[Spectrum, list[Band]] | None:
    """By Welch; None where not even one window fits."""
    if len(x) < WELCH:
        return None
    settings = {"fs": rate_hz, "nperseg": WELCH}
    frequency_hz, density_x = filters.welch(x, **settings)
    _, density_y = filters.welch(y, **settings)
    _, cross = filters.csd(x, y, **settings)
    windows = (len(x) - WELCH // 2) // (WELCH // 2)
    bands = []
    for low_hz, high_hz in itertools.pairwise(BANDS_HZ):
        own = (frequency_hz >= low_hz) & (frequency_hz < high_hz)
        power_x, power_y = density_x[own], density_y[own]
        both = power_x * power_y
        enough = windows >= LEAST_WINDOWS and bool(np.all(both > 0.0))
        coherence = float(np.mean(np.abs(cross[own]) ** 2 / both)) if enough else math.nan
        ratio = math.sqrt(_over(float(power_y.sum()), float(power_x.sum())))
        bands.append(Band(low_hz, high_hz, ratio, coherence))
    return Spectrum(frequency_hz, density_x, density_y), bands


def noise(values: Array) -> float:
    """Standard deviation of what changes from row to row: of second differences, which a slow motion leaves at 0."""
    if len(values) < 3:
        return 0.0
    return float(np.std(np.diff(values, 2)) / math.sqrt(6.0))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _over(value: float, by: float) -> float:
    return value / by if by else 0.0 if not value else math.nan
