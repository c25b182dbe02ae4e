"""The router's parts by themselves: duplicates, queues, the table, addresses, routes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink.dialects.v20 import all as dialect

from aeroloop.core.signals import NS
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.protocols.mavlink_framing import LONGEST_FRAME
from aeroloop.router.config import EndpointConfig, Forward, RouterConfig
from aeroloop.router.duplicates import Duplicates
from aeroloop.router.queues import Queue
from aeroloop.router.routes import MOST_SENDERS, Routes
from aeroloop.router.table import Limiter, Table
from aeroloop.router.targets import ADDRESSES
from aeroloop.router.wire import MavlinkWire

WINDOW_NS = NS // 2


def numbered(count: int) -> list[bytes]:
    """A constant message of one sender: only its number changes, modulo 256."""
    return [bytes((n & 0xFF,)) for n in range(count)]


def test_a_line_alone_never_has_a_duplicate() -> None:
    """20,000 frames a second for seconds: each frame repeats every 13 ms, byte for byte."""
    duplicates = Duplicates(WINDOW_NS)
    for n, frame in enumerate(numbered(50_000)):
        if n % 1000 == 0:
            duplicates.advance(n * NS // 20_000)
        assert not duplicates.seen(frame, link=1)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([20_000, 2_000, 50]), st.integers(2, 4))
def test_several_lines_give_each_frame_once(seed: int, rate_hz: int, lines: int) -> None:
    """Lines of different and changing delay, each in order: as many are passed on as were sent."""
    rng = random.Random(seed)
    sent = numbered(1500)
    arrivals = []
    for line in range(lines):
        last = 0
        for n in range(len(sent)):
            last = max(last, n * NS // rate_hz + rng.randrange(WINDOW_NS // 4))
            arrivals.append((last, line, n))
    arrivals.sort()
    duplicates = Duplicates(WINDOW_NS)
    passed = 0
    for t_ns, line, n in arrivals:
        duplicates.advance(t_ns)
        passed += not duplicates.seen(sent[n], line)
    assert passed == len(sent)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_a_line_that_lost_frames_is_not_held_up_by_that(seed: int) -> None:
    """One line loses a third; when the other goes, what comes passes within two windows."""
    rng = random.Random(seed)
    duplicates = Duplicates(WINDOW_NS)
    rate_hz = 1000
    passed_late = came_late = 0
    for n, frame in enumerate(numbered(6000)):
        t_ns = n * NS // rate_hz
        duplicates.advance(t_ns)
        if n < 3000:
            assert not duplicates.seen(frame, link=1)
        if rng.random() < 2 / 3:
            passed = not duplicates.seen(frame, link=2)
            if t_ns >= 3 * NS + 2 * WINDOW_NS + NS // 10:
                came_late += 1
                passed_late += passed
    assert came_late > 500 and passed_late == came_late


def test_what_is_remembered_is_bounded() -> None:
    duplicates = Duplicates(WINDOW_NS, most=1000)
    for n in range(20_000):
        duplicates.seen(n.to_bytes(4, "little"), n % 3)
        assert len(duplicates.newer) + len(duplicates.older) <= 2000


def queue(limit: int) -> tuple[Queue, list[bytes]]:
    dropped: list[bytes] = []
    return Queue(limit, dropped.append), dropped


@given(st.integers(2, 20), st.lists(st.booleans(), max_size=80))
def test_a_full_queue_drops_the_oldest_telemetry_and_keeps_order(limit: int, reliable: list[bool]) -> None:
    waiting, dropped = queue(limit)
    kept, refused = [], []
    for n, is_reliable in enumerate(reliable):
        frame = bytes((n,))
        if is_reliable and not waiting.push_reliable(frame):
            refused.append(frame)
            continue
        kept.append(frame)
        if not is_reliable:
            waiting.push(frame)
    assert len(waiting.items) <= limit and len(waiting) <= limit + max(1, limit // 2)
    left = [bytes(frame) for frame in waiting.take(1000, 1 << 20)]
    assert left == [frame for frame in kept if frame not in dropped]
    assert not any(reliable[frame[0]] for frame in dropped)
    telemetry = [frame for frame in kept if not reliable[frame[0]]]
    assert dropped == telemetry[: len(dropped)]
    assert waiting.dropped == len(dropped) + len(refused)
    assert not refused or sum(reliable) > limit // 2


def test_what_was_taken_and_not_sent_goes_back_in_order() -> None:
    waiting, _ = queue(4)
    for frame in (b"a", b"b", b"c"):
        waiting.push(frame)
    assert waiting.push_reliable(b"d")
    waiting.put_back(waiting.take(3, 100))
    assert waiting.take(100, 2) == [b"a", b"b"]
    assert waiting.take(100, 1) == [b"c"]
    assert waiting.push_reliable(b"e") and not waiting.push_reliable(b"f")


@given(st.floats(0.5, 500.0), st.lists(st.integers(0, 50_000_000), min_size=1, max_size=300))
def test_a_limiter_holds_its_rate(rate_hz: float, steps_ns: list[int]) -> None:
    limiter = Limiter(rate_hz)
    now_ns, passed = 0, []
    for step_ns in steps_ns:
        now_ns += step_ns
        if limiter.passes(now_ns):
            passed.append(now_ns)
    assert passed
    for first in range(0, len(passed), 7):
        for last in range(first, len(passed), 5):
            assert last - first <= (passed[last] - passed[first]) * rate_hz / NS + 1.01


def test_a_limiter_thins_steady_traffic_to_its_rate() -> None:
    limiter = Limiter(10.0)
    assert sum(limiter.passes(n * NS // 248) for n in range(2480)) == pytest.approx(100, abs=1)


def table(*rules: Forward) -> Table:
    ends = tuple(EndpointConfig(name=name, url="udp://127.0.0.1:1") for name in "abc")
    return Table(RouterConfig(endpoints=ends, forward=rules))


def test_only_pairs_that_a_rule_names_are_limited() -> None:
    rules = table(
        Forward(source="a", target="b", messages=("ATTITUDE",), systems=(1,), max_rate_hz=10.0),
        Forward(source="a", target="b", components=(7,), max_rate_hz=2.0),
    )

    def rate(source: int, target: int, message: int, system: int, component: int, reliable: bool = False) -> Any:
        return rules.rate_hz(source, target, message, system, component, reliable=reliable)

    assert rate(0, 1, 30, 1, 1) == 10.0
    assert rate(0, 1, 30, 2, 1) == 0.0
    assert rate(0, 1, 30, 2, 7) == 2.0
    assert rate(0, 1, 76, 2, 7, reliable=True) is None  # thinned only where it is named
    assert rate(0, 1, 76, 2, 8, reliable=True) == 0.0
    assert rate(1, 0, 30, 2, 1) is None
    assert rate(0, 2, 30, 2, 1) is None
    nothing = table(Forward(source="*", target="c", max_rate_hz=0.0))
    assert nothing.rate_hz(1, 2, 0, 1, 1, reliable=True) == 0.0


@pytest.mark.parametrize("version", [1, 2])
def test_addresses_are_where_pymavlink_puts_them(version: int) -> None:
    checked = 0
    for number, address in ADDRESSES.items():
        kind = dialect.mavlink_map[number]
        if version == 1 and number > 255:
            continue
        values: list[Any] = []
        for name, form, count in zip(kind.fieldnames, kind.fieldtypes, _counts(kind), strict=True):
            value: Any = b"" if form == "char" else 0
            values.append([0] * count if count and form != "char" else value)
            if name in ("target_system", "target"):
                values[-1] = 17
            elif name == "target_component":
                values[-1] = 42
        wire = kind(*values).pack(dialect.MAVLink(None), force_mavlink1=version == 1)
        payload = wire[10:-2] if version == 2 else wire[6:-2]
        assert payload[address.system_at] == 17, kind.msgname
        assert address.component_at is None or payload[address.component_at] == 42, kind.msgname
        checked += 1
    assert checked > 30


def _counts(kind: Any) -> list[int]:
    """Lengths of arrays, in the order of the constructor."""
    by_name = dict(zip(kind.ordered_fieldnames, kind.array_lengths, strict=True))
    return [by_name[name] for name in kind.fieldnames]


def test_routes_are_learned_and_forgotten() -> None:
    routes = Routes()
    assert routes.learn(1, 7, 1) and not routes.learn(1, 7, 1)
    assert routes.learn(2, 7, 2)
    assert routes.towards(7, 1) == frozenset((1,))
    assert routes.towards(7, 0) == frozenset((1, 2)) == routes.towards(7, 99)
    assert routes.towards(8, 1) is None
    routes.forget(1)
    assert routes.towards(7, 1) == frozenset((2,))  # only its system is known there now
    assert not routes.learn(3, 0, 1)
    assert sum(routes.learn(4, 10 + n % 200, n // 200) for n in range(1000)) == MOST_SENDERS


@given(st.binary(max_size=700), st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_the_short_way_finds_what_the_parser_finds(garbage: bytes, sizes: list[int]) -> None:
    out = MavlinkOut(MavlinkCounters(), 1, 1)
    good = [out.pack(dialect.MAVLink_attitude_message(n, 0, 0, 0, 0, 0, 0)) for n in range(3)]
    stream = good[0] + garbage + good[1] + good[2]
    wire, parser = MavlinkWire(), MavlinkIn(MavlinkCounters())
    found, expected = [], []
    at = turn = 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        found += [frame for _, frame in wire.feed(stream[at : at + size])]
        expected += [frame.wire for frame in parser.feed(stream[at : at + size])]
        at, turn = at + size, turn + 1
    found += [frame for _, frame in wire.give_up()]
    expected += [frame.wire for frame in parser.give_up()]
    assert found == expected


@pytest.mark.parametrize("hostile", [b"\xfd", b"\xfe", b"\xfd\xff\x00", b"\xfd\xff\x00\x00\x00\x01\x01\x1e\x00\x00"])
def test_an_unfinished_frame_is_held_no_longer_than_the_longest(hostile: bytes) -> None:
    wire = MavlinkWire()
    for _ in range(4):
        wire.feed(hostile * (1024 // len(hostile)))
        assert len(wire._open) <= LONGEST_FRAME
    assert wire.trouble() > 0
    good = MavlinkOut(MavlinkCounters(), 1, 1).pack(dialect.MAVLink_attitude_message(1, 0, 0, 0, 0, 0, 0))
    assert [frame for _, frame in wire.feed(good) + wire.give_up()] == [good]
