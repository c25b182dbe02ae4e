"""References from the ground to the board: the framing only, no message numbers.

Data: simulated time in ms (uint32), then x, y, z, yaw, their rates, as little-endian single precision.
"""

from __future__ import annotations

import math
import struct

from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.signals import REFERENCE_COUNT, Reference

_DATA = struct.Struct(f"<I{REFERENCE_COUNT}f")
FARTHEST_M = 1e4
FASTEST_M_S = 200.0
MOST_RAD = 100.0


def encode_reference(reference: Reference) -> bytes:
    return encode(_DATA.pack(reference.t_ms & 0xFFFFFFFF, *reference.row()))


def _believable(values: tuple[float, ...]) -> bool:
    x, y, z, yaw, vx, vy, vz, yaw_rate = values
    return (
        all(map(math.isfinite, values))
        and max(abs(x), abs(y), abs(z)) <= FARTHEST_M
        and max(abs(vx), abs(vy), abs(vz)) <= FASTEST_M_S
        and max(abs(yaw), abs(yaw_rate)) <= MOST_RAD
    )


class ReferenceEnd:
    """The board's side of the reference link: keeps the newest reference it can believe."""

    def __init__(self) -> None:
        self.counters = Counters()
        self._deframer = Deframer(_DATA.size, self.counters)
        self._newest_ms = -1

    def receive(self, chunk: bytes) -> Reference | None:
        newest = None
        for data in self._deframer.feed(chunk):
            if len(data) != _DATA.size:
                self.counters.malformed += 1
                continue
            t_ms, *rest = _DATA.unpack(data)
            values = tuple(rest)
            if not _believable(values):
                self.counters.implausible += 1
            elif t_ms == self._newest_ms:
                self.counters.duplicates += 1
            elif t_ms < self._newest_ms:
                self.counters.late += 1
            else:
                self._newest_ms = t_ms
                newest = Reference(t_ms, values[0:3], values[3], values[4:7], values[7])
        return newest
