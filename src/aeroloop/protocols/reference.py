"""References from the ground to the board: the framing only, no message numbers.

Data: simulated time in ms (uint32), then x, y, z, yaw, their rates, as little-endian single precision.
"""

from __future__ import annotations

from typing import NamedTuple

from aeroloop.core.signals import Reference
from aeroloop.protocols import interface
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.plausible import Plausibility

LATEST_MS = 2000
"""A reference older than this is not late: its time wrapped around or is an undetected transmission error."""


def encode_reference(reference: Reference) -> bytes:
    return encode(interface.REFERENCE.pack(reference.t_ms & 0xFFFFFFFF, *reference.row()))


class ReferenceBounds(NamedTuple):
    """x, y, z, yaw, then their rates. A step is the maximum change by one message; each missed message allows one more
    step."""

    low: tuple[float, ...] = (-1e4, -1e4, -1e4, -100.0, -200.0, -200.0, -200.0, -100.0)
    high: tuple[float, ...] = (1e4, 1e4, 1e4, 100.0, 200.0, 200.0, 200.0, 100.0)
    step: tuple[float, ...] = (1.0, 1.0, 1.0, 0.5, 5.0, 5.0, 5.0, 2.0)
    wraps: tuple[int, ...] = (3,)


class ReferenceEnd:
    """The board's end of the reference link: keeps the newest plausible reference."""

    def __init__(self) -> None:
        self.counters = Counters()
        self._deframer = Deframer(interface.REFERENCE.size, self.counters)
        self._plausibility = Plausibility(ReferenceBounds())
        self._newest_ms: int | None = None

    def receive(self, chunk: bytes) -> Reference | None:
        newest = None
        for data in self._deframer.feed(chunk):
            newest = self.accept(data) or newest
        return newest

    def accept(self, data: bytes) -> Reference | None:
        """The reference in the data of a frame, unless it is old or implausible."""
        if len(data) != interface.REFERENCE.size:
            self.counters.malformed += 1
            return None
        t_ms, *rest = interface.REFERENCE.packing.unpack(data)
        values = tuple(rest)
        behind_ms = LATEST_MS + 1 if self._newest_ms is None else (self._newest_ms - t_ms) & 0xFFFFFFFF
        if behind_ms == 0:
            self.counters.duplicates += 1
            return None
        if behind_ms <= LATEST_MS:
            self.counters.late += 1
            return None
        self._plausibility.cycle()
        if self._plausibility.fault(values) is not None:
            self.counters.implausible += 1
            return None
        self._newest_ms = t_ms
        return Reference(t_ms, values[0:3], values[3], values[4:7], values[7])
