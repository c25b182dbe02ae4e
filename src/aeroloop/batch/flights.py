"""A scenario and a table of parameters in, a table of metrics out: what a campaign calls.

Which aircraft has a batch says its family's row (`batch`). Parameters are keys of the scenario; one that is not given
has the scenario's value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.batch.engine import Engine, Flown, Target
from aeroloop.batch.loop import Loop
from aeroloop.core import scenario_files, tables
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario


@dataclass(frozen=True)
class Plan:
    """A scenario as a batch, made by the function that its family's row names: its loop, the table of its cycles, the
    parameters' values in the scenario, by their keys there, and the ranges of those that have one."""

    loop: Loop
    table: Vec
    defaults: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    always: Mapping[str, float] = field(default_factory=dict)  # metrics that are the same in every flight

    @property
    def metric_names(self) -> tuple[str, ...]:
        return (*self.loop.metrics, *self.always)


def plan(scenario_name: str, overrides: tuple[str, ...] = ()) -> Plan:
    """ConfigError for a scenario, or a part of one, that no batch can fly."""
    return planned(scenario_files.load(scenario_files.find(scenario_name), overrides))


def planned(scenario: Scenario) -> Plan:
    """The same of a scenario that was read."""
    made: Plan = tables.made(checked(scenario).family.batch, scenario)
    return made


def checked(scenario: Scenario) -> Scenario:
    """ConfigError if no batch flies its aircraft and controller."""
    if not scenario.family.batch:
        raise ConfigError(
            f"{scenario.name}: no batch flies {scenario.family.name} with controller {scenario.flown_by.name}, "
            f"expected one of: {', '.join(with_batch())}; or engine = bench"
        )
    return scenario


def with_batch() -> list[str]:
    """Families that have a batch, with the controllers that fly in it."""
    found = dict.fromkeys(row.name for row in map(tables.family, tables.FAMILIES))
    rows = {name: tables.family(name) for name in found}
    controllers = {
        name: [controller for controller in row.controllers if row.flown_by(controller).batch]
        for name, row in rows.items()
    }
    return [f"{name} with {' or '.join(own)}" for name, own in controllers.items() if own]


def columns(plan: Plan, parameters: Mapping[str, Sequence[float] | NDArray[Any]], count: int) -> Vec:
    """(count, parameters) The numbers of each flight; ConfigError names a key or value that the batch does not take."""
    check_keys(plan, parameters)
    made = []
    for name, value in plan.defaults.items():
        column = np.asarray(parameters.get(name, np.full(count, value)), float)
        if column.shape != (count,):
            raise ConfigError(f"{name}: expected a number for each of the {count} flights, not {column.shape}")
        low, high = plan.ranges.get(name, (-np.inf, np.inf))
        if not np.all(np.isfinite(column) & (column >= low) & (column <= high)):
            bounds = f" from {low:g} to {high:g}" if name in plan.ranges else ""
            raise ConfigError(f"{name}: a batch expects finite numbers{bounds}")
        made.append(column)
    return np.stack(made, axis=1)


def check_keys(plan: Plan, keys: Mapping[str, Any] | Sequence[str]) -> None:
    """ConfigError for a key that is not a parameter of the batch."""
    unknown = sorted(set(keys) - set(plan.defaults))
    if unknown:
        raise ConfigError(f"{unknown[0]}: not a parameter of this batch, expected one of: {', '.join(plan.defaults)}")


def fly(
    plan: Plan,
    parameters: Mapping[str, Sequence[float] | NDArray[Any]],
    seeds: Sequence[int] | NDArray[Any],
    *,
    target: Target = "lanes",
    threads: int = 0,
) -> Flown:
    """One flight for each seed; a column of `parameters` has one number for each flight."""
    own = columns(plan, parameters, len(seeds))
    return Engine(plan.loop, target).fly(own, plan.table, np.asarray(seeds), threads=threads)


def check_metrics(plan: Plan, wanted: Sequence[str]) -> None:
    """ConfigError for a metric that a batch does not compute."""
    missing = [name for name in wanted if name not in plan.metric_names]
    if missing:
        raise ConfigError(f"{missing[0]}: a batch does not compute it, expected one of: {', '.join(plan.metric_names)}")
