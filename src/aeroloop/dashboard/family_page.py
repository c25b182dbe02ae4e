"""The pages' content for one family of aircraft, as data; nothing else in the dashboard depends on the kind of
aircraft.

A family's row names its `Page` (`core.tables.Family.page`). A family without one gets a generic page: trails of `truth`
and `setpoint`, a box for a shape, charts of its first streams, and no commands.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario
from aeroloop.core.shape import Shape, of_scenario
from aeroloop.core.stream import SETPOINT, Track
from aeroloop.core.tables import DEFAULT_FAMILY, family, flown_by, part
from aeroloop.dashboard.histogram import LATENESS, Timing
from aeroloop.dashboard.link_health import LinkView
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.trails import FINEST_M
from aeroloop.world.earth import Earth

if TYPE_CHECKING:
    from aeroloop.dashboard.stick_driver import Driver
    from aeroloop.dashboard.sticks import Hands
    from aeroloop.dashboard.watched_flight import WatchedFlight
    from aeroloop.ground.route_offer import DrawnRoute

S = TypeVar("S", bound=Scenario)
Charts = list[list[str]]
"""Names of signals, a list for each chart."""
Notice = Callable[[Mapping[str, float], Sequence[float]], tuple[Severity, str] | None]
"""A notice for a row, given the first columns of all rows so far; None for a row that is not shown."""
PLAIN_CHARTS, PLAIN_SIGNALS = 4, 4
"""Default number of charts."""


@dataclass(frozen=True)
class Status:
    """State of an aircraft in words; empty: not applicable."""

    mode: str = ""
    armed: str = ""
    landed: str = ""
    failsafe: str = ""
    battery: float = math.nan  # 0 to 1


class Parameter(Protocol):
    """Description of one of a controller's parameters."""

    @property
    def name(self) -> str: ...
    @property
    def default(self) -> float: ...
    @property
    def minimum(self) -> float: ...
    @property
    def maximum(self) -> float: ...
    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def meaning(self) -> str: ...


@dataclass(frozen=True)
class Commands(Generic[S]):
    """For aircraft whose autopilot accepts MAVLink commands, missions and parameters from the fly page."""

    modes: tuple[str, ...]
    bench_link: str  # name of the router's link that the bench's own programs share
    earth: Callable[[S], Earth]
    start_m: Callable[[S, int], tuple[float, float]]  # start position of an aircraft, east and north
    parameters: Callable[[], Mapping[str, Parameter]]  # by name, as shown in the table
    gains: frozenset[str] = frozenset()  # parameters that are gains of the control law


@dataclass(frozen=True)
class Sticks:
    """For aircraft that can be flown with the fly page's sticks."""

    driver: Callable[[WatchedFlight, Hands, int], Awaitable[Driver]]
    """ConfigError if they cannot be used."""
    modes: tuple[str, ...] = ()  # modes of the autopilot for stick input; none: sticks work at once
    advice: str = ""


@dataclass(frozen=True)
class Page(Generic[S]):
    """The streams of a family's flights that pages show, and the actions available on them."""

    setpoint: Track = SETPOINT
    shape: Callable[[S], Shape] = of_scenario
    status: Callable[[Store, int], Status] = lambda _store, _vehicle: Status()
    rotor_rates: Callable[[Store, int], list[float]] = lambda _store, _vehicle: []  # names for display
    hinges: Callable[[Store, int], tuple[float, ...]] = lambda _store, _vehicle: ()  # in the order of the shape
    tilts: tuple[str, ...] = ()  # names of the hinges, if their angles are shown
    charts: Charts = field(default_factory=list)  # none: from the first streams received
    more_charts: Callable[[S], Charts] = lambda _scenario: []  # of streams that only some of its flights have
    plan: Callable[[S, int], list[Vec3]] = lambda _scenario, _vehicle: []
    """The path of the scenario itself; empty if it is defined elsewhere."""
    told_paths: Callable[[S, Store], Mapping[int, list[Vec3]]] | None = None
    """Paths that the board reports in flight, by their number."""
    trail_m: float = FINEST_M  # least distance between two points of a trail
    attitude: bool = True  # whether it has one: the pilot's instruments show it
    stands: bool = False  # it does not leave its place: the camera does not follow it
    home: bool = True  # flights start at the origin of the world, which is marked
    links: Callable[[S, Store, float], list[LinkView]] = lambda _scenario, _store, _since_s: []
    """The flight's own links, besides those of its router."""
    timing: Callable[[S], Timing] = lambda _scenario: LATENESS
    notices: Mapping[str, Notice] = field(default_factory=dict)
    """Streams whose rows are notices."""
    fly: Callable[[WatchedFlight, S], None] | None = None
    """Its own fly page; the fields below are those of the common one."""
    commands: Commands[S] | None = None
    no_commands: str = "this aircraft takes no commands from this page"
    no_parameters: str = ""
    sticks: Sticks | None = None
    route_driver: Callable[[WatchedFlight, DrawnRoute], Awaitable[Driver]] | None = None
    """Sends a drawn route to its board while it flies; ConfigError if it cannot."""
    map_m_per_px: float = 0.08


PLAIN: Page[Any] = Page()


@dataclass(frozen=True)
class _Loaded:
    name: str
    page: Page[Any]
    problem: str = ""


@cache
def _loaded(kind: str, controller: str = "", rung: str = "") -> _Loaded:
    """Without a rung the row as it is before a controller flies it."""
    try:
        row = family(kind)
        if rung:
            row = row.flown_by(flown_by(row, controller, rung).name)
    except AeroloopError as error:
        return _Loaded(kind, PLAIN, str(error))
    if not row.page:
        return _Loaded(row.name, PLAIN)
    try:
        page = part(row.page)
    except Exception as error:  # any exception of its author's code: flight and pages continue
        return _Loaded(row.name, PLAIN, f"{row.page}: {type(error).__name__}: {error}; a plain page is shown")
    if not isinstance(page, Page):
        return _Loaded(row.name, PLAIN, f"{row.page}: expected a Page, not {type(page).__name__}")
    return _Loaded(row.name, page)


def _of(scenario: Scenario | None) -> _Loaded:
    if scenario is None:
        return _loaded(DEFAULT_FAMILY)
    return _loaded(scenario.kind, scenario.chosen.kind, scenario.loop)


def of(scenario: Scenario) -> Page[Any]:
    """The page of the current family."""
    return _of(scenario).page


def problem(scenario: Scenario) -> str:
    """Why the family's own page cannot be shown; empty if it is."""
    return _of(scenario).problem


def name(scenario: Scenario | None) -> str:
    """The family of the flight; the first in the table if nothing flies."""
    return _of(scenario).name


def charts(scenario: Scenario | None, store: Store) -> Charts:
    """The default charts."""
    page = _of(scenario).page
    if page.charts:
        return [*page.charts, *(page.more_charts(scenario) if scenario is not None else ())]
    by_stream: dict[str, list[str]] = {}
    for signal in store.signals():
        by_stream.setdefault(signal.partition(".")[0], []).append(signal)
    order = sorted(by_stream, key=lambda name: not store.is_steady(name))
    return [by_stream[name][:PLAIN_SIGNALS] for name in order[:PLAIN_CHARTS]]
