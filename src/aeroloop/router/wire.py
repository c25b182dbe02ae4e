"""The protocol of a link: bytes in, checked frames out, each with a key of message and sender.

The key of a frame is its sender's system and component and the message's number, little endian, as in a MAVLink header.
Routing decisions are made once for each key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from aeroloop.protocols import framing, interface, pose
from aeroloop.protocols.mavlink import MavlinkCounters
from aeroloop.protocols.mavlink_framing import V2, FrameScanner
from aeroloop.router.dialect import FORMATS
from aeroloop.router.messages import BOARD

Keyed = tuple[bytes, bytes]
"""Key and frame."""

LONGEST_BOARD_DATA = max(message.size for message in interface.TILTROTOR.messages)
_MOST_STRANGE = 64
_STRANGE_TIMES = 3
"""Noise may look like a frame of an unknown message, but rarely twice of the same one."""


class Wire(Protocol):
    """Parser of one peer's input."""

    numbered: bool
    """Whether frames carry sequence numbers."""

    def feed(self, chunk: bytes) -> list[Keyed]:
        """Every frame that `chunk` completes, in order."""

    def give_up(self) -> list[Keyed]:
        """No bytes for a while: return the frames found inside an incomplete one."""

    def bad(self) -> int:
        """Number of invalid frames: wrong checksum, too long."""

    def unknown(self) -> int:
        """Number of frames of unknown messages, whose checksum cannot be verified."""

    def unknown_numbers(self) -> list[int]:
        """Numbers of the unknown messages."""

    def trouble(self) -> int:
        """A counter of everything that was not a valid frame: such bytes are expensive to parse."""


class MavlinkWire(FrameScanner):
    """MAVLink 1 and 2. Gaps in sequence numbers are counted per sender in `numbering`, for both versions."""

    numbered = True

    def __init__(self) -> None:
        super().__init__(FORMATS, MavlinkCounters())
        self._reported_unknown: dict[int, int] = {}

    def feed(self, chunk: bytes) -> list[Keyed]:
        return [(wire[5:10] if wire[0] == V2 else wire[3:6], wire) for wire in self.scan(chunk)]

    def give_up(self) -> list[Keyed]:
        return [(wire[5:10] if wire[0] == V2 else wire[3:6], wire) for wire in self.scan_rest()] if self._open else []

    def bad(self) -> int:
        return self._counters.bad_checksums

    def unknown(self) -> int:
        return self._counters.unknown

    def unknown_numbers(self) -> list[int]:
        return [message for message, times in self._reported_unknown.items() if times >= _STRANGE_TIMES]

    def trouble(self) -> int:
        return self._counters.skipped_bytes + self._counters.unknown

    def _not_known(self, message: int) -> None:
        super()._not_known(message)
        if message in self._reported_unknown or len(self._reported_unknown) < _MOST_STRANGE:
            self._reported_unknown[message] = self._reported_unknown.get(message, 0) + 1


class _Plain:
    """Frames without a sequence number, of a protocol whose messages are all known."""

    numbered = False
    _counters: framing.Counters | pose.PoseCounters

    def give_up(self) -> list[Keyed]:
        return []

    def bad(self) -> int:
        return self._counters.bad_checksums + self._counters.malformed

    def unknown(self) -> int:
        return 0

    def unknown_numbers(self) -> list[int]:
        return []


class BoardWire(_Plain):
    """The board's frames; every frame with a valid checksum and length passes."""

    def __init__(self) -> None:
        self._counters = framing.Counters()
        self._deframer = framing.Deframer(LONGEST_BOARD_DATA, self._counters)

    def feed(self, chunk: bytes) -> list[Keyed]:
        return [(_board_key(data), framing.encode(data)) for data in self._deframer.feed(chunk)]

    def trouble(self) -> int:
        return self.bad()


_BOARD_NUMBERED = {(m.size, m.number): BOARD[m.name] for m in interface.TILTROTOR.messages if m.number is not None}
_BOARD_BARE = {m.size: BOARD[m.name] for m in interface.TILTROTOR.messages if m.number is None}


def _board_key(data: bytes) -> bytes:
    number = _BOARD_NUMBERED.get((len(data), data[0])) or _BOARD_BARE.get(len(data), 0)
    return b"\0\0" + number.to_bytes(2, "little")


class PoseWire(_Plain):
    """Pose packets."""

    _counters: pose.PoseCounters

    def __init__(self) -> None:
        self._counters = pose.PoseCounters()
        self._reader = pose.PoseIn(self._counters)

    def feed(self, chunk: bytes) -> list[Keyed]:
        return [(bytes((0, 0, frame.kind)), frame.wire) for frame in self._reader.feed(chunk)]

    def trouble(self) -> int:
        return self._counters.skipped_bytes


WIRES: dict[str, Callable[[], Wire]] = {"mavlink": MavlinkWire, "board": BoardWire, "pose": PoseWire}
