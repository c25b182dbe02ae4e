"""Scenarios in code: found by name, changed by key, or given as a table; with the same checks as for a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from aeroloop.core import scenario_files
from aeroloop.core.config import override
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Fleet, Plan, part_key, parts_of
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.tables import Controller, made
from aeroloop.core.trust import guarded
from aeroloop.flight.results import without_none

IN_CODE = Path("scenario in code")
"""Stands for the file of a scenario that has none; its file names are relative to the current folder."""


class ScenarioInfo(NamedTuple):
    """A scenario that can be flown by name."""

    name: str
    summary: str
    path: Path


@dataclass(frozen=True)
class ScenarioPlan:
    """A scenario or a fleet, with its changes. It is immutable: `set` returns another one."""

    path: Path
    changes: tuple[str, ...] = ()  # `key=value`, as for `--set`; the last one applies
    table: Mapping[str, Any] | None = None  # of a scenario given in code, what its file would hold

    @cached_property
    def plan(self) -> Plan:
        """The checked structs; ConfigError names the error."""
        return load_plan(self.path, self.changes, self.table)

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def summary(self) -> str:
        return self.plan.summary

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what flies: one, or the parts of a fleet."""
        return tuple(part.name for part in parts_of(self.plan))

    def set(self, changes: Mapping[str, Any]) -> ScenarioPlan:
        """A copy with other values for some keys: `{"world.wind.steady_W": [3, 0, 0]}`."""
        return _flyable(self.changed(overrides_of(changes)))

    def changed(self, overrides: tuple[str, ...]) -> ScenarioPlan:
        """The same with changes as text, `key=value`, not checked yet."""
        return replace(self, changes=(*self.changes, *overrides)) if overrides else self

    def checked(self) -> ScenarioPlan:
        """Check it now: errors are raised where they are made."""
        _ = self.plan
        return self

    def __getitem__(self, key: str) -> Any:
        """The value under a dotted key, with the default where the file is silent: `plan["world.step_s"]`."""
        value: Any = self.to_dict()
        for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", key):
            try:
                value = value[int(index) if index else name]
            except (KeyError, IndexError, TypeError):
                raise KeyError(f"{key}: the scenario {self.name} has no such key") from None
        return value

    def to_dict(self) -> dict[str, Any]:
        """Every key with its value, as the file would have them."""
        return self.plan.flat()

    def to_toml(self) -> str:
        """The same as the text of a scenario file."""
        return tomli_w.dumps(without_none(self.to_dict()))

    def __repr__(self) -> str:
        return f"<ScenarioPlan {self.name}{f' with {chr(32).join(self.changes)}' if self.changes else ''}>"


def scenario(
    name: str | Path | Mapping[str, Any] | ScenarioPlan,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the command line's name
    trust: bool = False,
) -> ScenarioPlan:
    """A scenario by its name in `aeroloop list`, by the path of its .toml file, or as a table with the content of such
    a file.

    `set`: values of any of its keys, by their dotted names. `trust` as for `fly`. ConfigError names the error, also one
    for which no flight would start, such as a goal in a hillside.
    """
    with guarded(trust=trust):
        return _flyable(named(name).changed(overrides_of(set or {})))


def scenarios() -> list[ScenarioInfo]:
    """The scenarios that can be flown by name: those of the folder `scenarios` here, then those that Aeroloop ships."""
    return [ScenarioInfo(path.stem, scenario_files.summary(path), path) for path in scenario_files.available()]


def named(name: str | Path | Mapping[str, Any] | ScenarioPlan) -> ScenarioPlan:
    """The same unchecked."""
    if isinstance(name, ScenarioPlan):
        return name
    if isinstance(name, Mapping):
        return ScenarioPlan(IN_CODE, table=name)
    return ScenarioPlan(scenario_files.find(str(name)))


def _flyable(scenario: ScenarioPlan) -> ScenarioPlan:
    """The same, after the checks that a family makes before a flight, such as that of a goal against the terrain."""
    plan = scenario.plan
    for part in parts_of(plan):
        if not part.family.check:
            continue
        try:
            made(part.family.check, part)
        except ConfigError as error:
            key = f"{part_key(plan, part)}." if isinstance(plan, Fleet) else ""
            raise ConfigError(f"{key}{error}") from None
    return scenario


def law_override(law: str | Path | None, controller: Controller) -> tuple[str, ...]:
    """The change with which this controller flies a control law from a file; ConfigError if it flies none."""
    if law is not None and not controller.law_key:
        raise ConfigError(
            "--law: this controller brings its own law; expected a scenario whose law may be a file, such as "
            "tiltrotor-spiral, quad-law-hover, fixedwing-loiter or heli-hover"
        )
    return () if law is None else (override(controller.law_key, Path(law).absolute()),)


def overrides_of(changes: Mapping[str, Any]) -> tuple[str, ...]:
    if not isinstance(changes, Mapping):
        raise ConfigError(f"set: expected a mapping of keys and values, not {changes!r:.60}")
    return tuple(override(key, value) for key, value in changes.items())
