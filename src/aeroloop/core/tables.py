"""The two tables of the bench: families of aircraft, and kinds of controllers. No other code depends on which of them
is used.

A row names each part of a family or controller as "module:name"; the part is imported only when a flight, report or
page uses it. A family comes from this table, from a package that registers the entry point `aeroloop.families`, or from
a folder with a `family.py` that defines ROW.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from aeroloop.core import trust
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.suggest import did_you_mean
from aeroloop.core.user_code import place, reason

FAMILIES: Mapping[str, str] = {
    "tiltrotor": "aeroloop.families.tiltrotor.family:ROW",
    "quadrotor": "aeroloop.families.multirotor.family:ROW",
    "multirotor": "aeroloop.families.multirotor.family:ROW",
    "fixedwing": "aeroloop.families.fixedwing.family:ROW",
    "helicopter": "aeroloop.families.helicopter.family:ROW",
    "rrr": "aeroloop.families.rrr.family:ROW",
    "freebody": "aeroloop.families.freebody.family:ROW",
}
"""By `vehicle.kind`; the first is the default. A multirotor has two names."""
DEFAULT_FAMILY = next(iter(FAMILIES))
ENTRY_POINTS = "aeroloop.families"
FAMILY_FILE = "family.py"
OURS = "aeroloop."
MEMORY = "memory://"
"""The link of a controller in the plant's own process."""
LACKING = {"pil": "no firmware image", "hil": "no external board"}
"""Reason why nothing flies an aircraft on a rung."""


@dataclass(frozen=True)
class Family:
    """A kind of aircraft; every field except the name and numbers is "module:name"."""

    name: str
    tables: str  # struct of its TOML tables, a core.scenario.FamilyTables
    streams: str  # tuple of core.stream.Stream, in the order of the log's hash
    vehicle: str  # (scenario, number, publish) -> sim.vehicle.Vehicle
    controllers: Mapping[str, str]  # its controllers and their rows; the default on a rung is the first that has it
    each: str = ""  # (scenario, number) -> the scenario of this one of several aircraft, with its own random streams
    check: str = ""  # (scenario): raises ConfigError if it cannot be flown, for checks that are too slow at loading
    analysis: str = ""  # analysis.family.Analysis: numbers, events, tracks; default: the generic ones
    sections: str = ""  # (scenario, log, summary) -> analysis.section.Section of its report; default: all signals
    view: str = ""  # (scenario) -> core.view.ShownEffort, for programs that show the flight; default: no actuators
    shape: str = ""  # (scenario) -> core.shape.Shape, for 3D views; default: a box
    setpoint: str = ""  # core.stream.Track of the setpoint; default: the stream `setpoint`
    balance: str = ""  # core.stream.Stream that its vehicle writes with `log.balance`; default: it cannot
    page: str = ""  # dashboard.family_page.Page: its part of the dashboard; default: the generic page
    faults: str = ""  # (scenario) -> core.fault_offers.Offer, those that can be switched in flight
    changes: str = ""  # (scenario) -> core.changes.ChangeOffer, quantities that can be set in flight
    importer: str = ""  # cad.imported.Importer: writes its airframes from CAD files; default: it has none
    first_flight: str = ""  # core.first_flight.FirstFlight: what `aeroloop new` writes; default: nothing
    route: str = ""  # ground.route_offer.RouteOffer: takes paths of the trajectory creator; default: it takes none
    mavlink_type: int = 0  # MAV_TYPE in the heartbeat of our boards; 0: generic
    # Parts that controllers require (`offered`); a family has those of its own controllers.
    law: str = ""  # (scenario, ...) -> the program of its board, see the row in `controllers.law.rows`
    design: str = ""  # (scenario) -> what a law of a file is given of it (`design.aircraft`); default: None
    command_bounds: str = ""  # () -> protocols.plausible.Bounds of a command
    image: str = ""  # (scenario) -> codegen.images.Generated, and the name of the image to build from it
    mission: str = ""  # (scenario) -> exchanges.board_period.MissionRequest
    operator: str = ""  # (scenario) -> core.operator.Console: user commands to its board; default: it takes none
    airframe: str = ""  # (scenario) -> controllers.pixhawk.flight_law.Airframe
    pulses: str = ""  # (scenario) -> protocols.servo_pulses.PulseMap, from an autopilot's servo channels to a command
    outputs: str = ""  # (scenario) -> exchanges.mavlink_hil.Outputs; without it each motor of the airframe is a channel
    batch: str = ""  # (scenario) -> batch.flights.Plan: its loop as one generated program; default: no batch flies it
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # fields that differ, by controller

    def flown_by(self, controller: str) -> Family:
        """The row as it holds for flights with this controller."""
        changes: dict[str, Any] = dict(self.variants.get(controller, {}))
        return replace(self, **changes) if changes else self


