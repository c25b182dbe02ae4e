"""The verdict: each check is a metric and a limit. NaN passes none, as every comparison with it is false."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from aeroloop.analysis import collisions, landing_metrics
from aeroloop.analysis.family import analysis_of, metric_names
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Check, Scenario
from aeroloop.core.suggest import did_you_mean

RENAMED = {"orders_refused": "commands_refused"}
"""Former names of metrics, in older scenario files and runs -> present names."""


@dataclass(frozen=True)
class CheckResult:
    """A check of a flight: the metric's value, its limit, and whether it was met."""

    name: str  # of the metric
    value: float
    limit: str  # for the reader: "< 0.03"
    ok: bool


def required(scenario: Scenario, *, in_fleet: bool = False) -> tuple[Check, ...]:
    """The scenario's checks, and the implicit ones: it flew to its end, did not diverge, did not collide, and its board
    or autopilot had no failure. Checks of what a companion sees are dropped where the flight has none of its own.
    `in_fleet`: it is a part of several."""
    known = metric_names(scenario)  # those of a board do not exist for every controller
    implied = (
        Check(metric="flown_s", above=scenario.flown_at_least_s),
        *(Check(metric=metric, equals=0.0) for metric in analysis_of(scenario).never if metric in known),
        *collisions.implied(scenario, in_fleet=in_fleet),
    )
    unmeasured = landing_metrics.unmeasured(scenario)
    own = tuple(check for check in scenario.checks if check.metric not in unmeasured)
    listed = {check.metric for check in own}
    return (*own, *(check for check in implied if check.metric not in listed))


def _present_name(metric: str) -> str:
    for old, new in RENAMED.items():
        metric = metric.replace(old, new)
    return metric


def verify(scenario: Scenario) -> None:
    """Refuse a check of an unknown metric before the flight, not after it."""
    evaluate(required(scenario), dict.fromkeys(metric_names(scenario), math.nan))


def evaluate(checks: tuple[Check, ...], metrics: Mapping[str, float]) -> list[CheckResult]:
    return [_evaluate(check, metrics) for check in checks]


def _evaluate(check: Check, metrics: Mapping[str, float]) -> CheckResult:
    metric = check.metric if check.metric in metrics else _present_name(check.metric)
    if metric not in metrics:
        known = ", ".join(metrics)
        like = did_you_mean(check.metric, metrics)
        raise ConfigError(f"checks: unknown metric {check.metric!r}{like}, expected one of: {known}")
    value = metrics[metric]
    if check.below is not None:
        limit, ok = f"< {check.below:.10g}", value < check.below
    elif check.above is not None:
        limit, ok = f"> {check.above:.10g}", value > check.above
    else:
        assert check.equals is not None
        limit, ok = f"= {check.equals:.10g}", value == check.equals
    return CheckResult(check.metric, value, limit, ok)


def digits(limit: str, least: int) -> int:
    """Significant digits with which a value can be compared with the text of its limit."""
    mantissa = limit.lstrip("<>= -").partition("e")[0].replace(".", "").lstrip("0")
    return max(least, len(mantissa))
