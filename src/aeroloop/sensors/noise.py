"""Sensor error model: offset, white noise, drift, random walk, quantisation, saturation.

    measured = clip(quantise(truth + offset + white + drift + walk))

White noise is given as a standard deviation, or as a density N: then a sample has N / sqrt(T), and the Allan deviation
is N / sqrt(tau) whatever the period T. Drift is a first-order Gauss-Markov process, b' = -b / time + w, which starts in
its stationary distribution; the walk starts at zero. Both are discretised exactly:

    b[k+1] = exp(-T/time) b[k] + std sqrt(1 - exp(-2T/time)) n,     r[k+1] = r[k] + walk sqrt(T) n

Errors are drawn in blocks, since one call of the generator costs as much as a hundred numbers from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from aeroloop.core.config import Config, meta
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec, Vec3
from aeroloop.sensors.streams import Streams as Streams

BLOCK = 128
"""Samples drawn at once: long enough to be cheap, short enough not to delay a tick."""

LARGEST = 1e9
"""Of an error: more does not fit the single precision of messages."""
Axes = float | Vec3
"""One number for all axes, or one for each."""

UNIT = "of the channel"


class Errors(Config, frozen=True):
    """The errors of one channel of a sensor, in the channel's SI unit."""

    white_std: Annotated[Axes, meta(UNIT, "white noise of a sample, independent of the rate")] = 0.0
    white_density: Annotated[Axes, meta("per sqrt(Hz)", "white noise as density; not together with `white_std`")] = 0.0
    offset: Annotated[Axes, meta(UNIT, "constant error")] = 0.0
    turn_on_std: Annotated[Axes, meta(UNIT, "constant error, drawn for each flight")] = 0.0
    drift_std: Annotated[Axes, meta(UNIT, "slowly varying error (Gauss-Markov)")] = 0.0
    drift_time_s: Annotated[float, meta("s", "correlation time of the drift", gt=0, le=1e6)] = 100.0
    walk: Annotated[Axes, meta("per sqrt(s)", "random walk")] = 0.0
    quantum: Annotated[float, meta(UNIT, "resolution; 0 for none", ge=0)] = 0.0
    range: Annotated[tuple[float, float] | None, meta(UNIT, "least and greatest value that can be measured")] = None

    def __post_init__(self) -> None:
        for key in ("white_std", "white_density", "offset", "turn_on_std", "drift_std", "walk"):
            if not np.all(np.abs(np.atleast_1d(getattr(self, key))) <= LARGEST):  # NaN neither
                raise ValueError(f"{key}: expected at most {LARGEST:g} in magnitude, not {getattr(self, key)}")
        for key in ("white_std", "white_density", "turn_on_std", "drift_std", "walk"):
            if min(np.atleast_1d(getattr(self, key))) < 0:
                raise ValueError(f"{key}: expected no negative number, not {getattr(self, key)}")
        if np.any(self.white_std) and np.any(self.white_density):
            raise ValueError("white_std: expected white_std or white_density, not both")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError(f"range: expected the least value first, not {self.range}")


class Noise:
    """The error of one channel, sample by sample."""

    def __init__(self, errors: Errors, period_s: float, axes: int, streams: Streams) -> None:
        def per_axis(value: Axes) -> Vec:
            given = np.atleast_1d(np.asarray(value, dtype=float))
            if given.size not in (1, axes):
                raise ConfigError(
                    f"{'.'.join(streams.path)}: the channel has one axis, expected one number, not {value}"
                )
            return np.broadcast_to(given, (axes,)).copy()

        self._axes = axes
        self._white = per_axis(errors.white_std) + per_axis(errors.white_density) / math.sqrt(period_s)
        self._walk_step = per_axis(errors.walk) * math.sqrt(period_s)
        drift_std = per_axis(errors.drift_std)
        self._decay = math.exp(-period_s / errors.drift_time_s)
        self._drift_step = drift_std * math.sqrt(-math.expm1(-2.0 * period_s / errors.drift_time_s))
        turn_on = per_axis(errors.turn_on_std) * streams.generator("turn-on").standard_normal(axes)
        self._offset = per_axis(errors.offset) + turn_on
        # A stream for each process: switching one off does not change the others.
        self._rng_white, self._rng_drift, self._rng_walk = (streams.generator(n) for n in ("white", "drift", "walk"))
        self._drift = drift_std * self._rng_drift.standard_normal(axes)
        self._walk = np.zeros(axes)
        self._has_white, self._drifts, self._walks = (
            bool(std.any()) for std in (self._white, self._drift_step, self._walk_step)
        )

    def block(self, count: int) -> Vec:
        """The errors of the next `count` samples, one row each."""
        shape = (count, self._axes)
        total = np.tile(self._offset, (count, 1))
        if self._has_white:
            total += self._white * self._rng_white.standard_normal(shape)
        if self._drifts:
            kicks = self._drift_step * self._rng_drift.standard_normal(shape)
            drift = _first_order(kicks, self._decay, self._drift)
            self._drift = drift[-1]
            total += drift
        if self._walks:
            walk = self._walk + np.cumsum(self._walk_step * self._rng_walk.standard_normal(shape), axis=0)
            self._walk = walk[-1]
            total += walk
        return total


