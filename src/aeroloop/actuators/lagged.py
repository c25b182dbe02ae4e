"""Rotors and tilt servos: the command is limited and followed with a first-order lag."""

from __future__ import annotations

import math
from typing import Annotated

from aeroloop.core.config import Config, meta
from aeroloop.core.signals import NS, Command, Effort


class Actuators(Config, frozen=True):
    """Limits and lag of rotors and tilt servos."""

    thrust_max_N: Annotated[float, meta("N", "largest thrust of one rotor; the smallest is 0", gt=0, le=1000)] = 20.0
    torque_max_Nm: Annotated[float, meta("N m", "largest tilt torque of one servo, both ways", gt=0, le=100)] = 2.0
    lag_s: Annotated[float, meta("s", "first-order time constant of all four; 0 for none", ge=0, le=1)] = 0.0


class LaggedActuators:
    def __init__(self, config: Actuators, initial: Command) -> None:
        self._lag_s = config.lag_s
        self._limits = (
            (0.0, config.thrust_max_N),
            (0.0, config.thrust_max_N),
            (-config.torque_max_Nm, config.torque_max_Nm),
            (-config.torque_max_Nm, config.torque_max_Nm),
        )
        self._state = initial
        self._last: tuple[Command, Effort] | None = None

    @property
    def state(self) -> Command:
        """Present output."""
        return self._state

    def step(self, command: Command, dt_ns: int) -> Effort:
        """The effort delivered over the next dt."""
        if self._last is not None and self._last[0] is command:
            return self._last[1]  # without lag the effort changes with the command alone: once in a control period
        limited = tuple(min(max(c, low), high) for c, (low, high) in zip(command, self._limits, strict=True))
        if self._lag_s > 0.0:
            gain = 1.0 - math.exp(-dt_ns / NS / self._lag_s)
            self._state = tuple(s + gain * (w - s) for s, w in zip(self._state, limited, strict=True))
        else:
            self._state = limited
        right, left, torque_right, torque_left = self._state
        effort = Effort((right, left), (torque_right, torque_left), limited != command)
        if self._lag_s == 0.0:
            self._last = (command, effort)
        return effort
