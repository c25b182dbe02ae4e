"""An aircraft for the flight logic alone: a point mass that follows each setpoint with a short lag, and a ground."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from aeroloop.controllers.pixhawk.autopilot import PixhawkAutopilot
from aeroloop.controllers.pixhawk.mission_geodesy import geodetic_from_local
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import FlightMode, MissionItem, SensorHealth, Sticks
from aeroloop.core.frames import Vec3, quat_from_euler
from aeroloop.core.signals import NS, NavEstimate, Origin, Setpoint

ORIGIN = Origin(47.397742, 8.545594, 488.0)
HEALTHY = SensorHealth(True, True, True, True)
HOVER = 0.5
LAG_S = 0.2
NAN = math.nan


@dataclass
class Follower:
    """Flies `logic`: holds are followed, tilts push sideways, thrust pushes up. The ground is at z = 0."""

    logic: PixhawkAutopilot = field(default_factory=lambda: PixhawkAutopilot(Parameters()))
    dt_s: float = 0.02
    t_ns: int = 0
    pos: Vec3 = (0.0, 0.0, 0.0)
    vel: Vec3 = (0.0, 0.0, 0.0)
    yaw: float = math.pi / 2
    thrust: float = 0.0
    health: SensorHealth = HEALTHY
    origin: Origin | None = ORIGIN
    sticks: Sticks | None = None
    heartbeats: bool = True
    change: Callable[[NavEstimate], NavEstimate | None] = lambda estimate: estimate
    setpoint: Setpoint | None = None
    texts: list[str] = field(default_factory=list)

    @property
    def estimate(self) -> NavEstimate:
        quat = quat_from_euler(0.0, 0.0, self.yaw)
        still = (0.0, 0.0, 0.0)
        return NavEstimate(self.t_ns, self.pos, self.vel, quat, still, 0.01, 0.02, 0.3, 0.3, True, True, True)

    @property
    def height(self) -> float:
        return self.pos[2]

    @property
    def mode(self) -> FlightMode:
        return self.logic.status.mode

    def step(self) -> Setpoint | None:
        self.t_ns += round(self.dt_s * NS)
        if self.heartbeats:
            self.logic.note_ground_station()
        if self.sticks is not None:
            self.logic.sticks(self.sticks)
        motors = (math.sqrt(self.thrust),) * 4
        estimate = self.change(self.estimate)
        self.setpoint = self.logic.step(self.t_ns, estimate, self.origin, self.health, motors, self.dt_s)
        self.texts += [text for _, text in self.logic.take_texts()]
        self._move()
        return self.setpoint

    def fly(self, seconds: float) -> Follower:
        for _ in range(round(seconds / self.dt_s)):
            self.step()
        return self

    def until(self, done: Callable[[], bool], seconds: float) -> float:
        """Fly until then; the seconds that it took."""
        for number in range(round(seconds / self.dt_s)):
            if done():
                return number * self.dt_s
            self.step()
        raise AssertionError(f"not within {seconds} s: {self.logic.status} {self.texts[-5:]}")

    def airborne(self, height_m: float = 10.0) -> Follower:
        """Armed, at this height, holding."""
        self.fly(0.1)
        assert self.logic.arm() is None
        assert self.logic.take_off(height_m) is None
        self.until(lambda: self.mode is FlightMode.HOLD, 60.0)
        return self.fly(2.0)

    def _move(self) -> None:
        sp, dt = self.setpoint, self.dt_s
        if sp is None:
            self.thrust = 0.0
            ax, ay, az = 0.0, 0.0, -9.81
        else:
            k = 1.0 / LAG_S
            wanted = [
                a + 2.0 * k * (v - mine_v) + k * k * (p - mine)
                for p, v, a, mine, mine_v in zip(sp.pos_W, sp.vel_W, sp.accel_W, self.pos, self.vel, strict=True)
            ]
            self.thrust = sp.thrust_ratio if not sp.hold_z else max(0.05, min(1.0, HOVER * (1.0 + wanted[2] / 9.81)))
            ax, ay = wanted[0], wanted[1]
            if not sp.hold_xy:
                forward, left = 9.81 * math.tan(sp.pitch_rad), -9.81 * math.tan(sp.roll_rad)
                cos, sin = math.cos(self.yaw), math.sin(self.yaw)
                ax, ay = forward * cos - left * sin, forward * sin + left * cos
            az = 9.81 * (self.thrust / HOVER - 1.0)
            self.yaw = sp.yaw_rad
        vx, vy, vz = self.vel[0] + ax * dt, self.vel[1] + ay * dt, self.vel[2] + az * dt
        x, y, z = self.pos[0] + vx * dt, self.pos[1] + vy * dt, self.pos[2] + vz * dt
        if z <= 0.0 and vz <= 0.0:
            x, y, z, vx, vy, vz = self.pos[0], self.pos[1], 0.0, 0.0, 0.0, 0.0
        self.pos, self.vel = (x, y, z), (vx, vy, vz)


def item(
    command: int,
    east_m: float | None = None,
    north_m: float | None = None,
    height_m: float = 10.0,
    params: tuple[float, float, float, float] = (0.0, 0.0, 0.0, NAN),
    frame: int = 6,
) -> MissionItem:
    """An item at a place in metres from the origin; open where none is given."""
    if east_m is None or north_m is None:
        return MissionItem(command, frame, params, NAN, NAN, height_m)
    lat, lon, _ = geodetic_from_local(ORIGIN, (east_m, north_m, 0.0))
    return MissionItem(command, frame, params, lat, lon, height_m)


def without(estimate: NavEstimate, **lost: bool) -> NavEstimate:
    return estimate._replace(**{f"{name}_ok": ok for name, ok in lost.items()})  # type: ignore[arg-type]
