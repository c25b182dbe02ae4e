"""Errors of a GNSS receiver whose velocity agrees with its position, near the ground, and with changing satellites.

wander      p'' + 2 b p' + b^2 p = w,  b = 2 / time     a stationary Gauss-Markov process of second order: its deviation
            is `drift_std`, its autocorrelation (1 + b |t|) exp(-b |t|) has the integral `time` to each
            side, and its velocity the deviation b `drift_std`. That of first order has no finite velocity.
tracking    q[k] = exp(-T/time) q[k-1] + T v[k]         the velocity channel's errors v, integrated, and forgotten
multipath   std exp(-h / H) m(t)                        m a process as the wander, h the height above the ground

The reported velocity has the error (e[k] - e[k-1]) / T, where e is the sum of all three: what a receiver makes of the
carrier phase at both ends of a period. So the sum of the velocity's errors is the change of the position's, exactly.

Satellites in use are n = least + floor((most - least + 1) F(x)), with the normal distribution function F of a process x
of the same kind. Accuracies, and all errors with them, are those of the table times sqrt((satellites - 3) / (n - 3)):
four satellites determine position and clock, and each further one is a degree of freedom. The errors follow the number
before rounding, so that the position does not jump.
"""

from __future__ import annotations

import math
from typing import Annotated

import msgspec
import numpy as np

from aeroloop.core.config import Config, meta
from aeroloop.core.frames import Vec, Vec3
from aeroloop.sensors.noise import BLOCK, Axes, Channel, Errors, Noise
from aeroloop.sensors.streams import Streams

FEWEST = 4
LARGEST_M = 1e4
ZERO: Vec3 = (0.0, 0.0, 0.0)


class Multipath(Config, frozen=True):
    """Error by reflections near the ground."""

    ground_std_m: Annotated[Vec3, meta("m", "standard deviation at the ground: east, north, up")]
    scale_height_m: Annotated[float, meta("m", "height above the ground over which it falls to 1/e", gt=0, le=1e5)]
    time_s: Annotated[float, meta("s", "correlation time", gt=0, le=1e6)]

    def __post_init__(self) -> None:
        if not all(0.0 <= std <= LARGEST_M for std in self.ground_std_m):
            raise ValueError(f"ground_std_m: expected numbers from 0 to {LARGEST_M:g}, not {list(self.ground_std_m)}")


class Constellation(Config, frozen=True):
    """Changing satellites; `satellites` is then the number at which the accuracies apply."""

    least: Annotated[int, meta("-", "fewest satellites in use", ge=FEWEST, le=60)]
    most: Annotated[int, meta("-", "most satellites in use", ge=FEWEST, le=60)]
    time_s: Annotated[float, meta("s", "correlation time of their number", gt=0, le=1e6)]

    def __post_init__(self) -> None:
        if not self.least <= self.most:
            raise ValueError(f"least: expected at most {self.most}, the most, not {self.least}")


class Smooth:
    """A stationary Gauss-Markov process of second order with deviation 1, of several axes."""

    def __init__(self, time_s: float, period_s: float, axes: int, streams: Streams) -> None:
        self._rng = streams.generator("smooth")
        b, x = 2.0 / time_s, 2.0 * period_s / time_s
        decay = math.exp(-x)
        self._step: Vec = decay * np.array([[1.0 + x, period_s], [-b * x, 1.0 - x]])
        self._kick = _root(x, b)
        self._state: Vec = np.array([[1.0], [b]]) * self._rng.standard_normal((2, axes))

    def advance(self) -> Vec:
        """Its value after a period."""
        state = self._step @ self._state + self._kick @ self._rng.standard_normal(self._state.shape)
        self._state = state
        return self.value

    @property
    def value(self) -> Vec:
        first: Vec = self._state[0]
        return first


def _root(x: float, b: float) -> Vec:
    """Lower triangle R with R R^T = P - A P A^T: what a period adds. P = diag(1, b^2), A the transition.

    In closed form, since the difference loses all digits at short periods: with d = exp(-2 x)
    1 - d (1 + 2x + 2x^2),   2 b x^2 d,   b^2 (1 - d (1 - 2x + 2x^2));   the first is 4 x^3 / 3 for a small x.
    """
    d = math.exp(-2.0 * x)
    first = 1.0 - d * (1.0 + 2.0 * x + 2.0 * x * x)
    if x < 1e-3:
        first = 4.0 / 3.0 * x**3 * (1.0 - 1.5 * x)
    both, second = 2.0 * b * x * x * d, b * b * (-math.expm1(-2.0 * x) + d * 2.0 * x * (1.0 - x))
    a = math.sqrt(first)
    c = both / a
    return np.array([[a, 0.0], [c, math.sqrt(max(second - c * c, 0.0))]])


