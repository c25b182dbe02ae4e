"""Files of routes: the points, `x_m,y_m,z_m` and optionally `speed_m_s`; and the motion along them, for other
programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from aeroloop.ground import waypoints
from aeroloop.ground.config import Route
from aeroloop.planning.route import MOST_POINTS, RoutePoint, checked
from aeroloop.planning.speed_profile import TimedRoute, timed

COLUMNS = ("x_m", "y_m", "z_m", "speed_m_s")
MOTION_COLUMNS = ("t_s", "x_m", "y_m", "z_m", "yaw_rad", "vx_m_s", "vy_m_s", "vz_m_s", "yaw_rate_rad_s")
MOTION_STEP_S = 0.05


def read(path: Path) -> tuple[RoutePoint, ...]:
    """The points of a file, in order; not yet checked against an aircraft and its world."""
    found = []
    for _, (x_m, y_m, z_m, *speed_m_s) in waypoints.rows(path, COLUMNS, most=MOST_POINTS):
        found.append(RoutePoint((x_m, y_m, z_m), speed_m_s[0] if speed_m_s else 0.0))
    return tuple(found)


def points_text(points: Sequence[RoutePoint]) -> str:
    """As `read` reads it: the same numbers."""
    return _table(COLUMNS, ((*point.pos_W, point.speed_m_s) for point in points))


def motion_text(route: TimedRoute) -> str:
    """The motion at even steps of time, and at its end."""
    steps = int(route.duration_s / MOTION_STEP_S)
    times_s = [*(round(MOTION_STEP_S * step, 9) for step in range(steps + 1)), route.duration_s]
    motions = ((t_s, route.at(t_s)) for t_s in times_s)
    return _table(
        MOTION_COLUMNS, ((t_s, *now.pos_W, now.yaw_rad, *now.vel_W, now.yaw_rate_rad_s) for t_s, now in motions)
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[float]]) -> str:
    lines = (",".join(f"{value:.10g}" for value in row) for row in rows)
    return "\n".join((",".join(columns), *lines)) + "\n"


def timed_route(route: Route) -> TimedRoute:
    """The motion of a scenario's route."""
    path = Path(route.file)
    return _timed(checked(read(path), str(path)), route)


@lru_cache(maxsize=8)
def _timed(points: tuple[RoutePoint, ...], route: Route) -> TimedRoute:
    return timed(points, route.limits, fit=route.fit, heading=route.heading, yaw_rad=route.yaw_rad)
