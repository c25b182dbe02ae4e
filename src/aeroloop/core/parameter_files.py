"""Aircraft defined by a parameter file: those of the project by name, your own by path."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from aeroloop.core.config import Config, convert, parse_toml, read_text
from aeroloop.core.errors import ConfigError

C = TypeVar("C", bound=Config)


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
    airframe: C = _converted(read_text(path), path, kind, source)
    return airframe, source


@lru_cache(maxsize=32)
def _converted(text: str, path: Path, kind: type[Config], source: str) -> Any:
    """Cached by its content: every part of a flight loads its aircraft's file."""
    return convert(parse_toml(text, path), kind, source)
