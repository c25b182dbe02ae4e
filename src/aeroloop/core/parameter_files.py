"""Aircraft defined by a parameter file: those of the project by name, your own by path.

A file with `base = "NAME"` has the tables of that included airframe, and its own keys in place of theirs. A table whose
`kind` differs replaces the base's whole table: its keys have another meaning.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from aeroloop.core.config import Config, convert, parse_toml, read_text
from aeroloop.core.errors import ConfigError

C = TypeVar("C", bound=Config)
BASE = "base"
"""Key of the included airframe that a file changes."""


def names(folder: str) -> list[str]:
    """The airframes in a folder of the package."""
    entries = resources.files("aeroloop").joinpath(folder).iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def load(name: str, folder: str, kind: type[C], key: str = "vehicle.airframe") -> tuple[C, str]:
    """An airframe of a folder by name, or by the path of its file (ending in .toml); and the name of the file for
    messages. `key` is the scenario's that names it."""
    if name.endswith(".toml"):
        source, path = name, Path(name)
        if not path.is_file():
            raise ConfigError(f"{key}: {name}: there is no such file")
    elif name in names(folder):
        source = f"{folder}/{name}.toml"
        path = Path(str(resources.files("aeroloop").joinpath(source)))
    else:
        raise ConfigError(
            f"{key}: unknown {key.rpartition('.')[2]} {name!r}, expected a .toml file or one of: "
            f"{', '.join(names(folder))}"
        )
    airframe: C = _converted(read_text(path), path, folder, kind, source)
    return airframe, source


@lru_cache(maxsize=32)
def _converted(text: str, path: Path, folder: str, kind: type[Config], source: str) -> Any:
    """Cached by its content: every part of a flight loads its aircraft's file."""
    return convert(_whole(parse_toml(text, path), folder, source), kind, source)


def _whole(table: dict[str, Any], folder: str, source: str) -> dict[str, Any]:
    """With the tables of its base."""
    if BASE not in table:
        return table
    own = dict(table)
    name, known = own.pop(BASE), names(folder)
    if name not in known:
        raise ConfigError(f"{source}: {BASE}: expected one of: {', '.join(known)}, not {name!r}")
    inherited = Path(str(resources.files("aeroloop").joinpath(f"{folder}/{name}.toml")))
    return _merged(_whole(parse_toml(read_text(inherited), inherited), folder, f"{folder}/{name}.toml"), own)


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        was = base.get(key)
        if isinstance(was, dict) and isinstance(value, dict) and value.get("kind", was.get("kind")) == was.get("kind"):
            merged[key] = _merged(was, value)
        else:
            merged[key] = value
    return merged
