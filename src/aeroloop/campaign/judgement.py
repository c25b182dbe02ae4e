"""What the rows of a campaign say: rates with their intervals, checks, sensitivities, and the worst flights."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.section import Section
from aeroloop.analysis.summary import json_safe, versions
from aeroloop.campaign.definition import PASSED, Definition, RateCheck
from aeroloop.campaign.fault_matrix import FaultResults, results
from aeroloop.campaign.fault_page import table_of as fault_table
from aeroloop.campaign.flight_phases import Stretch
from aeroloop.campaign.parameter import Value
from aeroloop.campaign.search import Boundary
from aeroloop.campaign.statistics import (
    Array,
    clopper_pearson,
    correlation_interval,
    lower_bound,
    rank_correlation,
)
from aeroloop.campaign.store import ABORTED, FLOWN, PLANNED, Row
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_LINK, EXIT_OK

EXPORTED = ("number", "state", "verdict", "seed", "attempt", "exit_code", "ended", "wall_s", "log_sha256", "why", "key")
_LIMIT = re.compile(r"([<>=]) (.+)")


@dataclass(frozen=True)
class Rate:
    """Of flights, never without their number. Those aborted count as not passed in `successes` of `count`."""

    name: str
    successes: int
    count: int
    aborted: int

    @property
    def value(self) -> float:
        return self.successes / self.count if self.count else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Exact, 95 %."""
        return clopper_pearson(self.successes, self.count)

    @property
    def words(self) -> str:
        text = f"{_of(self.successes, self.count)}, 95 % interval {_range(self.interval)}"
        if self.aborted:
            flown = self.count - self.aborted
            own = _range(clopper_pearson(self.successes, flown))
            text += f"; without the {self.aborted} aborted {_of(self.successes, flown)}, {own}"
        return text


@dataclass(frozen=True)
class JudgedCheck:
    check: RateCheck
    rate: Rate

    @property
    def bound(self) -> float:
        return lower_bound(self.rate.successes, self.rate.count, self.check.confidence)

    @property
    def ok(self) -> bool:
        return self.rate.count > 0 and self.bound >= self.check.at_least

    @property
    def words(self) -> str:
        return (
            f"{self.check.rate}: lower bound {percent(self.bound)} at {percent(self.check.confidence)} confidence, "
            f"expected at least {percent(self.check.at_least)} (n = {self.rate.count})"
        )


@dataclass(frozen=True)
class Sensitivity:
    """Rank correlation of a parameter with a metric, and its 95 % interval."""

    key: str
    metric: str
    correlation: float
    interval: tuple[float, float]
    count: int


@dataclass(frozen=True)
class Worst:
    """A flight in the list of the worst, by the margin to the limit of one check."""

    metric: str
    value: float
    limit: str
    margin: float  # (limit - value) / limit; negative: failed
    row: Row


