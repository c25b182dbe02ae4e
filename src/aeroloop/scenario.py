"""A scenario: vehicle + world + board + links + reference + checks, as TOML turned into frozen structs.

Unknown keys are errors, numbers have a unit and a range; `docs/scenario.md` is generated from these types.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from aeroloop.errors import ConfigError
from aeroloop.frames import Vec3
from aeroloop.signals import NS

SCENARIO_DIRS = (Path("scenarios"), Path(__file__).resolve().parents[2] / "scenarios")

Rung = Literal["mil", "sil", "pil", "hil"]
T = TypeVar("T", bound=Struct)
SPEED = re.compile(r"^(\d+(?:\.\d+)?)x$")


def _meta(unit: str, meaning: str, **limits: Any) -> Meta:
    return Meta(description=meaning, extra={"unit": unit}, **limits)


def _note(meaning: str) -> Meta:
    return Meta(description=meaning, extra={"unit": "-"})


class _Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every table: immutable, and a key it does not know is an error."""


class Vehicle(_Config, frozen=True):
    """Which aircraft flies."""

    kind: Annotated[Literal["tiltrotor"], _note("folder under `vehicles/`")] = "tiltrotor"
    parameters: Annotated[str, _note("parameter set in the vehicle's `params.toml`")] = "cad"


class World(_Config, frozen=True):
    """The simulated world."""

    step_s: Annotated[float, _meta("s", "integration step (Runge-Kutta 4)", ge=1e-5, le=0.02)] = 0.004
    start_pos_W: Annotated[
        Vec3 | None, _meta("m", "where the flight starts, at equilibrium; by default on the reference")
    ] = None
    start: Annotated[
        Literal["rest", "moving"],
        _note("`rest`: hovering; `moving`: with the reference's velocity, so that no step upsets the first seconds"),
    ] = "rest"
    start_yaw_rad: Annotated[float, _meta("rad", "heading at the start", ge=-3.2, le=3.2)] = 0.0
    bound_m: Annotated[
        float,
        _meta("m", "farther than this from the origin, or upside down, the flight counts as diverged and ends", gt=0),
    ] = 200.0


class Control(_Config, frozen=True):
    """The control law and its design."""

    law: Annotated[
        Literal["dlqr", "dlqr-heading"],
        _note(
            "discrete LQR with integral action; `dlqr` is the paper's, for yaw near 0, `dlqr-heading` flies any heading"
        ),
    ] = "dlqr"
    law_file: Annotated[
        str,
        _note("Python file with a law of your own, relative to the scenario file; empty for `law`; `--law` overrides"),
    ] = ""
    weights: Annotated[str, _note("weight set in the vehicle's `params.toml`")] = "published"
    period_s: Annotated[float, _meta("s", "control period of the board", gt=0, le=1)] = 0.012


class Board(_Config, frozen=True):
    """How the board behaves when what it needs does not come."""

    sensor_hold_s: Annotated[
        float, _meta("s", "without sensors, keep the last command this long, then the safe one", ge=0, le=10)
    ] = 0.06
    reference_timeout_s: Annotated[
        float, _meta("s", "without references for this long, say so; the last one is held", gt=0, le=60)
    ] = 0.5
    safe_thrust_ratio: Annotated[
        float, _meta("-", "safe command: this part of the hover thrust, no tilt torque", ge=0, le=1)
    ] = 0.9


class Fault(_Config, frozen=True):
    """Something that goes wrong on the emulated board, on purpose."""

    at_s: Annotated[float, _meta("s", "simulated time at which it happens", ge=0, le=86400)]
    kind: Annotated[
        Literal["hang", "reset"],
        _note(
            "`hang`: the control task never ends, so that the watchdog bites; `reset`: as if its button were pressed"
        ),
    ]


class Emulator(_Config, frozen=True):
    """The emulated board of rung `pil`."""

    shift: Annotated[
        int, _meta("-", "an instruction takes 2^shift ns: 5 is 31.25 million a second, 3 is 125 million", ge=0, le=10)
    ] = 5
    timed: Annotated[
        bool,
        _note(
            "in lockstep, let what the board sends come after the time its instructions took; otherwise that "
            "counts only where it is longer than the control period"
        ),
    ] = False
    faults: Annotated[tuple[Fault, ...], _note("what goes wrong on purpose")] = ()


