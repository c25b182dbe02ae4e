"""Trajectories as pure functions of time: position at `t_s` with its exact derivative.

The spiral is equation (1) of the tilt-rotor paper. Waypoints are joined by rest-to-rest minimum-jerk legs,
s(u) = 10 u^3 - 15 u^4 + 6 u^5 for u from 0 to 1, in position and in yaw. A route passes its points on a smooth curve
(`planning/speed_profile.py`).
"""

from __future__ import annotations

import math
import pathlib
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from aeroloop.core.angles import wrap_pi
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Reference
from aeroloop.ground import waypoints
from aeroloop.ground.config import Circle, Hover, Lemniscate, Route, Spiral, Trajectory, Waypoints

if TYPE_CHECKING:
    from aeroloop.planning.speed_profile import TimedRoute

REST = (0.0, 0.0, 0.0)
SHORTEST_FADE_S = 3.0
FADE_M_S = 0.5


@dataclass(frozen=True, slots=True)
class Point:
    """Position and velocity at one time."""

    pos_W: Vec3  # m
    yaw_rad: float  # -pi to pi, as sensors report it
    vel_W: Vec3  # m/s
    yaw_rate_rad_s: float


Path: TypeAlias = Callable[[float], Point]


def build(trajectory: Trajectory) -> Path:
    """The trajectory of a scenario; all reading and checking happens here, none per call."""
    path = _path(trajectory)
    start = path(0.0)  # where every closed form has its maximum speed
    if not all(abs(value) <= waypoints.MAX_VALUE for value in (*start.pos_W, *start.vel_W)):
        raise ConfigError(
            f"ground.trajectory: expected coordinates and speeds within +-{waypoints.MAX_VALUE:g} m and m/s"
        )
    return path


def joined(path: Path, here: Point, t_s: float) -> Path:
    """`path` started at `t_s` by an aircraft that hovers elsewhere: blended in, slowly enough for the law to follow."""
    start = path(0.0)
    fade_s = max(SHORTEST_FADE_S, math.dist(here.pos_W, start.pos_W) / FADE_M_S)

    def along(now_s: float) -> Point:
        since_s = max(0.0, now_s - t_s)
        point = path(since_s)
        if since_s >= fade_s:
            return point
        u = since_s / fade_s
        share = u**3 * (10 - 15 * u + 6 * u * u)
        share_rate = 30 * (u * (1 - u)) ** 2 / fade_s
        way_W = [there - from_ for there, from_ in zip(point.pos_W, here.pos_W, strict=True)]
        turn_rad = wrap_pi(point.yaw_rad - here.yaw_rad)
        x, y, z = (from_ + share * way for from_, way in zip(here.pos_W, way_W, strict=True))
        vx, vy, vz = (share * v + share_rate * way for v, way in zip(point.vel_W, way_W, strict=True))
        yaw_rate_rad_s = share * point.yaw_rate_rad_s + share_rate * turn_rad
        return Point((x, y, z), wrap_pi(here.yaw_rad + share * turn_rad), (vx, vy, vz), yaw_rate_rad_s)

    return along


def reference_at(path: Path, t_ns: int, *, feedforward: bool) -> Reference:
    return as_reference(path(t_ns / NS), t_ns, feedforward=feedforward)


def as_reference(point: Point, t_ns: int, *, feedforward: bool) -> Reference:
    """Reference for a point: without feed-forward its velocity is zero."""
    return Reference(
        t_ms=t_ns // 1_000_000,
        pos_W=point.pos_W,
        yaw_rad=point.yaw_rad,
        vel_W=point.vel_W if feedforward else REST,
        yaw_rate_rad_s=point.yaw_rate_rad_s if feedforward else 0.0,
    )


def moved(trajectory: Trajectory, east_m: float) -> Trajectory:
    """The same trajectory farther east."""
    if not east_m:
        return trajectory
    for key in ("start_W", "pos_W", "center_W", "offset_W"):
        if key in trajectory.__struct_fields__:
            x_m, *rest = getattr(trajectory, key)
            return msgspec.structs.replace(trajectory, **{key: (x_m + east_m, *rest)})
    raise ConfigError("vehicle.count: waypoints of a file are one aircraft's; expected 1, or another trajectory")


