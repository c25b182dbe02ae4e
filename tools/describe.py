"""The reference pages, written from the types: `python -m tools.describe docs` brings them up to date."""

from __future__ import annotations

import enum
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from msgspec import inspect as types

from aeroloop.controllers.law.period_tables import PeriodTables
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.controllers.pixhawk.seam import Failsafe, FlightMode, Landed
from aeroloop.controllers.pixhawk.tables import AutopilotTables
from aeroloop.controllers.pixhawk.virtual_pixhawk import parameters
from aeroloop.core import scenario, scenario_files
from aeroloop.core.common_streams import COMMON
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.signals import LINK_SIGNALS, TASKS, Event, Mode, ResetCause
from aeroloop.core.stream import KEYS, Stream
from aeroloop.core.wing_signals import WING_TASKS, PlanStatus, Step
from aeroloop.families.fixedwing import streams as fixedwing_streams
from aeroloop.families.fixedwing.scenario import FixedWingTables
from aeroloop.families.multirotor import streams as multirotor_streams
from aeroloop.families.multirotor.scenario import MultirotorTables
from aeroloop.families.tiltrotor import streams as tiltrotor_streams
from aeroloop.families.tiltrotor.scenario import TiltrotorTables
from aeroloop.protocols.interface import C_TYPES, TILTROTOR, WING, Interface

EXAMPLE = scenario_files.of_table(
    {
        "name": "my-flight",
        "summary": "Every key, most with its default",
        "world": {"start_pos_W": (2.0, 0.0, 0.5)},
        "checks": [{"metric": "pos_x_rms_m", "below": 0.03}, {"metric": "saturated_steps", "equals": 0.0}],
    },
    "the example",
)
QUAD_EXAMPLE = scenario_files.of_table(
    {
        "name": "my-mission",
        "summary": "Every key, most with its default",
        "vehicle": {"kind": "quadrotor"},
        "world": {"step_s": 0.002},
        "sensors": {"preset": "thesis"},
        "pilot": {
            "orders": [{"at_s": 5.0, "do": "arm"}, {"at_s": 6.0, "do": "mission"}],
            "waypoints": [{"pos_m": (0.0, 0.0, 5.0)}, {"pos_m": (10.0, 0.0, 5.0), "hold_s": 2.0}],
        },
        "checks": [{"metric": "pos_rms_m", "below": 0.5}, {"metric": "landed_at_end", "equals": 1.0}],
    },
    "the example",
)
WING_EXAMPLE = scenario_files.of_table(
    {
        "name": "my-errand",
        "summary": "Every key, most with its default",
        "duration_s": 900.0,
        "vehicle": {"kind": "fixedwing"},
        "mission": {"start_m": (-3375.0, 2175.0), "goal_m": (3225.0, -1875.0)},
        "checks": [{"metric": "arrived", "equals": 1.0}, {"metric": "cross_track_rms_m", "below": 5.0}],
    },
    "the example",
)
FAMILIES: dict[str, type[Any]] = {
    "The tilt-rotor": TiltrotorTables,
    "Multirotors": MultirotorTables,
    "The fixed wing": FixedWingTables,
}
CONTROLLERS: dict[str, type[Any]] = {
    "Controller `law` of the tilt-rotor": RequestTables,
    "Controllers `pixhawk` and `px4` of multirotors": AutopilotTables,
    "Controller `law` of the fixed wing": PeriodTables,
}
PARTS: dict[str, type[Any]] = {"Every scenario": scenario.Common, **FAMILIES, **CONTROLLERS}
"""What every flight has, what each kind of aircraft adds to it, and what each controller does."""
EXAMPLES = {"The tilt-rotor": EXAMPLE, "Multirotors": QUAD_EXAMPLE, "The fixed wing": WING_EXAMPLE}
NUMBER_LIMITS = (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))
COMMON_STREAMS = "Common streams"
STREAM_TABLES: dict[str, tuple[str, tuple[Stream, ...]]] = {
    COMMON_STREAMS: (
        "They mean the same for every aircraft. A family has those that apply to it, and may append columns.",
        COMMON,
    ),
    "Tilt-rotor": ("Its board speaks [board-protocol.md](board-protocol.md).", tiltrotor_streams.STREAMS),
    "Multirotors": (
        "Their autopilots speak MAVLink HIL.",
        tuple(stream for stream in multirotor_streams.STREAMS if stream not in ROUTER_STREAMS),
    ),
    "Fixed wing": ("Its plant writes what the board tells.", fixedwing_streams.STREAMS),
    "Router": ("The state of its lines, which belong to no aircraft; in a flight or alone.", ROUTER_STREAMS),
}
ENUMERATIONS: dict[str, type[enum.IntEnum]] = {
    "Events": Event,
    "Modes of the board": Mode,
    "Causes of a start": ResetCause,
    "Modes of the virtual Pixhawk": FlightMode,
    "Failsafes of the virtual Pixhawk": Failsafe,
    "Landed states of the virtual Pixhawk": Landed,
    "Steps of the fixed wing's mission": Step,
    "Outcomes of the fixed wing's planning": PlanStatus,
}
SCALARS: dict[type[types.Type], str] = {
    types.FloatType: "number",
    types.IntType: "integer",
    types.StrType: "string",
    types.BoolType: "boolean",
    types.DateType: "date",
}