def _first_order(kicks: Vec, decay: float, before: Vec) -> Vec:
    """Each row is `decay` times the row above plus its kick; bit for bit SciPy's `lfilter`, whose import alone takes
    longer than a short flight."""
    columns = []
    for column, drift in zip(kicks.T.tolist(), before.tolist(), strict=True):
        rows = []
        for kick in column:
            drift = decay * drift + kick
            rows.append(drift)
        columns.append(rows)
    return np.array(columns).T


class Channel:
    """One measured quantity: adds its errors and those of an injected fault, then quantises and saturates."""

    def __init__(self, errors: Errors, period_s: float, axes: int, streams: Streams) -> None:
        self._noise = Noise(errors, period_s, axes, streams)
        self.axes = axes
        self._rows: list[Any] = self._noise.block(BLOCK).tolist()
        self._index = -1  # of the last used row
        self._quantum = errors.quantum
        self._low, self._high = self._range = errors.range or (-math.inf, math.inf)
        self._rng_fault = streams.generator("fault")
        self._disturbed = False
        self._fault_bias = self._fault_std = np.zeros(axes)

    def disturb(self, bias: Vec, std: Vec) -> None:
        """Add this bias, and noise of this size, from now on."""
        self._disturbed = bool(bias.any() or std.any())
        self._fault_bias, self._fault_std = bias, std

    def clip(self, largest: float) -> None:
        """Limit the magnitude of the values to this from now on; infinite: to the channel's own range."""
        self._low, self._high = max(self._range[0], -largest), min(self._range[1], largest)

    def measure3(self, x: float, y: float, z: float, steps: int) -> Vec3:
        """Three axes; `steps` sample periods after the last call."""
        self._index += steps
        if self._index >= BLOCK:
            self._refill()
        ex, ey, ez = self._rows[self._index]
        x, y, z = x + ex, y + ey, z + ez
        if self._disturbed:
            fx, fy, fz = self._fault()
            x, y, z = x + fx, y + fy, z + fz
        low, high = self._low, self._high
        if self._quantum == 0.0 and low <= x <= high and low <= y <= high and low <= z <= high:
            return x, y, z
        return self._limit(x), self._limit(y), self._limit(z)

    def measure1(self, value: float, steps: int) -> float:
        self._index += steps
        if self._index >= BLOCK:
            self._refill()
        value += self._rows[self._index][0]
        if self._disturbed:
            value += self._fault()[0]
        return self._limit(value)

    def measure(self, values: Sequence[float], steps: int) -> tuple[float, ...]:
        """As many values as there are, or fewer than the channel has axes."""
        self._index += steps
        if self._index >= BLOCK:
            self._refill()
        errors = self._rows[self._index]
        if self._disturbed:
            errors = [a + b for a, b in zip(errors, self._fault(), strict=True)]
        return tuple(self._limit(value + error) for value, error in zip(values, errors, strict=False))

    def _refill(self) -> None:
        while self._index >= BLOCK:
            self._index -= BLOCK
            self._rows = self._noise.block(BLOCK).tolist()

    def _fault(self) -> Any:
        return (self._fault_bias + self._fault_std * self._rng_fault.standard_normal(self.axes)).tolist()

    def _limit(self, value: float) -> float:
        value = quantised(value, self._quantum)
        if value < self._low:
            return self._low
        if value > self._high:
            return self._high
        return value


def quantised(value: float, quantum: float) -> float:
    """The nearest multiple of the quantum; the value itself if there is none."""
    return math.floor(value / quantum + 0.5) * quantum if quantum > 0 else value
