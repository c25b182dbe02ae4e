"""The statement of agreement of a batch: some of its flights flown again on the bench, with the same noise.

Three flights with the smallest margins, two in the middle, three at random. It is confirmed if every verdict is the
same, and no metric differs by more than its own distance from its limit. Of a flight that is lost in both, only the
verdict is compared: after the loss the numbers mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from aeroloop.campaign.batch_table import FlightColumns
from aeroloop.campaign.store import FLOWN, Row
from aeroloop.core.scenario import Check

WORST, MEDIAN, RANDOM = 3, 2, 3
LOST = "diverged"
"""Metric of a flight that was lost."""
_STREAM = tuple(b"agreement")


@dataclass(frozen=True)
class Compared:
    """A flight of the batch and the same one on the bench."""

    number: int
    batch: str  # verdicts
    bench: str
    differences: Mapping[str, float]  # bench - batch, by checked metric; empty: lost in both
    beyond: tuple[str, ...]  # metrics that differ by more than their margin

    @property
    def agrees(self) -> bool:
        return self.batch == self.bench and not self.beyond


@dataclass(frozen=True)
class Agreement:
    compared: tuple[Compared, ...] = ()
    missing: tuple[int, ...] = ()  # chosen, and not flown on the bench
    why: str = ""  # the last reason that one could not be flown
    largest: Mapping[str, float] = field(default_factory=dict)  # difference of each checked metric

    @property
    def confirmed(self) -> bool:
        return bool(self.compared) and not self.missing and all(each.agrees for each in self.compared)

    @property
    def words(self) -> str:
        if not self.compared:
            return f"not confirmed: no flight was flown again on the bench{self.why and f' ({self.why})'}"
        same = sum(each.batch == each.bench for each in self.compared)
        text = f"{same} of {len(self.compared)} flights have the same verdict on the bench"
        if self.missing:
            numbers = ", ".join(map(str, self.missing))
            text += f"; not flown there: {numbers}{self.why and f' ({self.why})'}"
        beyond = [f"{name} of flight {each.number}" for each in self.compared for name in each.beyond]
        if beyond:
            text += f"; differs by more than its margin: {', '.join(beyond)}"
        return text if self.confirmed else f"not confirmed: {text}"

    @property
    def table(self) -> dict[str, Any]:
        return {**asdict(self), "confirmed": self.confirmed}


def chosen(table: FlightColumns, seed: int) -> list[int]:
    """Indices of the flights to be flown again, each once."""
    order = np.lexsort((np.arange(table.count), table.least_margins))
    middle = max(0, table.count // 2 - MEDIAN // 2)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_STREAM))
    some: list[int] = rng.integers(0, table.count, 4 * RANDOM).tolist() if table.count else []
    worst, median = order[:WORST].tolist(), order[middle : middle + MEDIAN].tolist()
    others = [each for each in dict.fromkeys(some) if each not in (*worst, *median)][:RANDOM]
    return list(dict.fromkeys([*worst, *median, *others]))


def agreement(
    table: FlightColumns, wanted: Sequence[int], bench: Mapping[int, Row], metrics: Mapping[str, Mapping[str, float]]
) -> Agreement:
    """`wanted`: indices; `bench`: rows by number; `metrics` of the bench by key of the row."""
    flown = {index: bench[index + 1] for index in wanted if index + 1 in bench and bench[index + 1].state == FLOWN}
    missing = tuple(index + 1 for index in wanted if index not in flown)
    whys = [bench[number].why for number in missing if number in bench]
    compared = tuple(_compared(table, index, row, metrics[row.key]) for index, row in flown.items())
    largest: dict[str, float] = {}
    for each in compared:
        for name, difference in each.differences.items():
            largest[name] = max(largest.get(name, 0.0), abs(difference))
    return Agreement(compared, missing, next((why for why in whys if why), ""), largest)


def _compared(table: FlightColumns, index: int, row: Row, metrics: Mapping[str, float]) -> Compared:
    batch = "passed" if table.passed[index] else "failed"
    verdict = row.verdict or ""
    if table.metric(LOST)[index] and metrics.get(LOST):
        return Compared(index + 1, batch, verdict, {}, ())
    differences, beyond = {}, []
    for check in table.kept.checks:
        value = float(table.metric(check.metric)[index])
        difference = metrics[check.metric] - value
        differences[check.metric] = difference
        if not abs(difference) <= _room(check, value):
            beyond.append(check.metric)
    return Compared(index + 1, batch, verdict, differences, tuple(beyond))


def _room(check: Check, value: float) -> float:
    """Largest difference without influence on the check."""
    if check.equals is not None:
        return 0.0 if value == check.equals else np.inf
    limit = check.below if check.below is not None else check.above
    assert limit is not None
    return abs(limit - value)
