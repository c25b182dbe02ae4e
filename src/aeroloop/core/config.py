"""Configuration: TOML converted to frozen structs. Unknown keys are errors; numbers have a unit and a range."""

from __future__ import annotations

import math
import re
import threading
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec
import tomli_w
from msgspec import Meta, Struct

from aeroloop.core.errors import ConfigError
from aeroloop.core.suggest import did_you_mean

T = TypeVar("T", bound=Struct)

_CONVERTING = threading.RLock()
"""msgspec collects what it knows of a type at its first use, and two threads that do so at once crash. Reentrant: the
checks of a struct may load another file."""


def meta(unit: str, meaning: str, **limits: Any) -> Meta:
    return Meta(description=meaning, extra={"unit": unit}, **limits)


def note(meaning: str) -> Meta:
    return Meta(description=meaning, extra={"unit": "-"})


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every table: immutable; unknown keys are errors."""

    RENAMED: ClassVar[Mapping[str, str]] = {}
    """Keys of earlier versions -> their present names, for the error message."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; ConfigError if that fails."""
    return parse_toml(read_text(path), path)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: expected UTF-8 text") from None


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse the content of a TOML file; ConfigError if that fails."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def convert(table: dict[str, Any], kind: type[T], source: str) -> T:
    """Convert a TOML table to a config struct; ConfigError names the first error."""
    try:
        with _CONVERTING:
            resolved = msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source}: {_explain(str(error), kind)}") from None
    for key, value in _leaves(table):
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{source}: {key}: expected a finite number, not {value}")
    return resolved


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar value of a table, with its key."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{key}.{name}" if key else name)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{key}[{index}]")
    else:
        yield key, value


def _explain(message: str, kind: type[Struct]) -> str:
    """msgspec writes `... - at `$.link.to_plant.loss``; the message must begin with the key."""
    text, _, where = message.partition(" - at ")
    key = where.strip("`").removeprefix("$").removeprefix(".")
    unknown = re.match(r"Object contains unknown field `(.+)`", text)
    if unknown:
        full = f"{key}.{unknown.group(1)}" if key else unknown.group(1)
        tables = _tables_at(kind, key)
        renamed = next(
            (
                new
                for table in tables
                if issubclass(table, Config)
                for old, new in table.RENAMED.items()
                if old == unknown.group(1)
            ),
            None,
        )
        if renamed is not None:
            return f"{full}: renamed; expected {f'{key}.{renamed}' if key else renamed}"
        expected = dict.fromkeys(name for table in tables for name in table.__struct_encode_fields__)
        like = did_you_mean(unknown.group(1), expected)
        return f"{full}: unknown key{like}, expected one of: {', '.join(expected)}"
    missing = re.match(r"Object missing required field `(.+)`", text)
    if missing:
        return f"{key}.{missing.group(1)}: missing" if key else f"{missing.group(1)}: missing"
    text = text[0].lower() + text[1:]
    if text.startswith("invalid") and (choices := _choices_at(kind, key)):
        text += f", expected one of: {', '.join(choices)}"
    return f"{key}: {text}" if key else text


def _choices_at(kind: type[Struct], key: str) -> list[str]:
    """The values that a key may have, if they are listed."""
    parent, _, last = re.sub(r"\[[^\]]*\]$", "", key).rpartition(".")
    tables = _tables_at(kind, parent)
    if len(tables) > 1:  # the key is the tag of a union of tables
        return [str(table.__struct_config__.tag) for table in tables]
    return _listed(_fields(tables[0]).get(last)) if tables else []


def _listed(info: Any) -> list[str]:
    """The values of a type that lists them, also where the key may be left out, or may be a number instead."""
    if isinstance(info, msgspec.inspect.Metadata):
        return _listed(info.type)
    if isinstance(info, msgspec.inspect.VarTupleType):
        return _listed(info.item_type)
    if isinstance(info, msgspec.inspect.UnionType):
        own = [value for member in info.types for value in _listed(member)]
        return [*own, "a number"] if own and any(map(_is_number, info.types)) else own
    return [str(value) for value in info.values] if isinstance(info, msgspec.inspect.LiteralType) else []


def _is_number(info: Any) -> bool:
    bare = info.type if isinstance(info, msgspec.inspect.Metadata) else info
    return isinstance(bare, msgspec.inspect.FloatType | msgspec.inspect.IntType)


def _tables_at(kind: type[Struct], key: str) -> list[type[Struct]]:
    """The struct types that a dotted key may refer to: one, or several if `kind` selects."""
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
    """Name -> type of a struct's fields, without annotations."""
    info = msgspec.inspect.type_info(table)
    assert isinstance(info, msgspec.inspect.StructType)
    bare = {}
    for field in info.fields:
        bare[field.encode_name] = field.type
        while isinstance(bare[field.encode_name], msgspec.inspect.Metadata):
            bare[field.encode_name] = bare[field.encode_name].type  # type: ignore[attr-defined]
    return bare


def override(key: str, value: Any) -> str:
    """`key=value` for `apply_overrides` from a Python value; numpy arrays and numbers are accepted."""
    try:
        return f"{key}={_literal(value)}"
    except TypeError:
        raise ConfigError(
            f"{key}: expected a number, text, true or false, or a list or table of them, not {value!r:.60}"
        ) from None


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _literal(name)


def _literal(value: Any) -> str:
    """A value as inline TOML."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(str(name))} = {_literal(item)}' for name, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, Path):
        value = str(value)
    if value is None:
        raise TypeError
    return tomli_w.dumps({"value": value}).removeprefix("value = ").rstrip("\n")


def apply_overrides(table: dict[str, Any], overrides: tuple[str, ...]) -> None:
    """Set `key.path=value` in a table; the value is TOML, or text if it is not valid TOML."""
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
        table = _entered(table, parent, override)
    table[last] = value


def _entered(table: dict[str, Any], part: str, override: str) -> dict[str, Any]:
    """The table of one part of a dotted key; for an array of tables one element, as in `checks[0]`."""
    element = re.fullmatch(r"(\w+)\[(\d+)\]", part)
    inner = table.setdefault(part, {}) if element is None else table.get(element[1])
    if element is not None:
        if not isinstance(inner, list) or int(element[2]) >= len(inner):
            there = f"there are {len(inner)}" if isinstance(inner, list) else "it is not an array of tables"
            raise ConfigError(f"--set {override}: {part}: {there}; the first is {element[1]}[0]")
        inner = inner[int(element[2])]
    if not isinstance(inner, dict):
        raise ConfigError(f"--set {override}: {part} is not a table")
    return inner
