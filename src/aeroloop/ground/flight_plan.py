"""A whole flight as a function of time: on the ground, up, along a path, to a stop, down, on the ground.

Each part passes into the next by the minimum-jerk blend of two motions, s(u) = 10 u^3 - 15 u^4 + 6 u^5, so that
position and velocity never jump.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

from aeroloop.core.angles import wrap_pi
from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.ground.config import Hover, Trajectory
from aeroloop.ground.trajectories import REST, Path, Point, build, joined

BLEND_SPEED = 1.875
"""Of a rest-to-rest minimum-jerk leg: largest speed over mean speed."""
STOP_S = 3.0
"""Time to stop from the path."""
BELOW_M = 2.0
"""Depth of the descent's end below the ground: the aircraft is down before, whatever the error of height."""
DIFFERENCE_S = 0.01


class FlightPlan(Config, frozen=True):
    """The planned flight of the aircraft."""

    trajectory: Annotated[Trajectory, note("the trajectory, which begins above the start")] = Hover(
        pos_W=(0.0, 0.0, 3.0)
    )
    takeoff_s: Annotated[
        float, meta("s", "time of motor start and climb to the height of the trajectory", ge=1.5, le=3600)
    ] = 3.0
    climb_m_s: Annotated[float, meta("m/s", "fastest climb", gt=0, le=5)] = 1.0
    land_s: Annotated[float, meta("s", "time to stop and descend; 0: no landing", ge=0, le=86400)] = 0.0
    descent_m_s: Annotated[float, meta("m/s", "descent", gt=0, le=2)] = 0.5


class PlannedState(NamedTuple):
    """Setpoint at a time; the motors are stopped while not `armed`."""

    point: Point
    accel_W: Vec3
    armed: bool


def planned(plan: FlightPlan, start_W: Vec3) -> Callable[[float], PlannedState]:
    """The plan as a function of time in s, for an aircraft on the ground at `start_W`."""
    path = build(plan.trajectory)
    top_W = (start_W[0], start_W[1], path(0.0).pos_W[2])
    above, ground = _held(top_W), _held(start_W)
    climb_s = max(1.0, BLEND_SPEED * abs(top_W[2] - start_W[2]) / plan.climb_m_s)
    up_s = plan.takeoff_s + climb_s
    climbing = blended(ground, above, plan.takeoff_s, climb_s)
    along = joined(path, above(0.0), up_s)
    stop = along(plan.land_s) if plan.land_s else above(0.0)
    stopping = blended(along, _held(stop.pos_W, stop.yaw_rad), plan.land_s, STOP_S)
    sinking_s = plan.land_s + STOP_S
    down_s = sinking_s + (stop.pos_W[2] - start_W[2] + BELOW_M) / plan.descent_m_s

    def motion(t_s: float) -> Point:
        if t_s < up_s:
            return climbing(t_s)
        if not plan.land_s or t_s < plan.land_s:
            return along(t_s)
        if t_s < sinking_s:
            return stopping(t_s)
        sunk_m = plan.descent_m_s * (min(t_s, down_s) - sinking_s)
        x, y, z = stop.pos_W
        return Point((x, y, z - sunk_m), stop.yaw_rad, (0.0, 0.0, -plan.descent_m_s), 0.0)

    def wanted(t_s: float) -> PlannedState:
        before, after = motion(t_s - DIFFERENCE_S).vel_W, motion(t_s + DIFFERENCE_S).vel_W
        ax, ay, az = ((b - a) / (2 * DIFFERENCE_S) for a, b in zip(before, after, strict=True))
        armed = t_s >= plan.takeoff_s and not (plan.land_s and t_s >= down_s)
        # Where a part ends at a speed, as the descent begins, the change is no acceleration to feed forward.
        steady = bool(plan.land_s) and t_s >= sinking_s - 2 * DIFFERENCE_S
        return PlannedState(motion(t_s), REST if steady else (ax, ay, az), armed)

    return wanted


def blended(one: Path, other: Path, t_s: float, duration_s: float) -> Path:
    """`one` until `t_s`, `other` after `duration_s` more."""

    def path(now_s: float) -> Point:
        u = min(max((now_s - t_s) / duration_s, 0.0), 1.0)
        share = u**3 * (10 - 15 * u + 6 * u * u)
        rate = 30 * (u * (1 - u)) ** 2 / duration_s
        a, b = one(now_s), other(now_s)
        x, y, z = (p + share * (q - p) for p, q in zip(a.pos_W, b.pos_W, strict=True))
        ways = zip(a.pos_W, b.pos_W, a.vel_W, b.vel_W, strict=True)
        vx, vy, vz = (v + share * (w - v) + rate * (q - p) for p, q, v, w in ways)
        turn = wrap_pi(b.yaw_rad - a.yaw_rad)
        yaw_rate = a.yaw_rate_rad_s + share * (b.yaw_rate_rad_s - a.yaw_rate_rad_s) + rate * turn
        return Point((x, y, z), wrap_pi(a.yaw_rad + share * turn), (vx, vy, vz), yaw_rate)

    return path


def _held(pos_W: Vec3, yaw_rad: float = 0.0) -> Path:
    point = Point(pos_W, yaw_rad, REST, 0.0)
    return lambda t_s: point
