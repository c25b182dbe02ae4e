"""MAVLink 2 signing of one endpoint: what comes in must carry a good signature, what goes out gets one.

A signature belongs to its line: inside the router frames have none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aeroloop.protocols.mavlink_framing import V1, V2, message_key, sealed
from aeroloop.protocols.mavlink_signing import Signing, Verdict, read_key, strip, timestamp
from aeroloop.router.dialect import FORMATS
from aeroloop.router.wire import Keyed


class Signatures:
    """`unix_ns` is the time that is written into signatures."""

    def __init__(self, key_file: Path, link_id: int, unix_ns: Callable[[], int]) -> None:
        self._signing = Signing(read_key(key_file), link_id)
        self._unix_ns = unix_ns

    def checked(self, frames: list[Keyed], heard: dict[bytes, int]) -> list[Keyed]:
        """Those with a good signature, without it; `heard` belongs to the peer that sent them."""
        now = timestamp(self._unix_ns())
        return [(key, strip(wire)) for key, wire in frames if self._signing.verify(wire, now, heard) is Verdict.GOOD]

    def signed(self, batch: list[bytes]) -> list[bytes]:
        now = timestamp(self._unix_ns())
        signed = (self._signing.sign(as_version_2(wire), now) for wire in batch)
        return [wire for wire in signed if wire is not None]


def as_version_2(wire: bytes) -> bytes:
    """MAVLink 1 has no room for a signature."""
    if wire[0] != V1:
        return wire
    # MAVLink 2 sends no zeros at the end, but one byte at least.
    payload = wire[6:-2].rstrip(b"\0") or b"\0"
    head = bytes((V2, len(payload), 0, 0, wire[2], wire[3], wire[4], wire[5], 0, 0))
    return sealed(head + payload, FORMATS[message_key(wire, 0)].extra)
