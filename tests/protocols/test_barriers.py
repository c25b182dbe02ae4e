"""How many corrupted frames get through each barrier: framing and checksum, form, plausibility.

Every corrupted frame goes through the real decoder, behind a good frame and before the next one's opening flag.
What the checksum lets through goes through a whole protocol end that has just accepted the flight's row before.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from aeroloop.families.tiltrotor.design import Plausible, parameter_file
from aeroloop.protocols.board import Actuators, BoardEnd, PlantEnd
from aeroloop.protocols.framing import FLAG, Counters, Deframer, encode
from aeroloop.protocols.plausible import Plausibility

SEED = 20_240_717
FLIGHTS, CYCLES = 40, 250

Row = tuple[float, ...]


@dataclass(frozen=True)
class Sent:
    """A good message, and the one of the cycle before it."""

    before: bytes  # frame
    before_row: Row
    row: Row
    data: bytes
    frame: bytes
    blind: tuple[int, ...]  # places in `data` that hold 0x00 or 0xFF


@dataclass
class Tally:
    corrupted: int = 0
    unchanged: int = 0
    past_checksum: int = 0
    past_form: int = 0
    accepted: int = 0
    largest: float = 0.0  # deviation of an accepted value from the one sent, in steps of the table


Corrupt = Callable[[Sent, random.Random], bytes]
Deliver = Callable[[bytes, bytes], tuple[Row | None, int]]
"""(good frame of the cycle before, bytes of this one) -> accepted values, messages of the right form"""


def replace_one(sent: Sent, source: random.Random) -> bytes:
    wire = bytearray(sent.frame)
    at = source.randrange(len(wire))
    wire[at] = (wire[at] + source.randrange(1, 256)) & 0xFF
    return bytes(wire)


def burst(sent: Sent, source: random.Random) -> bytes:
    length = source.randrange(2, 9)
    at = source.randrange(len(sent.frame) - length + 1)
    return sent.frame[:at] + source.randbytes(length) + sent.frame[at + length :]


def swap_zero_and_255(sent: Sent, source: random.Random) -> bytes:
    """One byte of the data, with flags and escapes as the new data needs them, so that the frame stays whole."""
    data = bytearray(sent.data)
    data[source.choice(sent.blind)] ^= 0xFF
    return encode(bytes(data))


def drop_one(sent: Sent, source: random.Random) -> bytes:
    at = source.randrange(len(sent.frame))
    return sent.frame[:at] + sent.frame[at + 1 :]


def swap_two(sent: Sent, source: random.Random) -> bytes:
    wire = bytearray(sent.frame)
    first, second = source.randrange(len(wire)), source.randrange(len(wire))
    wire[first], wire[second] = wire[second], wire[first]
    return bytes(wire)


BLIND = "0x00 <-> 0xFF"
KINDS: dict[str, Corrupt] = {
    "one byte": replace_one,
    "burst of 2-8": burst,
    BLIND: swap_zero_and_255,
    "dropped byte": drop_one,
    "two swapped": swap_two,
}


def flights(table: Plausible, hover: Row, pack: Callable[[Row], bytes], source: np.random.Generator) -> list[Sent]:
    """Random walks about hover, at a few hundredths of the believable step a cycle, as in flight.

    A third of the flights is of coarse values, as from a converter of a few bits, and so rich in zero bytes;
    the first rows of a flight are at rest, with exact zeros.
    """
    step = np.array(table.step)
    rows: list[Sent] = []
    for flight in range(FLIGHTS):
        walk = np.cumsum(source.normal(0.0, 0.02, (CYCLES, len(step))), axis=0) * step
        walk[:5] = 0.0
        values = np.array(hover) + walk
        if flight % 3 == 0:
            values = np.round(values * 64) / 64
        values = np.clip(values, table.low, table.high).astype(np.float32).astype(float)
        tuples = [tuple(row) for row in values.tolist()]
        barrier = Plausibility(table)
        assert all(barrier.fault(row) is None for row in tuples), "good flights must pass"
        datas = [pack(row) for row in tuples]
        frames = [encode(data) for data in datas]
        for i in range(1, CYCLES):
            blind = tuple(at for at, byte in enumerate(datas[i]) if byte in (0x00, 0xFF))
            rows.append(Sent(frames[i - 1], tuples[i - 1], tuples[i], datas[i], frames[i], blind))
    return rows


def to_board(table: Plausible, before: bytes, wire: bytes) -> tuple[Row | None, int]:
    board = BoardEnd(table, lambda index: None)
    board.request()
    assert board.receive(before) is not None
    board.request()
    accepted = board.receive(wire)
    return accepted, board.counters.implausible + (accepted is not None)


def to_plant(table: Plausible, before: bytes, wire: bytes) -> tuple[Row | None, int]:
    plant = PlantEnd(table, lambda index: None)
    request = encode(b"\x02")
    assert len(plant.receive(request + before + request)) == 3
    messages = plant.receive(wire)
    commands = [message.command for message in messages if isinstance(message, Actuators)]
    assert len(commands) <= 1
    return (commands[0] if commands else None), plant.counters.implausible + len(messages)


def distance(table: Plausible, one: Row, other: Row) -> float:
    """Largest difference of two rows, in steps of the table."""
    gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
    for index in table.wraps:
        gaps[index] = min(gaps[index], 2 * math.pi - gaps[index])
    return max(gap / step for gap, step in zip(gaps, table.step, strict=True))


def differs_in_one_blind_byte(one: bytes, other: bytes) -> bool:
    """What the checksum cannot see: 0x00 for 0xFF, or the other way round, in one place."""
    return [{a, b} for a, b in zip(one, other, strict=True) if a != b] == [{0x00, 0xFF}]


def bombard(
    frames: int, kind: str, sent: list[Sent], table: Plausible, deliver: Deliver, source: random.Random
) -> Tally:
    tally, counters = Tally(), Counters()
    deframer = Deframer(len(sent[0].data), counters)
    corrupt = KINDS[kind]
    if kind == BLIND:
        sent = [message for message in sent if message.blind]
    while tally.corrupted < frames:
        good = sent[tally.corrupted % len(sent)]
        wire = corrupt(good, source)
        if wire == good.frame:
            continue
        tally.corrupted += 1
        wire += FLAG  # the next frame's, which also closes what a damaged flag has left open
        decoded = deframer.feed(wire)
        if not decoded:
            continue
        if decoded == [good.data]:
            tally.unchanged += 1  # a flag was hit, and the neighbour's did its duty
            continue
        tally.past_checksum += 1
        accepted, formed = deliver(good.before, wire)
        tally.past_form += formed > 0
        if kind == "one byte":
            # A byte that turns into a flag or an escape cuts or shortens the frame. Such a piece may have a good
            # checksum (one of zeros always has), but never the length of a row of values: it ends at the form.
            whole = [data for data in decoded if len(data) == len(good.data)]
            assert all(differs_in_one_blind_byte(data, good.data) for data in whole)
            assert whole or accepted is None
        if accepted is not None:
            tally.accepted += 1
            assert all(map(math.isfinite, accepted))
            assert distance(table, accepted, good.before_row) <= 1.0
            tally.largest = max(tally.largest, distance(table, accepted, good.row))
    assert counters.frames_in >= tally.unchanged + tally.past_checksum
    return tally


def table_of(tallies: dict[tuple[str, str], Tally]) -> str:
    head = ("corruption", "message", "corrupted", "unchanged", "> checksum", "> form", "> plausible", "largest, steps")
    lines = ["{:<15}{:<10}{:>10}{:>11}{:>12}{:>8}{:>13}{:>16}".format(*head)]
    for (kind, message), t in tallies.items():
        lines.append(
            f"{kind:<15}{message:<10}{t.corrupted:>10}{t.unchanged:>11}{t.past_checksum:>12}{t.past_form:>8}"
            f"{t.accepted:>13}{t.largest:>16.3f}"
        )
    total = sum(t.corrupted for t in tallies.values())
    past = sum(t.past_checksum for t in tallies.values())
    accepted = sum(t.accepted for t in tallies.values())
    lines.append(f"of {total} corrupted frames {past} passed the checksum with changed data, {accepted} both barriers")
    return "\n".join(lines)


@pytest.mark.parametrize("frames", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_of_corrupted_frames_none_that_matters_gets_through(
    frames: int, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    tables = parameter_file().plausible
    walks = np.random.default_rng(SEED)
    hover = (2.0, 0.0, 1.0, 0.0, -0.0117, 0.0, 0.0117, 0.0116, *[0.0] * 8)
    answers = flights(tables.sensors, hover, lambda row: struct.pack("<16f", *row), walks)
    commands = flights(tables.command, (10.27, 10.28, 0.0, 0.0), lambda row: struct.pack("<B4f", 3, *row), walks)
    tallies: dict[tuple[str, str], Tally] = {}
    for kind in KINDS:
        source = random.Random(f"{SEED} {kind}")
        tallies[kind, "answer"] = bombard(
            frames, kind, answers, tables.sensors, partial(to_board, tables.sensors), source
        )
        tallies[kind, "actuators"] = bombard(
            frames, kind, commands, tables.command, partial(to_plant, tables.command), source
        )
    record_property("table", table_of(tallies))
    with capsys.disabled():
        print("\n" + table_of(tallies))

    assert sum(tally.corrupted for tally in tallies.values()) == 10 * frames
    for (kind, _), tally in tallies.items():
        assert tally.accepted <= tally.past_form <= tally.past_checksum
        if kind == BLIND:
            # The checksum sees none of these; what plausibility leaves are changes smaller than a step.
            assert tally.past_checksum == tally.past_form == tally.corrupted
            assert tally.accepted < 0.98 * tally.corrupted
        elif kind == "dropped byte":
            # A frame is then too short or, where an escape was dropped, has one byte wrong by 0x20.
            assert tally.past_form == 0
        else:
            assert tally.past_checksum < 0.01 * tally.corrupted
