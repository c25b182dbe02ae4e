"""A fixed wing that can touch the ground: near it, it is moved by the equations with its wheels and skids.

Higher than the wheels reach, every step is that of the aircraft in the air. Near the ground a step is divided into
parts of at most a millisecond, since struts are stiff, and the ground is the plane that touches the terrain below.
Gust rates act above that height only.
"""

from __future__ import annotations

import math

from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.core.frames import Vec, Vec3, quat_from_euler, rotated
from aeroloop.core.signals import NS, RigidState
from aeroloop.core.wing_signals import SURFACES
from aeroloop.families.fixedwing.build import Body
from aeroloop.models.landing_gear import Wheel
from aeroloop.world.flight_model import FlightModel, Height, Runner
from aeroloop.world.surroundings import Surroundings

PART_NS = NS // 1000
MARGIN_M = 2.0
"""Height of the wheels over the ground above which no step can reach it."""
SLOPE_M = 1.0
"""Distance over which the slope is taken."""
SETTLING_S = 3.0
THROTTLE = SURFACES.index("throttle")


class Wheels:
    """The body of an aircraft with a gear; `run` is models.fixedwing.step_on_ground."""

    def __init__(
        self,
        gear: tuple[Wheel, ...],
        world: FlightModel,
        around: Surroundings,
        flying: Body,
        run: Runner,
        ground: Height,
    ) -> None:
        self._gear, self._world, self._around, self._flying, self._ground = gear, world, around, flying, ground
        self.state = world.state
        self._reach_m = max(math.hypot(*wheel.pos_B_m) for wheel in gear) + MARGIN_M
        self.broken = False  # a wheel was compressed beyond its travel
        self.exchange(run)

    def exchange(self, run: Runner) -> None:
        """Continue with other equations of motion."""
        self._run = run
        self._before, self._input, self._dt_s = run.inputs

    @property
    def near_ground(self) -> bool:
        """Whether a step may reach the ground; not with a position that is NaN."""
        return self._world.state(0).pos_W[2] - self._around.ground_m <= self._reach_m

    def step(self, effort: SurfaceEffort, dt_ns: int) -> None:
        if not self.near_ground:
            self._flying.step(effort, dt_ns)
            return
        state = self._world.state(0)
        air, gravity_m_s2 = self._around.air, self._around.place.gravity_m_s2
        plane = self._plane(state.pos_W)
        self._input[:] = (*effort.controls, *air.wind_W, air.density_kg_m3, gravity_m_s2, *plane)
        self._before[:] = (*state.pos_W, *state.quat_WB, *state.vel_W, *state.rate_B)
        parts = -(-dt_ns // PART_NS)
        self._dt_s[0] = dt_ns / NS / parts
        for _ in range(parts):
            self._run()
            self._before[:] = self._run.outputs[0]
        self._move(self._before, state.vel_W, dt_ns / NS)
        self.broken = self.broken or self._overloaded(plane)

    def standing(self, east_m: float, north_m: float, yaw_rad: float, controls: tuple[float, ...]) -> RigidState:
        """Its state at rest there, with the motor off; the air is still."""
        plane = self._plane((east_m, north_m, 0.0))
        a, b, c = plane
        quat = quat_from_euler(0.0, 0.0, yaw_rad)
        points = [rotated(quat, wheel.pos_B_m) for wheel in self._gear]
        z_m = a + b * east_m + c * north_m + max(b * x + c * y - z for x, y, z in points)
        self._before[:] = (east_m, north_m, z_m, *quat, *(0.0,) * 6)
        surfaces = (*controls[:THROTTLE], 0.0)
        self._input[:] = (*surfaces, 0.0, 0.0, 0.0, 0.0, self._around.place.gravity_m_s2, *plane)
        self._dt_s[0] = PART_NS / NS
        for _ in range(round(SETTLING_S * NS / PART_NS)):
            self._run()
            self._before[:] = self._run.outputs[0]
            self._before[0], self._before[1] = east_m, north_m  # held by chocks
            self._before[7:9] = 0.0
        pos, quat_WB = self._before[:3].tolist(), self._before[3:7].tolist()
        zero: Vec3 = (0.0, 0.0, 0.0)
        return RigidState(0, _three(pos), (quat_WB[0], *_three(quat_WB[1:])), zero, zero, zero)

    def compressions_m(self) -> list[float]:
        """Depth of each wheel's unloaded point below the ground; negative: above it."""
        return self._depths_m(self._plane(self._world.state(0).pos_W))

    def _depths_m(self, plane: Vec3) -> list[float]:
        state, (a, b, c) = self._world.state(0), plane
        cosine = 1.0 / math.sqrt(1.0 + b * b + c * c)
        depths = []
        for wheel in self._gear:
            x, y, z = (p + r for p, r in zip(state.pos_W, rotated(state.quat_WB, wheel.pos_B_m), strict=True))
            depths.append(cosine * (a + b * x + c * y - z))
        return depths

    def _overloaded(self, plane: Vec3) -> bool:
        return any(depth > wheel.travel_m for depth, wheel in zip(self._depths_m(plane), self._gear, strict=True))

    def _plane(self, pos_W: Vec3) -> Vec3:
        """The ground below as z = a + b x + c y."""
        x, y, _ = pos_W
        ground, half = self._ground, SLOPE_M / 2
        b = (ground(x + half, y) - ground(x - half, y)) / SLOPE_M
        c = (ground(x, y + half) - ground(x, y - half)) / SLOPE_M
        return ground(x, y) - b * x - c * y, b, c

    def _move(self, after: Vec, was_vel_W: Vec3, dt_s: float) -> None:
        x, y, z, qw, qx, qy, qz, vx, vy, vz, p, q, r = after.tolist()
        gained = ((v - was) / dt_s for v, was in zip((vx, vy, vz), was_vel_W, strict=True))
        self._world.reset(
            (x, y, z), (qw, qx, qy, qz), vel_W=(vx, vy, vz), rate_B=(p, q, r), accel_W=_three(list(gained))
        )


class Standing:
    """Holds an aircraft on its wheels at its start until its motor runs, as chocks do."""

    def __init__(self, start: RigidState, throttle: float, world: FlightModel, flying: Body) -> None:
        self._start, self._throttle, self._world, self._flying = start, throttle, world, flying
        self.state = world.state
        self.restart()

    def restart(self) -> None:
        self.released = False
        self._world.reset(self._start.pos_W, self._start.quat_WB)

    def step(self, effort: SurfaceEffort, dt_ns: int) -> None:
        if not self.released:
            if not effort.controls[THROTTLE] >= self._throttle:  # NaN holds it
                return
            self.released = True
        self._flying.step(effort, dt_ns)


def _three(values: list[float]) -> Vec3:
    x, y, z = values
    return x, y, z
