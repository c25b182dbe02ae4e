"""Scenario files: found by name, read, split by the owners of their keys, and checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from aeroloop.core.config import apply_overrides, convert, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Common, ControllerTables, FamilyTables, Scenario
from aeroloop.core.tables import DEFAULT_FAMILY, Controller, family, flown_by, part

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


def controller_of(path: Path, overrides: tuple[str, ...] = ()) -> Controller:
    """Who will fly a file, for what follows from that alone."""
    table, source = _read(path, overrides)
    common = convert({key: table[key] for key in table if key in _keys(Common)}, Common, source)
    with _from(source):
        return flown_by(family(_kind(table)), common.chosen.kind, common.loop)


def of_table(table: dict[str, Any], source: str) -> Scenario:
    """The scenario that a file's table stands for; each key goes to its owner."""
    common = convert({key: table[key] for key in table if key in _keys(Common)}, Common, source)
    with _from(source):
        row = family(_kind(table))
        controller = flown_by(row, common.chosen.kind, common.loop)
        owners: tuple[type[FamilyTables], type[ControllerTables]] = part(row.tables), part(controller.tables)
        _check_keys(table, {"every scenario": Common, row.name: owners[0], controller.name: owners[1]})
        ours = [owner.filled_in({key: table[key] for key in table if key in _keys(owner)}) for owner in owners]
    aircraft, flying = convert(ours[0], owners[0], source), convert(ours[1], owners[1], source)
    shared = {name: getattr(common, name) for name in Common.__struct_fields__}
    with _from(source):
        return Scenario(**shared, aircraft=aircraft, controller=flying)


def _check_keys(table: dict[str, Any], owners: dict[str, type[Struct]]) -> None:
    """That each key has one owner."""
    known: dict[str, str] = {}
    for name, owner in owners.items():
        for key in _keys(owner):
            if key in known:
                raise ConfigError(f"{key}: both {known[key]} and {name} have a table of this name; rename one")
            known[key] = name
    unknown = [key for key in table if key not in known]
    if unknown:
        raise ConfigError(f"{unknown[0]}: unknown key, expected one of: {', '.join(known)}")


def _keys(owner: type[Struct]) -> tuple[str, ...]:
    return owner.__struct_encode_fields__


@contextmanager
def _from(source: str) -> Iterator[None]:
    """Errors say what they are about; whoever reads them wants to know in which file."""
    try:
        yield
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{source}: {error}") from None


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


def _typed(key: str, overrides: tuple[str, ...]) -> bool:
    """Whether an override set the key, or a table that holds it."""
    return any(f"{key}.".startswith(f"{override.partition('=')[0]}.") for override in overrides)
