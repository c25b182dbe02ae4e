"""Where a timed route is beyond the limits of its aircraft or of the world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aeroloop.planning.route import Space
from aeroloop.planning.route_limits import Limits
from aeroloop.planning.speed_profile import TimedRoute
from aeroloop.planning.spline import Array

TOLERANCE = 0.02
"""Fraction beyond a limit that does not count: the curve is known at its nodes."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is compared with a limit, along the route."""

    name: str
    unit: str
    values: Array  # (n,) at the nodes
    limit: float
    at_least: bool = False  # whether the limit is the least

    @property
    def beyond(self) -> Array:
        """(n,) True where the limit does not hold."""
        spare = TOLERANCE * abs(self.limit)
        return np.asarray(self.values < self.limit - spare if self.at_least else self.values > self.limit + spare)

    @property
    def worst(self) -> float:
        return float(self.values.min() if self.at_least else self.values.max())


@dataclass(frozen=True, slots=True)
class Violation:
    """A part of the route where a quantity is beyond its limit."""

    name: str
    unit: str
    worst: float
    limit: float
    from_s: float
    to_s: float
    point: int  # number of the point before the worst place, from 1

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.worst:.2f} {self.unit} after point {self.point}, from {self.from_s:.1f} to "
            f"{self.to_s:.1f} s; the limit is {self.limit:g} {self.unit}"
        )


def quantities(route: TimedRoute, limits: Limits, space: Space | None = None) -> tuple[Quantity, ...]:
    """Speeds, accelerations, and the distances to the ground and to the world's bound."""
    vel_W = route.vel_W
    sides = route.accel_W, route.accel_before_W
    found = [
        Quantity("speed", "m/s", np.hypot(vel_W[:, 0], vel_W[:, 1]), limits.speed_m_s),
        Quantity("climb", "m/s", vel_W[:, 2], limits.climb_m_s),
        Quantity("sink", "m/s", -vel_W[:, 2], limits.sink_m_s),
        Quantity("acceleration", "m/s2", np.maximum(*(np.hypot(a[:, 0], a[:, 1]) for a in sides)), limits.accel_m_s2),
        Quantity(
            "vertical acceleration", "m/s2", np.maximum(*(abs(a[:, 2]) for a in sides)), limits.vertical_accel_m_s2
        ),
    ]
    if space is not None:
        height_m = np.array([z - space.ground_m(float(x), float(y)) for x, y, z in route.pos_W])
        found += [
            Quantity("height above ground", "m", height_m, space.clearance_m, at_least=True),
            Quantity("distance from the origin", "m", np.linalg.norm(route.pos_W, axis=1), space.bound_m),
        ]
    return tuple(found)


def violations(route: TimedRoute, limits: Limits, space: Space | None = None) -> list[Violation]:
    """In the order of the quantities, then of time."""
    return [each for quantity in quantities(route, limits, space) for each in _of(route, quantity)]


def _of(route: TimedRoute, quantity: Quantity) -> list[Violation]:
    beyond = np.concatenate([[False], quantity.beyond, [False]])
    first, after = np.nonzero(~beyond[:-1] & beyond[1:])[0], np.nonzero(beyond[:-1] & ~beyond[1:])[0]
    found = []
    for begin, end in zip(first.tolist(), after.tolist(), strict=True):
        values = quantity.values[begin:end]
        worst = begin + int(values.argmin() if quantity.at_least else values.argmax())
        found.append(
            Violation(
                quantity.name,
                quantity.unit,
                float(quantity.values[worst]),
                quantity.limit,
                float(route.t_s[begin]),
                float(route.t_s[end - 1]),
                int(route.leg[worst]) + 1,
            )
        )
    return found