class Satellites:
    """Number of satellites, and what it does to all errors."""

    def __init__(self, table: Constellation, nominal: int, period_s: float, streams: Streams) -> None:
        self._table, self._nominal = table, nominal
        self._process = Smooth(table.time_s, period_s, 1, streams.child("satellites"))
        self.count = nominal
        self.exact = float(nominal)

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._process.advance()
        least, most = self._table.least, self._table.most
        share = 0.5 * (1.0 + math.erf(float(self._process.value[0]) / math.sqrt(2.0)))
        place = least + (most - least + 1) * share
        self.count = min(int(place), most)
        self.exact = min(max(place - 0.5, float(least)), float(most))

    @property
    def reported(self) -> float:
        """Factor of the reported accuracies."""
        return dilution(self._nominal, self.count)

    @property
    def true(self) -> float:
        """Factor of the errors."""
        return dilution(self._nominal, self.exact)


def dilution(nominal: float, count: float) -> float:
    """Accuracy with this number of satellites over that with the nominal number."""
    return math.sqrt((nominal - FEWEST + 1) / (count - FEWEST + 1))


class ScaledChannel(Channel):
    """A channel whose noise is multiplied by a factor; faults are not."""

    scale = 1.0

    def measure3(self, x: float, y: float, z: float, steps: int) -> Vec3:
        self._index += steps
        if self._index >= BLOCK:
            self._refill()
        ex, ey, ez = self._rows[self._index]
        fx, fy, fz = self._fault() if self._disturbed else ZERO
        s = self.scale
        return self._limit(x + s * ex + fx), self._limit(y + s * ey + fy), self._limit(z + s * ez + fz)


class Wander:
    """Errors east, north and up that vary slowly."""

    def __init__(
        self,
        position: Errors,
        velocity: Errors,
        multipath: Multipath | None,
        period_s: float,
        streams: Streams,
        *,
        consistent: bool,
    ) -> None:
        """Not `consistent`: multipath alone."""
        self._period_s, self._multipath = period_s, multipath
        self._std = per_axis(position.drift_std)
        self._keeps = math.exp(-period_s / position.drift_time_s)
        self._own = Smooth(position.drift_time_s, period_s, 3, streams.child("wander")) if consistent else None
        self._noise = Noise(velocity, period_s, 3, streams.child("velocity")) if consistent else None
        self._tracked: Vec = np.zeros(3)
        self._near = None
        if multipath is not None:
            self._near = Smooth(multipath.time_s, period_s, 3, streams.child("multipath"))
        self._last: Vec | None = None

    def advance(self, steps: int, height_m: float, scale: float) -> tuple[Vec3, Vec3]:
        """Errors of position (m), and of velocity (m/s) as their change, `steps` periods later."""
        if self._last is None:
            self._last = self._total(height_m, scale)
        for _ in range(steps):
            if self._own is not None:
                self._own.advance()
            if self._near is not None:
                self._near.advance()
            if self._noise is not None:
                self._tracked = self._keeps * self._tracked + self._period_s * self._noise.block(1)[0]
        now = self._total(height_m, scale)
        (x, y, z), (u, v, w) = now.tolist(), ((now - self._last) / (steps * self._period_s)).tolist()
        self._last = now
        return (x, y, z), (u, v, w)

    def _total(self, height_m: float, scale: float) -> Vec:
        total: Vec = np.zeros(3)
        if self._own is not None:
            total = scale * (self._std * self._own.value + self._tracked)
        if self._near is not None and self._multipath is not None:
            fades = math.exp(-max(height_m, 0.0) / self._multipath.scale_height_m)
            total = total + fades * np.array(self._multipath.ground_std_m) * self._near.value
        return total


def per_axis(value: Axes) -> Vec:
    return np.broadcast_to(np.asarray(value, dtype=float), (3,)).copy()


def without_drift(position: Errors) -> Errors:
    """The position channel beside a wander."""
    return msgspec.structs.replace(position, drift_std=0.0)


def without_noise(velocity: Errors) -> Errors:
    """The velocity channel beside a wander, which has its errors: resolution and range stay."""
    return Errors(quantum=velocity.quantum, range=velocity.range)
