"""What the trajectory creator needs to know of an aircraft: its limits, its world, and the form in which it takes a
route. A family's row names its `RouteOffer` (`core.tables.Family.route`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import msgspec

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.tables import part
from aeroloop.ground.missions import Item
from aeroloop.ground.trajectories import FADE_M_S, SHORTEST_FADE_S
from aeroloop.planning.route import MOST_POINTS, RoutePoint, Space, checked
from aeroloop.planning.route_check import Violation, violations
from aeroloop.planning.route_limits import Heading, Limits
from aeroloop.planning.speed_profile import TimedRoute, timed
from aeroloop.world.relief import of_config

S = TypeVar("S", bound=Scenario)
Ending = Literal["return", "land", "hold"]


@dataclass(frozen=True)
class DrawnRoute:
    """A route and how it is flown."""

    points: tuple[RoutePoint, ...]
    limits: Limits
    fit: bool = True
    heading: Heading = "fixed"
    yaw_rad: float = 0.0
    ending: Ending = "return"  # what follows a mission
    every_m: float = 0.0  # distance of a mission's points along the curve; 0: the route's points alone

    @cached_property
    def timed(self) -> TimedRoute:
        """ConfigError if there is no curve through the points."""
        return timed(self.points, self.limits, fit=self.fit, heading=self.heading, yaw_rad=self.yaw_rad)

    def trajectory(self, file: str, start_s: float) -> dict[str, Any]:
        """The table `ground.trajectory` of a scenario that flies it; `file` has the points."""
        fixed = {"heading": self.heading} if self.heading == "along" else {"yaw_rad": self.yaw_rad}
        limits = msgspec.to_builtins(self.limits)
        return {"kind": "route", "file": file, "fit": self.fit, **fixed, "start_s": start_s, "limits": limits}


@dataclass(frozen=True)
class RouteOffer(Generic[S]):
    """The part of a family's row for the trajectory creator."""

    limits: Callable[[S], Limits]
    space: Callable[[S], Space]
    changes: Callable[[S, DrawnRoute, str], Mapping[str, Any]]
    """(scenario, route, name of the file with its points) -> keys of the scenario that flies it; None removes one."""
    start_W: Callable[[S], Vec3 | None] = lambda _scenario: None
    """Where the aircraft is before the route begins; None: at its first point."""
    cruise_m_s: Callable[[S], float] = lambda _scenario: 1.0  # speed of a new point
    height_m: Callable[[S], float] = lambda _scenario: 2.0  # of a new point
    over_ground: bool = True  # whether that is above the ground below it: else z of W
    extent_m: float = 12.0  # half width of a map without points
    mission: Callable[[S, DrawnRoute], tuple[tuple[Item, ...], Vec3]] | None = None
    """As mission items, and home; None: it takes no missions."""
    counts: tuple[int, int] = (2, MOST_POINTS)  # least and largest number of points
    profiled: bool = True  # whether it flies the curve with its speeds: else only the points count
    headings: tuple[Heading, ...] = ("fixed", "along")
    takes: str = "a path"

    def checked(self, scenario: S, route: DrawnRoute, where: str = "route") -> DrawnRoute:
        """ConfigError names the first point that cannot be flown."""
        least, most = self.counts
        if not least <= len(route.points) <= most:
            expected = f"{least} to {most} points" if most > least else f"{least}"
            raise ConfigError(f"{where}: {scenario.family.name} takes {expected}, not {len(route.points)}")
        if route.heading not in self.headings:
            raise ConfigError(f"{where}: heading: expected {' or '.join(self.headings)}, not {route.heading}")
        checked(route.points, where, self.space(scenario), least=least)
        return route

    def violations(self, scenario: S, route: DrawnRoute) -> list[Violation]:
        """Where it is beyond the aircraft's limits, whatever those that it was drawn with."""
        if not self.profiled or len(route.points) < 2:
            return []
        return violations(route.timed, self.limits(scenario), self.space(scenario))


def of_scenario(scenario: Scenario) -> RouteOffer[Any]:
    """What the aircraft of a scenario takes; ConfigError if it takes no routes."""
    reference = scenario.family.route
    if not reference:
        raise ConfigError(f"{scenario.name}: {scenario.family.name} takes no trajectory: its path is in its scenario")
    offer = part(reference)
    if not isinstance(offer, RouteOffer):
        raise ConfigError(f"{reference}: expected a ground.route_offer.RouteOffer, not {type(offer).__name__}")
    return offer


def space_of(scenario: Scenario, clearance_m: float, bound_m: float | None = None) -> Space:
    """The world of a scenario with `world.terrain`."""
    bound = float(value_at(scenario, "world.bound_m")) if bound_m is None else bound_m
    return Space(of_config(value_at(scenario, "world.terrain")).height_m, clearance_m, bound)


def joining_s(distance_m: float) -> float:
    """Rest at the first point, for an aircraft that hovers so far from it: until it is there."""
    return max(SHORTEST_FADE_S, distance_m / FADE_M_S)
