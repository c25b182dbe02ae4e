"""What the flights of a batch say: as `judgement.py`, on columns instead of rows, with the statement of agreement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aeroloop.analysis.section import Section
from aeroloop.analysis.summary import json_safe
from aeroloop.campaign import batch_page
from aeroloop.campaign.agreement import Agreement
from aeroloop.campaign.batch_table import Flags, FlightColumns, LazyRows
from aeroloop.campaign.definition import PASSED
from aeroloop.campaign.judgement import Judged, Rate, Sensitivity, Worst
from aeroloop.campaign.rare import RareRate
from aeroloop.campaign.sobol import Index, indices
from aeroloop.campaign.statistics import Array, correlation_interval, correlation_of_ranks, ranks
from aeroloop.campaign.store import Row
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK


@dataclass(frozen=True, kw_only=True)
class BatchJudged(Judged):
    table: FlightColumns
    agreement: Agreement
    rare: RareRate | None = None

    @cached_property
    def flown(self) -> Sequence[Row]:
        return LazyRows(self.table)

    @cached_property
    def aborted(self) -> list[Row]:
        return []

    @property
    def passed(self) -> Flags:
        return self.table.passed

    def rate(self, name: str = PASSED) -> Rate:
        if name == PASSED:
            met = self.passed
        else:
            met = np.ones(self.table.count, bool)
            for check in self.table.kept.checks:
                if check.metric == name:
                    met &= self.table.met(check)
        return Rate(name, int(met.sum()), self.table.count, 0)

    @cached_property
    def checked_metrics(self) -> dict[str, str]:
        return self.table.limits if self.table.count else {}

    def worst(self, count: int | None = None) -> list[Worst]:
        lists = []
        wanted = count or self.definition.keep
        for check in self.table.kept.checks:
            margins = self.table.margins(check)
            if not len(margins) or margins.min() == margins.max():
                continue
            most = min(wanted, len(margins))
            near = np.argpartition(margins, most - 1)[:most]
            order = near[np.lexsort((near, margins[near]))]
            limit, values = self.checked_metrics[check.metric], self.table.metric(check.metric)
            lists.append(
                [Worst(check.metric, float(values[i]), limit, float(margins[i]), self.table.row(int(i))) for i in order]
            )
        lists.sort(key=lambda each: each[0].margin)
        return [each for found in lists for each in found]

    def column(self, key: str) -> Array:
        return self.table.values[key]

    def metric(self, name: str) -> Array:
        return self.table.metric(name)

    def numbers(self) -> Array:
        return np.arange(1.0, self.table.count + 1.0)

    def wall_s(self) -> Array:
        return np.full(self.table.count, np.nan)  # flights are timed together

    def texts(self, key: str) -> list[str]:
        return []

    @cached_property
    def metric_names(self) -> list[str]:
        return list(self.table.metrics)

    def metrics_of(self, row: Row) -> Mapping[str, float]:
        return {name: float(own[row.number - 1]) for name, own in self.table.metrics.items()}

    def with_verdict(self, verdict: str, most: int) -> Sequence[Row]:
        if verdict not in ("passed", "failed"):
            return []
        found = np.flatnonzero(self.passed if verdict == "passed" else ~self.passed)[:most]
        return [self.table.row(int(index)) for index in found]

    @cached_property
    def sensitivities(self) -> list[Sensitivity]:
        if self.rare is not None or self.definition.sensitivity is not None:
            return []  # not drawn from the parameters' distributions, or said better by the indices
        found = []
        ranked = {key: ranks(self.column(key)) for key in self.varied}
        for metric in self.checked_metrics:
            values = self.metric(metric)
            if not len(values) or np.ptp(values) == 0.0 or not np.isfinite(values).all():
                continue
            own = ranks(values)
            for key, other in ranked.items():
                correlation = correlation_of_ranks(other, own)
                if math.isfinite(correlation):
                    interval = correlation_interval(correlation, len(own))
                    found.append(Sensitivity(key, metric, correlation, interval, len(own)))
        return found

    @cached_property
    def indices(self) -> list[Index]:
        """Sobol's, of the checked metrics that vary; empty until all flights are there."""
        settings = self.definition.sensitivity
        if settings is None or not self.complete:
            return []
        keys = sorted(each.key for each in self.definition.parameter)
        metrics = {name: self.metric(name) for name in self.checked_metrics}
        return indices(metrics, keys, settings, self.definition.seed)

    @property
    def exit_code(self) -> int:
        """A batch that is not complete was not compared with the bench yet."""
        if not self.complete:
            return super().exit_code
        refused = self.rare is not None and not self.rare.ok(self.definition.rare)
        if super().exit_code == EXIT_OK and (not self.agreement.confirmed or refused):
            return EXIT_CHECK_FAILED
        return super().exit_code

    @property
    def remarks(self) -> list[str]:
        rate = [self.rare.words] if self.rare is not None else []
        return [*rate, f"agreement with the bench: {self.agreement.words}"]

    def extra_sections(self) -> Iterator[Section]:
        yield from batch_page.sections(self.agreement, self.indices, self.rare)

    def exported(self) -> dict[str, Sequence[Any]]:
        fixed: dict[str, Sequence[Any]] = {
            "number": range(1, self.table.count + 1),
            "verdict": np.where(self.passed, "passed", "failed").tolist(),
            "noise": self.table.noise.tolist(),
        }
        values = {key: own.tolist() for key, own in self.table.values.items()}
        return {**fixed, **values, **{name: own.tolist() for name, own in self.table.metrics.items()}}

    @property
    def summary(self) -> dict[str, Any]:
        safe: dict[str, Any] = json_safe(
            {
                **super().summary,
                "engine": "batch",
                "agreement": self.agreement.table,
                "indices": [asdict(each) for each in self.indices],
                "rare": None if self.rare is None else asdict(self.rare),
            }
        )
        return safe
