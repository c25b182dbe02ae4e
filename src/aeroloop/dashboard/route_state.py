"""The route of the trajectory page: its points and settings, and what they give. No page is needed for it.

One for each dashboard, shared by all pages, so that a reloaded or second page shows the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aeroloop.core import scenario_files
from aeroloop.core.config import read_toml
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.tables import DEFAULT_FAMILY, family
from aeroloop.flight import route_saving
from aeroloop.flight.route_saving import DEFAULT_BASE, POINTS, Base
from aeroloop.ground import route_files
from aeroloop.ground.route_offer import DrawnRoute, Ending, RouteOffer
from aeroloop.planning.route import LEAST_APART_M, RoutePoint, point_problem
from aeroloop.planning.route_check import Quantity, Violation, quantities
from aeroloop.planning.route_limits import Heading

if TYPE_CHECKING:
    from aeroloop.dashboard.stick_driver import Driver
    from aeroloop.dashboard.watched_flight import WatchedFlight

FOLDER = "trajectories"
"""Beside the runs: where pages save."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,47}", re.ASCII)
MOST_FILES = 200


@dataclass(frozen=True)
class Evaluation:
    """What a route gives: its motion, or why there is none."""

    route: DrawnRoute | None = None
    problem: str = ""
    violations: Sequence[Violation] = ()
    quantities: Sequence[Quantity] = ()


