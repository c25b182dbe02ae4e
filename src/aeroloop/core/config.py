"""Configuration: TOML turned into frozen structs. Unknown keys are errors; numbers have a unit and a range."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from aeroloop.core.errors import ConfigError

T = TypeVar("T", bound=Struct)


def meta(unit: str, meaning: str, **limits: Any) -> Meta:
    return Meta(description=meaning, extra={"unit": unit}, **limits)


def note(meaning: str) -> Meta:
    return Meta(description=meaning, extra={"unit": "-"})


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every table: immutable, and a key it does not know is an error."""


def read_toml(path: Path) -> dict[str, Any]:
    """A file's table, or one sentence about why there is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: expected UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


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
        expected = dict.fromkeys(name for table in _tables_at(kind, key) for name in table.__struct_encode_fields__)
        return f"{full}: unknown key, expected one of: {', '.join(expected)}"
    missing = re.match(r"Object missing required field `(.+)`", text)
    if missing:
        return f"{key}.{missing.group(1)}: missing" if key else f"{missing.group(1)}: missing"
    text = text[0].lower() + text[1:]
    if text.startswith("invalid") and (choices := _choices_at(kind, key)):
        text += f", expected one of: {', '.join(choices)}"
    return f"{key}: {text}" if key else text


def _choices_at(kind: type[Struct], key: str) -> list[str]:
    """The values that a key may have, where they are listed."""
    parent, _, last = re.sub(r"\[[^\]]*\]$", "", key).rpartition(".")
    tables = _tables_at(kind, parent)
    if len(tables) > 1:  # the key is the tag of a union of tables
        return [str(table.__struct_config__.tag) for table in tables]
    info = _fields(tables[0]).get(last) if tables else None
    if isinstance(info, msgspec.inspect.VarTupleType):
        info = info.item_type
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
        bare[field.encode_name] = field.type
        while isinstance(bare[field.encode_name], msgspec.inspect.Metadata):
            bare[field.encode_name] = bare[field.encode_name].type  # type: ignore[attr-defined]
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
