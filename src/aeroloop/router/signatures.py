"""MAVLink 2 signing of one endpoint: incoming frames must have a valid signature, outgoing frames are signed.

Signatures are per link: frames inside the router have none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aeroloop.protocols.mavlink_framing import V1, V2, message_key, sealed
from aeroloop.protocols.mavlink_signing import Signing, Verdict, read_key, strip, timestamp
from aeroloop.router.dialect import FORMATS
from aeroloop.router.wire import Keyed


class Signatures:
    """`unix_ns` is the clock for the timestamps of signatures."""

    def __init__(self, key_file: Path, link_id: int, unix_ns: Callable[[], int]) -> None:
        self._signing = Signing(read_key(key_file), link_id)
        self._unix_ns = unix_ns
        self.ahead = False  # a frame was signed ahead of our clock: one of the two clocks is wrong

    def checked(self, frames: list[Keyed], heard: dict[bytes, int]) -> list[Keyed]:
        """Frames with a valid signature, with the signature removed; `heard` has the newest timestamps of that peer."""
        now = timestamp(self._unix_ns())
        good = []
        for key, wire in frames:
            verdict = self._signing.verify(wire, now, heard)
            if verdict is Verdict.GOOD:
                good.append((key, strip(wire)))
            self.ahead = self.ahead or verdict is Verdict.AHEAD
        return good

    def signed(self, batch: list[bytes]) -> list[bytes]:
        now = timestamp(self._unix_ns())
        signed = (self._signing.sign(as_version_2(wire), now) for wire in batch)
        return [wire for wire in signed if wire is not None]


def as_version_2(wire: bytes) -> bytes:
    """MAVLink 1 has no signatures."""
    if wire[0] != V1:
        return wire
    # MAVLink 2 omits zeros at the end, but sends at least one byte.
    payload = wire[6:-2].rstrip(b"\0") or b"\0"
    head = bytes((V2, len(payload), 0, 0, wire[2], wire[3], wire[4], wire[5], 0, 0))
    return sealed(head + payload, FORMATS[message_key(wire, 0)].extra)
