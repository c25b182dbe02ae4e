"""Cuts a byte stream into MAVLink frames, good or bad, so that an impaired link can lose a frame as a whole."""

from __future__ import annotations

from aeroloop.protocols.mavlink_framing import FrameSplitter


class MavlinkCutter(FrameSplitter):
    """Every byte is returned in order: frames by their length field, and the bytes between as separate units.

    Checksums are not verified: the reader of the frames does that.
    """

    def __init__(self) -> None:
        super().__init__()
        self._units: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        self._units = []
        self._split(self._open + chunk)
        return self._units

    def rest(self) -> bytes:
        """Returns and clears the bytes of an unfinished frame."""
        rest, self._open = self._open, b""
        return rest

    def _take(self, stream: bytes, begin: int, size: int) -> bool:
        self._units.append(stream[begin : begin + size])
        return True

    def _skip(self, between: bytes) -> None:
        self._units.append(between)
