"""A catapult: holds the aircraft until its motor runs, then accelerates it along a rail and releases it.

On the rail the acceleration is constant, v^2/2L, and attitude and direction are the rail's: the accelerometer measures
gravity first, then the launch as well, as on a real one. An autopilot that detects launches by acceleration detects it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.core.frames import Quat, Vec3, quat_from_euler, rotated
from aeroloop.core.signals import NS
from aeroloop.core.wing_signals import SURFACES
from aeroloop.families.fixedwing.build import Body
from aeroloop.world.flight_model import FlightModel

THROTTLE = SURFACES.index("throttle")


@dataclass(frozen=True, slots=True)
class Rail:
    start_W: Vec3
    yaw_rad: float  # counter-clockwise from east
    pitch_rad: float  # above the horizon
    length_m: float
    speed_m_s: float  # at its end
    throttle: float  # at which it releases

    @property
    def quat_WB(self) -> Quat:
        return quat_from_euler(0.0, -self.pitch_rad, self.yaw_rad)

    @property
    def accel_m_s2(self) -> float:
        return self.speed_m_s**2 / (2.0 * self.length_m)


class Catapult:
    """The body of an aircraft that starts on a rail."""

    def __init__(self, rail: Rail, world: FlightModel, flying: Body) -> None:
        self._rail, self._world, self._flying = rail, world, flying
        self.state = world.state
        self._along_W = rotated(rail.quat_WB, (1.0, 0.0, 0.0))
        self.restart()

    def restart(self) -> None:
        """Put the aircraft on the rail."""
        self._gone_s: float | None = None  # since the release
        self.airborne = False
        self._place(0.0, 0.0, 0.0)

    def step(self, effort: SurfaceEffort, dt_ns: int) -> None:
        if self.airborne:
            self._flying.step(effort, dt_ns)
            return
        if self._gone_s is None:
            if not effort.controls[THROTTLE] >= self._rail.throttle:  # NaN holds it
                return
            self._gone_s = 0.0
        self._gone_s += dt_ns / NS
        accel = self._rail.accel_m_s2
        way_m = min(0.5 * accel * self._gone_s**2, self._rail.length_m)
        self._place(way_m, math.sqrt(2.0 * accel * way_m), accel)
        self.airborne = way_m >= self._rail.length_m

    def _place(self, way_m: float, speed_m_s: float, accel_m_s2: float) -> None:
        def along(value: float, start: Vec3 = (0.0, 0.0, 0.0)) -> Vec3:
            x, y, z = (at + value * part for at, part in zip(start, self._along_W, strict=True))
            return x, y, z

        self._world.reset(
            along(way_m, self._rail.start_W),
            self._rail.quat_WB,
            vel_W=along(speed_m_s),
            accel_W=along(accel_m_s2),
        )