class Impairment(_Config, frozen=True):
    """What a link does to the bytes that cross it in one direction; zero means nothing."""

    delay_s: Annotated[float, _meta("s", "constant delay", ge=0, le=10)] = 0.0
    jitter_s: Annotated[float, _meta("s", "extra delay, uniform from zero to this; order is kept", ge=0, le=10)] = 0.0
    loss: Annotated[float, _meta("-", "probability that a frame is lost", ge=0, le=1)] = 0.0
    corrupt: Annotated[float, _meta("-", "probability that a byte is replaced by another one", ge=0, le=1)] = 0.0
    duplicate: Annotated[float, _meta("-", "probability that a frame arrives twice", ge=0, le=1)] = 0.0
    reorder: Annotated[float, _meta("-", "probability that a frame is overtaken by the next one", ge=0, le=1)] = 0.0
    baud: Annotated[int, _meta("Bd", "pace the bytes like a UART (10 bits a byte); 0 for no pacing", ge=0)] = 0

    @property
    def active(self) -> bool:
        return self != Impairment()


class Link(_Config, frozen=True):
    """The link between plant and board."""

    url: Annotated[
        str,
        _note(
            "`loopback://`, `pty:///path`, `serial:///dev/x?baud=n`, `udp://h:p` or `tcp://h:p`; empty for the rung's "
            "own: loopback for mil, TCP on a free port for sil, for pil loopback in lockstep and a pty in real time"
        ),
    ] = ""
    to_plant: Annotated[Impairment, _note("impairment on the way from board to plant")] = Impairment()
    to_board: Annotated[Impairment, _note("impairment on the way from plant to board")] = Impairment()
    silence_s: Annotated[float, _meta("s", "a board silent for this long in real time has failed", gt=0, le=60)] = 1.0
    start_timeout_s: Annotated[
        float, _meta("s", "wall time in which the board must send its start message", gt=0, le=3600)
    ] = 15.0


class Sensors(_Config, frozen=True):
    """White noise on the sixteen measured values, one seeded stream; all zero is ideal."""

    pos_std_m: Annotated[float, _meta("m", "position", ge=0, le=10)] = 0.0
    angle_std_rad: Annotated[float, _meta("rad", "roll, pitch and yaw", ge=0, le=1)] = 0.0
    tilt_std_rad: Annotated[float, _meta("rad", "pod tilt", ge=0, le=1)] = 0.0
    vel_std_m_s: Annotated[float, _meta("m/s", "velocity", ge=0, le=10)] = 0.0
    rate_std_rad_s: Annotated[float, _meta("rad/s", "angle rates and tilt rates", ge=0, le=10)] = 0.0


class Actuators(_Config, frozen=True):
    """Limits and lag of rotors and tilt servos."""

    thrust_max_N: Annotated[float, _meta("N", "largest thrust of one rotor; the smallest is 0", gt=0, le=1000)] = 20.0
    torque_max_Nm: Annotated[float, _meta("N m", "largest tilt torque of one servo, both ways", gt=0, le=100)] = 2.0
    lag_s: Annotated[float, _meta("s", "first-order time constant of all four; 0 for none", ge=0, le=1)] = 0.0


class Spiral(_Config, frozen=True, tag_field="kind", tag="spiral"):
    """The paper's spiral: `turns` circles of `radius_m` while climbing `height_m`, starting at `start_W`."""

    radius_m: Annotated[float, _meta("m", "radius", gt=0, le=1e4)] = 5.0
    height_m: Annotated[float, _meta("m", "climb over the whole path", ge=-1e4, le=1e4)] = 10.0
    turns: Annotated[float, _meta("-", "number of circles", gt=0, le=1000)] = 3.0
    period_s: Annotated[float, _meta("s", "time for all turns", gt=0, le=1e5)] = 60.0
    start_W: Annotated[Vec3, _meta("m", "first point")] = (2.0, 0.0, 0.5)


