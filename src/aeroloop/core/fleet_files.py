"""Files with `[[aircraft]]`: the common keys at the top, and for each entry the tables of its family and controller.

An entry may be based on another scenario file (`scenario = "quad-hover"`). If a key is set in several places, the last
of these applies: that file, the top, the entry, the command line. `vehicle.count` with a controller that flies one
aircraft makes a part of each (`Family.each`). `[world]` at the top has the objects of all, about the first one's home.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.core import scenario_files, trust
from aeroloop.core.change_offers import check_planned_changes
from aeroloop.core.config import apply_overrides, convert, read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import check_planned
from aeroloop.core.fleet import AIRCRAFT, OF_THE_FLEET, Fleet, Plan, parts_of
from aeroloop.core.geodesy import local
from aeroloop.core.scenario import Common, Scenario, value_at, with_value
from aeroloop.core.signals import Origin
from aeroloop.core.tables import Controller, family, made

SCENARIO = "scenario"
"""The key of an entry that names its base file."""
ADDRESSED = ("checks", "faults", "changes")
"""Arrays at the top whose tables may name a part with the key `aircraft`; those without it apply to every part."""
OWN_ARRAYS = ("faults", "changes")
"""Common keys whose tables name one of several aircraft by `vehicle`."""
WORLD, OF_ALL = "world", ("scene", "objects")
"""The table at the top with what is in the world of all parts, and its keys."""
MOST_PARTS = 16
KEY = re.compile(r"[\w.\[\]-]+: ")


def load_plan(path: Path, overrides: tuple[str, ...] = (), given: Mapping[str, Any] | None = None) -> Plan:
    """Read and validate a file, a scenario or a fleet; `overrides` and `given` as for `scenario_files.load`."""
    table = scenario_files.table_of(path, given)
    if AIRCRAFT not in table:
        return expanded(scenario_files.load(path, overrides, given))
    source = f"{path} with {' '.join(overrides)}" if overrides else str(path)
    apply_overrides(table, overrides)
    return _fleet(table, path, source, overrides)


def controllers_of(
    path: Path, overrides: tuple[str, ...] = (), given: Mapping[str, Any] | None = None
) -> tuple[Controller, ...]:
    """Family and controller of a file, if only those are needed."""
    if AIRCRAFT in scenario_files.table_of(path, given):
        return tuple(part.flown_by for part in parts_of(load_plan(path, overrides, given)))
    return (scenario_files.controller_of(path, overrides, given),)


def expanded(scenario: Scenario) -> Plan:
    """A scenario of several aircraft whose controller flies one each becomes a fleet."""
    parts = _each(scenario)
    return scenario if len(parts) == 1 else Fleet(_common(scenario), parts)


def _common(scenario: Scenario) -> Common:
    return Common(**{name: getattr(scenario, name) for name in Common.__struct_fields__})


def _each(scenario: Scenario) -> tuple[Scenario, ...]:
    """The scenario of each aircraft if its controller flies one: `wing`, `wing-1`, ..."""
    row, controller, count = family(scenario.kind), scenario.flown_by, scenario.aircraft.count
    if controller.several or count == 1:
        return (scenario,)
    if not row.each:
        raise ConfigError(
            f'vehicle.count: {controller.name} flies one aircraft; expected 1, or each="module:function" in the row of '
            f"{row.name}"
        )
    for key in OWN_ARRAYS:
        if beyond := [index for index, each in enumerate(getattr(scenario, key)) if each.vehicle >= count]:
            raise ConfigError(f"{key}[{beyond[0]}].vehicle: there are {count} aircraft, the first is 0")
    parts = tuple(_one(made(row.each, scenario, number), number) for number in range(count))
    return tuple(_in_world_of(parts[0], part) for part in parts)


def _in_world_of(first: Scenario, part: Scenario) -> Scenario:
    """The part with its objects where those of the first are, whose world may have another origin."""
    home, own = value_at(first, "world.home"), value_at(part, "world.home")
    origin_m = value_at(first, "world.objects_origin_m")
    if not (value_at(part, "world.objects") or value_at(part, "world.scene")) or None in (home, own) or home == own:
        return part
    at = Origin(own.lat_deg, own.lon_deg, own.alt_m)
    east_m, north_m, _ = local(at, home.lat_deg, home.lon_deg, home.alt_m)
    placed_m = (round(east_m + origin_m[0], 6), round(north_m + origin_m[1], 6))
    return with_value(part, "world.objects_origin_m", placed_m)


def _one(scenario: Scenario, number: int) -> Scenario:
    """One of several aircraft: its own name, faults and changes."""
    own = scenario
    for key in OWN_ARRAYS:
        mine = (each for each in getattr(scenario, key) if each.vehicle == number)
        own = with_value(own, key, tuple(msgspec.structs.replace(each, vehicle=0) for each in mine))
    own = with_value(own, "vehicle.count", 1)
    return with_value(own, "name", f"{scenario.name}-{number}") if number else own


@dataclass(frozen=True)
class _Entry:
    """One table of `[[aircraft]]`, and its base file."""

    index: int
    own: Mapping[str, Any]
    begins_with: Mapping[str, Any]
    folder: Path  # of its base file, or of the fleet's file

    @property
    def key(self) -> str:
        return f"{AIRCRAFT}[{self.index}]"


def _fleet(table: dict[str, Any], path: Path, source: str, overrides: tuple[str, ...]) -> Fleet:
    entries = table.pop(AIRCRAFT)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigError(f"{source}: {AIRCRAFT}: expected at least one [[{AIRCRAFT}]] table")
    known = Common.__struct_encode_fields__
    if (world := table.get(WORLD)) is not None and (not isinstance(world, dict) or not set(world) <= set(OF_ALL)):
        raise ConfigError(
            f"{source}: {WORLD}: expected a table with {' and '.join(OF_ALL)} alone; the rest of it is in an entry, as "
            f"{AIRCRAFT}[0].{WORLD}"
        )
    if unknown := [key for key in table if key not in (*known, WORLD)]:
        raise ConfigError(
            f"{source}: {unknown[0]}: not allowed beside [[{AIRCRAFT}]]; expected in an entry, as "
            f"{AIRCRAFT}[0].{unknown[0]}, and at the top only: {', '.join((*known, AIRCRAFT))}"
        )
    addressed = {key: _tables(table.pop(key, []), key, source) for key in ADDRESSED}
    common = convert({key: value for key, value in table.items() if key != WORLD}, Common, source)
    shared = {key: value for key, value in table.items() if key not in ("name", *OF_THE_FLEET)}
    typed = tuple(override for override in overrides if re.split(r"[.=]", override)[0] in shared)
    read = [_entry(index, entry, path, source) for index, entry in enumerate(entries)]
    names = _names(read, source)
    _check_addressed(addressed, names, source)
    parts: list[Scenario] = []
    for entry, name in zip(read, names, strict=True):
        whole = _merged(entry.begins_with, shared, entry.own)
        apply_overrides(whole, typed)
        for key, tables in addressed.items():
            mine = [{k: v for k, v in each.items() if k != AIRCRAFT} for each in tables if _for(each, name)]
            own = [] if scenario_files.typed(key, overrides) else whole.get(key, [])
            whole[key] = [*_tables(own, f"{entry.key}.{key}", source), *mine]
        whole = {**whole, "name": name, "pace": common.pace, "open_ended": common.open_ended}
        parts += _parts(whole, entry, path, source, overrides)
    if len(parts) > MOST_PARTS:
        raise ConfigError(f"{source}: {AIRCRAFT}: {len(parts)} parts; expected {MOST_PARTS} at most")
    _check_names([part.name for part in parts], source)
    if world is not None:
        parts = [_in_world_of(parts[0], part) for part in parts]
    return Fleet(with_value(common, "checks", ()), tuple(parts))


def _entry(index: int, own: dict[str, Any], path: Path, source: str) -> _Entry:
    begins_with: dict[str, Any] = {}
    folder, key = path.resolve().parent, f"{source}: {AIRCRAFT}[{index}]"
    if (named := own.get(SCENARIO)) is not None:
        try:
            file = folder / named if str(named).endswith(".toml") else scenario_files.find(str(named))
            begins_with = read_toml(file)
        except ConfigError as error:
            raise ConfigError(f"{key}.{SCENARIO}: {error}") from None
        if AIRCRAFT in begins_with:
            raise ConfigError(f"{key}.{SCENARIO}: {named} is a fleet itself; expected a file with one [vehicle]")
        folder = file.resolve().parent
    if shared := [key for key in OF_THE_FLEET if key in own]:
        raise ConfigError(f"{key}.{shared[0]}: all aircraft share it; expected at the top of the file")
    kept = {key: value for key, value in begins_with.items() if key not in OF_THE_FLEET}
    return _Entry(index, {key: value for key, value in own.items() if key != SCENARIO}, kept, folder)


def _names(entries: list[_Entry], source: str) -> list[str]:
    """The name of each entry, or that of its file or family, made unique by a number."""
    names: list[str] = []
    for entry in entries:
        name = entry.own.get("name") or entry.begins_with.get("name") or _kind_name(entry)
        if not isinstance(name, str):
            raise ConfigError(f"{source}: {entry.key}.name: expected a text, not {name!r}")
        taken = names.count(name)
        if taken and "name" in entry.own:
            raise ConfigError(
                f"{source}: {entry.key}.name: {name!r} is the name of {AIRCRAFT}[{names.index(name)}] too"
            )
        names.append(name if not taken else next(n for i in range(1, 99) if (n := f"{name}-{i}") not in names))
    return names


def _kind_name(entry: _Entry) -> str:
    kind = scenario_files.kind_of(_merged(entry.begins_with, entry.own))
    return re.sub(r"[^a-z0-9-]+", "-", Path(kind).name.lower()).strip("-") or "aircraft"


def _check_names(names: list[str], source: str) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ConfigError(f"{source}: {AIRCRAFT}: two aircraft are called {twice[0]!r}; expected a name for each entry")


def _check_addressed(addressed: Mapping[str, list[dict[str, Any]]], names: list[str], source: str) -> None:
    for key, tables in addressed.items():
        for index, each in enumerate(tables):
            if AIRCRAFT in each and each[AIRCRAFT] not in names:
                raise ConfigError(
                    f"{source}: {key}[{index}].{AIRCRAFT}: unknown {each[AIRCRAFT]!r}, expected one of: "
                    f"{', '.join(names)}"
                )


def _for(table: Mapping[str, Any], name: str) -> bool:
    return bool(table.get(AIRCRAFT, name) == name)


def _tables(value: Any, key: str, source: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{source}: {key}: expected an array of tables")
    return list(value)


def _merged(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Of a key in several tables the last; tables key by key, unless the later is of another kind."""
    whole: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            together = _goes_on(whole.get(key), value)
            whole[key] = _merged(whole[key], value) if together else copy.deepcopy(value)
    return whole


