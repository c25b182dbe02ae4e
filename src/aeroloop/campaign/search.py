"""Boundary search along one key: bisection, where each value is judged by a sequential test of its pass rate.

The result is an interval, not a number: the rate is above the boundary at one of its ends and below at the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aeroloop.campaign.definition import Search
from aeroloop.campaign.statistics import Answer, RateTest

Results = Sequence[bool]
Fly = Callable[[float, int], Results]
"""Results of the first flights at a value, in order: the value, how many."""


@dataclass(frozen=True)
class TestedValue:
    value: float
    passed: int
    flights: int
    answer: Answer  # `open`: not decided within the largest number of flights, and taken by its estimate

    __test__ = False  # not a test of pytest


@dataclass(frozen=True)
class Boundary:
    key: str
    pass_rate: float
    passes_at: float | None  # the end of the interval where the rate is above
    fails_at: float | None
    tested: tuple[TestedValue, ...]
    why: str = ""  # there is no boundary

    @property
    def found(self) -> bool:
        return self.passes_at is not None and self.fails_at is not None

    @property
    def words(self) -> str:
        if not self.found:
            return f"{self.key}: no boundary found: {self.why}"
        flights = sum(each.flights for each in self.tested)
        return (
            f"{self.key}: the pass rate falls below {self.pass_rate:g} between {self.passes_at:.6g} (above) and "
            f"{self.fails_at:.6g} (below); {flights} flights at {len(self.tested)} values"
        )


def bisect(search: Search, fly: Fly) -> Boundary:
    tested: list[TestedValue] = []

    def passes(value: float) -> bool:
        one = tested_at(search, value, fly)
        tested.append(one)
        return one.answer == "above" or (one.answer == "open" and one.passed >= search.pass_rate * one.flights)

    first, last = search.from_, search.to
    ends = passes(first), passes(last)
    if ends[0] == ends[1]:
        side = "above" if ends[0] else "below"
        why = f"the rate is {side} it at both {first:g} and {last:g}; expected ends on both sides"
        return Boundary(search.key, search.pass_rate, None, None, tuple(tested), why)
    while abs(last - first) > search.width:
        middle = (first + last) / 2.0
        if passes(middle) == ends[0]:
            first = middle
        else:
            last = middle
    good, bad = (first, last) if ends[0] else (last, first)
    return Boundary(search.key, search.pass_rate, good, bad, tuple(tested))


def tested_at(search: Search, value: float, fly: Fly) -> TestedValue:
    """As many flights as the test needs; the number at once depends on the results alone, not on the workers."""
    test, results = RateTest(search.pass_rate), list[bool]()
    while (more := test.missing(results)) and len(results) < search.most_per_point:
        results = list(fly(value, min(len(results) + more, search.most_per_point)))
    answer, count = test.decide(results)
    return TestedValue(value, sum(results[:count]), count, answer)
