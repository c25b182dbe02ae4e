"""Aircraft defined by a parameter file: those of the project by name, your own by path.

A file with `base = "NAME"` has the keys of another one, by name or by a path relative to itself, and its own in their
place. Tables are combined key by key; a list is replaced as a whole.
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
"""Key of an airframe's file."""


def names(folder: str) -> list[str]:
    """The airframes in a folder of the package."""
    entries = resources.files("aeroloop").joinpath(folder).iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def load(name: str, folder: str, kind: type[C]) -> tuple[C, str]:
    """An airframe of a folder by name, or by the path of its file (ending in .toml); and the name of the file for
    messages."""
    if name.endswith(".toml"):
        source, path = name, Path(name)
        if not path.is_file():
            raise ConfigError(f"vehicle.airframe: {name}: there is no such file")
    elif name in names(folder):
        source = f"{folder}/{name}.toml"
        path = Path(str(resources.files("aeroloop").joinpath(source)))
    else:
        raise ConfigError(
            f"vehicle.airframe: unknown airframe {name!r}, expected a .toml file or one of: {', '.join(names(folder))}"
        )
    airframe: C = _converted(_read(path, folder, source), kind, source)
    return airframe, source


def _read(path: Path, folder: str, source: str) -> tuple[tuple[str, Path], ...]:
    """Content and path of the file and of those it is based on, the last one first."""
    found = [(read_text(path), path)]
    while (base := parse_toml(*found[0]).get(BASE)) is not None:
        if not isinstance(base, str):
            raise ConfigError(f"{source}: {BASE}: expected the name or path of an airframe, not {base!r}")
        if base.endswith(".toml"):
            path = path.parent / base
        elif base in names(folder):
            path = Path(str(resources.files("aeroloop").joinpath(f"{folder}/{base}.toml")))
        else:
            known = ", ".join(names(folder))
            raise ConfigError(f"{source}: {BASE}: unknown airframe {base!r}, expected a .toml file or one of: {known}")
        if any(path.resolve() == each.resolve() for _, each in found):
            raise ConfigError(f"{source}: {BASE}: {base} is based on itself")
        found.insert(0, (read_text(path), path))
    return tuple(found)


@lru_cache(maxsize=32)
def _converted(texts: tuple[tuple[str, Path], ...], kind: type[Config], source: str) -> Any:
    """Cached by its content: every part of a flight loads its aircraft's file."""
    table: dict[str, Any] = {}
    for text, path in texts:
        table = _combined(table, {key: value for key, value in parse_toml(text, path).items() if key != BASE})
    return convert(table, kind, source)


def _combined(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    return below | {
        key: _combined(below[key], value) if isinstance(value, dict) and isinstance(below.get(key), dict) else value
        for key, value in above.items()
    }
