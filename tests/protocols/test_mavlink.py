"""The MAVLink parser against pymavlink's message decoder as its twin, and against hostile streams."""

from __future__ import annotations

import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as dialect

from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.protocols.mavlink_framing import LONGEST_FRAME

ZOO = [
    dialect.MAVLink_heartbeat_message(2, 12, 129, 0, 4, 3),
    dialect.MAVLink_hil_actuator_controls_message(123456, [0.5] * 4 + [0.0] * 12, 129, 1),
    dialect.MAVLink_hil_controls_message(99, 0.1, -0.2, 0.3, 0.4, 0, 0, 0, 0, 129, 0),
    dialect.MAVLink_hil_sensor_message(4000, *(float(n) for n in range(13)), 0x1FFF, 0),
    dialect.MAVLink_hil_gps_message(5000, 3, 473977418, 85455939, 488000, 30, 40, 0, 0, 0, 0, 65535, 10),
    dialect.MAVLink_system_time_message(0, 0),  # all zeros: cut down to one byte
    dialect.MAVLink_statustext_message(6, b"\xfd\xfe\xfd hello"),
    dialect.MAVLink_command_long_message(1, 1, 511, 0, 115, 5000, 0, 0, 0, 0, 0),
]


def wire(message: Any, sequence: int = 0, system: int = 1, v1: bool = False, signed: bool = False) -> bytes:
    sender = dialect.MAVLink(None, srcSystem=system, srcComponent=1)
    sender.seq = sequence
    if signed:
        sender.signing.secret_key = b"0" * 32
        sender.signing.sign_outgoing = True
    packed: bytes = message.pack(sender, force_mavlink1=v1)
    return packed


def unknown(payload: bytes) -> bytes:
    return struct.pack("<BBBBBBBHB", 0xFD, len(payload), 0, 0, 0, 1, 1, 0x0102, 0x7F) + payload + b"\x11\x22"


def flagged(frame: bytes, flags: int) -> bytes:
    """A frame with a right checksum and a flag that says: do not read me if you do not know what this means."""
    body = frame[1:2] + bytes([flags]) + frame[3:-2]
    extra = dialect.mavlink_map[int.from_bytes(frame[7:10], "little")].crc_extra
    return frame[:1] + body + struct.pack("<H", dialect.x25crc(body + bytes([extra])).crc)


def parse(stream: bytes, sizes: list[int], system: int | None = None) -> tuple[list[Frame], MavlinkCounters, MavlinkIn]:
    counters = MavlinkCounters()
    parser = MavlinkIn(counters, system)
    frames, start, turn = [], 0, 0
    while start < len(stream):
        size = sizes[turn % len(sizes)]
        frames += parser.feed(stream[start : start + size])
        start, turn = start + size, turn + 1
    return frames, counters, parser


def naive(stream: bytes) -> list[bytes]:
    """pymavlink's decoder tried at every byte of a stream that is all here."""
    reader = dialect.MAVLink(None)
    found, at = [], 0
    while at < len(stream):
        frame = naive_frame(reader, stream, at)
        if frame:
            if not frame.startswith(b"unknown"):
                found.append(frame)
            at += len(frame.removeprefix(b"unknown"))
        else:
            at += 1
    return found


def naive_frame(reader: Any, stream: bytes, at: int) -> bytes:
    if stream[at] not in (0xFD, 0xFE) or at + 8 > len(stream):
        return b""
    size = 8 + stream[at + 1]
    if stream[at] == 0xFD:
        if stream[at + 2] not in (0, 1):
            return b""
        size += 4 + 13 * stream[at + 2]
    claimed = stream[at : at + size]
    if len(claimed) < size:
        return b""
    try:
        message = reader.decode(bytearray(claimed))
    except dialect.MAVError:
        return b""
    if message.get_type().startswith("UNKNOWN"):
        follows = stream[at + size : at + size + 1]
        return b"unknown" + claimed if follows in (b"\xfd", b"\xfe") else b""
    return claimed


