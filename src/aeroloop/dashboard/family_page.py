"""What the pages show of one family of aircraft, as data; nothing else in the dashboard asks which aircraft flies.

A family's row names its `Page` (`core.tables.Family.page`). A family without one gets a plain page: trails of `truth`
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
from aeroloop.core.tables import DEFAULT_FAMILY, family, part
from aeroloop.dashboard import shapes
from aeroloop.dashboard.histogram import LATENESS, Timing
from aeroloop.dashboard.line_health import LineView
from aeroloop.dashboard.shapes import Shape
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.theme import Severity
from aeroloop.world.earth import Earth

if TYPE_CHECKING:
    from aeroloop.dashboard.stick_driver import Driver
    from aeroloop.dashboard.sticks import Hands
    from aeroloop.dashboard.watched_flight import WatchedFlight

S = TypeVar("S", bound=Scenario)
Charts = list[list[str]]
"""Names of signals, a list for each chart."""
Notice = Callable[[Mapping[str, float], Sequence[float]], tuple[Severity, str] | None]
"""A row, and of all rows so far the first column of their own, as a notice; None for a row that says nothing."""
PLAIN_CHARTS, PLAIN_SIGNALS = 4, 4
"""Of a family that names no charts."""


@dataclass(frozen=True)
class Track:
    """A stream of places: columns of east, north and height; a height that is no column stands in the scenario."""

    stream: str
    east: str = "x_m"
    north: str = "y_m"
    height: str = "z_m"


@dataclass(frozen=True)
class Status:
    """What an aircraft does, in words; empty where it does not apply."""

    mode: str = ""
    armed: str = ""
    landed: str = ""
    failsafe: str = ""
    battery: float = math.nan  # 0 to 1


class Parameter(Protocol):
    """What a controller tells of one of its parameters."""

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
    """For aircraft whose autopilot takes MAVLink commands, missions and parameters from the fly page."""

    modes: tuple[str, ...]
    bench_link: str  # name of the router's link that the bench's own programs share
    earth: Callable[[S], Earth]
    start_m: Callable[[S, int], tuple[float, float]]  # where an aircraft stands at first, east and north
    parameters: Callable[[], Mapping[str, Parameter]]  # by name, as the table shows them
    gains: frozenset[str] = frozenset()  # parameters that are gains of the control law


@dataclass(frozen=True)
class Sticks:
    """For aircraft that the fly page's sticks can fly."""

    driver: Callable[[WatchedFlight, Hands, int], Awaitable[Driver]]
    """ConfigError where they cannot drive."""
    modes: tuple[str, ...] = ()  # of the autopilot, in which sticks fly; none: sticks fly at once
    advice: str = ""


@dataclass(frozen=True)
class Page(Generic[S]):
    """Where the flights of a family keep what the pages show, and what a person can do to them."""

    setpoint: Track = Track("setpoint")
    shape: Callable[[S], Shape] = lambda _scenario: shapes.box()
    status: Callable[[Store, int], Status] = lambda _store, _vehicle: Status()
    rotor_rates: Callable[[Store, int], list[float]] = lambda _store, _vehicle: []  # as they are shown
    hinges: Callable[[Store, int], tuple[float, ...]] = lambda _store, _vehicle: ()  # in the order of the shape
    tilts: tuple[str, ...] = ()  # names of the hinges, where their angles are worth a line of numbers
    charts: Charts = field(default_factory=list)  # none: of the first streams that come
    plan: Callable[[S, int], list[Vec3]] = lambda _scenario, _vehicle: []
    """The path that the scenario itself asks for; empty where somebody outside decides."""
    told_paths: Callable[[S, Store], Mapping[int, list[Vec3]]] | None = None
    """Paths that the board tells of as it flies, by their number."""
    home: bool = True  # flights begin at the origin of the world, which is worth marking
    links: Callable[[S, Store, float], list[LineView]] = lambda _scenario, _store, _since_s: []
    """The flight's own links, beside those of its router."""
    timing: Callable[[S], Timing] = lambda _scenario: LATENESS
    notices: Mapping[str, Notice] = field(default_factory=dict)
    """Streams whose rows are notices themselves."""
    fly: Callable[[WatchedFlight, S], None] | None = None
    """A fly page of its own; the fields below are those of the common one."""
    commands: Commands[S] | None = None
    no_commands: str = "this aircraft takes no commands from this page"
    no_parameters: str = ""
    sticks: Sticks | None = None
    map_m_per_px: float = 0.08


TRUTH = Track("truth")
PLAIN: Page[Any] = Page()


@dataclass(frozen=True)
class _Loaded:
    name: str
    page: Page[Any]
    problem: str = ""


@cache
def _loaded(kind: str) -> _Loaded:
    try:
        row = family(kind)
    except AeroloopError as error:
        return _Loaded(kind, PLAIN, str(error))
    if not row.page:
        return _Loaded(row.name, PLAIN)
    try:
        page = part(row.page)
    except Exception as error:  # whatever its author's code raises: the flight goes on, and so do the pages
        return _Loaded(row.name, PLAIN, f"{row.page}: {type(error).__name__}: {error}; a plain page is shown")
    if not isinstance(page, Page):
        return _Loaded(row.name, PLAIN, f"{row.page}: expected a Page, not {type(page).__name__}")
    return _Loaded(row.name, page)


def _of(scenario: Scenario | None) -> _Loaded:
    return _loaded(scenario.kind if scenario is not None else DEFAULT_FAMILY)


def of(scenario: Scenario) -> Page[Any]:
    """Of the family that flies."""
    return _of(scenario).page


def problem(scenario: Scenario) -> str:
    """Why the family's own page cannot be shown; empty if it is."""
    return _of(scenario).problem


def name(scenario: Scenario | None) -> str:
    """Of the family; of the first in the table while nothing flies."""
    return _of(scenario).name


def charts(scenario: Scenario | None, store: Store) -> Charts:
    """To begin with."""
    named = _of(scenario).page.charts
    if named:
        return named
    by_stream: dict[str, list[str]] = {}
    for signal in store.signals():
        by_stream.setdefault(signal.partition(".")[0], []).append(signal)
    order = sorted(by_stream, key=lambda name: not store.is_steady(name))
    return [by_stream[name][:PLAIN_SIGNALS] for name in order[:PLAIN_CHARTS]]
