"""A scenario as frozen structs: keys common to all flights, the tables of its aircraft's family, and those of its
controller.

Its TOML file is flat: each top-level key has one owner, and the loader (`core/scenario_files.py`) splits them.
`docs/scenario.md` is generated from these types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, Protocol, Self

import msgspec
from msgspec import Meta, Struct
from typing_extensions import TypeVar

from aeroloop.core import companion
from aeroloop.core.balance_streams import LogTable
from aeroloop.core.camera import Camera, lacking
from aeroloop.core.changes import PlannedChange
from aeroloop.core.companion import Landing, Pad, Slam
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import BOARD, LINE_TARGETS, PlannedFault, overlap
from aeroloop.core.impairment import Impairment
from aeroloop.core.noise_source import NoiseSource
from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream
from aeroloop.core.tables import MEMORY, Controller, Family, family, flown_by, made
from aeroloop.core.view import View

Rung = Literal["mil", "sil", "pil", "hil"]
SPEED = re.compile(r"^(\d+(?:\.\d+)?)x$")


class Link(Config, frozen=True):
    """The link between plant and board."""

    url: Annotated[
        str,
        note(
            "`loopback://`, `pty:///path`, `serial:///dev/x?baud=n`, `udp://h:p` or `tcp://h:p`; `memory://`: in "
            "lockstep the controller, or on pil what drives the emulator, in the plant's own process; empty for the "
            "rung's own: loopback for mil, TCP on a free port for sil; in lockstep memory for pil and for the virtual "
            "Pixhawk on mil; a pty for a tilt-rotor's pil in real time; for PX4 `tcp://127.0.0.1:4560?listen`"
        ),
    ] = ""
    to_plant: Annotated[Impairment, note("impairment on the way from board to plant")] = Impairment()
    to_board: Annotated[Impairment, note("impairment on the way from plant to board")] = Impairment()
    silence_s: Annotated[
        float, meta("s", "a tilt-rotor's board silent for this long in real time has failed", gt=0, le=60)
    ] = 1.0
    start_timeout_s: Annotated[
        float, meta("s", "wall time in which the board must send its start message", gt=0, le=3600)
    ] = 15.0


class Check(Config, frozen=True):
    """One pass/fail criterion: a metric of `summary.json` and its limit."""

    metric: Annotated[str, note("name of a metric in `summary.json`")]
    below: Annotated[float | None, meta("of the metric", "must be less than this")] = None
    above: Annotated[float | None, meta("of the metric", "must be more than this")] = None
    equals: Annotated[float | None, meta("of the metric", "must be exactly this")] = None

    def __post_init__(self) -> None:
        if sum(limit is not None for limit in (self.below, self.above, self.equals)) != 1:
            raise ValueError(f"check of {self.metric}: expected exactly one of below, above, equals")


class LinkEnds(Protocol):
    """The links of a flight that external programs may use."""

    @property
    def link_server(self) -> str: ...
    @property
    def reference_client(self) -> str: ...
    @property
    def vehicle_links(self) -> Sequence[tuple[str, str]]: ...


class Choice(Config, frozen=True):
    """Which controller flies the aircraft."""

    kind: Annotated[
        str,
        note("`law`, `pixhawk`, `px4`, or another that flies this aircraft; empty for the aircraft's own on this rung"),
    ] = ""


class Common(Config, frozen=True):
    """Keys common to all flights."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$", description="name of the scenario", extra={"unit": "-"})]
    summary: Annotated[str, note("one sentence for `aeroloop list`")] = ""
    duration_s: Annotated[float, meta("s", "simulated length of the flight", gt=0, le=86400)] = 60.0
    open_ended: Annotated[
        bool,
        note(
            "the user ends the flight (Ctrl-C, the page, `aeroloop cmd end`), and its checks are evaluated then; "
            "`duration_s` is its maximum duration"
        ),
    ] = False
    seed: Annotated[int, meta("-", "seed of every random stream", ge=0)] = 1
    noise: Annotated[NoiseSource, note("generator of the random streams")] = NoiseSource()
    loop: Annotated[Rung, note("rung of the ladder; `--loop` overrides it")] = "mil"
    pace: Annotated[str, note("`lockstep`, `real`, or a speed such as `4x`; `--pace` overrides it")] = "lockstep"
    chosen: Annotated[Choice, note("which controller")] = msgspec.field(default=Choice(), name="controller")
    link: Annotated[Link, note("link between plant and board")] = Link()
    busy_processes: Annotated[
        int, meta("-", "background load: number of processes that each keep a core busy", ge=0, le=64)
    ] = 0
    view: Annotated[View, note("programs that show the flight (docs/flightgear.md)")] = View()
    log: Annotated[LogTable, note("what is logged beside the usual streams")] = LogTable()
    cameras: Annotated[tuple[Camera, ...], note("cameras of the aircraft (docs/cameras.md)")] = ()
    pad: Annotated[Pad | None, note("landing pad on the ground (docs/precision-landing.md)")] = None
    landing: Annotated[Landing | None, note("landing on the pad (docs/precision-landing.md)")] = None
    slam: Annotated[Slam | None, note("map made in flight (docs/slam.md)")] = None
    checks: Annotated[tuple[Check, ...], note("pass/fail criteria of the flight")] = ()
    faults: Annotated[tuple[PlannedFault, ...], note("what fails in the flight, and when (docs/faults.md)")] = ()
    changes: Annotated[
        tuple[PlannedChange, ...], note("wind, mass or battery changed in the flight, and when (docs/simulation.md)")
    ] = ()

    def __post_init__(self) -> None:
        if self.pace not in ("lockstep", "real") and not (SPEED.match(self.pace) and self.speed > 0):
            raise ValueError(f"pace: expected lockstep, real or a speed such as 4x, not {self.pace!r}")

    @property
    def lockstep(self) -> bool:
        return self.pace == "lockstep"

    @property
    def impaired(self) -> bool:
        """Whether the scenario loses or delays messages between plant and board, from the start or by a planned fault.
        Lockstep then uses a baton beside the link, since messages may be lost."""
        planned = any(fault.target in LINE_TARGETS for fault in self.faults)
        return planned or self.link.to_plant.active or self.link.to_board.active

    @property
    def alternates(self) -> bool:
        """Whether a board of ours alternates with the plant by a baton in lockstep: messages may be lost or late, or
        the board may stop answering."""
        return self.impaired or any(fault.target == BOARD for fault in self.faults)

    @property
    def speed(self) -> float:
        """Simulated seconds per wall second at a wall-clock pace."""
        match = SPEED.match(self.pace)
        return float(match.group(1)) if match else 1.0


