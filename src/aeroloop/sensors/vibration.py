"""Vibration of an inertial sensor by the rotors: sines of each rotor's angle and of its multiples.

    v = sum over rotors and k:  A s h_k (W / W_0)^2 |H(k W)| (cos, sin, cos)(k angle + arg H(k W))

W is the rotor's speed, A the amplitude that its first harmonic has at W_0, s and h_k the relative sizes of this rotor
and of harmonic k, H the sensor's low-pass filter. An unbalanced rotor's force grows with the square of its speed and
turns with it, hence cosine and sine about the body's axes x and y. The angle is the exact integral of the rotor's mean
speed in each step; each rotor starts at an angle of its own, drawn for the flight. Sampled, everything above half the
rate of the IMU aliases. Averaged over the sample period, a sine from the angle a to b has the mean
(cos a - cos b) / (b - a).

Within a sample period the speed counts as constant, and the filter as settled at it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from aeroloop.core.angles import wrap_pi
from aeroloop.core.config import Config, meta
from aeroloop.core.frames import Vec3
from aeroloop.core.noise_source import Normals
from aeroloop.sensors.low_pass import gain_and_lag

ZERO: Vec3 = (0.0, 0.0, 0.0)
LARGEST = 1e4

Sines = tuple[float, float]
"""Cosine and sine of an angle, or their means over a span of angles."""


class Vibration(Config, frozen=True):
    """Vibration by the rotors."""

    at_rad_s: Annotated[float, meta("rad/s", "speed of a rotor at which the amplitudes apply", gt=0, le=1e5)]
    accel_m_s2: Annotated[Vec3, meta("m/s2", "amplitude by each rotor at its first harmonic, by body axis")] = ZERO
    gyro_rad_s: Annotated[Vec3, meta("rad/s", "the same of the body rate")] = ZERO
    harmonics: Annotated[
        tuple[float, ...], meta("-", "relative amplitude at 1, 2, 3 ... times the rotor's speed; [0, 1] is 2 per rev")
    ] = (1.0,)
    rotors: Annotated[
        tuple[float, ...], meta("-", "relative amplitude of each rotor, in the airframe's order; those not listed: 1")
    ] = ()

    def __post_init__(self) -> None:
        for key in ("accel_m_s2", "gyro_rad_s", "harmonics", "rotors"):
            if not all(0.0 <= value <= LARGEST for value in getattr(self, key)):
                raise ValueError(f"{key}: expected numbers from 0 to {LARGEST:g}, not {list(getattr(self, key))}")
        if not self.harmonics or not any(self.harmonics):
            raise ValueError("harmonics: expected at least one that is not 0; leave the table out for no vibration")


class RotorAngles:
    """Angle of every rotor now and at the last sample, and its mean speed in the last step."""

    def __init__(self, normals: Normals) -> None:
        self._normals = normals
        self.speed_rad_s: Sequence[float] = ()
        self.now: list[float] = []
        self.last: list[float] = []

    def step(self, speed_rad_s: Sequence[float], dt_s: float) -> None:
        if len(self.now) != len(speed_rad_s):
            # Evenly distributed over a turn, by the normal distribution function.
            drawn = self._normals.standard_normal(len(speed_rad_s))
            self.now = [math.pi * math.erf(n / math.sqrt(2.0)) for n in drawn.tolist()]
            self.last = list(self.now)
        self.speed_rad_s = speed_rad_s
        self.now = [angle + speed * dt_s for angle, speed in zip(self.now, speed_rad_s, strict=True)]

    def sampled(self) -> None:
        """The next sample period begins; whole turns are dropped, so that angles stay exact."""
        self.now = [wrap_pi(angle) for angle in self.now]
        self.last = list(self.now)


class Shaken:
    """What the vibration adds to one channel, behind its filter."""

    def __init__(
        self, amplitude: Vec3, table: Vibration, cutoff_rad_s: float | None, order: int, *, average: bool
    ) -> None:
        self._amplitude, self._at_rad_s, self._harmonics = amplitude, table.at_rad_s, table.harmonics
        self._rotors = table.rotors
        self._cutoff_rad_s, self._order, self._average = cutoff_rad_s, order, average

    def value(self, rotors: RotorAngles) -> Vec3:
        cosines = sines = 0.0
        angles = zip(rotors.speed_rad_s, rotors.last, rotors.now, strict=True)
        for number, (speed, last, now) in enumerate(angles):
            own = self._rotors[number] if number < len(self._rotors) else 1.0
            size = own * (speed / self._at_rad_s) ** 2
            for k, share in enumerate(self._harmonics, start=1):
                if not size * share:
                    continue
                gain, lag = 1.0, 0.0
                if self._cutoff_rad_s is not None:
                    gain, lag = gain_and_lag(self._cutoff_rad_s, self._order, k * abs(speed))
                    lag = math.copysign(lag, -speed)
                end = k * now + lag
                cosine, sine = mean_sines(k * last + lag, end) if self._average else (math.cos(end), math.sin(end))
                cosines += size * share * gain * cosine
                sines += size * share * gain * sine
        x, y, z = self._amplitude
        return x * cosines, y * sines, z * cosines


def mean_sines(start: float, end: float) -> Sines:
    """Means of cosine and sine over the angles between."""
    half, middle = 0.5 * (end - start), 0.5 * (start + end)
    kept = math.sin(half) / half if abs(half) > 1e-8 else 1.0
    return kept * math.cos(middle), kept * math.sin(middle)
