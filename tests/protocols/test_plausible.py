"""The barrier behind the checksum: range, step, wrap, and an allowance that grows with the cycles missed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.families.tiltrotor.design import parameter_file
from aeroloop.protocols.plausible import Plausibility

TURN = 2 * math.pi


@dataclass(frozen=True)
class Table:
    low: tuple[float, ...]
    high: tuple[float, ...]
    step: tuple[float, ...]
    wraps: tuple[int, ...]


TABLE = Table(low=(-10.0, -3.2, -1.0), high=(10.0, 3.2, 5.0), step=(1.0, 0.5, 2.0), wraps=(1,))
Row = tuple[float, float, float]


def after(*rows: Row) -> Plausibility:
    """A barrier that has accepted these rows, one a cycle."""
    barrier = Plausibility(TABLE)
    for row in rows:
        barrier.cycle()
        assert barrier.fault(row) is None
    return barrier


@pytest.mark.parametrize("row", [(-10.0, -3.2, -1.0), (10.0, 3.2, 5.0), (0.0, 0.0, 0.0)])
def test_the_first_row_is_checked_against_the_range_alone(row: Row) -> None:
    assert after().fault(row) is None


@pytest.mark.parametrize(
    ("row", "index"),
    [
        ((10.1, 0.0, 0.0), 0),
        ((0.0, -3.3, 0.0), 1),
        ((0.0, 0.0, -1.1), 2),
        ((0.0, 9.0, 9.0), 1),
        ((math.nan, 0.0, 0.0), 0),
        ((0.0, math.inf, 0.0), 1),
        ((0.0, 0.0, -math.inf), 2),
    ],
)
def test_out_of_range_is_refused_first_or_later_and_named(row: Row, index: int) -> None:
    assert after().fault(row) == index
    barrier = after((0.0, 0.0, 0.0))
    for _ in range(1000):
        barrier.cycle()
    assert barrier.fault(row) == index


@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("edge", [TABLE.low, TABLE.high])
def test_a_small_step_out_of_the_range_is_refused(index: int, edge: Row) -> None:
    barrier = after(edge)
    barrier.cycle()
    outside = tuple(v + math.copysign(0.25, v) if i == index else v for i, v in enumerate(edge))
    assert barrier.fault(outside) == index
    assert barrier.fault(edge) is None


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_one_step_is_believed_and_more_is_not(sign: float) -> None:
    barrier = after((0.0, 0.0, 1.0))
    barrier.cycle()
    assert barrier.fault((sign * 1.01, 0.0, 1.0)) == 0
    assert barrier.fault((0.0, sign * 0.51, 1.0)) == 1
    assert barrier.fault((0.0, 0.0, 1.0 + sign * 2.01)) == 2
    assert barrier.fault((sign * 1.0, sign * 0.5, 1.0 + sign * 2.0)) is None


def test_a_refused_row_is_not_remembered() -> None:
    barrier = after((0.0, 0.0, 0.0))
    barrier.cycle()
    assert barrier.fault((1.5, 0.0, 0.0)) == 0
    assert barrier.fault((1.5, 0.0, 0.0)) == 0
    assert barrier.fault((-0.9, 0.0, 0.0)) is None


def test_an_accepted_row_is_the_new_reference() -> None:
    barrier = after((0.0, 0.0, 0.0), (0.9, 0.0, 0.0))
    barrier.cycle()
    assert barrier.fault((1.8, 0.0, 0.0)) is None


@pytest.mark.parametrize("missed", [0, 1, 4])
def test_each_missed_cycle_allows_one_more_step(missed: int) -> None:
    barrier = after((0.0, 0.0, 0.0))
    for _ in range(missed + 1):
        barrier.cycle()
    assert barrier.fault((missed + 1.01, 0.0, 0.0)) == 0
    assert barrier.fault((missed + 1.0, 0.0, 0.0)) is None
    barrier.cycle()
    assert barrier.fault((missed + 2.01, 0.0, 0.0)) == 0, "the allowance starts afresh after an accepted row"


def test_a_second_row_in_one_cycle_still_has_one_step() -> None:
    barrier = after((0.0, 0.0, 0.0))
    assert barrier.fault((1.0, 0.0, 0.0)) is None
    assert barrier.fault((2.1, 0.0, 0.0)) == 0


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_an_angle_may_jump_a_turn_and_others_may_not(sign: float) -> None:
    barrier = after((0.0, sign * 3.1, 0.0))
    barrier.cycle()
    assert barrier.fault((0.0, sign * (3.1 + 0.51 - TURN), 0.0)) == 1
    assert barrier.fault((0.0, sign * (3.1 + 0.49 - TURN), 0.0)) is None
    plain = Plausibility(Table(TABLE.low, TABLE.high, TABLE.step, wraps=()))
    assert plain.fault((0.0, sign * 3.1, 0.0)) is None
    assert plain.fault((0.0, sign * (3.1 + 0.49 - TURN), 0.0)) == 1


class NaivePlausibility:
    """Every value on its own, from the words of the table, with no fast path."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.last: Row | None = None
        self.since = 0

    def fault(self, row: Row) -> int | None:
        for index, value in enumerate(row):
            if not math.isfinite(value) or value < self.table.low[index] or value > self.table.high[index]:
                return index
            if self.last is not None:
                turns = (-1, 0, 1) if index in self.table.wraps else (0,)
                change = min(abs(value - self.last[index] + turn * TURN) for turn in turns)
                if change > self.table.step[index] * max(1, self.since):
                    return index
        self.last, self.since = row, 0
        return None