@dataclass(frozen=True)
class Role:
    """A process of a flight: `main` is its module, run with the flight's launch settings."""

    name: str
    main: str
    peers: tuple[str, ...] = ()  # shares a baton with this process, for the case that one waits for the other
    vital: bool = True  # whether the flight ends with it
    without: str = "telemetry and ground commands"  # what a flight lacks after it, if it is not vital
    environment: tuple[tuple[str, str], ...] = ()  # variables of its own
    holds_link: bool = False  # it ends after the recorder: an autopilot whose link has ended may take every core
    ends_by_recorder: bool = False  # the recorder tells it that no more rows come, and waits for it
    restarts: int = 0  # how often it is started again when it ends in flight


@dataclass(frozen=True)
class Controller:
    """A kind of controller; every field except the name and flags is "module:name"."""

    name: str
    tables: str  # struct of its TOML tables, a core.scenario.ControllerTables
    rungs: Mapping[str, str]  # rung -> its default link; empty: the scenario must name one
    roles: str  # (scenario) -> its processes, in the order in which their links open
    launch: str  # (scenario, folder of the flight) -> its part of the launch settings; raises ConfigError
    exchange: str  # (flight.exchange_context.ExchangeContext) -> sim.exchange.Exchange, in the plant's process
    # The same with the controller in the plant's process (`memory://`) -> flight.exchange_context.Inlined.
    inline: str = ""
    needs: str = ""  # (scenario) -> what does not match between vehicle and controller, in one sentence; "": nothing
    # As `rungs`, if the default link differs at a wall-clock pace.
    paced_links: Mapping[str, str] = field(default_factory=dict)
    own_clock: tuple[str, ...] = ()  # rungs on which it has its own clock, so that it cannot fly in lockstep
    fixed_speed: tuple[str, ...] = ()  # rungs on which its clock runs in real time unless it flies in lockstep
    sections: str = ""  # (scenario, log, summary) -> analysis.section.Section of the report, after its family's
    metrics: str = ""  # (scenario, log) -> its metrics of a flight, besides its family's
    law_key: str = ""  # key of a control law from a file (`--law`); empty: it flies none
    firmware: str = ""  # (scenario) -> codegen.images.Generated, and the name of the image of its pace on the emulator
    faults: str = ""  # (scenario) -> core.fault_offers.Offer of its boards, which its exchange switches
    tasks: str = ""  # tuple of core.signals.Task, of its firmware, by their numbers in the stream `task`
    streams: str = ""  # tuple of core.stream.Stream that it adds to those of its aircraft
    # Its processes fly all aircraft of a scenario; otherwise each is a part of a fleet (Family.each).
    several: bool = False
    tells: bool = False  # its boards report over their link on every rung, and the plant writes their streams
    external: bool = False  # it runs outside the bench: its reports are logged, and are not part of the log's hash
    companions: bool = False  # it takes MAVLink of a companion computer
    shares_core: bool = True  # in lockstep it alternates with the plant, so that both share one core

    def link(self, rung: str, *, lockstep: bool) -> str:
        """Default link of a rung; empty: the scenario must name one."""
        return self.rungs[rung] if lockstep else self.paced_links.get(rung, self.rungs[rung])


def part(reference: str) -> Any:
    """The object that a row names as "module:name"; ConfigError if the code of an external family fails."""
    with in_one_sentence(reference):
        return _imported(reference)


def made(reference: str, *arguments: Any) -> Any:
    """The result of the function that a row names; ConfigError as for `part`."""
    function = part(reference)
    with in_one_sentence(reference):
        return function(*arguments)


def offered(kind: str, name: str, *arguments: Any) -> Any:
    """The result of a part of a family's row that a controller requires; ConfigError if the family has none."""
    row = family(kind)
    reference: str = getattr(row, name)
    if not reference:
        raise ConfigError(f'{row.name}: its row names no {name}; expected {name}="module:function" in its family.py')
    return made(reference, *arguments)


