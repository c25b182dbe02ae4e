"""Allan deviation of a sensor's noise: of a record, and in closed form (IEEE Std 952-1997, annex C).

    white      N / sqrt(tau)
    drift      std sqrt(2 / x^2 (x - 1.5 + 2 exp(-x) - 0.5 exp(-2x))),  x = tau / time; at most 0.617 std
    walk       K sqrt(tau / 3)

Resolution counts as white noise of quantum / sqrt(12) in each sample, which it is while the noise spans some quanta.
"""

from __future__ import annotations

import math

import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.sensors.noise import Axes, Errors, Noise
from aeroloop.sensors.streams import Streams

LONGEST = 0.2
"""Averaging time over the record's length: beyond, too few averages are independent."""


def overlapping(values: Vec, count: int) -> float:
    """Overlapping Allan deviation of the means over `count` samples."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    means = (sums[count:] - sums[:-count]) / count
    steps = means[count:] - means[:-count]
    return math.sqrt(0.5 * float(np.mean(steps**2)))


def of_white(density: float, tau_s: Vec) -> Vec:
    return density / np.sqrt(tau_s)


def of_drift(std: float, time_s: float, tau_s: Vec) -> Vec:
    x = np.asarray(tau_s) / time_s
    inner = x - 1.5 + 2.0 * np.exp(-x) - 0.5 * np.exp(-2.0 * x)
    # The difference loses its digits for small x, where it is x^3 / 3 - x^4 / 4.
    inner = np.where(x < 1e-3, x**3 / 3.0 - x**4 / 4.0, inner)
    return std * np.sqrt(2.0 / x**2 * inner)


def of_walk(walk: float, tau_s: Vec) -> Vec:
    return walk * np.sqrt(np.asarray(tau_s) / 3.0)


def of_errors(errors: Errors, period_s: float, axis: int, tau_s: Vec) -> dict[str, Vec]:
    """Of each process that one axis of a channel has, and of all together (`total`)."""
    density = math.hypot(
        _of(errors.white_density, axis),
        _of(errors.white_std, axis) * math.sqrt(period_s),
        errors.quantum / math.sqrt(12.0) * math.sqrt(period_s),
    )
    parts = {
        "white": of_white(density, tau_s),
        "drift": of_drift(_of(errors.drift_std, axis), errors.drift_time_s, tau_s),
        "walk": of_walk(_of(errors.walk, axis), tau_s),
    }
    present = {name: values for name, values in parts.items() if values.any()}
    return {**present, "total": np.sqrt(np.sum([values**2 for values in parts.values()], axis=0))}


def at_rest(errors: Errors, period_s: float, duration_s: float, streams: Streams) -> Vec:
    """(n, 3) A channel's samples of a quantity that is 0: the same numbers as in a flight with these streams."""
    values = Noise(errors, period_s, 3, streams).block(max(round(duration_s / period_s), 2))
    if errors.quantum > 0.0:
        values = np.floor(values / errors.quantum + 0.5) * errors.quantum
    return values


def counts(samples: int, per_decade: int = 6) -> Vec:
    """Numbers of samples to average over, evenly on a logarithmic scale."""
    most = max(int(samples * LONGEST), 1)
    steps = round(per_decade * math.log10(most)) + 1
    found: Vec = np.unique(np.round(np.logspace(0.0, math.log10(most), steps)).astype(int))
    return found


def _of(value: Axes, axis: int) -> float:
    return value[axis] if isinstance(value, tuple) else value
