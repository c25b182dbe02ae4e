"""What a line speaks: bytes in, checked frames out, each with a key that says what it is and who sent it.

The key of a frame is its sender's system and component and the message's number, little endian, as they stand in a
MAVLink header: what the router decides about frames, it decides once for each key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pymavlink.dialects.v20 import common as dialect

from aeroloop.protocols import framing, interface, mavlink, pose
from aeroloop.router.dialect import FORMATS
from aeroloop.router.messages import BOARD

Keyed = tuple[bytes, bytes]
"""Key and frame."""

LONGEST_BOARD_DATA = max(message.size for message in interface.TILTROTOR.messages)
_V2 = 0xFD
_EXTRAS = {number.to_bytes(3, "little"): extra for number, (_, extra) in FORMATS.items()}
_MOST_STRANGE = 64
_STRANGE_TIMES = 3
"""Noise looks like a frame of some unknown message now and then, but not of the same."""


def _slow_crc(data: bytes) -> int:
    crc: int = dialect.x25crc(data).crc
    return crc


_crc: Callable[[bytes], int] = getattr(dialect, "mcrf4xx", None) or _slow_crc
if _crc(b"123456789") != _slow_crc(b"123456789"):
    _crc = _slow_crc


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


class MavlinkWire(mavlink.MavlinkIn):
    """MAVLink 1 and 2. MAVLink 2 frames in a row, the rule, take a short way; all else is left to the parser."""

    numbered = True
    formats = FORMATS

    def __init__(self) -> None:
        super().__init__(mavlink.MavlinkCounters())
        self._strange: dict[int, int] = {}

    def feed(self, chunk: bytes) -> list[Keyed]:  # type: ignore[override]
        stream = self._open + chunk if self._open else chunk
        good: list[Keyed] = []
        append, extras, crc = good.append, _EXTRAS, _crc
        at, end = 0, len(stream)
        while end - at >= 12:
            flags = stream[at + 2]
            if stream[at] != _V2 or flags > 1:
                break
            tail = at + 10 + stream[at + 1]
            stop = tail + 15 if flags else tail + 2
            extra = extras.get(stream[at + 7 : at + 10])
            if (
                extra is None
                or stop > end
                or crc(stream[at + 1 : tail] + extra) != stream[tail] | stream[tail + 1] << 8
            ):
                break
            append((stream[at + 5 : at + 10], stream[at:stop]))
            at = stop
        if at == end:
            self._open = b""
        else:
            good += map(_keyed, self._scan(stream[at:], more_to_come=True))
        return good

    def give_up(self) -> list[Keyed]:  # type: ignore[override]
        return [_keyed(frame) for frame in super().give_up()] if self._open else []

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

    def _accepted(self, frame: mavlink.Frame) -> bool:
        return True  # gaps are counted for each sender elsewhere, for both ways


def _keyed(frame: mavlink.Frame) -> Keyed:
    wire = frame.wire
    return (wire[5:10] if wire[0] == _V2 else wire[3:6]), wire


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
