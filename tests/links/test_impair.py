"""Impairments: exact in time, right in distribution, and a function of seed, units and times alone."""

from __future__ import annotations

import itertools
import math
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.impairment import Impairment
from aeroloop.links.base import Link
from aeroloop.links.impair import QUEUE_LIMIT, Cutter, Impaired, ImpairedDirection, LinkCounts, WholeChunks

MS = 1_000_000
NOTHING = Impairment()
EVERYTHING = Impairment(delay_s=0.003, jitter_s=0.02, loss=0.1, corrupt=0.05, duplicate=0.2, reorder=0.3, baud=115_200)


def line(impairment: Impairment, seed: int = 1) -> ImpairedDirection:
    return ImpairedDirection(impairment, np.random.default_rng(seed))


def released(worn: ImpairedDirection, until_ns: int = 1000_000 * MS) -> list[tuple[int, bytes]]:
    """Everything that comes out, with the time at which it does."""
    out: list[tuple[int, bytes]] = []
    while (due_ns := worn.next_due_ns()) is not None and due_ns <= until_ns:
        assert worn.pop_due(due_ns - 1) == []
        units = worn.pop_due(due_ns)
        assert units
        out += [(due_ns, unit) for unit in units]
    return out


def test_no_impairment_is_transparent() -> None:
    worn = line(NOTHING)
    for t_ns, unit in enumerate([b"a", b"", b"bcd"]):
        worn.push(unit, t_ns)
        assert worn.next_due_ns() == t_ns
        assert worn.pop_due(t_ns) == [unit]
    assert worn.next_due_ns() is None
    assert worn.counts == LinkCounts(units=3)


def test_delay_is_exact() -> None:
    worn = line(Impairment(delay_s=0.006))
    worn.push(b"a", 5)
    worn.push(b"b", 5)
    worn.push(b"c", 9)
    assert released(worn) == [(6 * MS + 5, b"a"), (6 * MS + 5, b"b"), (6 * MS + 9, b"c")]


def test_baud_paces_ten_bits_a_byte_and_serialises() -> None:
    worn = line(Impairment(baud=100_000, delay_s=0.001))  # 0.1 ms a byte
    worn.push(bytes(10), 0)
    worn.push(bytes(20), 0)
    worn.push(bytes(1), 50 * MS)  # the line had been idle again
    assert [t_ns for t_ns, _ in released(worn)] == [2 * MS, 4 * MS, 51 * MS + 100_000]


def test_a_duplicate_takes_its_time_on_the_line() -> None:
    worn = line(Impairment(duplicate=1.0, baud=100_000))
    worn.push(b"abcdefghij", 0)
    worn.push(b"k", 0)
    assert released(worn) == [
        (1 * MS, b"abcdefghij"),
        (2 * MS, b"abcdefghij"),
        (2 * MS + 100_000, b"k"),
        (2 * MS + 200_000, b"k"),
    ]
    assert worn.counts == LinkCounts(units=2, duplicated=2)


def test_jitter_spreads_and_keeps_the_order() -> None:
    worn = line(Impairment(delay_s=0.001, jitter_s=0.004))
    times_ns = [i * MS for i in range(2000)]
    for i, t_ns in enumerate(times_ns):
        worn.push(i.to_bytes(2, "big"), t_ns)
    out = released(worn)
    assert [unit for _, unit in out] == [i.to_bytes(2, "big") for i in range(2000)]
    delays_ns = np.array([due_ns - t_ns for (due_ns, _), t_ns in zip(out, times_ns, strict=True)])
    assert delays_ns.min() >= 1 * MS
    assert delays_ns.max() <= 5 * MS
    assert len(set(delays_ns)) > 500


def test_jitter_of_lone_units_is_uniform() -> None:
    worn = line(Impairment(jitter_s=0.004))
    delays_ms = []
    for i in range(2000):
        worn.push(b"x", i * 10 * MS)
        delays_ms.append((released(worn)[0][0] - i * 10 * MS) / MS)
    assert np.mean(delays_ms) == pytest.approx(2.0, abs=5 * 4 / math.sqrt(12 * 2000))
    assert np.std(delays_ms) == pytest.approx(4 / math.sqrt(12), rel=0.05)


def test_reordering_swaps_neighbours() -> None:
    worn = line(Impairment(reorder=1.0, delay_s=0.001))
    for t_ns, unit in [(0, b"a"), (MS, b"b"), (2 * MS, b"c"), (3 * MS, b"d")]:
        worn.push(unit, t_ns)
    assert released(worn) == [(2 * MS, b"b"), (2 * MS, b"a"), (4 * MS, b"d"), (4 * MS, b"c")]
    assert worn.counts == LinkCounts(units=4, reordered=2)


