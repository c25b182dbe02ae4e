"""Scenario files: found by name, read, checked, and made the struct of the family that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aeroloop.core.config import apply_overrides, convert, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import DEFAULT_FAMILY, family, part

SCENARIO_DIRS = (Path("scenarios"), Path(__file__).resolve().parents[3] / "scenarios")
KIND = "vehicle.kind"


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


def summary(path: Path) -> str:
    """The sentence that a file says of itself; read without its family, which may take a while to import."""
    return str(read_toml(path).get("summary", ""))


def load(path: Path, overrides: tuple[str, ...] = ()) -> Scenario:
    """Read and validate a scenario; `overrides` are `key.path=value` strings with TOML values. File names in a scenario
    are relative to it, those in `overrides` to the folder where they were typed."""
    table, source = _read(path, overrides)
    scenario = of_table(table, source)
    here = {key: name for key, name in scenario.files().items() if _typed(key, overrides)}
    return scenario.with_files({key: str(Path.cwd() / name) for key, name in here.items()}).anchored(
        path.resolve().parent
    )


def struct_of(path: Path, overrides: tuple[str, ...] = ()) -> type[Scenario]:
    """The struct that a file will be, for what follows from the family alone."""
    return _struct(*_read(path, overrides))


def of_table(table: dict[str, Any], source: str) -> Scenario:
    """The struct that a table stands for."""
    struct = _struct(table, source)
    try:
        table = struct.filled_in(table)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    return convert(table, struct, source)


def _read(path: Path, overrides: tuple[str, ...]) -> tuple[dict[str, Any], str]:
    """A file's table, with the overrides and the family's folder as an absolute path; and what to call it."""
    table = read_toml(path)
    source = str(path)
    if overrides:
        apply_overrides(table, overrides)
        source = f"{path} with {' '.join(overrides)}"
    kind = _kind(table)
    if "/" in kind:  # a family's folder; every process must find it
        base = Path.cwd() if _typed(KIND, overrides) else path.resolve().parent
        table["vehicle"]["kind"] = str((base / kind).resolve())
    return table, source


def _kind(table: dict[str, Any]) -> str:
    vehicle = table.get("vehicle", {})
    return str(vehicle.get("kind", DEFAULT_FAMILY)) if isinstance(vehicle, dict) else DEFAULT_FAMILY


def _struct(table: dict[str, Any], source: str) -> type[Scenario]:
    try:
        struct: type[Scenario] = part(family(_kind(table)).scenario)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    return struct


def _typed(key: str, overrides: tuple[str, ...]) -> bool:
    """Whether an override set the key, or a table that holds it."""
    return any(f"{key}.".startswith(f"{override.partition('=')[0]}.") for override in overrides)