messages = st.sampled_from(ZOO)
frames = st.builds(
    lambda message, sequence, system, form: wire(message, sequence, system, **{form: True} if form else {}),
    messages,
    st.integers(0, 255),
    st.integers(0, 255),
    st.sampled_from(["", "v1", "signed"]),
)
damaged = st.builds(
    lambda frame, at, byte: frame[: at % len(frame)] + bytes([byte]) + frame[at % len(frame) + 1 :],
    frames,
    st.integers(0, 300),
    st.integers(0, 255),
)
spiky = st.lists(st.sampled_from([0xFD, 0xFE, 0x00, 0x01, 0xFF, 107, 93]), max_size=40).map(bytes)
cut = st.builds(lambda frame, at: frame[: at % len(frame)], frames, st.integers(0, 300))
junk = st.one_of(st.binary(max_size=100), spiky, damaged, cut, st.binary(max_size=60).map(unknown))
streams = st.lists(st.one_of(frames, frames, junk), max_size=10).map(b"".join)
chunkings = st.lists(st.integers(0, 90), min_size=1, max_size=8).filter(any)


@given(streams, chunkings)
def test_any_stream_in_any_chunks_gives_what_pymavlink_finds_byte_by_byte(stream: bytes, sizes: list[int]) -> None:
    found, counters, parser = parse(stream, sizes)
    found += parser.give_up()
    assert [frame.wire for frame in found] == naive(stream)
    assert counters.bytes_in == len(stream)
    assert counters.frames_in == len(found)
    assert parser.feed(wire(ZOO[0]))[0].wire == wire(ZOO[0])


@given(streams, chunkings)
def test_chunks_do_not_matter(stream: bytes, sizes: list[int]) -> None:
    whole, counted, _ = parse(stream, [len(stream) or 1])
    pieces, counted_in_pieces, _ = parse(stream, sizes)
    assert whole == pieces
    assert counted == counted_in_pieces


@given(st.lists(st.tuples(messages, st.booleans()), max_size=12), chunkings)
def test_a_clean_stream_gives_what_pymavlinks_own_parser_gives(sent: list[tuple[Any, bool]], sizes: list[int]) -> None:
    stream = b"".join(wire(message, n & 0xFF, v1=v1) for n, (message, v1) in enumerate(sent))
    found, counters, _ = parse(stream, sizes)
    twin = dialect.MAVLink(None)
    wanted = twin.parse_buffer(bytearray(stream)) or []
    assert [frame.message() for frame in found] == wanted
    assert len(found) == len(sent)
    assert counters == MavlinkCounters(frames_in=len(sent), bytes_in=len(stream))


@given(st.sampled_from(sorted(dialect.mavlink_map)), st.binary(min_size=1, max_size=255), st.integers(0, 255))
def test_every_message_of_the_dialect_with_any_payload_is_read(msg_id: int, payload: bytes, sequence: int) -> None:
    """Text that is no text, numbers that are none, extensions of a newer dialect: nothing raises."""
    body = struct.pack("<BBBBBBHB", len(payload), 0, 0, sequence, 1, 1, msg_id & 0xFFFF, msg_id >> 16) + payload
    crc = dialect.x25crc(body + bytes([dialect.mavlink_map[msg_id].crc_extra])).crc
    (frame,) = parse(b"\xfd" + body + struct.pack("<H", crc), [1])[0]
    kind = dialect.mavlink_map[msg_id]
    assert (frame.msg_id, len(frame.payload)) == (msg_id, kind.unpacker.size)
    assert frame.message().get_type() == kind.msgname


few = st.builds(wire, messages, st.integers(0, 255), st.integers(1, 2))


@given(st.lists(st.one_of(few, few, few, damaged, junk), max_size=10), st.sampled_from([None, 1]))
def test_frames_that_come_one_by_one_are_those_of_the_stream(pieces: list[bytes], system: int | None) -> None:
    counters = MavlinkCounters()
    parser = MavlinkIn(counters, system)
    found = [frame for piece in pieces for frame in parser.feed(piece)]
    in_bytes, counted, _ = parse(b"".join(pieces), [1], system)
    assert found == in_bytes
    assert counters == counted


