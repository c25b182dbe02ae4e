"""Routes as missions of autopilots: waypoints with speeds, from the points or along the whole curve."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.ground.missions import Item, mission
from aeroloop.ground.pilot_commands import PilotConfig, Waypoint
from aeroloop.ground.route_offer import DrawnRoute
from aeroloop.planning.route import RoutePoint
from aeroloop.world.earth import Earth

MOST_WAYPOINTS = 400
FASTEST_M_S, SLOWEST_M_S = 30.0, 0.5
"""Speeds that a mission may command."""
ARM_S, BEGIN_S = 6.0, 6.5
"""Simulated times of a pilot's commands: its estimator is aligned by then."""
CLIMB_M_S, RETURN_M_S = 1.0, 3.0
"""Slow ones, for the duration of a flight."""


def mission_points(route: DrawnRoute) -> tuple[RoutePoint, ...]:
    """The route's points, or points along its curve at most `every_m` apart; the speed of each holds on the way from
    it to the next."""
    if not route.every_m:
        return route.points
    count = math.ceil(route.timed.length_m / route.every_m)
    if not 1 <= count < MOST_WAYPOINTS:
        raise ConfigError(
            f"route: every {route.every_m:g} m it has {count + 1} waypoints; expected a distance that gives at most "
            f"{MOST_WAYPOINTS}"
        )
    timed = route.timed
    at_m = np.linspace(0.0, timed.length_m, count + 1)
    places = [np.interp(at_m, timed.s_m, timed.pos_W[:, axis]) for axis in range(3)]
    # Of a leg: the fastest on it, since the autopilot accelerates by itself.
    speeds = [
        float(timed.speed_m_s[(timed.s_m >= a - 1e-9) & (timed.s_m <= b + 1e-9)].max(initial=0.0))
        for a, b in pairwise(at_m)
    ]
    rows = zip(*(column.tolist() for column in places), [*speeds, 0.0], strict=True)
    return tuple(RoutePoint((x, y, z), speed) for x, y, z, speed in rows)


def waypoints(route: DrawnRoute, origin_W: Vec3) -> tuple[Waypoint, ...]:
    """From the vehicle's start. A mission's speed is commanded on the way to a waypoint, a route's from a point on."""
    points = mission_points(route)
    speeds = [0.0, *(point.speed_m_s or route.limits.speed_m_s for point in points[:-1])]
    found, last = [], 0.0
    for point, speed in zip(points, speeds, strict=True):
        x, y, z = (value - origin for value, origin in zip(point.pos_W, origin_W, strict=True))
        commanded = min(max(speed, SLOWEST_M_S), FASTEST_M_S) if speed else 0.0
        changed = 0.0 if abs(commanded - last) < 0.05 else round(commanded, 2)
        last = commanded if changed else last
        found.append(Waypoint(pos_m=(round(x, 3), round(y, 3), round(z, 3)), speed_m_s=changed))
    return tuple(found)


def items(route: DrawnRoute, earth: Earth, origin_W: Vec3) -> tuple[tuple[Item, ...], Vec3]:
    """The mission, from take-off to its ending, and home: latitude, longitude in degrees and height above the sea."""

    def geodetic(pos_m: tuple[float, float, float]) -> tuple[float, float]:
        x, y, z = (value + origin for value, origin in zip(pos_m, origin_W, strict=True))
        lat_deg, lon_deg, _ = earth.geodetic((x, y, z))
        return lat_deg, lon_deg

    config = PilotConfig(waypoints=waypoints(route, origin_W), ending=route.ending)
    return mission(config, geodetic), earth.geodetic(origin_W)


def changes(route: DrawnRoute, origin_W: Vec3, return_m: float = 0.0) -> dict[str, Any]:
    """Keys of a scenario whose pilot uploads the mission, arms and starts it, and which lasts until it is over.
    `return_m`: height of a return."""
    flown = waypoints(route, origin_W)
    highest_m = max(return_m if route.ending == "return" else 0.0, *(point.pos_m[2] for point in flown))
    home_m = math.hypot(*flown[-1].pos_m[:2])
    down_s = 0.0 if route.ending == "hold" else home_m / RETURN_M_S + 2 * highest_m / CLIMB_M_S + 10.0
    duration_s = BEGIN_S + flown[0].pos_m[2] / CLIMB_M_S + 2 * route.timed.duration_s + down_s + 10.0
    standing = [{"metric": "armed_at_end", "equals": 0.0}] if route.ending != "hold" else []
    quiet = [{"metric": metric, "equals": 0.0} for metric in ("failsafes", "commands_refused")]
    return {
        "pilot": {
            "ending": route.ending,
            "waypoints": [_table(point) for point in flown],
            "commands": [{"at_s": ARM_S, "do": "arm"}, {"at_s": BEGIN_S, "do": "mission"}],
        },
        "duration_s": float(math.ceil(duration_s)),
        "checks": [*quiet, *standing],
    }


def _table(point: Waypoint) -> dict[str, Any]:
    speed = {"speed_m_s": point.speed_m_s} if point.speed_m_s else {}
    return {"pos_m": list(point.pos_m), **speed}
