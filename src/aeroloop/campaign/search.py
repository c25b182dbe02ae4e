"""Boundary search: where the pass rate crosses a limit. Each point is judged by a sequential test of its rate.

Along one key evenly spaced values are flown first, and each pair of neighbours that differ is bisected. On the plane of
two keys a grid is refined between points that differ, and lines are drawn through it (`contour.py`). A result is never
a number: it is two neighbouring points, the rate above the limit at one of them and below it at the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aeroloop.campaign import contour
from aeroloop.campaign.search_file import Search
from aeroloop.campaign.statistics import Answer, RateTest

Point = tuple[float, ...]  # a value for each key
Results = Sequence[bool]
Fly = Callable[[Mapping[Point, int]], Mapping[Point, Results]]
"""Results of the first flights at each point, in order: the points, and how many."""


@dataclass(frozen=True)
class TestedPoint:
    point: Point
    passed: int
    flights: int
    answer: Answer  # `open`: not decided within the largest number of flights, and taken by its estimate

    __test__ = False  # not a test of pytest


@dataclass(frozen=True)
class Crossing:
    """Neighbouring points; the boundary is between them."""

    passes_at: Point
    fails_at: Point

    @property
    def middle(self) -> Point:
        return tuple((one + other) / 2.0 for one, other in zip(self.passes_at, self.fails_at, strict=True))

    @property
    def width(self) -> Point:
        return tuple(abs(one - other) for one, other in zip(self.passes_at, self.fails_at, strict=True))


@dataclass(frozen=True)
class Boundary:
    keys: tuple[str, ...]
    pass_rate: float
    lines: tuple[tuple[Crossing, ...], ...]  # of one key, each is a single crossing
    tested: tuple[TestedPoint, ...]
    why: str = ""  # there is no boundary

    @property
    def found(self) -> bool:
        return bool(self.lines)

    @property
    def crossings(self) -> list[Crossing]:
        return [crossing for line in self.lines for crossing in line]

    @property
    def words(self) -> str:
        keys = " and ".join(self.keys)
        if not self.found:
            return f"{keys}: no boundary found: {self.why}"
        flights = f"{sum(each.flights for each in self.tested)} flights at {len(self.tested)}"
        if len(self.keys) > 1:
            width = (max(each) for each in zip(*(crossing.width for crossing in self.crossings), strict=True))
            number = "one line" if len(self.lines) == 1 else f"{len(self.lines)} lines"
            within = " and ".join(f"{each:.3g}" for each in width)
            return f"{keys}: the pass rate crosses {self.pass_rate:g} along {number}, within {within}; {flights} points"
        places = [f"{each.passes_at[0]:.6g} (above) and {each.fails_at[0]:.6g} (below)" for each in self.crossings]
        if len(places) == 1:
            return f"{keys}: the pass rate falls below {self.pass_rate:g} between {places[0]}; {flights} values"
        between = ", between ".join(places)
        return (
            f"{keys}: the pass rate crosses {self.pass_rate:g} {len(places)} times: between {between}; {flights} values"
        )


def searched(search: Search, fly: Fly) -> Boundary:
    tests = Tests(search, fly)
    return (_along if len(search.axes) == 1 else _on_the_plane)(search, tests)


@dataclass
class Tests:
    """The points that were tested."""

    search: Search
    fly: Fly
    tested: dict[Point, TestedPoint] = field(default_factory=dict)

    __test__ = False

    def above(self, points: Iterable[Point]) -> list[bool]:
        """Whether the rate at each of them is above the limit. All are flown at once."""
        points = list(points)
        self.tested |= tested_at(self.search, [point for point in points if point not in self.tested], self.fly)
        return [self._above(self.tested[point]) for point in points]

    def _above(self, one: TestedPoint) -> bool:
        return one.answer == "above" or (one.answer == "open" and one.passed >= self.search.pass_rate * one.flights)

    def boundary(self, found: Iterable[Iterable[Crossing]], why: str = "") -> Boundary:
        lines = tuple(tuple(line) for line in found)
        return Boundary(self.search.names, self.search.pass_rate, lines, tuple(self.tested.values()), why)


def tested_at(search: Search, points: Sequence[Point], fly: Fly) -> dict[Point, TestedPoint]:
    """As many flights as each test needs; the number at once depends on the results alone, not on the workers."""
    test, most = RateTest(search.pass_rate), search.most_per_point
    results: dict[Point, Results] = {point: [] for point in points}
    while asked := {
        point: min(len(own) + more, most)
        for point, own in results.items()
        if (more := test.missing(own)) and len(own) < most
    }:
        results.update(fly(asked))
    decided = {point: test.decide(own) for point, own in results.items()}
    return {
        point: TestedPoint(point, sum(results[point][:count]), count, answer)
        for point, (answer, count) in decided.items()
    }


def _along(search: Search, tests: Tests) -> Boundary:
    (axis,) = search.axes
    parts = search.scanned(axis) - 1
    values = [axis.value(index, parts) for index in range(parts + 1)]
    above = tests.above((value,) for value in values)
    if len(set(above)) == 1:
        side = "above" if above[0] else "below"
        where = f"both {values[0]:g} and {values[-1]:g}; expected ends on both sides, or `scan`"
        if parts > 1:
            where = f"all {parts + 1} values from {values[0]:g} to {values[-1]:g}; expected values on both sides"
        return tests.boundary((), f"the rate is {side} it at {where}")
    pairs = [
        (values[n], values[n + 1]) if above[n] else (values[n + 1], values[n])
        for n in range(parts)
        if above[n] != above[n + 1]
    ]
    while wide := [n for n, (good, bad) in enumerate(pairs) if abs(good - bad) > search.width(axis)]:
        middles = [sum(pairs[n]) / 2.0 for n in wide]
        for n, middle, passes in zip(wide, middles, tests.above((middle,) for middle in middles), strict=True):
            pairs[n] = (middle, pairs[n][1]) if passes else (pairs[n][0], middle)
    return tests.boundary([Crossing((good,), (bad,))] for good, bad in pairs)


def _on_the_plane(search: Search, tests: Tests) -> Boundary:
    cells = [search.scanned(axis) - 1 for axis in search.axes]
    coarse = [axis.range / own / search.width(axis) for axis, own in zip(search.axes, cells, strict=True)]
    levels = max(0, *(math.ceil(math.log2(each) - 1e-9) for each in coarse))

    def point(node: contour.Node) -> Point:
        ends = zip(search.axes, node, cells, strict=True)
        return tuple(axis.value(index, own << levels) for axis, index, own in ends)

    def asked(nodes: Sequence[contour.Node]) -> dict[contour.Node, bool]:
        return dict(zip(nodes, tests.above(map(point, nodes)), strict=True))

    known = contour.refined((cells[0], cells[1]), levels, asked)
    found = contour.lines(known)
    side = "above" if any(known.values()) else "below"
    why = f"the rate is {side} it at all {len(known)} points of the first grid; expected points on both sides"
    return tests.boundary(
        ([Crossing(point(passes), point(fails)) for passes, fails in line] for line in found), "" if found else why
    )