def test_a_duplicated_unit_is_overtaken_as_one() -> None:
    worn = line(Impairment(reorder=1.0, duplicate=1.0))
    worn.push(b"a", 0)
    worn.push(b"b", 0)
    assert worn.pop_due(0) == [b"b", b"b", b"a", b"a"]


@pytest.mark.parametrize("polled_between", [True, False])
def test_a_unit_that_nothing_overtakes_comes_after_50_ms(polled_between: bool) -> None:
    worn = line(Impairment(reorder=1.0))
    worn.push(b"a", 0)
    assert worn.pop_due(49 * MS) == []
    assert worn.next_due_ns() == 50 * MS
    early = worn.pop_due(55 * MS) if polled_between else []
    worn.push(b"b", 60 * MS)
    worn.push(b"c", 61 * MS)
    assert early + worn.pop_due(61 * MS) == [b"a", b"c", b"b"]
    assert worn.counts.reordered == 1


def test_loss_has_its_probability_and_takes_whole_units() -> None:
    worn = line(Impairment(loss=0.1), seed=7)
    count = 20_000
    for i in range(count):
        worn.push(b"unit", i)
        assert worn.pop_due(i) in ([], [b"unit"])
    assert abs(worn.counts.lost - 0.1 * count) < 5 * math.sqrt(count * 0.1 * 0.9)


def test_certain_loss_loses_everything() -> None:
    worn = line(Impairment(loss=1.0, duplicate=1.0))
    worn.push(b"a", 0)
    assert released(worn) == []
    assert worn.counts == LinkCounts(units=1, lost=1)


def test_corruption_has_its_probability_and_always_changes_the_byte() -> None:
    worn = line(Impairment(corrupt=0.02), seed=3)
    size, probability = 200_000, 0.02
    sent = np.random.default_rng(0).integers(256, size=size, dtype=np.uint8)
    worn.push(sent.tobytes(), 0)
    got = np.frombuffer(worn.pop_due(0)[0], dtype=np.uint8)
    changed = np.flatnonzero(got != sent)
    assert worn.counts.corrupted_bytes == len(changed)
    assert abs(len(changed) - size * probability) < 5 * math.sqrt(size * probability * (1 - probability))
    assert len(set((got - sent)[changed])) == 255


def test_duplication_and_reordering_have_their_probabilities() -> None:
    worn = line(Impairment(duplicate=0.2, reorder=0.25), seed=5)
    count = 10_000
    for i in range(count):
        worn.push(b"x", i)
        worn.pop_due(i)
    assert abs(worn.counts.duplicated - 0.2 * count) < 5 * math.sqrt(count * 0.2 * 0.8)
    # One that overtakes is not overtaken itself, so p / (1 + p) of all units are reordered.
    assert abs(worn.counts.reordered - 0.2 * count) < 5 * math.sqrt(count * 0.2 * 0.8)


def test_too_many_units_on_their_way_drop_the_oldest() -> None:
    worn = line(Impairment(delay_s=1.0))
    for i in range(QUEUE_LIMIT + 10):
        worn.push(i.to_bytes(2, "big"), i)
    units = [unit for _, unit in released(worn)]
    assert units == [i.to_bytes(2, "big") for i in range(10, QUEUE_LIMIT + 10)]
    assert worn.counts.dropped == 10


@given(
    units=st.lists(st.tuples(st.integers(0, 80 * MS), st.binary(max_size=40)), max_size=60),
    polls_ns=st.lists(st.integers(0, 5000 * MS), max_size=40),
    seed=st.integers(0, 2**32),
)
def test_what_comes_out_when_does_not_depend_on_who_asks(
    units: list[tuple[int, bytes]], polls_ns: list[int], seed: int
) -> None:
    times_ns = list(itertools.accumulate(gap_ns for gap_ns, _ in units))
    pushes = [(t_ns, unit) for t_ns, (_, unit) in zip(times_ns, units, strict=True)]

    asked_exactly = line(EVERYTHING, seed)
    exact: list[tuple[int, bytes]] = []
    for t_ns, unit in pushes:
        exact += released(asked_exactly, until_ns=t_ns - 1)
        asked_exactly.push(unit, t_ns)
    exact += released(asked_exactly)

    asked_at_random = line(EVERYTHING, seed)
    events = sorted([(t_ns, False) for t_ns in times_ns] + [(t_ns, True) for t_ns in polls_ns])
    next_unit = iter(unit for _, unit in units)
    got: list[bytes] = []
    for t_ns, is_poll in events:
        if is_poll:
            got += asked_at_random.pop_due(t_ns)
            assert got == [unit for due_ns, unit in exact if due_ns <= t_ns]
        else:
            asked_at_random.push(next(next_unit), t_ns)
    got += asked_at_random.pop_due(10**15)

    assert got == [unit for _, unit in exact]
    assert [t_ns for t_ns, _ in exact] == sorted(t_ns for t_ns, _ in exact)
    assert asked_at_random.counts == asked_exactly.counts