class Tables(Config, frozen=True):
    """The tables of one owner; its fields are top-level keys of the file."""

    FILES: ClassVar[Mapping[str, str]] = {}
    """Keys that name a file, and the name of its copy in a run's folder."""

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        """An owner's part of a file with defaults added that depend on other keys; ConfigError without the file's
        name."""
        return table

    def files(self) -> dict[str, str]:
        """The files that the tables name, by key."""
        named = {key: value_at(self, key) for key in self.file_names()}
        return {key: name for key, name in named.items() if name}

    def file_names(self) -> dict[str, str]:
        """`FILES`, and those that are in arrays of tables."""
        return dict(self.FILES)


class Aircraft(Protocol):
    """The part of a family's tables that every controller may use."""

    @property
    def kind(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def older_faults(self) -> Mapping[str, PlannedFault]: ...
    @property
    def step_s(self) -> float: ...
    @property
    def aboard(self) -> Any: ...


class FamilyTables(Tables, frozen=True):
    """The tables of a family; each has `[vehicle]` with its `kind`, and `[world]` with its `step_s`."""

    @property
    def kind(self) -> str:
        """The location of its family: a name in the table of families, or the path of a folder."""
        return str(value_at(self, "vehicle.kind"))

    @property
    def count(self) -> int:
        """Number of aircraft."""
        return 1

    def file_names(self) -> dict[str, str]:
        objects = value_at(self, "world.objects") or ()
        meshes = {f"world.objects[{index}].file": each.file for index, each in enumerate(objects) if each.file}
        copies = {key: f"object{number}{Path(name).suffix}" for number, (key, name) in enumerate(meshes.items())}
        return {**self.FILES, **copies}

    @property
    def older_faults(self) -> Mapping[str, PlannedFault]:
        """Faults of every aircraft that are set with its sensors, by their keys: the older form of `[[faults]]`."""
        planned: Mapping[str, PlannedFault] = value_at(self, "sensors.planned") or {}
        return planned

    @property
    def step_s(self) -> float:
        """The step of the simulation."""
        return float(value_at(self, "world.step_s"))

    @property
    def aboard(self) -> Any:
        """Its fitted sensors, a sensors.suite.SensorSet; None: it has none of the bench's."""
        return None


class ControllerTables(Tables, frozen=True):
    """The tables of a controller, and when a flight with it ends."""

    def end_ns(self, flight: Scenario) -> int:
        """Latest end of the flight."""
        return round(flight.duration_s * NS)

    def flown_at_least_s(self, flight: Scenario) -> float:
        """Minimum duration of a complete flight, reduced slightly so that rounding does not matter."""
        return max(0.0, flight.duration_s - 0.1)

    @property
    def control_period_s(self) -> float | None:
        """Period of actuator commands; None if its tables do not define it."""
        return None

    @property
    def board_processes(self) -> tuple[str, ...]:
        """Names of the processes that write the streams of boards."""
        return ("board",)

    def with_own_streams(self, streams: tuple[Stream, ...]) -> tuple[Stream, ...]:
        """The streams of a flight, with those that depend on its tables."""
        return streams

    def routed(self, flight: Scenario) -> bool:
        """Whether the flight has a router."""
        return False

    @property
    def link_routed(self) -> bool:
        """Whether the router carries the link between plant and board, so that it is one between processes."""
        return False

    @property
    def several_boards(self) -> bool:
        """Whether it has `[redundancy]`, with which several boards fly the aircraft."""
        return False

    def board_faults(self, flight: Common) -> tuple[str, ...]:
        """The kinds of faults that its board can have on this rung and pace."""
        return ()

    def board_faults_by_hand(self, flight: Common) -> tuple[str, ...]:
        """Those that can be switched by hand too: the plant passes them on to the board."""
        return ()

    def notices(self, flight: Scenario, ends: LinkEnds, flight_id: str) -> list[str]:
        """Instructions for the user of external programs at the start, one sentence each."""
        return []

    def log_complete(self, flight: Scenario) -> list[str]:
        """Instructions for the user of external programs once the log is written and the links are closed, one sentence
        each."""
        return []


A_co = TypeVar("A_co", bound=Aircraft, default=Aircraft, covariant=True)
C_co = TypeVar("C_co", bound=ControllerTables, default=ControllerTables, covariant=True)


class Scenario(Common, Generic[A_co, C_co], frozen=True, kw_only=True):
    """One flight: the common keys, the tables of its aircraft's family, and those of its controller."""

    aircraft: A_co
    controller: C_co = msgspec.field(name="controller_tables")

    def __post_init__(self) -> None:
        Common.__post_init__(self)
        needs = self.flown_by.needs
        missing = (
            (made(needs, self) if needs else "")
            or overlap(self.planned)
            or self._cameras_lack()
            or companion.lacking(self.cameras, self.pad, self.landing, self.slam, lockstep=self.lockstep)
            or self._autopilot_lacks()
            or self._balance_lacks()
            or self.noise.problem(self.seed, has_batch=bool(self.family.batch))
        )
        if missing:
            raise ValueError(missing)

    def _cameras_lack(self) -> str:
        if not self.cameras:
            return ""
        if not self.family.shape:
            return f"cameras: {self.kind} has no shape in its row; expected an aircraft with one"
        craft = self.aircraft
        return lacking(self.cameras, lockstep=self.lockstep, step_s=craft.step_s, aircraft=craft.count)

    def _balance_lacks(self) -> str:
        if not self.log.balance or self.family.balance:
            return ""
        return f"log.balance: {self.family.name} logs no balance; expected an aircraft whose family's row names one"

    def _autopilot_lacks(self) -> str:
        """Why a landing companion cannot send to the controller."""
        if self.landing is None or self.watched_camera is None:
            return ""
        row = self.flown_by
        if not row.companions:
            return f"landing: {row.name} takes no messages of a companion; expected an autopilot, or landing.use = gps"
        if row.external and self.lockstep:
            return "landing: a companion of an external autopilot has the wall's time; fly with --pace real"
        if row.external and not self.controller.routed(self):
            return (
                f"landing: the companion reaches {row.name} through the flight's router; expected the autopilot's "
                "MAVLink link in router.endpoints, with role vehicle"
            )
        return ""

    @property
    def watched_camera(self) -> int | None:
        """Index of the camera of the companion computer; None: the flight has none."""
        return companion.watched(self.cameras, self.landing, self.slam)

    @property
    def kind(self) -> str:
        """The location of its family."""
        return self.aircraft.kind

    @property
    def flown_by(self) -> Controller:
        """The row of its controller."""
        return flown_by(family(self.kind), self.chosen.kind, self.loop)

    @property
    def family(self) -> Family:
        """The row of its family, as it holds with this controller."""
        return family(self.kind).flown_by(self.flown_by.name)

    @property
    def end_ns(self) -> int:
        return self.controller.end_ns(self)

    @property
    def flown_at_least_s(self) -> float:
        return 0.0 if self.open_ended else self.controller.flown_at_least_s(self)

    @property
    def planned(self) -> dict[str, PlannedFault]:
        """The faults of all aircraft, by their keys."""
        own = {f"faults[{index}]": fault for index, fault in enumerate(self.faults)}
        every = range(self.aircraft.count)
        older = {
            f"{key}{f' of aircraft {number}' if number else ''}": msgspec.structs.replace(fault, vehicle=number)
            for key, fault in self.aircraft.older_faults.items()
            for number in every
        }
        return {**own, **older}

    def faults_of(self, number: int) -> tuple[PlannedFault, ...]:
        """The planned faults of one aircraft."""
        return tuple(fault for fault in self.planned.values() if fault.vehicle == number)

    def changes_of(self, number: int) -> tuple[PlannedChange, ...]:
        """The planned changes of one aircraft."""
        return tuple(change for change in self.changes if change.vehicle == number)

    @property
    def link_url(self) -> str:
        """The link between plant and board; the rung's default if none is set."""
        inline = self.lockstep and not self.controller.link_routed
        url = self.link.url or self.flown_by.link(self.loop, lockstep=inline)
        if not url:
            raise ConfigError(
                f"link.url: {self.loop} needs the board's link, for example --link serial:///dev/ttyACM0?baud=921600"
            )
        return url

    @property
    def fixed_speed(self) -> str:
        """Why the speed cannot be changed in flight; empty: it can."""
        fixed = not self.lockstep and self.loop in self.flown_by.fixed_speed
        return f"speed: the clock of the board on {self.loop} runs in real time; expected lockstep" if fixed else ""

    @property
    def inline(self) -> bool:
        """Whether the controller runs in the plant's own process."""
        return self.link_url == MEMORY

    def notices(self, ends: LinkEnds, flight_id: str) -> list[str]:
        """Instructions for the user of external programs at the start, one sentence each."""
        return self.controller.notices(self, ends, flight_id)

    @property
    def file_names(self) -> dict[str, str]:
        """Keys that name a file, and the name of its copy in a run's folder."""
        return {key: name for tables in self._owners.values() for key, name in tables.file_names().items()}

    def files(self) -> dict[str, str]:
        """The files that the scenario names, by key."""
        return {key: name for tables in self._owners.values() for key, name in tables.files().items()}

    def with_files(self, names: Mapping[str, str]) -> Self:
        """A copy with other names for some of them."""
        changed = self
        for key, name in names.items():
            changed = with_value(changed, key, name)
        return changed

    def anchored(self, folder: Path) -> Self:
        """File names in a scenario are relative to it; absolute names work in every process."""
        return self.with_files({key: str(folder / name) for key, name in self.files().items()})

    def flat(self) -> dict[str, Any]:
        """As in its file: every owner's tables at the top level."""
        table: dict[str, Any] = msgspec.to_builtins(self)
        aircraft, controller = table.pop("aircraft"), table.pop("controller_tables")
        return {**table, **aircraft, **controller}

    @property
    def _owners(self) -> dict[str, Tables]:
        return {name: getattr(self, name) for name in ("aircraft", "controller")}

    def place(self, key: str) -> str:
        """The path in this struct of a dotted key of the file."""
        first, dot, rest = key.partition(".")
        for name, tables in self._owners.items():
            if first in tables.__struct_fields__:
                return f"{name}.{key}"
        own = dict(zip(Common.__struct_encode_fields__, Common.__struct_fields__, strict=True))
        return f"{own.get(first, first)}{dot}{rest}"


A = TypeVar("A", bound=Aircraft)
C = TypeVar("C", bound=ControllerTables)


def narrowed(scenario: Scenario[Any, Any], aircraft: type[A], controller: type[C]) -> Scenario[A, C] | None:
    """The scenario typed by family and controller tables; None if it has others."""
    fits = isinstance(scenario.aircraft, aircraft) and isinstance(scenario.controller, controller)
    return scenario if fits else None


def value_at(table: Struct, key: str) -> Any:
    """The value of a dotted key of the file; None if this kind of table has no such key."""
    value: Any = table
    for name in (table.place(key) if isinstance(table, Scenario) else key).split("."):
        field, index = _indexed(name)
        value = getattr(value, field, None)
        if index is not None and value is not None:
            value = value[index] if index < len(value) else None
    return value


def _indexed(name: str) -> tuple[str, int | None]:
    """One part of a dotted key: a field, and for an array of tables the number of one of them."""
    field, bracket, rest = name.partition("[")
    return field, int(rest.rstrip("]")) if bracket else None


S = TypeVar("S", bound=Struct)


def with_value(table: S, key: str, value: Any) -> S:
    """A copy with another value for a dotted key of the file."""
    first, _, rest = (table.place(key) if isinstance(table, Scenario) else key).partition(".")
    field, index = _indexed(first)
    if index is None:
        new = with_value(getattr(table, field), rest, value) if rest else value
    else:
        rows = getattr(table, field)
        row = with_value(rows[index], rest, value) if rest else value
        new = (*rows[:index], row, *rows[index + 1 :])
    return msgspec.structs.replace(table, **{field: new})
