"""Low-pass filter of an inertial sensor: first order, or a Butterworth filter of second order.

    1    y' = a (u - y)                              H(s) = a / (s + a)
    2    y'' = a^2 (u - y) - sqrt(2) a y'            H(s) = a^2 / (s^2 + sqrt(2) a s + a^2),      a = 2 pi cut-off

The input is constant over each step of the body, so that the response of every step is exact, and so is its integral,
which gives the mean over a sample period. Sinusoids (rotor vibration) pass in closed form: `gain_and_lag`.
"""

from __future__ import annotations

import cmath
import math
from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3


class LowPass(Config, frozen=True):
    """The sensor's own low-pass filters."""

    gyro_hz: Annotated[float, meta("Hz", "cut-off (-3 dB) of the gyroscope", gt=0, le=1e5)]
    accel_hz: Annotated[float, meta("Hz", "cut-off (-3 dB) of the accelerometer", gt=0, le=1e5)]
    order: Annotated[Literal[1, 2], note("1, or 2: Butterworth")] = 2


def gain_and_lag(cutoff_rad_s: float, order: int, rate_rad_s: float) -> tuple[float, float]:
    """Amplitude over that of the input, and phase (rad, negative: late), of a sinusoid behind the filter."""
    x = rate_rad_s / cutoff_rad_s
    response = 1.0 / (complex(1.0, x) if order == 1 else complex(1.0 - x * x, math.sqrt(2.0) * x))
    return abs(response), cmath.phase(response)


class Axis:
    """The filter of one axis; it starts settled at its first input."""

    __slots__ = ("_cutoff", "_order", "_output", "_slope")

    def __init__(self, cutoff_rad_s: float, order: int) -> None:
        self._cutoff, self._order = cutoff_rad_s, order
        self._output: float | None = None
        self._slope = 0.0

    @property
    def output(self) -> float:
        return self._output or 0.0

    def step(self, value: float, dt_s: float) -> float:
        """Apply an input for a time; returns the integral of the output over it."""
        a = self._cutoff
        off = 0.0 if self._output is None else self._output - value
        if self._order == 1:
            after = off * math.exp(-a * dt_s)
            self._output = value + after
            return value * dt_s + (off - after) / a
        b = a / math.sqrt(2.0)
        kept, cosine, sine = math.exp(-b * dt_s), math.cos(b * dt_s), math.sin(b * dt_s)
        slope = self._slope
        after = kept * (off * (cosine + sine) + slope / b * sine)
        self._slope = kept * (slope * (cosine - sine) - 2.0 * b * off * sine)
        self._output = value + after
        return value * dt_s - (self._slope - slope + 2.0 * b * (after - off)) / (a * a)

    def strike(self, impulse: float) -> None:
        """An input of infinite size and no length, with this integral."""
        if self._order == 1:
            self._output = self.output + self._cutoff * impulse
        else:
            self._output = self.output
            self._slope += self._cutoff**2 * impulse


class Window:
    """Three axes between two samples: filtered, averaged, or both."""

    def __init__(self, cutoff_rad_s: float | None, order: int, *, average: bool) -> None:
        self._axes = None if cutoff_rad_s is None else tuple(Axis(cutoff_rad_s, order) for _ in range(3))
        self._average = average
        self._x = self._y = self._z = 0.0  # integrals since the last sample
        self._span_s = 0.0

    def step(self, value: Vec3, dt_s: float) -> None:
        x, y, z = value
        if self._axes is None:
            x, y, z = x * dt_s, y * dt_s, z * dt_s
        else:
            x, y, z = (axis.step(of_axis, dt_s) for axis, of_axis in zip(self._axes, value, strict=True))
        self._x, self._y, self._z, self._span_s = self._x + x, self._y + y, self._z + z, self._span_s + dt_s

    def strike(self, impulse: Vec3) -> None:
        """At the end of the last step."""
        if self._axes is None:
            self._x, self._y, self._z = (a + b for a, b in zip((self._x, self._y, self._z), impulse, strict=True))
        else:
            for axis, of_axis in zip(self._axes, impulse, strict=True):
                axis.strike(of_axis)

    def take(self) -> Vec3:
        """The value for a sample, of a span that is not empty; the next span begins."""
        span_s = self._span_s
        if self._average:
            taken = self._x / span_s, self._y / span_s, self._z / span_s
        else:
            assert self._axes is not None
            x, y, z = self._axes
            taken = x.output, y.output, z.output
        self.clear()
        return taken

    def clear(self) -> None:
        self._x = self._y = self._z = self._span_s = 0.0

    @property
    def empty(self) -> bool:
        return self._span_s == 0.0
