"""A scenario and a table of parameters in, a table of metrics out: what a campaign calls.

Keys are those of the batch's vehicle (`parameter_names`); a key that is not given has the scenario's value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.batch import tiltrotor
from aeroloop.batch.engine import Engine, Flown, Target
from aeroloop.batch.loop import Loop
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import narrowed
from aeroloop.families.tiltrotor.scenario import TiltrotorTables


@dataclass(frozen=True)
class Plan:
    """A scenario as a batch: its loop, the table of its cycles, the parameters' values in the scenario, and the ranges
    of those that are whole numbers."""

    loop: Loop
    table: Vec
    defaults: Mapping[str, float]
    whole: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def plan(scenario_name: str, overrides: tuple[str, ...] = ()) -> Plan:
    """ConfigError for a scenario, or a part of one, that no batch can fly."""
    scenario = scenario_files.load(scenario_files.find(scenario_name), overrides)
    for make in _VEHICLES:
        made = make(scenario)
        if made is not None:
            return made
    raise ConfigError(f"{scenario_name}: a batch flies the tilt-rotor with its own law; use the engine `bench`")


def fly(
    planned: Plan,
    parameters: Mapping[str, Sequence[float] | NDArray[Any]],
    seeds: Sequence[int] | NDArray[Any],
    *,
    target: Target = "lanes",
    threads: int = 0,
) -> Flown:
    """One flight for each seed; a column of `parameters` has one number for each flight."""
    unknown = sorted(parameters.keys() - planned.defaults.keys())
    if unknown:
        raise ConfigError(
            f"{unknown[0]}: not a parameter of this batch, expected one of: {', '.join(planned.defaults)}"
        )
    count = len(seeds)
    columns = []
    for name, value in planned.defaults.items():
        column = np.asarray(parameters.get(name, np.full(count, value)), float)
        if column.shape != (count,):
            raise ConfigError(f"{name}: expected a number for each of the {count} flights, not {column.shape}")
        if not np.isfinite(column).all():
            raise ConfigError(f"{name}: expected finite numbers")
        if name in planned.whole:
            low, high = planned.whole[name]
            if not np.all((column >= low) & (column <= high) & (column == np.round(column))):
                raise ConfigError(f"{name}: expected whole numbers from {low:g} to {high:g}")
        columns.append(column)
    engine = Engine(planned.loop, target)
    return engine.fly(np.stack(columns, axis=1), planned.table, np.asarray(seeds), threads=threads)


def metric_names(planned: Plan, wanted: Sequence[str]) -> tuple[str, ...]:
    """Those that checks name; ConfigError for one that a batch does not compute."""
    missing = [name for name in wanted if name not in planned.loop.metrics]
    if missing:
        raise ConfigError(
            f"{missing[0]}: a batch does not compute it, expected one of: {', '.join(planned.loop.metrics)}"
        )
    return tuple(wanted)


def _tiltrotor(scenario: Any) -> Plan | None:
    own = narrowed(scenario, TiltrotorTables, RequestTables)
    if own is None:
        return None
    return Plan(tiltrotor.loop(own), tiltrotor.table(own), tiltrotor.PARAMETERS, tiltrotor.limits(own))


_VEHICLES: tuple[Callable[[Any], Plan | None], ...] = (_tiltrotor,)
