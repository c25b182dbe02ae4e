"""Camera frames on a link: whatever is sent arrives, and garbage costs only what it damages."""

from __future__ import annotations

import random
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.protocols.frames import HEADER, MAGIC, MOST_BYTES, Frame, FrameReader, encode

singles = st.floats(width=32, allow_nan=False)
frames = st.builds(
    Frame,
    camera=st.integers(0, 255),
    coding=st.integers(0, 255),
    number=st.integers(0, 2**32 - 1),
    t_ns=st.integers(-(2**63), 2**63 - 1),
    size_px=st.tuples(st.integers(0, 65535), st.integers(0, 65535)),
    intrinsics_px=st.tuples(*[singles] * 4),
    distortion=st.tuples(*[singles] * 5),
    exposure_us=st.integers(0, 2**32 - 1),
    depth_unit_m=singles,
    flags=st.integers(0, 255),
    rgb=st.binary(max_size=200),
    depth=st.binary(max_size=200),
)
SOME = Frame(1, 1, 7, 123, (4, 2), (1.0, 1.0, 1.5, 0.5), rgb=b"colour", depth=b"depth")


def test_the_header_has_80_bytes_in_the_documented_places() -> None:
    assert HEADER.size == 80
    data = encode(SOME)
    assert (data[:4], data[4], data[5], data[6]) == (b"ALFR", 1, 1, 1)
    assert struct.unpack_from("<Iq", data, 8) == (7, 123)
    assert struct.unpack_from("<HH", data, 24) == (4, 2)
    assert struct.unpack_from("<II", data, 68) == (6, 5)
    assert data[80:] == b"colourdepth"


@given(st.lists(frames, max_size=4), st.integers(1, 97))
def test_frames_arrive_in_pieces_of_any_size(sent: list[Frame], piece: int) -> None:
    wire, reader = b"".join(map(encode, sent)), FrameReader()
    got = [frame for at in range(0, len(wire), piece) for frame in reader.feed(wire[at : at + piece])]
    assert got == sent
    assert not reader.refused


@given(st.binary(max_size=300).filter(lambda garbage: MAGIC not in garbage), frames)
def test_a_frame_after_garbage_arrives(garbage: bytes, frame: Frame) -> None:
    reader = FrameReader()
    # The end of the garbage and the frame's magic may look like a magic earlier, never later.
    assert list(reader.feed(garbage + encode(frame))) == [frame]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:4] + b"\x02" + data[5:], "version"),
        (lambda data: data[:68] + struct.pack("<I", MOST_BYTES + 1) + data[72:], "size"),
        (lambda data: data[:-1] + b"?", "checksum"),
        (lambda data: b"XLFR" + data[4:], "magic"),
    ],
)
def test_a_damaged_frame_is_named_and_the_next_one_arrives(damage, reason: str) -> None:  # type: ignore[no-untyped-def]
    reader = FrameReader()
    after = replace(SOME, number=8)
    assert list(reader.feed(damage(encode(SOME)) + encode(after))) == [after]
    assert reader.refused.get(reason, 0) >= 1


def test_random_bytes_never_raise_and_are_not_kept() -> None:
    rng, reader = random.Random(1), FrameReader()
    for _ in range(300):
        piece = bytes(rng.choice(b"ALFR\x01\x00") for _ in range(rng.randrange(200)))
        list(reader.feed(piece))
    assert len(reader._buffer) <= HEADER.size + MOST_BYTES
    list(reader.feed(bytes(MOST_BYTES + HEADER.size)))  # ends whatever was begun
    assert list(reader.feed(encode(SOME))) == [SOME]


def test_a_frame_too_large_is_not_sent() -> None:
    with pytest.raises(ValueError, match="expected at most"):
        encode(replace(SOME, rgb=bytes(MOST_BYTES + 1)))
