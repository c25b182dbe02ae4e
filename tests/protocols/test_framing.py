"""The byte frame against a twin written from the paper's text, one byte at a time, and against hostile streams."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.protocols.framing import Counters, Deframer, FrameCutter, encode, fletcher16

LONGEST = 24  # bytes of data; small, so that random streams also run over it
FLAG_BYTE, ESCAPE_BYTE = 0x7E, 0x7D


def naive_checksum(data: bytes) -> tuple[int, int]:
    low = high = 0
    for byte in data:
        low = (low + byte) % 255
        high = (high + low) % 255
    return low, high


def naive_encode(data: bytes) -> bytes:
    """Start byte, data and checksum with every flag and escape replaced by escape and byte XOR 0x20, end byte."""
    wire = [FLAG_BYTE]
    for byte in [*data, *naive_checksum(data)]:
        if byte in (FLAG_BYTE, ESCAPE_BYTE):
            wire += [ESCAPE_BYTE, byte ^ 0x20]
        else:
            wire.append(byte)
    wire.append(FLAG_BYTE)
    return bytes(wire)


def naive_unescape(body: list[int]) -> list[int] | None:
    """None when an escape is the last byte or stands before something that needed none."""
    out = []
    escaped = False
    for byte in body:
        if escaped:
            if byte ^ 0x20 not in (FLAG_BYTE, ESCAPE_BYTE):
                return None
            out.append(byte ^ 0x20)
            escaped = False
        elif byte == ESCAPE_BYTE:
            escaped = True
        else:
            out.append(byte)
    return None if escaped else out


def naive_decode(stream: bytes, longest: int) -> tuple[list[bytes], Counters]:
    """With memory without bound; whatever lies between two flags is a frame, and nothing at all is none."""
    good, counted = [], Counters(bytes_in=len(stream))
    body: list[int] = []
    for byte in stream:
        if byte != FLAG_BYTE:
            body.append(byte)
            continue
        if body:
            frame = naive_unescape(body)
            if frame is None or not 3 <= len(frame) <= longest + 2:
                counted.malformed += 1
            elif naive_checksum(bytes(frame[:-2])) != tuple(frame[-2:]):
                counted.bad_checksums += 1
            else:
                counted.frames_in += 1
                good.append(bytes(frame[:-2]))
        body = []
    return good, counted


def chunked(stream: bytes, sizes: list[int]) -> list[bytes]:
    """The stream in chunks of these sizes, over and over; empty chunks too, since a poll may bring nothing."""
    chunks, start, turn = [], 0, 0
    while start < len(stream):
        size = sizes[turn % len(sizes)]
        chunks.append(stream[start : start + size])
        start, turn = start + size, turn + 1
    return chunks


def decode(chunks: list[bytes], longest: int = LONGEST) -> tuple[list[bytes], Counters]:
    counters = Counters()
    deframer = Deframer(longest, counters)
    return [data for chunk in chunks for data in deframer.feed(chunk)], counters


payloads = st.binary(min_size=1, max_size=LONGEST)
spiky_bytes = st.lists(st.sampled_from([0x7E, 0x7D, 0x5E, 0x5D, 0x00, 0xFF, 0x20]), max_size=LONGEST).map(bytes)
escapes_galore = spiky_bytes.filter(len)
chunkings = st.lists(st.integers(0, 60), min_size=1, max_size=8).filter(any)
damaged = st.builds(
    lambda frame, at, byte: frame[: at % len(frame)] + bytes([byte]) + frame[at % len(frame) + 1 :],
    payloads.map(encode),
    st.integers(0, 1000),
    st.integers(0, 255),
)
junk = st.one_of(st.binary(max_size=200), spiky_bytes, damaged, st.integers(0, 200).map(lambda n: b"\x41" * n))
streams = st.lists(st.one_of(payloads.map(encode), escapes_galore.map(encode), junk), max_size=12).map(b"".join)


@pytest.mark.parametrize(("text", "checksum"), [(b"abcde", 0xC8F0), (b"abcdef", 0x2057), (b"abcdefgh", 0x0627)])
def test_checksum_vectors(text: bytes, checksum: int) -> None:
    assert fletcher16(text) == checksum
    assert encode(text) == b"\x7e" + text + bytes([checksum & 0xFF, checksum >> 8]) + b"\x7e"


def test_the_checksum_cannot_tell_zero_from_255() -> None:
    """The weakness that the plausibility check exists for; if this fails, that barrier may be reconsidered."""
    assert fletcher16(b"\x01\x00\x02") == fletcher16(b"\x01\xff\x02")


@given(st.one_of(st.binary(max_size=300), spiky_bytes))
def test_encoder_equals_its_naive_twin(data: bytes) -> None:
    assert encode(data) == naive_encode(data)


@given(streams, chunkings)
def test_decoder_equals_its_naive_twin_on_any_stream(stream: bytes, sizes: list[int]) -> None:
    closed = stream + b"\x7e"
    assert decode(chunked(closed, sizes)) == naive_decode(closed, LONGEST)


@given(st.lists(st.one_of(payloads, escapes_galore), max_size=20), chunkings)
def test_round_trip_in_any_chunks(sent: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(map(encode, sent))
    assert decode(chunked(stream, sizes)) == (sent, Counters(frames_in=len(sent), bytes_in=len(stream)))


@given(st.lists(payloads, min_size=1, max_size=10), chunkings)
def test_frames_may_share_a_flag_or_have_many_between(sent: list[bytes], sizes: list[int]) -> None:
    bodies = [encode(data)[1:-1] for data in sent]
    for separator in (b"\x7e", b"\x7e" * 7):
        stream = separator + separator.join(bodies) + separator
        assert decode(chunked(stream, sizes)) == (sent, Counters(frames_in=len(sent), bytes_in=len(stream)))


@given(st.lists(st.tuples(junk, payloads), max_size=8), chunkings)
def test_a_frame_is_read_whatever_came_before(pieces: list[tuple[bytes, bytes]], sizes: list[int]) -> None:
    """The frame's own opening flag ends the garbage, even garbage that ends in an escape."""
    for tail in (b"", b"\x7d"):
        stream = b"".join(garbage + tail + encode(data) for garbage, data in pieces)
        received, _ = decode(chunked(stream, sizes))
        wanted = [data for _, data in pieces]
        # Garbage may happen to hold frames of its own; those sent are all there, in order.
        rest = iter(received)
        assert all(data in rest for data in wanted)