@dataclass(frozen=True)
class Key:
    """One key of a table, as a reader needs it."""

    name: str
    type: str
    unit: str
    default: str
    range: str
    meaning: str


@dataclass(frozen=True)
class Section:
    """One table of a scenario file, at every place where it may stand."""

    part: str  # one of PARTS
    headers: tuple[str, ...]
    tag: str
    meaning: str
    keys: tuple[Key, ...]


def scenario_sections() -> list[Section]:
    """Every table of a scenario in reading order; a type that is used in several places is told once."""
    headers: dict[type, dict[str, None]] = {}
    found: dict[type, tuple[str, types.StructType]] = {}
    for part, kind in PARTS.items():
        for header, table in _walk(types.type_info(kind), ""):
            headers.setdefault(table.cls, {})[header] = None
            found.setdefault(table.cls, (part, table))
    return [
        Section(
            part,
            tuple(headers[cls]),
            f'{table.tag_field} = "{table.tag}"' if table.tag_field else "",
            _doc(cls),
            tuple(_key(field) for field in table.fields),
        )
        for cls, (part, table) in found.items()
    ]


def scenario_markdown() -> str:
    lines = [
        "# Scenario files",
        "",
        "A scenario is a TOML file. A key that is not listed here is an error, so is a value out of range.",
        "A key of a table can be set for one flight: `aeroloop fly NAME --set link.to_plant.delay_s=0.006`.",
        "Names of files are relative to the scenario file; those after `--set` to the folder where you type it.",
        "World coordinates (`_W`) are east, north, up.",
        "A file has the tables of every scenario, those of its aircraft (`vehicle.kind`), and those of the controller",
        "that flies it (`controller.kind`, or the aircraft's own on the rung of the flight).",
    ]
    sections = scenario_sections()
    for part in PARTS:
        lines += ["", f"## {part}"]
        for section in (section for section in sections if section.part == part):
            lines += _section_lines(section)
    for part in EXAMPLES:
        lines += ["", f"## {part}: a complete example", "", "```toml", example_toml(part).rstrip(), "```"]
    return "\n".join([*lines, ""])


def _section_lines(section: Section) -> list[str]:
    title = ", ".join(f"`{header}`" for header in section.headers if header) or "Top level"
    lines = ["", f"### {title}{f' with `{section.tag}`' if section.tag else ''}", "", section.meaning]
    if section.keys:
        rows = [(f"`{k.name}`", k.type, k.unit, k.default, k.range, k.meaning) for k in section.keys]
        lines += ["", *_table(("key", "type", "unit", "default", "range", "meaning"), rows)]
    return lines


def example_toml(part: str) -> str:
    return tomli_w.dumps(_without_none(EXAMPLES[part].flat()))


