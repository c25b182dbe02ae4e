"""The columns of a flight of a fault campaign, computed where it was flown. The fault-free flight that it is compared
with is flown once by each worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aeroloop.analysis.family import analysis_of
from aeroloop.campaign.fault_outcome import USUAL, Seen, Signs, columns, seen
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Plan
from aeroloop.core.scenario import Scenario
from aeroloop.recording.log import Log

Flown = tuple[dict[str, Any], Log]
"""The summary of a flight, and its log."""
KEPT = 4
"""Fault-free flights that a worker keeps."""


def single(plan: Plan) -> Scenario:
    """The only part of a plan; ConfigError for a fleet."""
    if not isinstance(plan, Scenario) or plan.aircraft.count != 1:
        raise ConfigError("sweep: expected a scenario of one aircraft")
    return plan


def signs_of(scenario: Scenario) -> Signs:
    analysis = analysis_of(scenario)
    return Signs({*USUAL.noticing, *analysis.noticing}, {*USUAL.acting, *analysis.acting})


class FaultColumns:
    def __init__(self, fly: Callable[[Plan], Flown]) -> None:
        self._fly = fly
        self._free: dict[tuple[str, ...], Seen] = {}

    def of(self, plan: Plan, flown: Flown, changes: tuple[str, ...], free_plan: Plan | None) -> Mapping[str, float]:
        """`changes`: what makes the fault-free flight, of `free_plan`; None: this flight is the fault-free one."""
        scenario, (summary, log) = single(plan), flown
        own = seen(log, str(summary["ended"]))
        if free_plan is None:
            self._keep(changes, own)
        elif changes not in self._free:
            free_summary, free_log = self._fly(free_plan)
            self._keep(changes, seen(free_log, str(free_summary["ended"])))
        return columns(own, self._free[changes], passed=bool(summary["ok"]), signs=signs_of(scenario))

    def _keep(self, changes: tuple[str, ...], free: Seen) -> None:
        while len(self._free) >= KEPT:
            del self._free[next(iter(self._free))]
        self._free[changes] = free
