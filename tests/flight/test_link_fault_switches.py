"""Faults of links that are switched in flight: no byte is lost or comes in another order."""

from __future__ import annotations

import numpy as np
import pytest
from fault_orders import MS, Wire, order
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import LINE_TARGETS
from aeroloop.core.impairment import Impairment
from aeroloop.core.scenario import Link as LinkConfig
from aeroloop.exchanges.link_faults import LinkFaults
from aeroloop.links.impair import Impaired, ImpairedDirection
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.protocols.mavlink import MavlinkCounters
from aeroloop.protocols.mavlink_cutter import MavlinkCutter

IMPAIRMENTS = st.builds(
    Impairment,
    delay_s=st.sampled_from([0.0, 0.005, 2.0]),
    jitter_s=st.sampled_from([0.0, 0.05]),
    baud=st.sampled_from([0, 1200, 115_200]),
)


@given(st.lists(st.tuples(st.integers(0, 50), IMPAIRMENTS), min_size=1, max_size=8))
def test_a_change_loses_nothing_and_keeps_the_order(phases: list[tuple[int, Impairment]]) -> None:
    line = ImpairedDirection(phases[0][1], np.random.default_rng(1))
    sent: list[bytes] = []
    came: list[bytes] = []
    now_ns = 0
    for count, impairment in phases:
        line.change(impairment, now_ns)
        for _ in range(count):
            sent.append(len(sent).to_bytes(8, "big"))
            line.push(sent[-1], now_ns)
            now_ns += MS
            came += line.pop_due(now_ns)
    line.change(Impairment(), now_ns)
    assert came + line.pop_due(now_ns) == sent
    assert line.plain


def test_a_line_that_was_slow_is_not_slow_for_hours_after() -> None:
    line = ImpairedDirection(Impairment(baud=300), np.random.default_rng(1))
    for k in range(1000):
        line.push(bytes([k % 256]) * 40, k * MS)
    line.change(Impairment(delay_s=0.01), 1000 * MS)
    assert len(line.pop_due(1009 * MS)) <= 1
    assert len(line.pop_due(1010 * MS)) >= 998
    assert line.pop_due(10**15) == []
    line.push(b"x", 1020 * MS)
    assert line.next_due_ns() == 1030 * MS


def test_one_that_waits_to_be_overtaken_survives_the_change() -> None:
    line = ImpairedDirection(Impairment(reorder=1.0), np.random.default_rng(1))
    line.push(b"a", 0)
    line.change(Impairment(), 1 * MS)
    line.push(b"b", 1 * MS)
    assert line.pop_due(1 * MS) == [b"a", b"b"]


def frames(count: int) -> list[bytes]:
    out = hil.HilOut(MavlinkCounters(), 1, 1)
    return [out.pack(hil.heartbeat()) for _ in range(count)]


def test_a_link_is_plain_until_it_is_switched_and_again_after() -> None:
    wire, clock = Wire(), [0]
    link = Impaired(
        wire,
        inbound=Impairment(),
        outbound=Impairment(),
        clock_ns=lambda: clock[0],
        seed=1,
        cut=MavlinkCutter,
        cut_sent=MavlinkCutter,
    )
    worn = LinkFaults(link, LinkConfig())
    a, b, c, d = frames(4)
    link.send(a + b)
    assert wire.sent == [a + b], "as it was given, not frame by frame"
    wire.comes = a[:5]
    assert link.poll() == a[:5], "not held until the frame is whole"
    worn.switch(order("to_board", "loss", value=1.0))
    worn.switch(order("to_plant", "delay_s", value=0.01))
    link.send(c)
    wire.comes = a[5:] + b + d[:5]
    assert link.poll() == b""
    assert len(wire.sent) == 1
    worn.switch(order("to_plant", "delay_s", False))
    worn.switch(order("to_board", "loss", False))
    assert link.poll() == a[5:] + b + d[:5], "the change lost nothing, nor the half frame"
    wire.comes = d[5:]
    assert link.poll() == d[5:]
    link.send(d)
    assert wire.sent[1:] == [d]
    with pytest.raises(ConfigError, match=r"to_plant: loss: .*<= 1"):
        worn.switch(order("to_plant", "loss", value=2.0))


PIECES = st.tuples(st.integers(1, 40), st.none() | st.tuples(st.sampled_from(LINE_TARGETS), st.booleans()))
"""So many bytes, and what is switched before they come."""


@given(st.lists(PIECES, max_size=20))
def test_delays_on_and_off_lose_and_reorder_no_byte_of_half_frames(
    pieces: list[tuple[int, tuple[str, bool] | None]],
) -> None:
    """In both directions at once, where the end of one's delay meets the half of the other's frame."""
    wire, clock = Wire(), [0]
    link = Impaired(
        wire,
        inbound=Impairment(),
        outbound=Impairment(),
        clock_ns=lambda: clock[0],
        seed=1,
        cut=MavlinkCutter,
        cut_sent=MavlinkCutter,
    )
    worn, stream = LinkFaults(link, LinkConfig()), b"".join(frames(8))
    came, at = b"", 0
    for size, switched in [*pieces, (len(stream), None)]:
        if switched is not None:
            worn.switch(order(switched[0], "delay_s", switched[1], value=0.004))
        wire.comes = piece = stream[at : at + size]
        link.send(piece)
        at += size
        came += link.poll()
        clock[0] += MS
    for target in LINE_TARGETS:
        worn.switch(order(target, "delay_s", False))
    came += link.poll()
    assert came == stream[:at]
    assert b"".join(wire.sent) == stream[:at]
    assert not link.is_impaired
    wire.comes = b"x"
    assert link.poll() == b"x"


def test_off_is_as_the_scenario_has_it() -> None:
    wire = Wire()
    config = LinkConfig(to_board=Impairment(loss=1.0))
    link = Impaired(wire, inbound=config.to_plant, outbound=config.to_board, clock_ns=lambda: 0, seed=1)
    worn = LinkFaults(link, config)
    worn.switch(order("to_board", "loss", value=0.0))
    link.send(b"a")
    worn.switch(order("to_board", "loss", False))
    link.send(b"b")
    assert wire.sent == [b"a"]


@given(st.binary(max_size=40), st.lists(st.integers(1, 30), max_size=30))
def test_the_cutter_keeps_every_byte_and_each_frame_whole(noise: bytes, sizes: list[int]) -> None:
    clean = noise.translate(None, b"\xfd\xfe")
    good = frames(3)
    stream = b"".join((clean, *good, clean, good[0]))
    cutter, units, at = MavlinkCutter(), [], 0
    for size in [*sizes, len(stream)]:
        units += cutter.feed(stream[at : at + size])
        at += size
    assert b"".join(units) == stream
    assert cutter.rest() == b""
    assert [unit for unit in units if unit[:1] == b"\xfd"] == [*good, good[0]]