def _path(trajectory: Trajectory) -> Path:
    match trajectory:
        case Spiral():
            return _spiral(trajectory)
        case Hover():
            return _hold(trajectory.pos_W, trajectory.yaw_rad)
        case Circle():
            return _circle(trajectory)
        case Lemniscate():
            return _lemniscate(trajectory)
        case Waypoints():
            return _legs(waypoints.read(pathlib.Path(trajectory.file)))
        case Route():
            from aeroloop.ground import route_files  # imports scipy, which other trajectories do not need

            return of_route(route_files.timed_route(trajectory), trajectory.start_s, trajectory.offset_W)


def _hold(pos_W: Vec3, yaw_rad: float) -> Path:
    point = Point(pos_W, wrap_pi(yaw_rad), REST, 0.0)
    return lambda t_s: point


def _spiral(spiral: Spiral) -> Path:
    x0, y0, z0 = spiral.start_W
    d, h, period_s = spiral.radius_m, spiral.height_m, spiral.period_s
    w = math.tau * spiral.turns / period_s
    speed, climb = d * w, h / period_s

    def along(t_s: float) -> Point:
        c, s = math.cos(w * t_s), math.sin(w * t_s)
        pos_W = (d * c - d + x0, d * s + y0, h * t_s / period_s + z0)
        return Point(pos_W, 0.0, (-speed * s, speed * c, climb), 0.0)

    end = Point(along(period_s).pos_W, 0.0, REST, 0.0)
    return lambda t_s: along(t_s) if t_s < period_s else end


def _circle(circle: Circle) -> Path:
    x, y, z = circle.center_W
    r = circle.radius_m
    w = math.tau / circle.period_s
    speed = r * w

    def path(t_s: float) -> Point:
        c, s = math.cos(w * t_s), math.sin(w * t_s)
        return Point((x + r * c, y + r * s, z), 0.0, (-speed * s, speed * c, 0.0), 0.0)

    return path


def _lemniscate(lemniscate: Lemniscate) -> Path:
    x, y, z = lemniscate.center_W
    size = lemniscate.size_m
    w = math.tau / lemniscate.period_s
    speed = size * w

    def path(t_s: float) -> Point:
        a = w * t_s
        pos_W = (x + size * math.sin(a), y + size / 2 * math.sin(2 * a), z)
        return Point(pos_W, 0.0, (speed * math.cos(a), speed * math.cos(2 * a), 0.0), 0.0)

    return path


def of_route(motion: TimedRoute, start_s: float = 0.0, offset_W: Vec3 = REST) -> Path:
    """Along a route, after a rest at its first point."""
    x, y, z = offset_W

    def path(t_s: float) -> Point:
        now = motion.at(t_s - start_s)
        pos_W = now.pos_W[0] + x, now.pos_W[1] + y, now.pos_W[2] + z
        return Point(pos_W, now.yaw_rad, now.vel_W, now.yaw_rate_rad_s)

    return path


def _legs(points: list[waypoints.Waypoint]) -> Path:
    times_s = [point.t_s for point in points]
    legs = [_leg(a, b) for a, b in pairwise(points)]
    before = _hold(points[0].pos_W, points[0].yaw_rad)
    after = _hold(points[-1].pos_W, points[-1].yaw_rad)
    paths = [before, *legs, after]
    return lambda t_s: paths[bisect_right(times_s, t_s)](t_s)


def _leg(a: waypoints.Waypoint, b: waypoints.Waypoint) -> Path:
    start_s, duration_s = a.t_s, b.t_s - a.t_s
    x, y, z = a.pos_W
    dx, dy, dz = (end - start for start, end in zip(a.pos_W, b.pos_W, strict=True))
    yaw, turn = a.yaw_rad, wrap_pi(b.yaw_rad - a.yaw_rad)

    def path(t_s: float) -> Point:
        u = (t_s - start_s) / duration_s
        s = u * u * u * (10.0 - u * (15.0 - 6.0 * u))
        rate = 30.0 * (u * (1.0 - u)) ** 2 / duration_s
        pos_W = (x + dx * s, y + dy * s, z + dz * s)
        return Point(pos_W, wrap_pi(yaw + turn * s), (dx * rate, dy * rate, dz * rate), turn * rate)

    return path
