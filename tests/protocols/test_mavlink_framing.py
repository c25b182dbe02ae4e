"""The one MAVLink framing: parser, router and cutter find the same frames in the same bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as dialect

from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from aeroloop.protocols.mavlink_cutter import MavlinkCutter
from aeroloop.protocols.mavlink_framing import LONGEST_FRAME, checksum, frame_size, sealed
from aeroloop.router.wire import MavlinkWire

MESSAGES = (
    dialect.MAVLink_heartbeat_message(2, 12, 129, 0, 4, 3),
    dialect.MAVLink_hil_sensor_message(4000, *(float(n) for n in range(13)), 0x1FFF, 0),
    dialect.MAVLink_statustext_message(6, b"\xfd\xfe\xfd hello"),
)


def wire(number: int, form: str) -> bytes:
    sender = dialect.MAVLink(None, srcSystem=1, srcComponent=1)
    if form == "signed":
        sender.signing.secret_key = b"0" * 32
        sender.signing.sign_outgoing = True
    packed: bytes = MESSAGES[number].pack(sender, force_mavlink1=form == "v1")
    return packed


frames = st.builds(wire, st.integers(0, len(MESSAGES) - 1), st.sampled_from(["v1", "v2", "signed"]))
chunkings = st.lists(st.integers(1, 90), min_size=1, max_size=8)


def fed(feed: Callable[[bytes], list[bytes]], stream: bytes, sizes: list[int]) -> list[bytes]:
    found, at, turn = [], 0, 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        found += feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    return found


@given(st.lists(frames, max_size=8), chunkings)
def test_three_readers_find_the_same_frames(sent: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(sent)
    parser, router, cutter = MavlinkIn(MavlinkCounters()), MavlinkWire(), MavlinkCutter()
    assert fed(lambda chunk: [frame.wire for frame in parser.feed(chunk)], stream, sizes) == sent
    assert fed(lambda chunk: [frame for _, frame in router.feed(chunk)], stream, sizes) == sent
    assert fed(cutter.feed, stream, sizes) == sent


@given(st.lists(frames | st.binary(max_size=60), max_size=8).map(b"".join), chunkings)
def test_the_cutter_loses_no_byte_of_any_stream(stream: bytes, sizes: list[int]) -> None:
    cutter = MavlinkCutter()
    units = fed(cutter.feed, stream, sizes)
    rest = cutter.rest()
    assert b"".join(units) + rest == stream
    assert len(rest) < LONGEST_FRAME
    assert cutter.rest() == b"" == cutter._open


@pytest.mark.parametrize("form", ["v1", "v2", "signed"])
def test_the_size_of_a_frame_stands_in_its_first_three_bytes(form: str) -> None:
    whole = wire(1, form)
    assert frame_size(whole[:2], 0) is None
    assert frame_size(b"??" + whole[:3], 2) == len(whole)


def test_the_checksum_is_mavlinks() -> None:
    assert checksum(b"123456789") == dialect.x25crc(b"123456789").crc == 0x6F91
    frame = wire(0, "v2")
    assert sealed(frame[:-2], bytes([dialect.MAVLink_heartbeat_message.crc_extra])) == frame