def _goes_on(before: Any, value: Any) -> bool:
    """Whether a table adds to the one before; one of another kind has other keys."""
    both = isinstance(before, dict) and isinstance(value, dict)
    return both and value.get("kind", before.get("kind")) == before.get("kind")


def _parts(
    whole: dict[str, Any], entry: _Entry, path: Path, source: str, overrides: tuple[str, ...]
) -> tuple[Scenario, ...]:
    """The flights of one entry; what is wrong with it is told by the key in the file."""

    def folder_of(key: str) -> Path:
        """The folder that a file name under this key is relative to: that of the file which set it last."""
        if scenario_files.typed(f"{entry.key}.{key}", overrides):
            return Path.cwd()
        return path.resolve().parent if _has(entry.own, key) else entry.folder

    try:
        kind = scenario_files.kind_of(whole)
        if "/" in kind:
            whole["vehicle"]["kind"] = str((folder_of(scenario_files.KIND) / kind).resolve())
            if scenario_files.typed(f"{entry.key}.{scenario_files.KIND}", overrides):
                trust.consent(Path(whole["vehicle"]["kind"]))
        scenario = scenario_files.of_table(whole, source)
        files = {key: str(folder_of(key) / name) for key, name in scenario.files().items()}
        for key, name in files.items():
            if scenario_files.typed(f"{entry.key}.{key}", overrides):
                trust.consent(Path(name))
        scenario = scenario.with_files(files)
        check_planned(scenario)
        check_planned_changes(scenario)
        return _each(scenario)
    except ConfigError as error:
        words = str(error).removeprefix(f"{source}: ")
        raise ConfigError(f"{source}: {entry.key}{'.' if KEY.match(words) else ': '}{words}") from None


def _has(table: Any, key: str) -> bool:
    """Whether a table sets a dotted key."""
    for name in key.split("."):
        if not isinstance(table, Mapping) or name not in table:
            return False
        table = table[name]
    return True