def test_a_frame_inside_what_a_stray_start_byte_claims_is_not_lost() -> None:
    """pymavlink's own parser loses it."""
    good = wire(ZOO[1])
    stray = b"\xfd\xff\x00\x00\x00\x01\x01\x00\x00\x00"  # claims a heartbeat of 255 bytes
    frames, _, parser = parse(stray + good, [7])
    assert frames == []  # it could still be one
    (frame,) = parser.give_up()
    assert frame.wire == good
    assert parse(stray + good * 4, [50])[0] != []


@pytest.mark.parametrize(
    ("stream", "counted"),
    [
        (b"\x00" * 9, MavlinkCounters(skipped_bytes=9)),
        (wire(ZOO[0]), MavlinkCounters(frames_in=1)),
        (wire(ZOO[0])[:-1] + b"\x00", MavlinkCounters(bad_checksums=1, skipped_bytes=21)),
        (b"\xfd\x00\x80", MavlinkCounters(skipped_bytes=3)),
        (flagged(wire(ZOO[0]), 0x80), MavlinkCounters(skipped_bytes=21)),
        (wire(ZOO[0], signed=True), MavlinkCounters(frames_in=1)),
        (unknown(b"abc") + wire(ZOO[0]), MavlinkCounters(unknown=1, frames_in=1)),
        (unknown(b"abc") + b"x" + wire(ZOO[0]), MavlinkCounters(skipped_bytes=16, frames_in=1)),
        (wire(ZOO[0], system=9) + wire(ZOO[0]), MavlinkCounters(other_system=1, frames_in=1)),
        (wire(ZOO[0], 254) + wire(ZOO[0], 1), MavlinkCounters(lost=2, frames_in=2)),
        (wire(ZOO[0], 255) + wire(ZOO[0], 0), MavlinkCounters(frames_in=2)),
    ],
)
def test_each_fault_has_its_counter(stream: bytes, counted: MavlinkCounters) -> None:
    counted.bytes_in = len(stream)
    _, counters, parser = parse(stream, [3], system=1)
    parser.give_up()
    assert counters == counted


@pytest.mark.parametrize("filler", [b"\x00", b"\xfd", b"\xfe", b"\xfd\x00\x00"])
def test_memory_is_bounded_while_garbage_passes(filler: bytes) -> None:
    parser = MavlinkIn(MavlinkCounters())
    chunk = filler * (1000 // len(filler))
    parser.feed(chunk)
    tracemalloc.start()
    try:
        for _ in range(40):
            parser.feed(chunk)
            assert len(parser._open) <= LONGEST_FRAME
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 10_000
    assert peak < 50_000


def test_out_numbers_its_frames_and_equals_pymavlink() -> None:
    counters = MavlinkCounters()
    out = MavlinkOut(counters, 1, 1)
    packed = [out.pack(ZOO[n % len(ZOO)]) for n in range(300)]
    assert packed == [wire(ZOO[n % len(ZOO)], n & 0xFF) for n in range(300)]
    assert counters == MavlinkCounters(frames_out=300, bytes_out=sum(map(len, packed)))
    assert all(frame[0] == 0xFD for frame in packed)


@pytest.mark.parametrize("value", [0, 1])
def test_every_message_of_the_dialect_is_packed_as_pymavlink_packs_it(value: int) -> None:
    out, theirs = MavlinkOut(MavlinkCounters(), 7, 9), dialect.MAVLink(None, srcSystem=7, srcComponent=9)
    numbers = {msg_id: kind for msg_id, kind in dialect.mavlink_map.items() if not any(kind.array_lengths)}
    assert len(numbers) > 100
    for kind in numbers.values():
        message = kind(*[value] * len(kind.fieldnames))
        assert out.pack(message) == message.pack(theirs), kind.msgname
        theirs.seq = (theirs.seq + 1) & 0xFF
