"""The reference pages, written from the types: `python -m aeroloop.describe docs` brings them up to date."""

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

from aeroloop import scenario
from aeroloop.protocols import interface
from aeroloop.signals import TASKS, Event, Mode, ResetCause
from aeroloop.streams import STREAMS, Stream

EXAMPLE = scenario.TiltrotorScenario(
    name="my-flight",
    summary="Every key, most with its default",
    world=scenario.World(start_pos_W=(2.0, 0.0, 0.5)),
    checks=(
        scenario.Check(metric="pos_x_rms_m", below=0.03),
        scenario.Check(metric="saturated_steps", equals=0.0),
    ),
)
NUMBER_LIMITS = (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))
SCALARS: dict[type[types.Type], str] = {
    types.FloatType: "number",
    types.IntType: "integer",
    types.StrType: "string",
    types.BoolType: "boolean",
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

    headers: tuple[str, ...]
    tag: str
    meaning: str
    keys: tuple[Key, ...]


def scenario_sections() -> list[Section]:
    """Every table of a scenario in reading order; a type that is used in several places is told once."""
    headers: dict[type, list[str]] = {}
    found: dict[type, types.StructType] = {}
    for header, table in _walk(types.type_info(scenario.TiltrotorScenario), ""):
        headers.setdefault(table.cls, []).append(header)
        found[table.cls] = table
    return [
        Section(
            tuple(headers[cls]),
            f'{table.tag_field} = "{table.tag}"' if table.tag_field else "",
            _doc(cls),
            tuple(_key(field) for field in table.fields),
        )
        for cls, table in found.items()
    ]


def scenario_markdown() -> str:
    lines = [
        "# Scenario files",
        "",
        "A scenario is a TOML file. A key that is not listed here is an error, so is a value out of range.",
        "A key of a table can be set for one flight: `aeroloop fly NAME --set link.to_plant.delay_s=0.006`.",
        "World coordinates (`_W`) are east, north, up.",
    ]
    for section in scenario_sections():
        title = ", ".join(f"`{header}`" for header in section.headers if header) or "Top level"
        lines += ["", f"## {title}{f' with `{section.tag}`' if section.tag else ''}", "", section.meaning]
        if section.keys:
            rows = [(f"`{k.name}`", k.type, k.unit, k.default, k.range, k.meaning) for k in section.keys]
            lines += ["", *_table(("key", "type", "unit", "default", "range", "meaning"), rows)]
    lines += ["", "## A complete example", "", "```toml", example_toml().rstrip(), "```", ""]
    return "\n".join(lines)


def example_toml() -> str:
    return tomli_w.dumps(_without_none(msgspec.to_builtins(EXAMPLE)))


def streams_markdown() -> str:
    lines = [
        "# Streams",
        "",
        "What the processes of a flight publish, and what the log holds. A record is a row of 64-bit floats.",
        "Simulated streams follow from scenario and seed and make up `log_sha256`; the rest is measured.",
        "",
        *_table(
            ("stream", "from", "rate in Hz", "simulated", "logged", "meaning"),
            [
                (
                    f"[`{s.name}`](#{s.name})",
                    s.producer,
                    _rate(s),
                    _yes(s.simulated),
                    _yes(s.logged),
                    s.meaning,
                )
                for s in STREAMS
            ],
        ),
    ]
    for stream in STREAMS:
        rows = [(f"`{field.name}`", field.unit, field.meaning) for field in stream.fields]
        lines += ["", f"## {stream.name}", "", *_table(("field", "unit", "meaning"), rows)]
    for title, kind in (("Events", Event), ("Modes of the board", Mode), ("Causes of a start", ResetCause)):
        lines += [
            "",
            f"## {title}",
            "",
            _doc(kind),
            "",
            *_table(("number", "name", "meaning"), members(kind)),
        ]
    tasks = [(str(number), f"`{t.name}`", str(t.priority), t.trigger) for number, t in enumerate(TASKS)]
    lines += ["", "## Tasks of the firmware", "", *_table(("number", "name", "priority", "runs on"), tasks)]
    return "\n".join([*lines, ""])


def interface_markdown() -> str:
    lines = [
        "# Messages between board and bench",
        "",
        f"Revision {interface.REVISION}, hash `{interface.HASH:08x}`. All numbers are little-endian; what travels in a "
        "frame is the number, where there is one, then the fields. [board-protocol.md](board-protocol.md) says who "
        "sends what when.",
    ]
    for message in interface.MESSAGES:
        number = "no number, told by its length" if message.number is None else f"number {message.number}"
        lines += [
            "",
            f"## {message.name}",
            "",
            f"From the {message.sender}, {number}, {message.size} bytes: {message.meaning}.",
        ]
        if message.fields:
            rows = [(f"`{name}`", interface.C_TYPES[kind]) for name, kind in message.fields]
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
        folder / "streams.md": streams_markdown(),
        folder / "interface.md": interface_markdown(),
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
            yield from _walk(field.type, f"[{parent}.{field.name}]" if parent else f"[{field.name}]")


def _key(field: types.Field) -> Key:
    info, unit, meaning = field.type, "", ""
    if isinstance(info, types.Metadata):
        unit = (info.extra or {}).get("unit", "")
        meaning = (info.extra_json_schema or {}).get("description", "")
        info = info.type
    return Key(field.name, _type(info), unit, _default(field), _range(info), meaning)


def _type(info: types.Type) -> str:
    if type(info) in SCALARS:
        return SCALARS[type(info)]
    if isinstance(info, types.LiteralType):
        return " or ".join(f"`{value}`" for value in info.values)
    if isinstance(info, types.TupleType):
        return f"list of {len(info.item_types)} {_type(info.item_types[0])}s"
    if isinstance(info, types.VarTupleType):
        return f"list of {_type(info.item_type)}s"
    if isinstance(info, types.StructType):
        return "table"
    if isinstance(info, types.UnionType):
        return " or ".join(dict.fromkeys(_type(t) for t in info.types if not isinstance(t, types.NoneType)))
    raise NotImplementedError(f"no words for {info}")


def _default(field: types.Field) -> str:
    if field.required:
        return "required"
    if isinstance(field.default, msgspec.Struct):
        tag = field.default.__struct_config__.tag
        return f"`{tag}`" if tag else "as below"
    return "none" if field.default is None else f"`{json.dumps(field.default)}`"


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
    return inspect.getdoc(kind) or ""


def _rate(stream: Stream) -> str:
    return f"{stream.rate_hz:.4g}" if stream.rate_hz else "as it comes"


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, tuple("---" for _ in head), *rows)]
    return [f"| {' | '.join(row)} |" for row in cells]


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m aeroloop.describe FOLDER, an existing folder")
    for changed in write(Path(sys.argv[1])):
        print(f"wrote {changed}")