def streams_markdown() -> str:
    lines = [
        "# Streams",
        "",
        "What the processes of a flight publish, and what the log holds. A record is a row of 64-bit floats: first the",
        "simulated time `t_s` in s, then, but for the router's, `vehicle`: which of the flight's aircraft, from 0.",
        "Simulated streams follow from scenario and seed and make up `log_sha256`; the rest is measured.",
    ]
    for title, (meaning, streams) in STREAM_TABLES.items():
        lines += ["", f"## {title}", "", meaning, "", *_stream_table(title, streams)]
        for stream in streams:
            if _told_in(title, stream) == title:
                rows = [(f"`{f.name}`", f.unit, f.meaning) for f in stream.fields if f.name not in KEYS]
                lines += ["", f"### {title}: {stream.name}", "", *_table(("field", "unit", "meaning"), rows)]
    for title, kind in ENUMERATIONS.items():
        lines += [
            "",
            f"## {title}",
            "",
            *([_doc(kind), ""] if _doc(kind) else []),
            *_table(("number", "name", "meaning"), members(kind)),
        ]
    tasks = [(str(number), f"`{t.name}`", str(t.priority), t.trigger) for number, t in enumerate(TASKS)]
    lines += ["", "## Tasks of the firmware", "", *_table(("number", "name", "priority", "runs on"), tasks)]
    tasks = [(str(number), f"`{t.name}`", str(t.priority), t.trigger) for number, t in enumerate(WING_TASKS)]
    lines += ["", "## Tasks of the fixed wing", "", *_table(("number", "name", "priority", "runs on"), tasks)]
    signals = [(str(number), signal) for number, signal in enumerate(LINK_SIGNALS)]
    lines += ["", "## Signals whose rates are measured", "", *_table(("number", "signal"), signals)]
    return "\n".join([*lines, ""])


def _stream_table(title: str, streams: Iterable[Stream]) -> list[str]:
    if title == COMMON_STREAMS:
        return _table(
            ("stream", "simulated", "meaning"), [(_named(title, s), _yes(s.simulated), s.meaning) for s in streams]
        )
    return _table(
        ("stream", "from", "rate in Hz", "simulated", "logged", "meaning"),
        [(_named(title, s), s.producer, _rate(s), _yes(s.simulated), _yes(s.logged), s.meaning) for s in streams],
    )


def _named(title: str, stream: Stream) -> str:
    """With a link to its columns, where it has any."""
    place = f"{_told_in(title, stream)}-{stream.name}".lower().replace(" ", "-")
    return f"[`{stream.name}`](#{place})" if _told_in(title, stream) else f"`{stream.name}`"


def _told_in(title: str, stream: Stream) -> str:
    """The section with the stream's columns; none where it has none but time and aircraft."""
    if stream.names == KEYS:
        return ""
    as_usual = any(stream.name == each.name and stream.names == each.names for each in COMMON)
    return COMMON_STREAMS if as_usual else title


def parameters_markdown() -> str:
    lines = [
        "# Parameters of the virtual Pixhawk",
        "",
        "A scenario sets them in `[autopilot.parameters]`, a ground station by the parameter protocol. A name is",
        "PX4's where the meaning is PX4's. [virtual-pixhawk.md](virtual-pixhawk.md) says what flies by them.",
        "",
        *_table(
            ("parameter", "default", "range", "unit", "meaning"),
            [
                (
                    f"`{row.name}`",
                    f"{row.default:g}",
                    f"{row.minimum:g} to {row.maximum:g}",
                    row.unit or "-",
                    row.meaning,
                )
                for row in parameters({})
            ],
        ),
    ]
    return "\n".join([*lines, ""])


def interface_markdown() -> str:
    return _interface_page(
        "Messages between board and bench",
        TILTROTOR,
        "All numbers are little-endian; what travels in a frame is the number, where there is one, then the fields. "
        "[board-protocol.md](board-protocol.md) says who sends what when.",
    )


def wing_interface_markdown() -> str:
    return _interface_page(
        "Messages between the fixed wing's board and the bench",
        WING,
        "All numbers are little-endian; what travels in a frame is the number, then the fields. What the board tells "
        "the ground are rows of the streams `wing_…` in [streams.md](streams.md), each after a running number by which "
        "losses are seen. [wing-board.md](wing-board.md) says which line they travel on, and when.",
    )


def _interface_page(title: str, interface: Interface, words: str) -> str:
    lines = [f"# {title}", "", f"Revision {interface.revision}, hash `{interface.hash:08x}`. {words}"]
    for message in interface.messages:
        number = "no number, told by its length" if message.number is None else f"number {message.number}"
        lines += [
            "",
            f"## {message.name}",
            "",
            f"From the {message.sender}, {number}, {message.size} bytes: {message.meaning}.",
        ]
        if message.fields:
            rows = [(f"`{name}`", C_TYPES[kind]) for name, kind in message.fields]
            lines += ["", *_table(("field", "type"), rows)]
    return "\n".join([*lines, ""])