@contextmanager
def in_one_sentence(reference: str) -> Iterator[None]:
    """Converts an exception in the code of an external row to a ConfigError with file and line."""
    try:
        yield
    except Exception as error:
        if isinstance(error, AeroloopError) or reference.startswith(OURS):
            raise
        raise _attributed(reference, reference, error) from error


@contextmanager
def calling(references: Iterable[str]) -> Iterator[None]:
    """The same for our own code that calls that of several rows: exceptions of our own code are not converted."""
    try:
        yield
    except Exception as error:
        outside = () if isinstance(error, AeroloopError) else references
        for reference in outside:
            if not reference.startswith(OURS) and _place(reference, error):
                attributed = _attributed(reference, reference, error)
                attributed.root_cause = True  # the other processes report a closed link
                raise attributed from error
        raise


def _attributed(what: str, reference: str, error: Exception) -> ConfigError:
    where = _place(reference, error)
    return ConfigError(f"vehicle.kind: {what}: {f'{where}: ' if where else ''}{reason(error)}")


def _place(reference: str, error: Exception) -> str:
    """File and line in the package of a row's part; empty if the exception did not pass through it."""
    package = reference.partition(":")[0].partition(".")[0]
    return place(error, lambda frame: str(frame.f_globals.get("__name__", "")).partition(".")[0] == package)


def _imported(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def flown_by(row: Family, kind: str, rung: str) -> Controller:
    """The controller of this kind, or the family's default on this rung; ConfigError lists those that exist."""
    rows = {name: _controller(row, name) for name in row.controllers}
    cells = "; ".join(f"{name}: {', '.join(found.rungs)}" for name, found in rows.items())
    if kind and kind not in rows:
        like = did_you_mean(kind, rows)
        raise ConfigError(
            f"controller.kind: no {kind!r}{like} flies {row.name}; expected one of: {', '.join(rows)} ({cells})"
        )
    able = [rows[kind]] if kind else list(rows.values())
    for found in able:
        if rung in found.rungs:
            return found
    *others, last = dict.fromkeys(rung for found in able for rung in found.rungs)
    expected = f"{', '.join(others)} or {last}" if others else last
    nobody = f"no {kind} on {rung}" if kind else LACKING.get(rung, "no controller")
    raise ConfigError(f"loop: {nobody} flies this aircraft yet; expected {expected} ({row.name} has {cells})")


def _controller(row: Family, name: str) -> Controller:
    try:
        found = part(row.controllers[name])
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{row.name}: controllers: {name}: {error}") from None
    if not isinstance(found, Controller):
        raise ConfigError(f"{row.name}: controllers: {name}: expected a Controller, not {type(found).__name__}")
    return found


@cache
def family(kind: str) -> Family:
    """The row of a family, by name or by the path of its folder; ConfigError lists those that exist."""
    if kind in FAMILIES:
        row = part(FAMILIES[kind])
    elif "/" in kind:
        row = _from_folder(Path(kind))
    else:
        installed = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if kind not in installed:
            known = ", ".join([*FAMILIES, *sorted(installed)])
            like = did_you_mean(kind, (*FAMILIES, *installed))
            raise ConfigError(
                f"vehicle.kind: unknown {kind!r}{like}, expected one of: {known}; or a folder with {FAMILY_FILE}"
            )
        with in_one_sentence(installed[kind].value):
            row = installed[kind].load()
    if not isinstance(row, Family):
        raise ConfigError(f"vehicle.kind: {kind}: expected a core.tables.Family as its row, not {type(row).__name__}")
    return row


def _taken(folder: Path) -> bool:
    """Whether its name would import another module."""
    if folder.name in FAMILIES:
        return True
    found = importlib.util.find_spec(folder.name)
    return found is not None and next(iter(found.submodule_search_locations or ()), None) != str(folder)


def _from_folder(folder: Path) -> Any:
    """Its modules import each other as `NAME.module`, where NAME is the folder's; this works in every process."""
    folder = folder.resolve()
    if not (folder / FAMILY_FILE).is_file():
        raise ConfigError(f"vehicle.kind: {folder}: expected a folder with {FAMILY_FILE}")
    trust.check(folder, "vehicle.kind")
    if _taken(folder):
        raise ConfigError(f"vehicle.kind: {folder}: the name {folder.name} is taken; rename the folder")
    if str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))
    try:
        return _imported(f"{folder.name}.family:ROW")
    except ConfigError:
        raise
    except Exception as error:  # any exception of its author's code
        raise _attributed(str(folder), f"{folder.name}.family:ROW", error) from None