class Hover(_Config, frozen=True, tag_field="kind", tag="hover"):
    """Stay at one point."""

    pos_W: Annotated[Vec3, _meta("m", "the point")] = (0.0, 0.0, 2.0)
    yaw_rad: Annotated[float, _meta("rad", "heading", ge=-3.2, le=3.2)] = 0.0


class Circle(_Config, frozen=True, tag_field="kind", tag="circle"):
    """A level circle, started on its easternmost point."""

    center_W: Annotated[Vec3, _meta("m", "centre")] = (0.0, 0.0, 3.0)
    radius_m: Annotated[float, _meta("m", "radius", gt=0, le=1e4)] = 3.0
    period_s: Annotated[float, _meta("s", "time for one turn", gt=0, le=1e5)] = 20.0


class Lemniscate(_Config, frozen=True, tag_field="kind", tag="lemniscate"):
    """A level figure of eight (Gerono), started at its crossing."""

    center_W: Annotated[Vec3, _meta("m", "crossing point")] = (0.0, 0.0, 3.0)
    size_m: Annotated[float, _meta("m", "half length; it is half as wide", gt=0, le=1e4)] = 4.0
    period_s: Annotated[float, _meta("s", "time for one figure", gt=0, le=1e5)] = 30.0


class Waypoints(_Config, frozen=True, tag_field="kind", tag="waypoints"):
    """Points from a CSV file (`t_s,x_m,y_m,z_m` and optionally `yaw_rad`), with a rest at each point."""

    file: Annotated[str, _note("path of the CSV file, relative to the scenario file")]


Trajectory = Spiral | Hover | Circle | Lemniscate | Waypoints


class Ground(_Config, frozen=True):
    """Who tells the board where to fly."""

    source: Annotated[
        Literal["base-station", "joystick", "external"],
        _note("who drives the reference link; `external` leaves it to a command in another terminal"),
    ] = "base-station"
    url: Annotated[str, _note("the reference link, as for `link.url`")] = "loopback://"
    trajectory: Annotated[Trajectory, _note("what the base station streams")] = Spiral()
    velocity_feedforward: Annotated[bool, _note("send the path's velocity, not only its position")] = True
    joystick_device: Annotated[str, _note("`/dev/input/event*`, or empty for the first stick found")] = ""
    joystick_map: Annotated[str, _note("axis map file, or empty for the map that ships with Aeroloop")] = ""
    joystick_recording: Annotated[str, _note("recorded event stream that stands in for a stick")] = ""
    impair: Annotated[Impairment, _note("impairment on the way to the board")] = Impairment()


class Check(_Config, frozen=True):
    """One line of the verdict: a metric of `summary.json` and its bounds."""

    metric: Annotated[str, _note("name of a metric in `summary.json`")]
    below: Annotated[float | None, _meta("of the metric", "must be less than this")] = None
    above: Annotated[float | None, _meta("of the metric", "must be more than this")] = None
    equals: Annotated[float | None, _meta("of the metric", "must be exactly this")] = None

    def __post_init__(self) -> None:
        if sum(limit is not None for limit in (self.below, self.above, self.equals)) != 1:
            raise ValueError(f"check of {self.metric}: expected exactly one of below, above, equals")