class RouterLinks:
    """A cutter for the tests: a unit ends with a newline."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *units, self._rest = (self._rest + data).split(b"\n")
        return [unit + b"\n" for unit in units]


class FakeLink:
    """A link in memory, with the peer's bytes laid in and ours kept."""

    def __init__(self) -> None:
        self.url = "fake://"
        self.incoming: deque[bytes] = deque()
        self.sent: list[bytes] = []
        self.due_ns: int | None = None
        self.closed = False

    def fileno(self) -> int:
        return 42

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def poll(self) -> bytes:
        return self.incoming.popleft() if self.incoming else b""

    def next_due_ns(self) -> int | None:
        return self.due_ns

    def close(self) -> None:
        self.closed = True


class Clock:
    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def impaired(
    link: Link,
    clock: Clock,
    inbound: Impairment = NOTHING,
    outbound: Impairment = NOTHING,
    seed: int = 1,
    cut: type[Cutter] = WholeChunks,
) -> Impaired:
    return Impaired(link, inbound=inbound, outbound=outbound, clock_ns=clock, seed=seed, cut=cut)


def test_nothing_active_passes_straight_through() -> None:
    inner, clock = FakeLink(), Clock()
    worn = impaired(inner, clock)
    worn.send(b"out")
    inner.incoming.extend([b"in", b"more"])
    assert inner.sent == [b"out"]
    assert [worn.poll(), worn.poll(), worn.poll()] == [b"in", b"more", b""]
    assert (worn.url, worn.fileno(), worn.next_due_ns()) == ("fake://", 42, None)
    worn.close()
    assert inner.closed


def test_each_direction_waits_for_its_own_time() -> None:
    inner, clock = FakeLink(), Clock()
    worn = impaired(inner, clock, inbound=Impairment(delay_s=0.002), outbound=Impairment(delay_s=0.005))
    worn.send(b"out")
    inner.incoming.append(b"in")
    assert worn.poll() == b""
    assert worn.next_due_ns() == 2 * MS
    clock.now_ns = 2 * MS
    assert worn.poll() == b"in"
    assert inner.sent == []
    assert worn.next_due_ns() == 5 * MS
    inner.due_ns = 3 * MS
    assert worn.next_due_ns() == 3 * MS
    clock.now_ns = 5 * MS
    assert worn.poll() == b""
    assert inner.sent == [b"out"]
    assert (worn.inbound_counts, worn.outbound_counts) == (LinkCounts(units=1), LinkCounts(units=1))


def test_what_is_due_comes_joined() -> None:
    inner, clock = FakeLink(), Clock()
    worn = impaired(inner, clock, inbound=Impairment(delay_s=0.001), cut=RouterLinks)
    inner.incoming.extend([b"a\nb\nc", b"c\n"])
    assert worn.poll() == worn.poll() == b""
    clock.now_ns = MS
    assert worn.poll() == b"a\nb\ncc\n"


@given(
    units=st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"") + b"\n"), max_size=40),
    cuts=st.lists(st.integers(0, 800), max_size=20),
    seed=st.integers(0, 2**32),
)
def test_inbound_does_not_depend_on_how_the_bytes_were_chunked(units: list[bytes], cuts: list[int], seed: int) -> None:
    data = b"".join(units)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[a:b] for a, b in itertools.pairwise(edges)]

    def flown(chunks: list[bytes]) -> tuple[list[bytes], LinkCounts]:
        inner, clock = FakeLink(), Clock()
        worn = impaired(inner, clock, inbound=EVERYTHING, seed=seed, cut=RouterLinks)
        inner.incoming.extend(chunks)
        out = [worn.poll() for _ in range(len(chunks) + 1)]
        while (due_ns := worn.next_due_ns()) is not None:
            clock.now_ns = due_ns
            out.append(worn.poll())
        return [chunk for chunk in out if chunk], worn.inbound_counts

    assert flown(chunks) == flown([data])


def test_seeds_and_directions_have_their_own_randomness() -> None:
    def fate(seed: int, inward: bool) -> list[bool]:
        inner, clock = FakeLink(), Clock()
        lossy = Impairment(loss=0.5)
        worn = impaired(inner, clock, inbound=lossy, outbound=lossy, seed=seed)
        arrived = []
        for _ in range(64):
            if inward:
                inner.incoming.append(b"x")
                arrived.append(worn.poll() == b"x")
            else:
                worn.send(b"x")
                arrived.append(bool(inner.sent))
                inner.sent.clear()
        return arrived

    assert fate(1, True) == fate(1, True)
    assert len({tuple(fate(seed, inward)) for seed in (1, 2) for inward in (True, False)}) == 4
