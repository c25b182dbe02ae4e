"""Servos of control surfaces and the throttle: a first-order lag within a rate limit, and stops.

    y' = clip((command - y)/lag, -rate, rate)

Far from its command a servo moves at its rate limit, near it exponentially; the switch is at |command - y| = rate * lag
and is crossed once, so a step is solved in closed form and its length does not matter.

With `hinges` the air limits the surfaces. A surface at the angle d has the hinge moment

    M = q S c Ch d,   q = rho V^2/2,

with its area S and chord c behind the hinge and the derivative Ch of its hinge moment coefficient. A servo with the
torque T at the surface holds |d| <= T/(q S c Ch): as speed rises, the travel shrinks, and a surface beyond it is pushed
back at the servo's rate. The part of the moment that the angle of attack causes is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.core.wing_signals import SURFACES, WingCommand

Rate = Annotated[float, meta("1/s", "rate limit, in the servo's own unit per second", gt=0)]
Band = Annotated[float, meta("-", "in the servo's own unit; 0: none", ge=0)]
STILL_PA = 1e-3
"""Avoids the division by the dynamic pressure of still air."""
Lag = Annotated[float, meta("s", "time constant; 0: none", ge=0, le=10)]


Hinge = Annotated[float, meta("-", "of one surface", gt=0)]
Three = tuple[Hinge, Hinge, Hinge]


class Hinges(Config, frozen=True):
    """Hinge moments of aileron, elevator and rudder, and the torques against them; of a pair, those of one."""

    torque_Nm: Annotated[Three, meta("N m", "torque that the servo holds at the surface, with its linkage")]
    area_m2: Annotated[Three, meta("m2", "area of the surface behind its hinge")]
    chord_m: Annotated[Three, meta("m", "chord of the surface behind its hinge")]
    moment_1_rad: Annotated[Three, meta("1/rad", "hinge moment coefficient by deflection, its absolute value")]

    @property
    def held_rad_Pa(self) -> tuple[float, float, float]:
        """Largest deflection times dynamic pressure."""
        rows = zip(self.torque_Nm, self.area_m2, self.chord_m, self.moment_1_rad, strict=True)
        aileron, elevator, rudder = (torque / (area * chord * moment) for torque, area, chord, moment in rows)
        return aileron, elevator, rudder


class Limits(Config, frozen=True):
    """Aileron, elevator, rudder (rad), throttle (0..1)."""

    low: Annotated[WingCommand, meta("rad and ratio", "lower limit of each servo")]
    high: Annotated[WingCommand, meta("rad and ratio", "upper limit of each servo")]
    rate_per_s: Annotated[tuple[Rate, Rate, Rate, Rate], meta("rad/s and 1/s", "rate limit of each")]
    lag_s: Annotated[tuple[Lag, Lag, Lag, Lag], meta("s", "time constant of each; 0: none")]
    dead_band: Annotated[
        tuple[Band, Band, Band, Band] | None,
        meta("rad and ratio", "change of a command that its servo does not follow; left out: every change is followed"),
    ] = None
    hinges: Annotated[
        Hinges | None, note("hinge moments that limit the surfaces; left out: the travel is the same at every speed")
    ] = None

    def __post_init__(self) -> None:
        for name, low, high in zip(SURFACES, self.low, self.high, strict=True):
            if not low < high:
                raise ValueError(f"expected the {name}'s low to be less than its high, not {low:g} and {high:g}")

    def reach(self, pressure_Pa: float) -> tuple[WingCommand, WingCommand]:
        """Lower and upper limit of each at a dynamic pressure."""
        if self.hinges is None:
            return self.low, self.high
        held = [value / max(pressure_Pa, STILL_PA) for value in self.hinges.held_rad_Pa] + [math.inf]
        low = [max(value, -most) for value, most in zip(self.low, held, strict=True)]
        high = [min(value, most) for value, most in zip(self.high, held, strict=True)]
        return _four(low), _four(high)


class SurfaceEffort(NamedTuple):
    """Output of the servos over one step."""

    controls: WingCommand  # aileron, elevator, rudder (rad), throttle (0..1): mean over the step
    saturated: bool  # a command was beyond a limit
    rate_limited: bool  # a servo was limited by its rate
    not_finite: bool  # a command was NaN or infinity: that servo holds its position


class Servos:
    def __init__(self, limits: Limits, initial: Sequence[float] = (0.0, 0.0, 0.0, 0.0)) -> None:
        self._limits = tuple(zip(limits.low, limits.high, limits.rate_per_s, limits.lag_s, strict=True))
        self._at = self._inside(initial)

    @property
    def controls(self) -> WingCommand:
        """Present positions."""
        return self._at

    def reset(self, controls: Sequence[float]) -> None:
        self._at = self._inside(controls)

    def step(self, command: Sequence[float], dt_ns: int) -> SurfaceEffort:
        """Move for dt with the command held."""
        dt_s = dt_ns / NS
        saturated = rate_limited = not_finite = False
        after, mean = [], []
        for at, setpoint, (low, high, rate, lag) in zip(self._at, command, self._limits, strict=True):
            target = setpoint
            if not low <= target <= high:
                if math.isfinite(target):
                    saturated = True
                    target = low if target < low else high
                else:
                    not_finite = True
                    target = at
            way, left_s, swept = target - at, dt_s, 0.0
            run_s = abs(way) / rate - lag  # until the exponential part
            if run_s > 0.0:
                rate_limited = True
                run_s = min(run_s, dt_s)
                run = math.copysign(rate * run_s, way)
                swept = (at + run / 2) * run_s
                way -= run
                left_s -= run_s
            if left_s > 0.0:
                rest = way * math.exp(-left_s / lag) if lag > 0.0 else 0.0
            else:
                rest = way
            after.append(target - rest)
            mean.append((swept + target * left_s - (way - rest) * lag) / dt_s)
        self._at = _four(after)
        return SurfaceEffort(_four(mean), saturated, rate_limited, not_finite)

    def _inside(self, controls: Sequence[float]) -> WingCommand:
        if len(controls) != len(SURFACES) or not all(math.isfinite(value) for value in controls):
            raise ConfigError(
                f"servos: expected {len(SURFACES)} finite numbers ({', '.join(SURFACES)}), not {controls!r}"
            )
        return _four(
            [min(max(float(value), low), high) for value, (low, high, _, _) in zip(controls, self._limits, strict=True)]
        )


class DeadBand:
    """Servos that follow a command that differs by more than their dead band from the one that they last followed."""

    def __init__(self, servos: Servos, band: Sequence[float]) -> None:
        self._servos, self._band = servos, tuple(band)
        self._followed = servos.controls

    @property
    def controls(self) -> WingCommand:
        return self._servos.controls

    def reset(self, controls: Sequence[float]) -> None:
        self._servos.reset(controls)
        self._followed = self._servos.controls

    def step(self, command: Sequence[float], dt_ns: int) -> SurfaceEffort:
        rows = zip(command, self._followed, self._band, strict=True)
        self._followed = _four([was if abs(setpoint - was) <= band else setpoint for setpoint, was, band in rows])
        return self._servos.step(self._followed, dt_ns)


class HingedServos(Servos):
    """Servos whose reach depends on the dynamic pressure at the beginning of each step."""

    def __init__(self, limits: Limits, pressure_Pa: Callable[[], float], initial: Sequence[float]) -> None:
        super().__init__(limits, initial)
        self._own, self._pressure_Pa = limits, pressure_Pa

    def step(self, command: Sequence[float], dt_ns: int) -> SurfaceEffort:
        own = self._own
        self._limits = tuple(zip(*own.reach(self._pressure_Pa()), own.rate_per_s, own.lag_s, strict=True))
        return super().step(command, dt_ns)


def _four(values: list[float]) -> WingCommand:
    aileron, elevator, rudder, throttle = values
    return aileron, elevator, rudder, throttle
