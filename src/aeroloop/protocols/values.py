"""The plainest interface of a board: a numbered row of measured values out, a numbered row of commands back.

    start     0x01 | measured (u16) | commands (u16)        the board, until it is sent its first values
    values    0x02 | cycle (u16) | measured x f32           the plant, once a control period
    command   0x03 | cycle (u16) | commands x f32           the board, for that period

In frames with checksums, as all our boards (`framing.py`). How many values there are, the family's law says: a board
that starts with other numbers was built for another aircraft, and is refused.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from aeroloop.protocols.framing import Counters, Deframer, encode

CYCLES = 1 << 16
"""Control periods are counted modulo this."""
START, VALUES, COMMAND = 0x01, 0x02, 0x03
_START = struct.Struct("<BHH")
_HEAD = struct.Struct("<BH")
MOST_VALUES = 256


@dataclass(frozen=True, slots=True)
class Started:
    """The board is there, and speaks of so many values."""

    measured: int
    commands: int


@dataclass(frozen=True, slots=True)
class Numbered:
    """The values of a control period."""

    cycle: int
    values: tuple[float, ...]


def start(measured: int, commands: int) -> bytes:
    return encode(_START.pack(START, measured, commands))


def numbered(kind: int, cycle: int, values: tuple[float, ...]) -> bytes:
    return encode(_HEAD.pack(kind, cycle % CYCLES) + struct.pack(f"<{len(values)}f", *values))


class ValuesEnd:
    """One end: takes bytes, gives the messages of one kind that are well formed and finite."""

    def __init__(self, kind: int, count: int) -> None:
        self.counters = Counters()
        self._kind = kind
        self._packing = struct.Struct(f"<{count}f")
        self._deframer = Deframer(_HEAD.size + 4 * MOST_VALUES, self.counters)

    def receive(self, chunk: bytes) -> list[Started | Numbered]:
        return [message for data in self._deframer.feed(chunk) if (message := self._message(data)) is not None]

    def _message(self, data: bytes) -> Started | Numbered | None:
        if data[0] == START and len(data) == _START.size:
            _, measured, commands = _START.unpack(data)
            return Started(measured, commands)
        if data[0] != self._kind or len(data) != _HEAD.size + self._packing.size:
            self.counters.malformed += 1
            return None
        values = self._packing.unpack_from(data, _HEAD.size)
        if not all(map(math.isfinite, values)):
            self.counters.implausible += 1
            return None
        return Numbered(_HEAD.unpack_from(data)[1], values)