@dataclass(frozen=True)
class Judged:
    definition: Definition
    rows: Sequence[Row]  # of the present design
    metrics: Mapping[str, Mapping[str, float]]  # by key of the flight
    not_counted: tuple[int, int] = (0, 0)  # flown, of other editions and of other designs
    total: int = 0  # flights of the design
    boundary: Boundary | None = None
    edition: str = ""
    stretches: Sequence[Stretch] = ()  # of a sweep of faults: the phases of the fault-free flight

    @cached_property
    def flown(self) -> Sequence[Row]:
        return [row for row in self.rows if row.state == FLOWN]

    @cached_property
    def aborted(self) -> list[Row]:
        return [row for row in self.rows if row.state == ABORTED]

    @property
    def complete(self) -> bool:
        return len(self.flown) + len(self.aborted) >= self.total

    @property
    def passed(self) -> NDArray[np.bool_]:
        """Of the flown flights."""
        return np.array([row.passed for row in self.flown], dtype=np.bool_)

    def rate(self, name: str = PASSED) -> Rate:
        if name == PASSED:
            successes = sum(row.passed for row in self.flown)
        else:
            successes = sum(any(each["name"] == name and each["ok"] for each in row.checks) for row in self.flown)
        return Rate(name, successes, len(self.flown) + len(self.aborted), len(self.aborted))

    @cached_property
    def checks(self) -> list[JudgedCheck]:
        return [JudgedCheck(check, self.rate(check.rate)) for check in self.definition.check]

    @property
    def exit_code(self) -> int:
        if not all(check.ok for check in self.checks) or (self.boundary is not None and not self.boundary.found):
            return EXIT_CHECK_FAILED
        return EXIT_LINK if self.aborted else EXIT_OK

    @cached_property
    def checked_metrics(self) -> dict[str, str]:
        """Metrics that the scenario's checks limit -> the limit in words."""
        return {each["name"]: each["limit"] for row in self.flown for each in row.checks}

    def worst(self, count: int | None = None) -> list[Worst]:
        """Of each check that any flight can come near, those with the smallest margins; the check with the smallest
        first."""
        lists = []
        for metric, limit in self.checked_metrics.items():
            found = [Worst(metric, value, limit, margin_of(value, limit), row) for value, row in self._values(metric)]
            found.sort(key=lambda each: (each.margin, each.row.number))
            if found and found[0].margin != found[-1].margin:
                lists.append(found[: count or self.definition.keep])
        lists.sort(key=lambda each: each[0].margin)
        return [each for found in lists for each in found]

    def _values(self, metric: str) -> list[tuple[float, Row]]:
        pairs = [(each["value"], row) for row in self.flown for each in row.checks if each["name"] == metric]
        return [(math.nan if value is None else float(value), row) for value, row in pairs]

    @cached_property
    def varied(self) -> list[str]:
        """Keys of the parameters that vary."""
        keys = [each.key for each in self.definition.parameter]
        return [*keys, *(self.definition.search.names if self.definition.search else ())]

    def column(self, key: str) -> Array:
        """A parameter over the flown flights; of choices of text the number of the choice."""
        values, texts = [row.values.get(key) for row in self.flown], self.texts(key)
        return np.array([float(texts.index(value) if isinstance(value, str) else _number(value)) for value in values])

    def texts(self, key: str) -> list[str]:
        """The choices of text of a parameter, in the order of their numbers."""
        return sorted({value for row in self.flown if isinstance(value := row.values.get(key), str)})

    def metric(self, name: str) -> Array:
        return np.array([self.metrics.get(row.key, {}).get(name, math.nan) for row in self.flown])

    def numbers(self) -> Array:
        """Of the flown flights."""
        return np.array([float(row.number) for row in self.flown])

    def wall_s(self) -> Array:
        return np.array([_number(row.wall_s) for row in self.flown])

    @cached_property
    def metric_names(self) -> list[str]:
        return list(dict.fromkeys(name for own in self.metrics.values() for name in own))

    def metrics_of(self, row: Row) -> Mapping[str, float]:
        return self.metrics.get(row.key, {})

    def with_verdict(self, verdict: str, most: int) -> Sequence[Row]:
        """The first `most` flights by number of those that passed, failed, were aborted, or are planned."""
        return list(islice((row for row in self.rows if verdict_of(row) == verdict), most))

    @cached_property
    def sensitivities(self) -> list[Sensitivity]:
        found = []
        for metric in self.checked_metrics:
            values = self.metric(metric)
            for key in self.varied:
                column = self.column(key)
                correlation = rank_correlation(column, values)
                count = int(np.isfinite(values).sum())
                if math.isfinite(correlation):
                    interval = correlation_interval(correlation, count)
                    found.append(Sensitivity(key, metric, correlation, interval, count))
        return found

    @cached_property
    def faults(self) -> FaultResults | None:
        """Of a campaign with sweeps."""
        return results(self.flown, self.metrics, self.stretches) if self.definition.sweep else None

    @property
    def remarks(self) -> list[str]:
        """What else is to be said with the verdict."""
        return []

    def extra_sections(self) -> Iterator[Section]:
        """Of the report, before the distributions."""
        yield from ()

    def exported(self) -> dict[str, Sequence[Any]]:
        """A table with a row for each flight: columns by name, None where there is no value."""
        table: dict[str, Sequence[Any]] = {name: [getattr(row, name) for row in self.rows] for name in EXPORTED}
        for key in self.varied:
            table[key] = [row.values.get(key) for row in self.rows]
        for name in self.metric_names:
            values = [self.metrics_of(row).get(name, math.nan) for row in self.rows]
            table[name] = [None if math.isnan(value) else value for value in values]
        return table

    @property
    def summary(self) -> dict[str, Any]:
        """For scripts: status.json of the command line."""
        rate = self.rate()
        safe: dict[str, Any] = json_safe(
            {
                "campaign": self.definition.name,
                "ok": self.exit_code == EXIT_OK,
                "exit_code": self.exit_code,
                "complete": self.complete,
                "flights": {
                    "total": self.total,
                    "flown": len(self.flown),
                    "passed": rate.successes,
                    "failed": len(self.flown) - rate.successes,
                    "aborted": len(self.aborted),
                    "of_other_editions": self.not_counted[0],
                    "of_other_designs": self.not_counted[1],
                },
                "rate": {
                    "passed": rate.value,
                    "n": rate.count,
                    "interval_95": list(rate.interval),
                    "passed_without_aborted": rate.successes / max(1, len(self.flown)),
                },
                "checks": [
                    {**asdict(each.rate), **_check(each.check), "bound": each.bound, "ok": each.ok}
                    for each in self.checks
                ],
                "boundary": None if self.boundary is None else asdict(self.boundary),
                "sensitivity": [asdict(each) | {"interval": list(each.interval)} for each in self.sensitivities],
                "faults": None if self.faults is None else fault_table(self.faults),
                "edition": self.edition,
                "versions": versions(),
            }
        )
        return safe


def verdict_of(row: Row) -> str:
    if row.state == ABORTED:
        return "aborted"
    return "planned" if row.state == PLANNED else row.verdict or "failed"


def margin_of(value: float, limit: str) -> float:
    """Relative to the limit, or absolute where that is zero; negative if the check fails."""
    match = _LIMIT.fullmatch(limit)
    if match is None or not math.isfinite(value):
        return -math.inf
    kind, number = match[1], float(match[2])
    room = number - value if kind == "<" else value - number if kind == ">" else -abs(value - number)
    return room / abs(number) if number else room


def _check(check: RateCheck) -> dict[str, Any]:
    return {"rate": check.rate, "at_least": check.at_least, "confidence": check.confidence}


def _number(value: Value | None) -> float:
    return math.nan if value is None else float(value)


def _of(successes: int, count: int) -> str:
    return f"{percent(successes / count) if count else 'no rate'} ({successes} of {count})"


def _range(interval: tuple[float, float]) -> str:
    return " to ".join(map(percent, interval))


def percent(value: float) -> str:
    """Digits enough to tell it from 0 and from 100 %."""
    if math.isnan(value):
        return "no rate"
    percent, rest = 100.0 * value, min(value, 1.0 - value)
    digits = 1 if rest <= 0.0 else max(1, min(6, 1 - math.floor(math.log10(100.0 * rest))))
    text = f"{percent:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')} %"
