"""The two tables of the bench: families of aircraft, and kinds of controllers. Nothing else asks which of them flies.

A row names everything that a family or controller brings along as "module:name", so that a row costs no import until
its flight, report or page asks for that part. A family comes from this table, from a package that registers the entry
point `aeroloop.families`, or from a folder with a `family.py` that defines ROW.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from aeroloop.core.errors import AeroloopError, ConfigError

FAMILIES: Mapping[str, str] = {
    "tiltrotor": "aeroloop.families.tiltrotor.family:ROW",
    "quadrotor": "aeroloop.families.multirotor.family:ROW",
    "fixedwing": "aeroloop.families.fixedwing.family:ROW",
}
"""By `vehicle.kind`; a scenario that does not say flies the first."""
DEFAULT_FAMILY = next(iter(FAMILIES))
ENTRY_POINTS = "aeroloop.families"
FAMILY_FILE = "family.py"
OURS = "aeroloop."
MEMORY = "memory://"
"""The link of a controller in the plant's own process."""
LACKING = {"pil": "no firmware image", "hil": "no board outside"}
"""What flies an aircraft on a rung, where nothing does."""


@dataclass(frozen=True)
class Family:
    """A kind of aircraft; every field but the name is "module:name"."""

    name: str
    tables: str  # struct of its TOML tables, a core.scenario.FamilyTables
    streams: str  # tuple of core.stream.Stream, in the order of the log's hash
    vehicle: str  # (scenario, number, publish) -> sim.vehicle.Vehicle
    controllers: Mapping[str, str]  # which controllers fly it, and their rows; a rung's own is the first that has it
    check: str = ""  # (scenario): ConfigError says why it cannot be flown, where that takes too long to ask at loading
    analysis: str = ""  # analysis.family.Analysis: numbers, events, tracks; without it the generic ones serve
    sections: str = ""  # (scenario, log, summary) -> analysis.section.Section, of its report; without it all signals
    page: str = ""  # dashboard.family_page.Page: what the dashboard shows of it; without it the plain page serves
    faults: str = ""  # function of its scenario -> core.fault_offers.Offer, those that can be switched in flight
    # What controllers ask of it (`offered`); a family has what its own need.
    law: str = ""  # (scenario, ...) -> what its board runs, as the row in `controllers.law.rows` says
    command_bounds: str = ""  # () -> protocols.plausible.Bounds of a command
    image: str = ""  # (scenario) -> codegen.images.Generated, and the name of the image to build from it
    mission: str = ""  # (scenario) -> exchanges.board_period.Errand
    airframe: str = ""  # (scenario) -> controllers.pixhawk.flight_law.Airframe


@dataclass(frozen=True)
class Role:
    """A process of a flight: `main` is its module, run with the flight's launch settings."""

    name: str
    main: str
    peers: tuple[str, ...] = ()  # it shares a baton with in lockstep
    vital: bool = True  # whether a flight ends with it


@dataclass(frozen=True)
class Controller:
    """A kind of controller; every field but the name and flags is "module:name"."""

    name: str
    tables: str  # struct of its TOML tables, a core.scenario.ControllerTables
    rungs: Mapping[str, str]  # rung -> its link where a scenario names none; empty where it must name one
    roles: str  # (scenario) -> its processes, in the order in which their links open
    launch: str  # (scenario, folder of the flight) -> its part of the launch settings; ConfigError says why not
    exchange: str  # (flight.seat.Seat) -> sim.exchange.Exchange, in the plant's process
    inline: str = ""  # the same with the controller in the plant's process (`memory://`) -> flight.seat.Inlined
    needs: str = ""  # (scenario) -> what the vehicle lacks for it or what does not fit, in one sentence; "" if it fits
    paced_links: Mapping[str, str] = field(default_factory=dict)  # as `rungs`, where another link serves at a wall pace
    own_clock: tuple[str, ...] = ()  # rungs on which it keeps its own time, so that it cannot fly in lockstep
    takes_law: bool = False  # whether it flies a control law from a file (`--law`)
    shares_core: bool = True  # in lockstep it takes turns with the plant, so that one core serves both best

    def link(self, rung: str, *, lockstep: bool) -> str:
        """Where a scenario names none; empty where it must."""
        return self.rungs[rung] if lockstep else self.paced_links.get(rung, self.rungs[rung])


def part(reference: str) -> Any:
    """What a row names as "module:name"; ConfigError where the code of a family outside the package fails."""
    with _one_sentence(reference):
        return _imported(reference)


def made(reference: str, *arguments: Any) -> Any:
    """What the function gives that a row names; ConfigError as for `part`."""
    function = part(reference)
    with _one_sentence(reference):
        return function(*arguments)


def offered(kind: str, name: str, *arguments: Any) -> Any:
    """What a part of a family's row gives that a controller asks for; ConfigError where the family has none."""
    row = family(kind)
    reference: str = getattr(row, name)
    if not reference:
        raise ConfigError(f'{row.name}: its row names no {name}; expected {name}="module:function" in its family.py')
    return made(reference, *arguments)


@contextmanager
def _one_sentence(reference: str) -> Iterator[None]:
    """Whatever the author's code raises outside the package; ours has no such excuse."""
    try:
        yield
    except Exception as error:
        if isinstance(error, AeroloopError) or reference.startswith(OURS):
            raise
        raise ConfigError(f"vehicle.kind: {reference}: {type(error).__name__}: {error}") from error


def _imported(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def flown_by(row: Family, kind: str, rung: str) -> Controller:
    """The controller of this kind, or without one the family's own on this rung; ConfigError names those that exist."""
    rows = {name: _controller(row, name) for name in row.controllers}
    cells = "; ".join(f"{name}: {', '.join(found.rungs)}" for name, found in rows.items())
    if kind and kind not in rows:
        raise ConfigError(
            f"controller.kind: no {kind!r} flies {row.name}; expected one of: {', '.join(rows)} ({cells})"
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
    """The row of a family, by its name or by the path of its folder; ConfigError names those that exist."""
    if kind in FAMILIES:
        row = part(FAMILIES[kind])
    elif "/" in kind:
        row = _from_folder(Path(kind))
    else:
        installed = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if kind not in installed:
            known = ", ".join([*FAMILIES, *sorted(installed)])
            raise ConfigError(
                f"vehicle.kind: unknown {kind!r}, expected one of: {known}; or a folder with {FAMILY_FILE}"
            )
        row = installed[kind].load()
    if not isinstance(row, Family):
        raise ConfigError(f"vehicle.kind: {kind}: expected a core.tables.Family as its row, not {type(row).__name__}")
    return row


def _from_folder(folder: Path) -> Any:
    """Its modules import one another as `NAME.module`, where NAME is the folder's; every process finds them so."""
    folder = folder.resolve()
    if not (folder / FAMILY_FILE).is_file():
        raise ConfigError(f"vehicle.kind: {folder}: expected a folder with {FAMILY_FILE}")
    if folder.name in FAMILIES or (importlib.util.find_spec(folder.name) and folder.name not in sys.modules):
        raise ConfigError(f"vehicle.kind: {folder}: the name {folder.name} is taken; rename the folder")
    if str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))
    try:
        return _imported(f"{folder.name}.family:ROW")
    except ConfigError:
        raise
    except Exception as error:  # whatever its author's code raises
        raise ConfigError(f"vehicle.kind: {folder / FAMILY_FILE}: {type(error).__name__}: {error}") from None
