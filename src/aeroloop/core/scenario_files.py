"""Scenario files: found by name, read, split by the owners of their keys, and checked."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from aeroloop.core import trust
from aeroloop.core.change_offers import check_planned_changes
from aeroloop.core.config import apply_overrides, convert, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import check_planned
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.scenario import Common, ControllerTables, FamilyTables, Scenario, Tables
from aeroloop.core.suggest import did_you_mean
from aeroloop.core.tables import DEFAULT_FAMILY, Controller, Family, family, flown_by, part

T = TypeVar("T", bound=Tables)

HERE = Path()
SCENARIO_DIRS = (HERE, Path("scenarios"), SCENARIOS)
"""Where names are searched: first the user's own files, then the shipped ones."""
TOLD_BY = ("summary", "duration_s", "checks", "vehicle", "aircraft")
"""Keys besides its name that distinguish a scenario from another TOML file in the current folder."""
OF_CAMPAIGN = "scenario"
"""A file with this key is a campaign; it may have the name of a scenario."""
KIND = "vehicle.kind"


def find(name: str) -> Path:
    """The file of a scenario given by name or by path."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            beside = [str(each) for each in path.parent.glob("*.toml")]
            raise ConfigError(f"{name}: no such scenario file{did_you_mean(name, beside)}")
        return path
    for folder in SCENARIO_DIRS:
        path = folder / f"{name}.toml"
        if path.is_file() and not (folder == HERE and is_campaign(path)):
            return path
    inside = [str(path) for path in sorted(Path(name).glob("*.toml")) if _is_scenario(path)] if name else []
    if inside:  # as `aeroloop new` leaves it
        raise ConfigError(f"{name}: a folder; expected one of the scenarios in it: {', '.join(inside)}")
    known = [path.stem for path in available()]
    raise ConfigError(
        f"unknown scenario {name!r}{did_you_mean(name, known)}; expected a .toml file or one of: "
        f"{', '.join(known) or 'none'}"
    )


def available() -> list[Path]:
    """The scenarios that can be flown by name, each once."""
    found: dict[str, Path] = {}
    for folder in SCENARIO_DIRS:
        for path in sorted(folder.glob("*.toml")):
            if folder != HERE or _is_scenario(path):
                found.setdefault(path.stem, path)
    return [found[stem] for stem in sorted(found)]


def _is_scenario(path: Path) -> bool:
    """The current folder may contain other TOML files, or unreadable ones."""
    try:
        table = read_toml(path)
    except ConfigError:
        return False
    return "name" in table and OF_CAMPAIGN not in table and any(key in table for key in TOLD_BY)


def is_campaign(path: Path) -> bool:
    try:
        table = read_toml(path)
    except ConfigError:
        return False
    return "name" in table and OF_CAMPAIGN in table


def summary(path: Path) -> str:
    """The description in a file; read without its family, whose import may be slow."""
    return str(read_toml(path).get("summary", ""))


def load(path: Path, overrides: tuple[str, ...] = (), given: Mapping[str, Any] | None = None) -> Scenario:
    """Read and validate a scenario; `overrides` are `key.path=value` strings with TOML values. File names in a scenario
    are relative to it, those in `overrides` to the current folder. `given`: the content, if there is no file."""
    table, source = _read(path, overrides, given)
    scenario = of_table(table, source)
    here = {key: str(Path.cwd() / name) for key, name in scenario.files().items() if typed(key, overrides)}
    scenario = scenario.with_files(here).anchored(path.resolve().parent)
    for name in here.values() if given is None else scenario.files().values():
        trust.consent(Path(name))
    with _from(source):
        check_planned(scenario)
        check_planned_changes(scenario)
    return scenario


def controller_of(path: Path, overrides: tuple[str, ...] = (), given: Mapping[str, Any] | None = None) -> Controller:
    """Family and controller of a file, if only those are needed."""
    table, source = _read(path, overrides, given)
    common = convert({key: table[key] for key in table if key in _keys(Common)}, Common, source)
    with _from(source):
        return flown_by(family(kind_of(table)), common.chosen.kind, common.loop)


def of_table(table: dict[str, Any], source: str) -> Scenario:
    """Convert a file's table to a scenario; each key goes to its owner."""
    common = convert({key: table[key] for key in table if key in _keys(Common)}, Common, source)
    with _from(source):
        row = family(kind_of(table))
        controller = flown_by(row, common.chosen.kind, common.loop)
        owners = _tables(row.tables, FamilyTables), _tables(controller.tables, ControllerTables)
        _check_keys(table, {"every scenario": Common, row.name: owners[0], controller.name: owners[1]}, row)
        ours = [owner.filled_in({key: table[key] for key in table if key in _keys(owner)}) for owner in owners]
    aircraft, flying = convert(ours[0], owners[0], source), convert(ours[1], owners[1], source)
    shared = {name: getattr(common, name) for name in Common.__struct_fields__}
    with _from(source):
        return Scenario(**shared, aircraft=aircraft, controller=flying)