class Scenario(_Config, frozen=True):
    """The whole flight."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$", description="name of the scenario", extra={"unit": "-"})]
    summary: Annotated[str, _note("one sentence for `aeroloop list`")] = ""
    duration_s: Annotated[float, _meta("s", "simulated length of the flight", gt=0, le=86400)] = 60.0
    seed: Annotated[int, _meta("-", "seed of every random stream", ge=0)] = 1
    loop: Annotated[Rung, _note("rung of the ladder; `--loop` overrides it")] = "mil"
    pace: Annotated[str, _note("`lockstep`, `real`, or a speed such as `4x`; `--pace` overrides it")] = "lockstep"
    vehicle: Annotated[Vehicle, _note("which aircraft")] = Vehicle()
    world: Annotated[World, _note("the simulated world")] = World()
    control: Annotated[Control, _note("the control law")] = Control()
    board: Annotated[Board, _note("behaviour of the board")] = Board()
    emulator: Annotated[Emulator, _note("the emulated board, rung `pil`")] = Emulator()
    link: Annotated[Link, _note("link between plant and board")] = Link()
    sensors: Annotated[Sensors, _note("sensor noise")] = Sensors()
    actuators: Annotated[Actuators, _note("limits of the actuators")] = Actuators()
    ground: Annotated[Ground, _note("source of references")] = Ground()
    checks: Annotated[tuple[Check, ...], _note("what makes the flight a success")] = ()

    def __post_init__(self) -> None:
        if self.pace not in ("lockstep", "real") and not (SPEED.match(self.pace) and self.speed > 0):
            raise ValueError(f"pace: expected lockstep, real or a speed such as 4x, not {self.pace!r}")
        if round(self.control.period_s * NS) % round(self.world.step_s * NS):
            raise ValueError(
                f"control.period_s: expected a multiple of world.step_s ({self.world.step_s} s), "
                f"not {self.control.period_s}"
            )
        if abs(self.control.period_s * 1000 - round(self.control.period_s * 1000)) > 1e-9:
            raise ValueError(f"control.period_s: expected whole milliseconds, not {self.control.period_s}")
        if self.lockstep and self.loop == "hil":
            raise ValueError("pace: a physical board keeps its own time; fly hil with --pace real")
        if self.loop == "pil" and self.pace not in ("lockstep", "real"):
            raise ValueError(f"pace: the emulated board flies in lockstep or in real time, not at {self.pace}")
        if self.loop == "pil" and not self.lockstep and any(fault.kind == "hang" for fault in self.emulator.faults):
            raise ValueError("emulator.faults: hang can be injected in lockstep only; in real time use reset")
        if self.ground.impair.active and (self.loop == "hil" or (self.loop == "pil" and not self.lockstep)):
            raise ValueError("ground.impair: a board outside this host has its own reference line; use link.to_board")
        if self.lockstep and self.ground.source == "external":
            raise ValueError("ground.source: external needs --pace real, since lockstep waits for its own base station")
        if self.lockstep and self.ground.source == "joystick" and not self.ground.joystick_recording:
            raise ValueError("ground.source: a live joystick needs --pace real; in lockstep give joystick_recording")

    @property
    def lockstep(self) -> bool:
        return self.pace == "lockstep"

    @property
    def link_url(self) -> str:
        """The link between plant and board, the rung's own where none is named."""
        if self.link.url:
            return self.link.url
        if self.loop == "hil":
            raise ConfigError(
                "link.url: hil needs the board's link, for example --link serial:///dev/ttyACM0?baud=921600"
            )
        if self.loop == "pil" and not self.lockstep:
            return "pty://"
        return "tcp://127.0.0.1:0" if self.loop == "sil" else "loopback://"

    @property
    def speed(self) -> float:
        """Simulated seconds per wall second at a paced run."""
        match = SPEED.match(self.pace)
        return float(match.group(1)) if match else 1.0


def find(name: str) -> Path:
    """The file of a scenario given by name or by path."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ConfigError(f"{name}: no such scenario file")
        return path
    for folder in SCENARIO_DIRS:
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    known = ", ".join(path.stem for path in available()) or "none"
    raise ConfigError(f"unknown scenario {name!r}; expected a .toml file or one of: {known}")


def available() -> list[Path]:
    """The scenarios that can be flown by name, each once."""
    found: dict[str, Path] = {}
    for folder in SCENARIO_DIRS:
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.stem, path)
    return [found[stem] for stem in sorted(found)]


def load(path: Path, overrides: tuple[str, ...] = ()) -> Scenario:
    """Read and validate a scenario; `overrides` are `key.path=value` strings with TOML values."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: expected UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    source = str(path)
    if overrides:
        apply_overrides(table, overrides)
        source = f"{path} with {' '.join(overrides)}"
    resolved = convert(table, Scenario, source)
    return _anchored(resolved, path.resolve().parent)