@pytest.mark.parametrize("size", [1, 7, 4096, 3_000_000])
@pytest.mark.parametrize("tail", [b"", b"\x7d"])
def test_megabytes_without_a_flag_are_one_malformed_frame(size: int, tail: bytes) -> None:
    total = 200_000 if size < 100 else 3_000_000
    noise = bytes(b for b in random.Random(5).randbytes(1000) if b != FLAG_BYTE)
    stream = encode(b"before") + noise * (total // len(noise)) + tail + encode(b"after")
    received, counters = decode(chunked(stream, [size]))
    assert received == [b"before", b"after"]
    assert counters == Counters(frames_in=2, malformed=1, bytes_in=len(stream))


def test_memory_is_bounded_while_megabytes_pass() -> None:
    counters = Counters()
    deframer = Deframer(LONGEST, counters)
    chunk = b"\x41" * 1000
    deframer.feed(chunk)
    tracemalloc.start()
    try:
        for turn in range(3000):
            deframer.feed(chunk if turn % 100 else chunk + b"\x7e\x7d")
            assert len(deframer._open) <= 2 * (LONGEST + 2)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert counters.bytes_in > 3_000_000
    assert kept < 10_000
    assert peak < 50_000


@pytest.mark.parametrize(
    ("stream", "counted"),
    [
        (b"\x7e\x7e\x7e", Counters()),
        (b"\x7e\x01\x7e", Counters(malformed=1)),
        (b"\x7e\x00\x00\x7e", Counters(malformed=1)),  # a checksum of no data
        (b"\x7e\x01\x01\x02\x7e", Counters(bad_checksums=1)),
        (b"\x7e\x01\x01\x01\x7e", Counters(frames_in=1)),
        (b"\x7e\x01\x01\x7d\x7e", Counters(malformed=1)),  # PPP's abort
        (b"\x7e\x01\x7d\x21\x01\x7e", Counters(malformed=1)),  # an escape of what needs none
        (b"\x7e\x7d\x7d\x5d\x01\x7e", Counters(malformed=1)),
        (encode(bytes(LONGEST)), Counters(frames_in=1)),
        (encode(bytes(LONGEST + 1)), Counters(malformed=1)),
        (encode(b"\x7e" * LONGEST), Counters(frames_in=1)),  # as long on the wire as a frame can be
        (encode(b"\x7e" * (LONGEST + 1)), Counters(malformed=1)),
    ],
)
def test_each_fault_has_its_counter(stream: bytes, counted: Counters) -> None:
    counted.bytes_in = len(stream)
    assert decode([stream])[1] == counted
    assert decode(chunked(stream, [1]))[1] == counted


def test_the_decoder_never_raises_on_noise() -> None:
    """Noise rich in flags and escapes, 1 MB of it; all of it is accounted for."""
    source = random.Random(7)
    counters = Counters()
    deframer = Deframer(64, counters)
    palette = bytes(range(256)) + b"\x7e\x7d\x5e\x5d\x00\xff" * 12
    sent = 0
    for _ in range(2000):
        chunk = bytes(source.choices(palette, k=source.randrange(1000)))
        sent += len(chunk)
        deframer.feed(chunk)
    assert counters.bytes_in == sent
    assert counters.malformed > 0
    assert counters.bad_checksums > 0
    deframer.feed(b"\x7e")
    frames_before = counters.frames_in
    assert deframer.feed(encode(b"still here")) == [b"still here"]
    assert counters.frames_in == frames_before + 1


def test_counters_row_follows_the_field_order() -> None:
    counters = Counters(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert counters.row() == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)


class SmallCutter(FrameCutter):
    """Runs over its limit in short streams."""

    LONGEST = 40


def cut(chunks: list[bytes], kind: type[FrameCutter] = FrameCutter) -> tuple[list[bytes], bytes]:
    cutter = kind()
    return [unit for chunk in chunks for unit in cutter.feed(chunk)], cutter._open


@given(streams, chunkings)
def test_cut_units_join_back_to_the_same_bytes(stream: bytes, sizes: list[int]) -> None:
    for kind in (FrameCutter, SmallCutter):
        units, still_open = cut(chunked(stream, sizes), kind)
        assert b"".join(units) + still_open == stream
        assert all(units)


@given(streams, chunkings)
def test_cut_units_do_not_depend_on_the_chunks(stream: bytes, sizes: list[int]) -> None:
    assert cut(chunked(stream, sizes)) == cut([stream])


@given(streams, chunkings)
def test_cut_units_do_not_depend_on_the_chunks_even_when_no_flag_comes(stream: bytes, sizes: list[int]) -> None:
    assert cut(chunked(stream, sizes), SmallCutter) == cut([stream], SmallCutter)


@given(streams)
def test_a_cut_unit_is_one_frame_with_the_flags_before_it(stream: bytes) -> None:
    units, still_open = cut([stream])
    for unit in units:
        body = unit.lstrip(b"\x7e")
        assert len(body) > 1
        assert body.index(b"\x7e") == len(body) - 1
    assert b"\x7e" not in still_open.lstrip(b"\x7e")


@given(st.lists(payloads, max_size=20), chunkings)
def test_a_clean_stream_is_cut_into_its_frames(sent: list[bytes], sizes: list[int]) -> None:
    frames = [encode(data) for data in sent]
    assert cut(chunked(b"".join(frames), sizes)) == (frames, b"")


@given(junk, payloads, payloads)
def test_the_cutter_is_in_step_again_after_garbage(garbage: bytes, first: bytes, second: bytes) -> None:
    """The frame after garbage may lack its opening flag, which the garbage took; the one after it is whole."""
    units, still_open = cut([garbage + encode(first) + encode(second)])
    assert units[-1] == encode(second)
    assert units[-2].endswith(encode(first)[1:])
    assert still_open == b""


@pytest.mark.parametrize("filler", [b"\x41", b"\x7e"])
@pytest.mark.parametrize("size", [1000, 5000, 100_000])
def test_the_cutter_holds_back_a_bounded_number_of_bytes(filler: bytes, size: int) -> None:
    cutter = FrameCutter()
    given_bytes = released = 0
    for _ in range(100_000 // size):
        units = cutter.feed(filler * size)
        given_bytes += size
        released += sum(map(len, units))
        assert len(cutter._open) <= FrameCutter.LONGEST
        assert all(len(unit) <= FrameCutter.LONGEST for unit in units)
        assert given_bytes - released == len(cutter._open)
