"""Pose packets: the specification's vectors, round trips, and streams with anything between the packets."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.protocols.pose import (
    LONGEST_FRAME,
    PAYLOAD_SIZES,
    Attitude,
    Motors,
    Pose,
    PoseCounters,
    PoseFormat,
    PoseFrame,
    PoseIn,
    Position,
    Rates,
    crc16,
    decode,
    encode,
)

ATTITUDE = bytes.fromhex("aa55010ccdcccc3dcdcc4cbe0000c03fa99d")
MOTORS = bytes.fromhex("aa550408dc05dc05dc05dc056215")

single = st.floats(-1000, 1000, width=32)
poses = st.one_of(
    st.builds(Attitude, single, single, single),
    st.builds(Rates, single, single, single),
    st.builds(
        lambda lon, lat, alt: Position(lon / 1e7, lat / 1e7, alt / 1e3),
        st.integers(-1_800_000_000, 1_800_000_000),
        st.integers(-900_000_000, 900_000_000),
        st.integers(-(2**31), 2**31 - 1),
    ),
    st.builds(Motors, st.tuples(*[st.integers(0, 65535)] * 4)),
)
formats = st.builds(
    PoseFormat,
    header=st.sampled_from([b"\xaa\x55", b"\x55\xaa"]),
    crc_init=st.sampled_from([0xFFFF, 0]),
    crc_reflected=st.booleans(),
    crc_low_first=st.booleans(),
)


def fed(stream: bytes, sizes: list[int], layout: PoseFormat | None = None) -> tuple[list[PoseFrame], PoseCounters]:
    counters = PoseCounters()
    reader = PoseIn(counters, layout or PoseFormat())
    frames, at, turn = [], 0, 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        frames += reader.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    return frames, counters


@pytest.mark.parametrize(
    ("init", "reflected", "check"),
    [(0xFFFF, True, 0x4B37), (0, True, 0xBB3D), (0, False, 0xA47B), (0xFFFF, False, 0xCF32)],
)
def test_check_values(init: int, reflected: bool, check: int) -> None:
    assert crc16(b"123456789", PoseFormat(crc_init=init, crc_reflected=reflected)) == check


@pytest.mark.parametrize(
    ("pose", "wire"), [(Attitude(0.1, -0.2, 1.5), ATTITUDE), (Motors((1500, 1500, 1500, 1500)), MOTORS)]
)
def test_golden_packets(pose: Pose, wire: bytes) -> None:
    assert encode(pose) == wire
    assert crc16(wire[2:]) == 0
    ((kind, payload, cut),), counters = fed(wire, [len(wire)])
    assert (kind, payload, cut) == (wire[2], wire[4:-2], wire)
    assert (counters.frames_in, counters.bytes_in, counters.skipped_bytes) == (1, len(wire), 0)


def test_a_position_keeps_a_centimetre_where_floats_would_not() -> None:
    here = Position(116.3456789, 40.1234567, 51.234)
    (frame,), _ = fed(encode(here), [5])
    assert decode(frame) == here
    floats = PoseFormat(position="float32")
    (frame,), _ = fed(encode(here, floats), [5], floats)
    coarse = decode(frame, floats)
    assert isinstance(coarse, Position)
    assert coarse != here
    assert coarse.lon_deg == pytest.approx(here.lon_deg, abs=7.7e-6)


@given(poses, formats)
def test_every_pose_comes_back(pose: Pose, layout: PoseFormat) -> None:
    wire = encode(pose, layout)
    assert len(wire) == 6 + PAYLOAD_SIZES[wire[2]]
    (frame,), _ = fed(wire, [1], layout)
    assert decode(frame, layout) == pose


@given(st.lists(poses, min_size=1, max_size=6), st.lists(st.integers(1, 40), min_size=1, max_size=5), formats)
def test_chunks_do_not_matter(sent: list[Pose], sizes: list[int], layout: PoseFormat) -> None:
    frames, counters = fed(b"".join(encode(pose, layout) for pose in sent), sizes, layout)
    assert [decode(frame, layout) for frame in frames] == sent
    assert counters.skipped_bytes == counters.bad_checksums == counters.malformed == 0


@given(st.lists(st.one_of(st.binary(max_size=30), poses), max_size=8), st.lists(st.integers(1, 40), min_size=1))
def test_good_packets_are_found_between_anything(parts: list[bytes | Pose], sizes: list[int]) -> None:
    """Noise may open a packet that swallows nothing, unless it happens to hold a whole one itself."""
    stream = b"".join(part if isinstance(part, bytes) else encode(part) for part in parts) + bytes(LONGEST_FRAME)
    frames, counters = fed(stream, sizes)
    sent = [encode(part) for part in parts if not isinstance(part, bytes)]
    assert [frame.wire for frame in frames] == sent
    held = len(stream) - counters.skipped_bytes - sum(map(len, sent))
    assert 0 <= held < LONGEST_FRAME


def test_a_false_start_costs_no_true_packet() -> None:
    """A header and a length, and then the true packet where the false one's payload would be."""
    frames, counters = fed(b"\xaa\x55\x01\x0c" + MOTORS + ATTITUDE, [3])
    assert [frame.wire for frame in frames] == [MOTORS, ATTITUDE]
    assert (counters.bad_checksums, counters.skipped_bytes) == (1, 4)


def test_a_wrong_type_or_length_is_no_packet() -> None:
    for body in (b"\x05\x0c", b"\x00\x00", b"\x01\x08", b"\x04\xff"):
        frames, counters = fed(b"\xaa\x55" + body + bytes(20) + MOTORS, [64])
        assert [frame.wire for frame in frames] == [MOTORS]
        assert counters.malformed == 1


@given(st.integers(0, 8 * len(ATTITUDE) - 1))
def test_no_bit_may_change(bit: int) -> None:
    broken = bytearray(ATTITUDE)
    broken[bit // 8] ^= 1 << bit % 8
    frames, _ = fed(bytes(broken) + MOTORS + bytes(LONGEST_FRAME), [7])
    assert [frame.wire for frame in frames] == [MOTORS]


def test_memory_is_bounded_by_one_packet() -> None:
    reader = PoseIn(PoseCounters())
    for _ in range(100):
        reader.feed(b"\xaa\x55\x01\x0c" * 50)
        assert len(reader._open) < LONGEST_FRAME


@pytest.mark.parametrize(
    "pose",
    [
        *(Attitude(math.nan, 0, 0), Rates(0, math.inf, 0), Position(200.0, 0, 0), Position(0, -90.1, 0)),
    ],
)
def test_what_no_aircraft_has_is_refused(pose: Pose) -> None:
    (frame,), _ = fed(encode(pose), [18])
    assert decode(frame) is None


def test_kinds_are_numbered_as_in_the_paper() -> None:
    wires = [encode(pose) for pose in (Attitude(0, 0, 0), Position(0, 0, 0), Rates(0, 0, 0), Motors((0, 0, 0, 0)))]
    assert [wire[2] for wire in wires] == [1, 2, 3, 4]
    assert [len(wire) for wire in wires] == [18, 18, 18, 14]
