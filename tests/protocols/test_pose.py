"""Pose packets: the specification's vectors, round trips, and streams with anything between the packets."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

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
    RotorSpeeds,
    SpecificForce,
    Status,
    Velocity,
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
added = st.one_of(
    st.builds(Velocity, single, single, single),
    st.builds(SpecificForce, single, single, single),
    st.builds(Status, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
)
EXTENDED = PoseFormat(types="extended")
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


@given(added)
def test_every_added_packet_comes_back_and_is_malformed_for_a_papers_receiver(pose: Pose) -> None:
    wire = encode(pose, EXTENDED)
    assert len(wire) == 18
    (frame,), _ = fed(wire, [1], EXTENDED)
    assert decode(frame, EXTENDED) == pose
    frames, counters = fed(wire + MOTORS, [64])
    assert [frame.wire for frame in frames] == [MOTORS]
    assert (counters.malformed, counters.skipped_bytes) == (1, 18)


@pytest.mark.parametrize("pose", [Velocity(1, 2, 3), SpecificForce(0, 0, -9.8), Status(0, 0)])
def test_the_papers_format_does_not_send_what_is_added(pose: Pose) -> None:
    with pytest.raises(ValueError, match="'paper' has no packets of type"):
        encode(pose)


def test_type_4_is_pulses_or_rotor_speeds() -> None:
    speeds, of_text = RotorSpeeds((0, 5320, 5321, 65535)), PoseFormat(motors="speeds")
    wire = encode(speeds, of_text)
    assert (wire[2], len(wire)) == (4, 14)
    (frame,), _ = fed(wire, [14], of_text)
    assert decode(frame, of_text) == speeds
    assert decode(frame) == Motors(speeds.speeds_rpm)
    for pose, layout in ((speeds, PoseFormat()), (Motors((1, 2, 3, 4)), of_text)):
        with pytest.raises(ValueError, match="as type 4"):
            encode(pose, layout)


def test_status_restarts_after_32_bits_and_refuses_what_is_reserved() -> None:
    (frame,), _ = fed(encode(Status(2**32 + 5, 2**32), EXTENDED), [18], EXTENDED)
    assert decode(frame, EXTENDED) == Status(5, 0)
    assert decode(frame._replace(payload=frame.payload[:-1] + b"\x01"), EXTENDED) is None


@given(st.lists(poses, min_size=1, max_size=6), st.lists(st.integers(1, 40), min_size=1, max_size=5), formats)
def test_chunks_do_not_matter(sent: list[Pose], sizes: list[int], layout: PoseFormat) -> None:
    frames, counters = fed(b"".join(encode(pose, layout) for pose in sent), sizes, layout)
    assert [decode(frame, layout) for frame in frames] == sent
    assert counters.skipped_bytes == counters.bad_checksums == counters.malformed == 0


@given(st.lists(st.one_of(st.binary(max_size=30), poses, added), max_size=8), st.lists(st.integers(1, 40), min_size=1))
def test_good_packets_are_found_between_anything(parts: list[bytes | Pose], sizes: list[int]) -> None:
    """Noise may open a packet that swallows nothing, unless it happens to hold a whole one itself."""
    stream = b"".join(part if isinstance(part, bytes) else encode(part, EXTENDED) for part in parts)
    stream += bytes(LONGEST_FRAME)
    frames, counters = fed(stream, sizes, EXTENDED)
    sent = [encode(part, EXTENDED) for part in parts if not isinstance(part, bytes)]
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


@given(st.lists(poses, min_size=1, max_size=6), st.data())
def test_a_stream_cut_anywhere_loses_only_the_packet_that_was_cut(sent: list[Pose], data: st.DataObject) -> None:
    wires = [encode(pose) for pose in sent]
    whole = b"".join(wires)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    frames, _ = fed(whole[start:end] + bytes(LONGEST_FRAME), [5])
    edges = [sum(map(len, wires[:i])) for i in range(len(wires) + 1)]
    uncut = [wire for wire, begin in zip(wires, edges, strict=False) if start <= begin and begin + len(wire) <= end]
    assert [frame.wire for frame in frames] == uncut


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), min_size=1, max_size=5), formats, st.booleans())
def test_any_bytes_are_read_without_failing(noise: bytes, sizes: list[int], layout: PoseFormat, wide: bool) -> None:
    """Also bytes made to look like packets: a header and a plausible type before each piece."""
    layout = replace(layout, types="extended" if wide else "paper")
    pieces = [noise[i : i + 14] for i in range(0, len(noise), 14)]
    bodies = [bytes((1 + piece[0] % 7, 12)) + piece[:12] for piece in pieces]
    order: Literal["little", "big"] = "little" if layout.crc_low_first else "big"
    stream = noise + b"".join(layout.header + body + crc16(body, layout).to_bytes(2, order) for body in bodies)
    frames, counters = fed(stream, sizes, layout)
    for frame in frames:
        pose = decode(frame, layout)
        assert pose is None or encode(pose, layout) == frame.wire
    assert counters.bytes_in == len(stream)
    assert counters.skipped_bytes + sum(len(frame.wire) for frame in frames) <= len(stream)


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