@dataclass
class RouteState:
    """The state of the page; `revision` is incremented with every visible change."""

    folder: Path
    base_name: str = ""
    base: Base | None = None
    refused: str = ""  # why there is no base
    points: list[RoutePoint] = field(default_factory=list)
    fit: bool = True
    heading: Heading = "fixed"
    ending: Ending = "return"
    every_m: float = 0.0
    driver: Driver | None = None  # sends the route to a flight
    revision: int = 0
    _evaluated: tuple[int, Evaluation] | None = None

    def touched(self) -> None:
        self.revision += 1

    @property
    def offer(self) -> RouteOffer[Any] | None:
        return self.base.offer if self.base is not None else None

    def choose(self, name: str) -> None:
        """Draw for the aircraft of a scenario that can be flown by name; the points stay."""
        self.base_name, self.refused = name, ""
        try:
            self.base = Base.of_file(scenario_files.find(name))
            offer = self.base.offer
        except AeroloopError as error:
            self.base, self.refused = None, str(error)
        else:
            self.heading = self.heading if self.heading in offer.headings else offer.headings[0]
        self.touched()

    def new_point(self, east_m: float, north_m: float, height_m: float, speed_m_s: float) -> str:
        """Add one, at a height above the ground below it or in W, as the aircraft takes it; returns why not."""
        if self.base is None or self.offer is None:
            return self.refused or "choose an aircraft first"
        if len(self.points) >= self.offer.counts[1]:
            return f"{self.base.scenario.family.name} takes at most {self.offer.counts[1]} points"
        ground_m = self.offer.space(self.base.scenario).ground_m(east_m, north_m) if self.offer.over_ground else 0.0
        place = round(east_m, 2), round(north_m, 2), round(ground_m + height_m, 2)
        return self._put(len(self.points), RoutePoint(place, speed_m_s))

    def move(self, number: int, east_m: float, north_m: float, up_m: float | None = None) -> str:
        """Returns why not; ignored if there is no such number: another page may have removed it."""
        if not 0 <= number < len(self.points):
            return ""
        old = self.points[number]
        up_m = old.pos_W[2] if up_m is None else up_m
        return self._put(number, old._replace(pos_W=(round(east_m, 2), round(north_m, 2), round(up_m, 2))))

    def change(self, number: int, *, up_m: float | None = None, speed_m_s: float | None = None) -> str:
        if not 0 <= number < len(self.points):
            return ""
        (x, y, z), speed = self.points[number]
        place: Vec3 = (x, y, z if up_m is None else up_m)
        return self._put(number, RoutePoint(place, speed if speed_m_s is None else speed_m_s))

    def _put(self, number: int, point: RoutePoint) -> str:
        space = self.offer.space(self.base.scenario) if self.base is not None and self.offer is not None else None
        problem = point_problem(point, space) or self._coincides(number, point)
        if problem:
            self.touched()  # the page may show the refused value
            return f"point {number + 1}: {problem}"
        self.points[number : number + 1] = [point]
        self.touched()
        return ""

    def _coincides(self, number: int, point: RoutePoint) -> str:
        """With the point before or after it: a curve needs a way between them."""
        for other in (number - 1, number + 1):
            near = 0 <= other < len(self.points) and math.dist(self.points[other].pos_W, point.pos_W) < LEAST_APART_M
            if near:
                return f"point {other + 1} is at the same place"
        return ""

    def remove(self, number: int) -> None:
        if 0 <= number < len(self.points):
            del self.points[number]
            self.touched()

    def clear(self) -> None:
        self.points.clear()
        self.touched()

    def set_speeds(self, speed_m_s: float) -> None:
        self.points = [point._replace(speed_m_s=speed_m_s) for point in self.points]
        self.touched()

    def evaluated(self) -> Evaluation:
        """Computed once for each revision."""
        if self._evaluated is None or self._evaluated[0] != self.revision:
            self._evaluated = self.revision, self._evaluate(self.base)
        return self._evaluated[1]

    def _evaluate(self, base: Base | None) -> Evaluation:
        if base is None:
            return Evaluation(problem=self.refused)
        offer = base.offer
        try:
            route = offer.checked(base.scenario, self._drawn(base))
            if not offer.profiled or len(route.points) < 2:
                return Evaluation(route)
            found = quantities(route.timed, offer.limits(base.scenario), offer.space(base.scenario))
            return Evaluation(route, "", offer.violations(base.scenario, route), found)
        except AeroloopError as error:
            return Evaluation(problem=str(error))

    def _drawn(self, base: Base) -> DrawnRoute:
        limits = base.offer.limits(base.scenario)
        return DrawnRoute(tuple(self.points), limits, self.fit, self.heading, 0.0, self.ending, self.every_m)

    def for_flight(self, base: Base) -> DrawnRoute:
        """The route for the aircraft of a running flight, in its world; ConfigError if it cannot fly it."""
        route = base.offer.checked(base.scenario, self._drawn(base))
        beyond = base.offer.violations(base.scenario, route)
        if beyond:
            raise ConfigError(f"not sent: {beyond[0]}")
        return route

    def save(self, name: str, ending: str) -> list[Path]:
        """ConfigError names what is wrong; files of that name are replaced."""
        if NAME.fullmatch(name) is None:
            raise ConfigError("name: expected up to 48 letters, digits, - and _")
        if self.base is None:
            raise ConfigError(self.refused or "choose an aircraft first")
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{self.folder}: cannot be written: {error.strerror}") from None
        return route_saving.save(self.base, self._drawn(self.base), self.folder / f"{name}{ending}", replace=True)

    def files(self) -> list[str]:
        """Names of the saved routes that can be opened."""
        try:
            found = sorted(path.name for path in self.folder.glob(f"*{POINTS}"))
        except OSError:
            return []
        names = (name.removesuffix(POINTS) for name in found if route_saving.ending_of(name) == POINTS)
        return [name for name in names if NAME.fullmatch(name)][:MOST_FILES]

    def open(self, name: str) -> None:
        """The points of a saved route, in place of the present ones."""
        if name not in self.files():
            raise ConfigError(f"{name}: no such route in {self.folder}")
        points = route_files.read(self.folder / f"{name}{POINTS}")
        self.points = [*points]
        self.touched()


def state_of(watched: WatchedFlight) -> RouteState:
    """The route of this dashboard."""
    state: RouteState | None = watched.route_state
    if state is None:
        state = watched.route_state = RouteState(watched.runs_dir.absolute().parent / FOLDER)
        names = base_names()
        flown = watched.scenario.name if watched.scenario is not None else ""
        first = flown if flown in names else DEFAULT_BASE
        if first in names:
            state.choose(first)
    return state


def base_names() -> list[str]:
    """Scenarios whose family takes routes; read without their checks, which may be slow."""
    return [path.stem for path in scenario_files.available() if _takes_routes(path)]


def _takes_routes(path: Path) -> bool:
    try:
        table = read_toml(path)
        kind = scenario_files.kind_of(table) if "vehicle" in table else DEFAULT_FAMILY
        return "aircraft" not in table and "/" not in kind and bool(family(kind).route)
    except AeroloopError:
        return False


def summary(evaluation: Evaluation) -> str:
    """In one line."""
    route = evaluation.route
    if route is None or not evaluation.quantities:
        return ""
    timed = route.timed
    return f"{len(route.points)} points, {timed.length_m:.1f} m in {timed.duration_s:.1f} s"
