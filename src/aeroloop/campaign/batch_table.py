"""Flights of a batch as columns: parameters, metrics, verdicts. A row is made only where one flight is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.checks import evaluate
from aeroloop.campaign.statistics import Array
from aeroloop.campaign.store import FLOWN, Block, Row
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK
from aeroloop.core.scenario import Check

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Kept:
    """What the store says of a batch campaign beside its blocks."""

    design: str  # hash of what was flown
    keys: tuple[str, ...]  # of the parameters, rows of a block's params
    metrics: tuple[str, ...]  # rows of a block's metrics
    always: Mapping[str, float]
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class FlightColumns:
    kept: Kept
    values: Mapping[str, Array]
    noise: NDArray[Any]
    metrics: Mapping[str, Array]

    @property
    def count(self) -> int:
        return len(self.noise)

    def metric(self, name: str) -> Array:
        """Of every flight, also where it is the same in all."""
        if name in self.metrics:
            return self.metrics[name]
        return np.full(self.count, self.kept.always.get(name, np.nan))

    @cached_property
    def limits(self) -> dict[str, str]:
        """Checked metrics -> the limit in words."""
        return {each.name: each.limit for each in self._results(dict.fromkeys(self._names, np.nan))}

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.metrics, *self.kept.always)

    def _results(self, metrics: Mapping[str, float]) -> list[Any]:
        return evaluate(self.kept.checks, metrics)

    def met(self, check: Check) -> Flags:
        values = self.metric(check.metric)
        if check.below is not None:
            return np.asarray(values < check.below)
        return np.asarray(values > check.above) if check.above is not None else np.asarray(values == check.equals)

    @cached_property
    def passed(self) -> Flags:
        flags = np.ones(self.count, bool)
        for check in self.kept.checks:
            flags &= self.met(check)
        return flags

    def margins(self, check: Check) -> Array:
        """(limit - value) / limit, as `judgement.margin_of`."""
        values = self.metric(check.metric)
        if check.below is not None:
            room, limit = check.below - values, check.below
        elif check.above is not None:
            room, limit = values - check.above, check.above
        else:
            room, limit = -np.abs(values - (check.equals or 0.0)), check.equals or 0.0
        return np.where(np.isfinite(values), room / abs(limit) if limit else room, -np.inf)

    @cached_property
    def least_margins(self) -> Array:
        """Of each flight the smallest margin to any limit; a check that flights meet equally does not tell them
        apart."""
        least = np.full(self.count, np.inf)
        for check in self.kept.checks:
            margins, met = self.margins(check), self.met(check)
            if met.any() and np.ptp(margins[met]) == 0.0:
                margins = np.where(met, np.inf, margins)
            least = np.minimum(least, margins)
        return least

    def row(self, index: int) -> Row:
        metrics = {name: float(self.metric(name)[index]) for name in self._names}
        passed = bool(self.passed[index])
        return Row(
            key=f"batch-{index + 1}",
            number=index + 1,
            state=FLOWN,
            attempt=0,
            values={key: float(own[index]) for key, own in self.values.items()},
            seed=int(self.noise[index]),
            verdict="passed" if passed else "failed",
            exit_code=EXIT_OK if passed else EXIT_CHECK_FAILED,
            ended=None,
            wall_s=None,
            log_sha256=None,
            why=None,
            checks=tuple(asdict(each) for each in self._results(metrics)),
        )


def of_blocks(kept: Kept, blocks: Iterable[Block]) -> FlightColumns:
    """From the first flight on, as far as there is no gap."""
    found: list[Block] = []
    end = 0
    for block in blocks:
        if block.first != end:
            break
        found.append(block)
        end += len(block.noise)
    if not found:
        empty = np.empty(0)
        return FlightColumns(kept, dict.fromkeys(kept.keys, empty), empty, dict.fromkeys(kept.metrics, empty))
    params = np.concatenate([block.params for block in found], axis=1)
    metrics = np.concatenate([block.metrics for block in found], axis=1).astype(float)
    return FlightColumns(
        kept,
        dict(zip(kept.keys, params, strict=True)),
        np.concatenate([block.noise for block in found]),
        dict(zip(kept.metrics, metrics, strict=True)),
    )


class LazyRows(Sequence[Row]):
    """The rows of all flights, each made when it is read."""

    def __init__(self, table: FlightColumns) -> None:
        self._table = table

    def __len__(self) -> int:
        return self._table.count

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self._table.row(each) for each in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._table.row(index % len(self))
