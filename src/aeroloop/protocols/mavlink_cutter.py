"""Cuts a byte stream into MAVLink frames, good or bad, so that an impaired link can lose a frame as a whole."""

from __future__ import annotations

import re

_V1, _V2 = 0xFE, 0xFD
_SIGNED = 0x01
_START = re.compile(b"[\xfd\xfe]")


class MavlinkCutter:
    """Every byte comes out in its order: frames by the length they claim, and what lies between as units of its own.

    No checksum is looked at, since whoever reads the frames does that. Memory is bounded by the longest frame.
    """

    def __init__(self) -> None:
        self._open = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        stream = self._open + chunk
        units = []
        at = 0
        while at < len(stream):
            start = _START.search(stream, at)
            begin = start.start() if start else len(stream)
            if begin > at:
                units.append(stream[at:begin])
                at = begin
                continue
            size = _claimed(stream, begin)
            if size is None or begin + size > len(stream):
                break
            units.append(stream[begin : begin + size])
            at = begin + size
        self._open = stream[at:]
        return units

    def rest(self) -> bytes:
        """What is left of an unfinished frame, and from now on forgotten."""
        rest, self._open = self._open, b""
        return rest


def _claimed(stream: bytes, begin: int) -> int | None:
    """Length of the frame that begins here; None if too little is here to say."""
    if len(stream) - begin < 3:
        return None
    if stream[begin] == _V1:
        return 8 + stream[begin + 1]
    return 12 + stream[begin + 1] + (13 if stream[begin + 2] & _SIGNED else 0)
