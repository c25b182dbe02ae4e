"""The setpoint of a helicopter's flight: a place to hover, a square flown leg by leg, or a route through points.

A leg is a polynomial of fifth degree in time, at rest at both ends; in a corner the helicopter waits, and where the
heading follows the path it turns there by the same polynomial.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple

from aeroloop.core.angles import wrap_pi
from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.ground.config import Route

CORNERS = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
"""East and north, in sides."""
ROUTE_POINTS = 120
"""Of a drawn route."""
PEAK = 1.875
"""Largest slope of the polynomial."""


class Reference(Config, frozen=True):
    """Where to fly."""

    path: Annotated[
        Literal["hover", "square", "route"],
        note("`hover`: stay; `square`: corners to the east and north; `route`: through the points of a file"),
    ] = "hover"
    route: Annotated[Route | None, note('the route, for `path = "route"` only')] = None
    pos_W: Annotated[Vec3, meta("m", "place to hover, or the first corner")] = (0.0, 0.0, 10.0)
    yaw_rad: Annotated[float, meta("rad", "heading, from east to north; of a square: its first", ge=-3.2, le=3.2)] = 0.0
    side_m: Annotated[float, meta("m", "side of the square", gt=0, le=1000)] = 12.0
    leg_s: Annotated[float, meta("s", "time of a leg, from rest to rest", ge=1, le=1000)] = 9.0
    corner_s: Annotated[float, meta("s", "time in a corner", ge=0.5, le=1000)] = 4.0
    start_s: Annotated[float, meta("s", "start of the first leg", ge=0, le=1000)] = 3.0
    heading: Annotated[
        Literal["fixed", "along"], note("`fixed`: as it is at the start; `along`: turns into the next leg in a corner")
    ] = "fixed"
    evaluate_from_s: Annotated[float, meta("s", "errors count from this time", ge=0, le=86400)] = 0.0

    def __post_init__(self) -> None:
        if (self.path == "route") != (self.route is not None):
            raise ValueError('route: expected a table with a file for path = "route", and none for other paths')

    @property
    def speed_max_m_s(self) -> float:
        """On a leg."""
        return PEAK * self.side_m / self.leg_s


class Setpoint(NamedTuple):
    pos_W: Vec3
    vel_W: Vec3
    accel_W: Vec3
    yaw_rad: float
    yaw_rate_rad_s: float


def smooth(t_s: float, lasts_s: float) -> tuple[float, float, float]:
    """From 0 to 1, and its first two derivatives."""
    x = min(max(t_s / lasts_s, 0.0), 1.0)
    rate, change = 30.0 * x * x * (1.0 - x) ** 2, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)
    return x**3 * (10.0 + x * (6.0 * x - 15.0)), rate / lasts_s, change / lasts_s**2


def at(table: Reference, t_s: float) -> Setpoint:
    """At a time of the flight."""
    if table.route is not None:
        return _along(table.route, t_s)
    still = (0.0, 0.0, 0.0)
    if table.path == "hover" or t_s <= table.start_s:
        return Setpoint(table.pos_W, still, still, table.yaw_rad, 0.0)
    leg, into_s = divmod(t_s - table.start_s, table.leg_s + table.corner_s)
    here, there = CORNERS[int(leg) % 4], CORNERS[(int(leg) + 1) % 4]
    east, north = there[0] - here[0], there[1] - here[1]
    way, speed, change = (table.side_m * value for value in smooth(into_s, table.leg_s))
    x, y, z = table.pos_W
    pos_W = x + table.side_m * here[0] + way * east, y + table.side_m * here[1] + way * north, z
    yaw, yaw_rate = table.yaw_rad, 0.0
    if table.heading == "along":
        turn, turn_rate, _ = smooth(into_s - table.leg_s, table.corner_s)
        yaw += math.pi / 2 * (leg + turn)
        yaw_rate = math.pi / 2 * turn_rate
    return Setpoint(
        pos_W,
        (speed * east, speed * north, 0.0),
        (change * east, change * north, 0.0),
        wrap_pi(yaw),
        yaw_rate,
    )


def _along(route: Route, t_s: float) -> Setpoint:
    from aeroloop.ground.route_files import timed_route  # imports scipy, which other paths do not need

    now = timed_route(route).at(t_s - route.start_s)
    x, y, z = (value + offset for value, offset in zip(now.pos_W, route.offset_W, strict=True))
    return Setpoint((x, y, z), now.vel_W, now.accel_W, now.yaw_rad, now.yaw_rate_rad_s)


def corners_W(table: Reference) -> list[Vec3]:
    """The path, closed."""
    x, y, z = table.pos_W
    if table.path == "hover":
        return [table.pos_W]
    if table.route is not None:
        from aeroloop.ground.route_files import timed_route

        lasts_s = table.route.start_s + timed_route(table.route).duration_s
        return [at(table, lasts_s * part / ROUTE_POINTS).pos_W for part in range(ROUTE_POINTS + 1)]
    return [(x + table.side_m * east, y + table.side_m * north, z) for east, north in (*CORNERS, CORNERS[0])]