def _tables(reference: str, base: type[T]) -> type[T]:
    """The struct that a row names."""
    owner = part(reference)
    if not (isinstance(owner, type) and issubclass(owner, base)):
        raise ConfigError(
            f"{reference}: expected a struct derived from core.scenario.{base.__name__}, not {owner!r:.60}"
        )
    return owner


def _check_keys(table: dict[str, Any], owners: dict[str, type[Struct]], row: Family) -> None:
    """Check that each key has one owner."""
    known: dict[str, str] = {}
    for name, owner in owners.items():
        for key in _keys(owner):
            if key in known:
                raise ConfigError(f"{key}: both {known[key]} and {name} have a table of this name; rename one")
            known[key] = name
    unknown = [key for key in table if key not in known]
    if unknown:
        whose = _whose(unknown[0], row, list(owners)[-1], known)
        raise ConfigError(f"{unknown[0]}: {whose}, expected one of: {', '.join(known)}")


def _whose(key: str, row: Family, flies: str, known: Iterable[str]) -> str:
    """Describe a key that neither owner has: unknown, or of a controller that is not used."""
    others = [name for name, reference in row.controllers.items() if key in _keys(part(part(reference).tables))]
    if others:
        return f"a table of controller {' or '.join(others)}, and {flies} flies here"
    return f"unknown key{did_you_mean(key, known)}"


def _keys(owner: type[Struct]) -> tuple[str, ...]:
    return owner.__struct_encode_fields__


@contextmanager
def _from(source: str) -> Iterator[None]:
    """Adds the file's name to errors raised without it."""
    try:
        yield
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{source}: {error}") from None


def table_of(path: Path, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The content of a file, or the given content instead."""
    return read_toml(path) if given is None else copy.deepcopy(dict(given))


def _read(path: Path, overrides: tuple[str, ...], given: Mapping[str, Any] | None) -> tuple[dict[str, Any], str]:
    """A file's table, with overrides and with the family's folder as an absolute path; and the file's name for
    messages."""
    table = table_of(path, given)
    source = str(path)
    if "aircraft" in table:
        raise ConfigError(f"{path}: aircraft: a fleet of several; expected a file with one [vehicle]")
    if overrides:
        apply_overrides(table, overrides)
        source = f"{path} with {' '.join(overrides)}"
    with _from(source):
        kind = kind_of(table)
    if "/" in kind:  # a family's folder; must be found from every process
        base = Path.cwd() if typed(KIND, overrides) else path.resolve().parent
        table["vehicle"]["kind"] = str((base / kind).resolve())
        if typed(KIND, overrides) or given is not None:
            trust.consent(base / kind)
    return table, source


def kind_of(table: dict[str, Any]) -> str:
    """The location of the family of a file's table."""
    vehicle = table.get("vehicle", {})
    if not isinstance(vehicle, dict):  # else the default family's keys would be named, and not this one
        raise ConfigError(f"vehicle: expected a table, not {vehicle!r:.60}")
    kind = vehicle.get("kind", DEFAULT_FAMILY)
    if not isinstance(kind, str):
        raise ConfigError(f"{KIND}: expected the name of a family or the path of its folder, not {kind!r:.60}")
    return kind


def typed(key: str, overrides: tuple[str, ...]) -> bool:
    """Whether an override set the key, or a table that contains it."""
    return any(f"{key}.".startswith(f"{override.partition('=')[0]}.") for override in overrides)
