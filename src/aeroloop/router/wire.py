"""What a line speaks: bytes in, checked frames out, each with a key that says what it is and who sent it.

The key of a frame is its sender's system and component and the message's number, little endian, as they stand in a
MAVLink header: what the router decides about frames, it decides once for each key.
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
"""Noise looks like a frame of some unknown message now and then, but not of the same."""


class Wire(Protocol):
    """One peer's inbound side; it belongs to that peer alone."""

    numbered: bool
    """Whether frames carry their sender's numbering."""

    def feed(self, chunk: bytes) -> list[Keyed]:
        """Every frame that `chunk` completes, in order."""

    def give_up(self) -> list[Keyed]:
        """Nothing came for a while: frames found inside what waited as an unfinished one."""

    def bad(self) -> int:
        """Frames so far that were none: wrong checksum, too long."""

    def unknown(self) -> int:
        """Frames so far of messages that the router does not know, so that no checksum vouches for them."""

    def strange(self) -> list[int]:
        """Numbers of the messages that it does not know."""

    def trouble(self) -> int:
        """Grows with everything that was no good frame: such bytes cost the most."""


class MavlinkWire(FrameScanner):
    """MAVLink 1 and 2. Gaps in the numbering are counted for each sender elsewhere, for both ways."""

    numbered = True

    def __init__(self) -> None:
        super().__init__(FORMATS, MavlinkCounters())
        self._strange: dict[int, int] = {}

    def feed(self, chunk: bytes) -> list[Keyed]:
        return [(wire[5:10] if wire[0] == V2 else wire[3:6], wire) for wire in self.scan(chunk)]

    def give_up(self) -> list[Keyed]:
        return [(wire[5:10] if wire[0] == V2 else wire[3:6], wire) for wire in self.scan_rest()] if self._open else []

    def bad(self) -> int:
        return self._counters.bad_checksums

    def unknown(self) -> int:
        return self._counters.unknown

    def strange(self) -> list[int]:
        return [message for message, times in self._strange.items() if times >= _STRANGE_TIMES]

    def trouble(self) -> int:
        return self._counters.skipped_bytes + self._counters.unknown

    def _not_known(self, message: int) -> None:
        super()._not_known(message)
        if message in self._strange or len(self._strange) < _MOST_STRANGE:
            self._strange[message] = self._strange.get(message, 0) + 1


class _Plain:
    """Frames without a number, of a protocol whose every message is known."""

    numbered = False
    _counters: framing.Counters | pose.PoseCounters

    def give_up(self) -> list[Keyed]:
        return []

    def bad(self) -> int:
        return self._counters.bad_checksums + self._counters.malformed

    def unknown(self) -> int:
        return 0

    def strange(self) -> list[int]:
        return []


class BoardWire(_Plain):
    """The board's frames; anything that carries a right checksum and is not too long passes."""

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
