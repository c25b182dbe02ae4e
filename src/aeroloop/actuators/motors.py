"""Motors with rotors: each speed follows its command with one lag when it spins up and another when it spins down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from aeroloop.core.config import Config, meta
from aeroloop.core.signals import NS

LEAST = 1e-12
"""A command just above 0."""


class Motor(Config, frozen=True):
    """Response of a motor to its command; all motors of an aircraft are equal."""

    speed_max_rad_s: Annotated[float, meta("rad/s", "speed at command 1", gt=0)]
    speed_idle_rad_s: Annotated[float, meta("rad/s", "speed at the smallest command above 0", ge=0)]
    lag_up_s: Annotated[float, meta("s", "time constant of spinning up; 0: none", ge=0)]
    lag_down_s: Annotated[float, meta("s", "time constant of spinning down; 0: none", ge=0)]


class RotorEffort(NamedTuple):
    """Output of the motors over one step."""

    speed_rad_s: tuple[float, ...]  # mean over the step, one per rotor
    spin_up_rad_s2: tuple[float, ...]  # mean over the step
    saturated: bool  # a command was outside its range
    not_finite: bool  # a command was NaN or infinity: that motor is being stopped


class Motors:
    def __init__(self, motor: Motor, count: int) -> None:
        self._motor = motor
        self._speed = (0.0,) * count
        self._dt_ns = 0
        self._steps = ((1.0, 1.0), (1.0, 1.0))
        self._settled: tuple[object, RotorEffort] = None, RotorEffort((), (), False, False)
        """The last input with unchanged speeds (speeds, command, dt), and its effort: a cache for steady flight."""

    @property
    def speed_rad_s(self) -> tuple[float, ...]:
        """Present speeds."""
        return self._speed

    def reset(self, speed_rad_s: Sequence[float]) -> None:
        if len(speed_rad_s) != len(self._speed):
            raise ValueError(f"motors: expected {len(self._speed)} speeds, not {len(speed_rad_s)}")
        self._speed = tuple(float(w) for w in speed_rad_s)

    def step(self, command: Sequence[float], dt_ns: int) -> RotorEffort:
        """Normalised commands: 0 (or less) stops a motor, just above 0 idles, 1 is full speed."""
        before = self._speed, tuple(command), dt_ns
        settled, effort = self._settled
        if before == settled:
            return effort
        idle = self._motor.speed_idle_rad_s
        span = self._motor.speed_max_rad_s - idle
        effort = self.step_speeds([idle + span * u if u > 0.0 else span * u for u in command], dt_ns)
        if self._speed == before[0]:
            self._settled = before, effort
        return effort

    def step_speeds(self, setpoints_rad_s: Sequence[float], dt_ns: int) -> RotorEffort:
        """The exact first-order response to speeds held over dt. A speed never crosses its setpoint, so one lag applies
        to the whole step."""
        if dt_ns != self._dt_ns:
            self._dt_ns = dt_ns
            self._steps = gains(self._motor, dt_ns)
        (up, up_mean), (down, down_mean) = self._steps
        top, per_s = self._motor.speed_max_rad_s, NS / dt_ns
        saturated = not_finite = False
        after, mean, spin_up = [], [], []
        for w, setpoint in zip(self._speed, setpoints_rad_s, strict=True):
            target = setpoint
            if not 0.0 <= target <= top:
                if math.isfinite(target):
                    saturated = True
                    target = top if target > top else 0.0
                else:
                    not_finite = True
                    target = 0.0
            change = target - w
            if change > 0.0:
                end, middle = w + up * change, w + up_mean * change
            else:
                end, middle = w + down * change, w + down_mean * change
            after.append(end)
            mean.append(middle)
            spin_up.append((end - w) * per_s)
        self._speed = tuple(after)
        return RotorEffort(tuple(mean), tuple(spin_up), saturated, not_finite)


def command_at(motor: Motor, speed_rad_s: float) -> float:
    """The command that holds a speed. There is none between 0 and idle: a motor slower than idle idles."""
    if speed_rad_s <= 0.0:
        return 0.0
    return max((speed_rad_s - motor.speed_idle_rad_s) / (motor.speed_max_rad_s - motor.speed_idle_rad_s), LEAST)


def weakened(motor: Motor, command: float, fraction: float) -> float:
    """The command for this fraction of the thrust, which is proportional to the square of the speed."""
    if not 0.0 < command < math.inf:
        return command
    idle, top = motor.speed_idle_rad_s, motor.speed_max_rad_s
    return command_at(motor, math.sqrt(fraction) * (idle + (top - idle) * min(command, 1.0)))


def gains(motor: Motor, dt_ns: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Up and down: fraction of the distance to its setpoint that a motor covers in dt, at its end and on average."""
    return _gains(dt_ns, motor.lag_up_s), _gains(dt_ns, motor.lag_down_s)


def _gains(dt_ns: int, lag_s: float) -> tuple[float, float]:
    """Fraction of the distance that a first-order lag covers in dt: at its end, and on average."""
    if lag_s == 0.0:
        return 1.0, 1.0
    x = dt_ns / NS / lag_s
    end = -math.expm1(-x)
    return end, 1.0 - end / x