def members(kind: type[enum.IntEnum]) -> list[tuple[str, str, str]]:
    """Number, name and the comment beside each member: the comment is where its meaning stands."""
    comments = dict(re.findall(r"^ +(\w+) = \d+ +# (.+)$", inspect.getsource(kind), re.MULTILINE))
    return [(str(member.value), f"`{member.name}`", comments.get(member.name, "")) for member in kind]


def write(folder: Path) -> list[Path]:
    """Write the pages that are not up to date; returns those."""
    pages = {
        folder / "scenario.md": scenario_markdown(),
        folder / "parameters.md": parameters_markdown(),
        folder / "streams.md": streams_markdown(),
        folder / "interface.md": interface_markdown(),
        folder / "wing-interface.md": wing_interface_markdown(),
    }
    stale = [path for path, text in pages.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        path.write_text(pages[path], "utf-8")
    return stale


def _walk(info: types.Type, header: str) -> Iterator[tuple[str, types.StructType]]:
    """Every struct below a type, each with the TOML header under which it stands."""
    if isinstance(info, types.Metadata):
        yield from _walk(info.type, header)
    elif isinstance(info, types.UnionType):
        for member in info.types:
            yield from _walk(member, header)
    elif isinstance(info, types.VarTupleType):
        yield from _walk(info.item_type, f"[{header}]")
    elif isinstance(info, types.StructType):
        yield header, info
        parent = header.strip("[]")
        for field in info.fields:
            yield from _walk(field.type, f"[{parent}.{field.encode_name}]" if parent else f"[{field.encode_name}]")


def _key(field: types.Field) -> Key:
    info, unit, meaning = field.type, "", ""
    if isinstance(info, types.Metadata):
        unit = (info.extra or {}).get("unit", "")
        meaning = (info.extra_json_schema or {}).get("description", "")
        info = info.type
    return Key(field.encode_name, _type(info), unit, _default(field), _range(info), meaning)


def _type(info: types.Type) -> str:
    if isinstance(info, types.Metadata):
        return _type(info.type)
    if type(info) in SCALARS:
        return SCALARS[type(info)]
    if isinstance(info, types.LiteralType):
        return " or ".join(f"`{value}`" for value in info.values)
    if isinstance(info, types.TupleType):
        return f"list of {len(info.item_types)} {_several(info.item_types[0])}"
    if isinstance(info, types.VarTupleType):
        return f"list of {_several(info.item_type)}"
    if isinstance(info, types.StructType):
        return "table"
    if isinstance(info, types.UnionType):
        return " or ".join(dict.fromkeys(_type(t) for t in info.types if not isinstance(t, types.NoneType)))
    if isinstance(info, types.DictType):
        return f"table of {_several(info.value_type)}"
    raise NotImplementedError(f"no words for {info}")


def _several(info: types.Type) -> str:
    word = _type(info)
    if word.startswith("list of "):
        return word.replace("list", "lists", 1)
    return word if isinstance(info, types.LiteralType) else f"{word}s"


def _default(field: types.Field) -> str:
    if field.required:
        return "required"
    if field.default_factory is not msgspec.NODEFAULT:
        return f"`{json.dumps(field.default_factory())}`"
    if isinstance(field.default, msgspec.Struct):
        tag = field.default.__struct_config__.tag
        return f"`{tag}`" if tag else "as below"
    return "none" if field.default is None else f"`{json.dumps(field.default, default=str)}`"


def _range(info: types.Type) -> str:
    if isinstance(info, types.StrType) and info.pattern:
        return f"`{info.pattern}`"
    limits = [(sign, getattr(info, name, None)) for name, sign in NUMBER_LIMITS]
    return ", ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)


def _without_none(value: Any) -> Any:
    """TOML has no null: a key without a value is left out."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list | tuple) else value


def _doc(kind: type) -> str:
    """Its own docstring, not that of what it is made from."""
    return inspect.cleandoc(kind.__dict__.get("__doc__") or "")


def _rate(stream: Stream) -> str:
    return f"{stream.rate_hz:.4g}" if stream.rate_hz else "as it comes"


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, tuple("---" for _ in head), *rows)]
    return [f"| {' | '.join(row)} |" for row in cells]


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m tools.describe FOLDER, an existing folder")
    for changed in write(Path(sys.argv[1])):
        print(f"wrote {changed}")
