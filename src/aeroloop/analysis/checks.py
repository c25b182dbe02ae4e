"""The verdict: each check is a metric and a bound. NaN passes none, as every comparison with it is false."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from aeroloop.analysis.family import analysis_of, metric_names
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Check, Scenario


@dataclass(frozen=True)
class CheckResult:
    name: str  # of the metric
    value: float
    limit: str  # as a reader writes it: "< 0.03"
    ok: bool


def required(scenario: Scenario) -> tuple[Check, ...]:
    """The scenario's checks, and those it need not list: it flew to its end, did not diverge, and what must
    never happen to its board or autopilot did not happen."""
    implied = (
        Check(metric="flown_s", above=scenario.flown_at_least_s),
        *(Check(metric=metric, equals=0.0) for metric in analysis_of(scenario).never),
    )
    listed = {check.metric for check in scenario.checks}
    return (*scenario.checks, *(check for check in implied if check.metric not in listed))


def verify(scenario: Scenario) -> None:
    """Refuse a check of an unknown metric before the flight, not after it."""
    evaluate(required(scenario), dict.fromkeys(metric_names(scenario), math.nan))


def evaluate(checks: tuple[Check, ...], metrics: Mapping[str, float]) -> list[CheckResult]:
    return [_evaluate(check, metrics) for check in checks]


def _evaluate(check: Check, metrics: Mapping[str, float]) -> CheckResult:
    if check.metric not in metrics:
        known = ", ".join(metrics)
        raise ConfigError(f"checks: unknown metric {check.metric!r}, expected one of: {known}")
    value = metrics[check.metric]
    if check.below is not None:
        limit, ok = f"< {check.below:.10g}", value < check.below
    elif check.above is not None:
        limit, ok = f"> {check.above:.10g}", value > check.above
    else:
        assert check.equals is not None
        limit, ok = f"= {check.equals:.10g}", value == check.equals
    return CheckResult(check.metric, value, limit, ok)
