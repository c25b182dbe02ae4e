"""References from the ground to the board: golden bytes, order, and what is not believed."""

from __future__ import annotations

import dataclasses
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.signals import Reference
from aeroloop.protocols.framing import Counters, encode
from aeroloop.protocols.reference import ReferenceBounds, ReferenceEnd, encode_reference

GOLDEN = Path(__file__).parents[1] / "golden" / "reference.hex"
REFERENCE = Reference(32126, (5.0, -3.96875, 12.5), 1.5, (0.0, 1.5625, -0.5), 0.25)
CIRCLE_MS = 2**32


def golden() -> bytes:
    lines = GOLDEN.read_text(encoding="ascii").splitlines()
    return bytes.fromhex(" ".join(line for line in lines if not line.startswith("#")))


def at(t_ms: int) -> Reference:
    return dataclasses.replace(REFERENCE, t_ms=t_ms)


def raw(t_ms: int, *values: float) -> bytes:
    return encode(struct.pack("<I8f", t_ms, *values))


def test_golden_bytes_both_ways() -> None:
    assert encode_reference(REFERENCE) == golden()
    end = ReferenceEnd()
    assert end.receive(golden()) == REFERENCE
    assert end.counters == Counters(frames_in=1, bytes_in=len(golden()))


float32 = st.floats(-100, 100, width=32)


@given(st.integers(0, CIRCLE_MS - 1), st.lists(float32, min_size=8, max_size=8), st.integers(1, 60))
def test_round_trip_in_any_chunks(t_ms: int, values: list[float], size: int) -> None:
    x, y, z, yaw, vx, vy, vz, yaw_rate = values
    sent = Reference(t_ms, (x, y, z), yaw, (vx, vy, vz), yaw_rate)
    wire = encode_reference(sent)
    end = ReferenceEnd()
    received = [end.receive(wire[start : start + size]) for start in range(0, len(wire), size)]
    assert [r for r in received if r is not None] == [sent]


def test_the_newest_of_several_is_returned() -> None:
    end = ReferenceEnd()
    assert end.receive(b"".join(encode_reference(at(t)) for t in (10, 30, 20))) == at(30)
    assert (end.counters.late, end.counters.duplicates) == (1, 0)


def test_a_repeated_or_older_reference_is_counted_and_ignored() -> None:
    end = ReferenceEnd()
    assert end.receive(encode_reference(at(1000))) == at(1000)
    assert end.receive(encode_reference(at(1000))) is None
    assert end.receive(encode_reference(at(900))) is None
    assert end.receive(encode_reference(at(999))) is None
    assert (end.counters.duplicates, end.counters.late) == (1, 2)
    assert end.receive(encode_reference(at(1001))) == at(1001)


def test_references_go_on_when_the_milliseconds_have_come_full_circle() -> None:
    """The encoder keeps 32 bits, 49.7 days; the receiver must not take what follows for late."""
    end = ReferenceEnd()
    end.receive(encode_reference(at(CIRCLE_MS - 5)))
    assert end.receive(encode_reference(at(CIRCLE_MS + 5))) == at(5)
    assert end.receive(encode_reference(at(CIRCLE_MS - 1))) is None
    assert end.counters.late == 1


@pytest.mark.parametrize("byte", [1, 2, 3])
def test_a_time_damaged_behind_the_checksum_does_not_silence_the_link(byte: int) -> None:
    """0x00 for 0xFF in an upper byte of the time passes the checksum: a minute, hours or weeks ahead.

    Were the references that follow refused as late, one such frame would end the guidance of the whole flight.
    """
    end = ReferenceEnd()
    assert end.receive(encode_reference(at(100))) == at(100)
    data = bytearray(struct.pack("<I8f", 200, *REFERENCE.row()))
    data[byte] = 0xFF
    end.receive(encode(bytes(data)))
    assert [end.receive(encode_reference(at(t))) for t in (201, 202)] == [at(201), at(202)]


@pytest.mark.parametrize("index", range(8))
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30, -1e30])
def test_an_absurd_value_is_refused_and_leaves_no_trace(index: int, value: float) -> None:
    end = ReferenceEnd()
    values = [0.0] * 8
    values[index] = value
    assert end.receive(raw(50, *values)) is None
    assert end.counters.implausible == 1
    assert end.receive(encode_reference(at(50))) == at(50)
    assert (end.counters.late, end.counters.duplicates) == (0, 0)


@pytest.mark.parametrize(("index", "limit"), list(enumerate(ReferenceBounds().high)))
def test_the_limits_of_belief(index: int, limit: float) -> None:
    for sign in (-1.0, 1.0):
        end = ReferenceEnd()
        values = [0.0] * 8
        values[index] = sign * limit
        assert end.receive(raw(1, *values)) is not None
        values[index] = sign * limit * 1.001
        assert end.receive(raw(2, *values)) is None
        assert end.counters.implausible == 1


def test_a_jump_is_not_believed_at_first_but_a_lasting_one_is() -> None:
    """One frame damaged behind the checksum must not pull the aircraft; a new path far away is taken up soon."""
    end = ReferenceEnd()
    assert end.receive(raw(0, *[0.0] * 8)) is not None
    far = [3.5] + [0.0] * 7
    assert [end.receive(raw(12 * n, *far)) is not None for n in range(1, 6)] == [False, False, False, True, True]
    assert end.counters.implausible == 3


@pytest.mark.parametrize("size", [1, 35, 37, 64])
def test_wrong_lengths_are_malformed(size: int) -> None:
    end = ReferenceEnd()
    assert end.receive(encode(bytes(size))) is None
    assert end.counters.malformed == 1


def test_damaged_frames_are_counted_and_ignored() -> None:
    end = ReferenceEnd()
    wire = bytearray(golden())
    wire[6] ^= 0x01
    assert end.receive(bytes(wire) + b"\x41" * 1000) is None
    assert end.receive(golden()) == REFERENCE
    assert (end.counters.bad_checksums, end.counters.malformed, end.counters.frames_in) == (1, 1, 1)
