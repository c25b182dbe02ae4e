"""Structs as tables of a page: every key with its type, unit, default, range and meaning, in Markdown."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import inspect as types

NUMBER_LIMITS = (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))
SCALARS: dict[type[types.Type], str] = {
    types.FloatType: "number",
    types.IntType: "integer",
    types.StrType: "string",
    types.BoolType: "boolean",
    types.DateType: "date",
}


@dataclass(frozen=True)
class Key:
    """One key of a table, for the reader."""

    name: str
    type: str
    unit: str
    default: str
    range: str
    meaning: str


@dataclass(frozen=True)
class Section:
    """One table of a scenario file, in all places where it may be."""

    part: str  # of the page
    headers: tuple[str, ...]
    tag: str
    meaning: str
    keys: tuple[Key, ...]


def sections_of(parts: Mapping[str, type[Any]]) -> list[Section]:
    """Every table of several structs; a type that is used in several places is described once."""
    headers: dict[type, dict[str, None]] = {}
    found: dict[type, tuple[str, types.StructType]] = {}
    for part, kind in parts.items():
        for header, table in _walk(types.type_info(kind), ""):
            headers.setdefault(table.cls, {})[header] = None
            found.setdefault(table.cls, (part, table))
    return [
        Section(
            part,
            tuple(headers[cls]),
            f'{table.tag_field} = "{table.tag}"' if table.tag_field else "",
            doc(cls),
            tuple(_key(field) for field in table.fields),
        )
        for cls, (part, table) in found.items()
    ]


def section_lines(section: Section) -> list[str]:
    title = ", ".join(f"`{header}`" for header in section.headers if header) or "Top level"
    lines = ["", f"### {title}{f' with `{section.tag}`' if section.tag else ''}", "", section.meaning]
    if section.keys:
        rows = [(f"`{k.name}`", k.type, k.unit, k.default, k.range, k.meaning) for k in section.keys]
        lines += ["", *markdown_table(("key", "type", "unit", "default", "range", "meaning"), rows)]
    return lines


def _walk(info: types.Type, header: str) -> Iterator[tuple[str, types.StructType]]:
    """Every struct below a type, each with its TOML header."""
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
    return Key(field.encode_name, type_words(info), unit, _default(field), _range(info), meaning)


def type_words(info: types.Type) -> str:
    if isinstance(info, types.Metadata):
        return type_words(info.type)
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
        return " or ".join(dict.fromkeys(type_words(t) for t in info.types if not isinstance(t, types.NoneType)))
    if isinstance(info, types.DictType):
        return f"table of {_several(info.value_type)}"
    raise NotImplementedError(f"no words for {info}")


def _several(info: types.Type) -> str:
    word = type_words(info)
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
    if isinstance(info, types.Metadata):
        return _range(info.type)
    if isinstance(info, types.StrType) and info.pattern:
        return f"`{info.pattern}`"
    if isinstance(info, types.TupleType | types.VarTupleType):
        each = _range(info.item_types[0] if isinstance(info, types.TupleType) else info.item_type)
        return each and f"each {each.removeprefix('each ')}"
    limits = [(sign, getattr(info, name, None)) for name, sign in NUMBER_LIMITS]
    return ", ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)


def doc(kind: type) -> str:
    """Its own docstring, not an inherited one."""
    return inspect.cleandoc(kind.__dict__.get("__doc__") or "")


def markdown_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, tuple("---" for _ in head), *rows)]
    return [f"| {' | '.join(row)} |" for row in cells]