def convert(table: dict[str, Any], kind: type[T], source: str) -> T:
    """A TOML table as a config struct, or one sentence about the first thing wrong with it."""
    try:
        resolved = msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source}: {_explain(str(error), kind)}") from None
    for key, value in _leaves(table):
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{source}: {key}: expected a finite number, not {value}")
    return resolved


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a table that is no table or array itself, with its key."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{key}.{name}" if key else name)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{key}[{index}]")
    else:
        yield key, value


def _explain(message: str, kind: type[Struct]) -> str:
    """msgspec says `... - at `$.link.to_plant.loss``; a user wants the key first."""
    text, _, where = message.partition(" - at ")
    key = where.strip("`").removeprefix("$").removeprefix(".")
    unknown = re.match(r"Object contains unknown field `(.+)`", text)
    if unknown:
        full = f"{key}.{unknown.group(1)}" if key else unknown.group(1)
        expected = dict.fromkeys(name for table in _tables_at(kind, key) for name in table.__struct_fields__)
        return f"{full}: unknown key, expected one of: {', '.join(expected)}"
    text = text[0].lower() + text[1:]
    if text.startswith("invalid") and (choices := _choices_at(kind, key)):
        text += f", expected one of: {', '.join(choices)}"
    return f"{key}: {text}" if key else text


def _choices_at(kind: type[Struct], key: str) -> list[str]:
    """The values that a key may have, where they are listed."""
    parent, _, last = key.rpartition(".")
    tables = _tables_at(kind, parent)
    if len(tables) > 1:  # the key is the tag of a union of tables
        return [str(table.__struct_config__.tag) for table in tables]
    info = _fields(tables[0]).get(last) if tables else None
    return [str(value) for value in info.values] if isinstance(info, msgspec.inspect.LiteralType) else []


def _tables_at(kind: type[Struct], key: str) -> list[type[Struct]]:
    """The struct types that a dotted key may name: one, or several where the scenario chooses by `kind`."""
    tables = [kind]
    for part in filter(None, re.sub(r"\[.*?\]", "", key).split(".")):
        info = _fields(tables[0]).get(part)
        if isinstance(info, msgspec.inspect.VarTupleType):
            info = info.item_type
        members = info.types if isinstance(info, msgspec.inspect.UnionType) else [info]
        tables = [member.cls for member in members if isinstance(member, msgspec.inspect.StructType)]
        if not tables:
            return []
    return tables


def _fields(table: type[Struct]) -> dict[str, Any]:
    """Name -> type of a struct's fields, without the notes that the types carry."""
    info = msgspec.inspect.type_info(table)
    assert isinstance(info, msgspec.inspect.StructType)
    bare = {}
    for field in info.fields:
        bare[field.name] = field.type
        while isinstance(bare[field.name], msgspec.inspect.Metadata):
            bare[field.name] = bare[field.name].type  # type: ignore[attr-defined]
    return bare


def apply_overrides(table: dict[str, Any], overrides: tuple[str, ...]) -> None:
    """Set `key.path=value` in a table, where value is TOML or else taken as text."""
    for override in overrides:
        _apply(table, override)


def _apply(table: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override}: expected key=value, for example link.to_plant.delay_s=0.006")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *parents, last = key.split(".")
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise ConfigError(f"--set {override}: {parent} is not a table")
    table[last] = value


def _anchored(scenario: Scenario, folder: Path) -> Scenario:
    """File names in a scenario are relative to it; make them absolute so that every process finds them."""

    def anchor(name: str) -> str:
        return name if not name or Path(name).is_absolute() else str(folder / name)

    ground = scenario.ground
    trajectory = ground.trajectory
    if isinstance(trajectory, Waypoints):
        trajectory = msgspec.structs.replace(trajectory, file=anchor(trajectory.file))
    ground = msgspec.structs.replace(
        ground,
        trajectory=trajectory,
        joystick_map=anchor(ground.joystick_map),
        joystick_recording=anchor(ground.joystick_recording),
    )
    control = msgspec.structs.replace(scenario.control, law_file=anchor(scenario.control.law_file))
    return msgspec.structs.replace(scenario, ground=ground, control=control)