def near(limit: float) -> st.SearchStrategy[float]:
    """Sixteenths, so that sums are exact and the very edges are tried; also what no row should hold."""
    count = int(limit * 16)
    odd = st.sampled_from([math.nan, math.inf, -math.inf, 3.4e38, -0.0])
    return st.integers(-count, count).map(lambda n: n / 16) | st.floats(-limit, limit) | odd


rows = st.tuples(near(11), near(3.25), near(6))
quiet = st.integers(-20, 20).map(lambda n: n / 16)
quiet_rows = st.tuples(quiet, quiet, quiet)


@given(st.lists(st.tuples(st.integers(0, 3), rows | quiet_rows), max_size=40))
def test_fast_and_slow_path_together_equal_the_naive_twin(script: list[tuple[int, Row]]) -> None:
    barrier, twin = Plausibility(TABLE), NaivePlausibility(TABLE)
    for cycles, row in script:
        for _ in range(cycles):
            barrier.cycle()
        twin.since += cycles
        assert barrier.fault(row) == twin.fault(row)


@given(st.lists(st.tuples(st.integers(0, 3), rows | quiet_rows), min_size=1, max_size=30))
def test_the_fast_path_only_accepts_what_the_slow_path_accepts(script: list[tuple[int, Row]]) -> None:
    barrier = Plausibility(TABLE)
    for cycles, row in script:
        for _ in range(cycles):
            barrier.cycle()
        if barrier._plainly_good(row):
            assert all(barrier._believable(index, value) for index, value in enumerate(row))
        barrier.fault(row)


@pytest.mark.parametrize("which", ["sensors", "command"])
def test_the_tilt_rotors_tables_are_whole(which: str) -> None:
    table = getattr(parameter_file().plausible, which)
    width = {"sensors": 16, "command": 4}[which]
    assert {len(table.low), len(table.high), len(table.step)} == {width}
    for low, high, step in zip(table.low, table.high, table.step, strict=True):
        assert low < 0.0 < high
        assert 0.0 < step < high - low, "a step as wide as the range would catch nothing"
    for index in table.wraps:
        assert table.low[index] < -math.pi and math.pi < table.high[index]
        assert table.step[index] < math.pi
