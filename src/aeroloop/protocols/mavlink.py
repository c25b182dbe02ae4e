"""MAVLink 2 frames out, MAVLink 1 and 2 frames in, with pymavlink's `common` dialect; no I/O.

pymavlink packs messages and knows their layout. Its byte parser is not used: a stray start byte makes it swallow
up to 280 bytes with good frames among them, and it waits for them to come, which stalls lockstep. This one tries
again at the byte behind every start that was none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from pymavlink.dialects.v20 import common as dialect

Message = Any
"""An object of one of pymavlink's message classes, which carry no types."""

LONGEST_FRAME = 10 + 255 + 2 + 13  # header, payload, checksum, signature
_V1, _V2 = 0xFE, 0xFD
_SIGNED = 0x01
# MAVLink 2 with a flag that nobody knows is no start; so a run of start bytes is passed over at once.
_START = re.compile(b"\xfe|\xfd(?=.?\\Z|.[\x00\x01])", re.DOTALL)
Formats = dict[int, tuple[int, bytes]]
_FORMATS: Formats = {
    msg_id: (kind.unpacker.size, bytes([kind.crc_extra])) for msg_id, kind in dialect.mavlink_map.items()
}
_crc = dialect.x25crc


@dataclass(slots=True)
class MavlinkCounters:
    """What went over a link, at one end."""

    frames_in: int = 0
    frames_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    bad_checksums: int = 0
    skipped_bytes: int = 0  # between frames, and starts that were none
    unknown: int = 0  # frames of messages that the dialect lacks; their checksum cannot be known
    other_system: int = 0  # good frames, but not from whom we listen to
    lost: int = 0  # gaps in the sender's numbering; PX4 may number several links together


class Frame(NamedTuple):
    """A frame whose checksum holds."""

    msg_id: int
    system: int
    component: int
    payload: bytes  # with the zeros that MAVLink 2 leaves out, as long as the dialect's message
    wire: bytes

    def message(self) -> Message:
        """pymavlink's object, for those who read fields by name and are in no hurry."""
        return _reader.decode(bytearray(self.wire))


_reader = dialect.MAVLink(None)


class MavlinkIn:
    """Bytes in, checked frames out, whatever lies between; memory is bounded by the longest frame."""

    formats = _FORMATS
    """Of the messages that are known: length of the payload, and the byte that the checksum ends with."""

    def __init__(self, counters: MavlinkCounters, system: int | None = None) -> None:
        """`system` is the only one listened to; None listens to all."""
        self._counters = counters
        self._system = system
        self._open = b""
        self._numbers: dict[tuple[int, int], int] = {}

    def listen_to(self, system: int) -> None:
        """From now on to this one alone."""
        self._system = system

    def feed(self, chunk: bytes) -> list[Frame]:
        """Every frame that `chunk` completes, in order."""
        if not chunk:
            return []
        self._counters.bytes_in += len(chunk)
        return self._scan(self._open + chunk, more_to_come=True)

    def give_up(self) -> list[Frame]:
        """Nothing more came for long enough: what waited as an unfinished frame was none. Frames found inside it."""
        return self._scan(self._open, more_to_come=False)

    def _scan(self, stream: bytes, more_to_come: bool) -> list[Frame]:
        counters, formats = self._counters, self.formats
        good = []
        at = 0
        while start := _START.search(stream, at):
            begin = start.start()
            counters.skipped_bytes += begin - at
            at = begin
            claim = _claim(stream, begin, formats)
            if claim is None and more_to_come:
                break
            if claim:
                size, msg_id = claim
                known = formats.get(msg_id)
                frame = _checked(stream, begin, size, msg_id, known) if known else None
                if frame is not None:
                    at += size
                    if self._accepted(frame):
                        good.append(frame)
                    continue
                if known is None:
                    self._not_known(msg_id)
                    at += size
                    continue
                counters.bad_checksums += 1
            at += 1
            counters.skipped_bytes += 1
        else:
            counters.skipped_bytes += len(stream) - at
            at = len(stream)
        self._open = stream[at:]
        return good

    def _not_known(self, message: int) -> None:
        self._counters.unknown += 1

    def _accepted(self, frame: Frame) -> bool:
        counters = self._counters
        if self._system is not None and frame.system != self._system:
            counters.other_system += 1
            return False
        sender = frame.system, frame.component
        number = frame.wire[4 if frame.wire[0] == _V2 else 2]
        last = self._numbers.get(sender)
        if last is not None:
            counters.lost += (number - last - 1) & 0xFF
        self._numbers[sender] = number
        counters.frames_in += 1
        return True


class MavlinkOut:
    """Numbers and packs messages of one sender."""

    def __init__(self, counters: MavlinkCounters, system: int, component: int) -> None:
        self._counters = counters
        self._sender = dialect.MAVLink(None, srcSystem=system, srcComponent=component)

    def pack(self, message: Message) -> bytes:
        wire: bytes = message.pack(self._sender)
        self._sender.seq = (self._sender.seq + 1) & 0xFF
        self._counters.frames_out += 1
        self._counters.bytes_out += len(wire)
        return wire


def _claim(stream: bytes, begin: int, formats: Formats) -> tuple[int, int] | tuple[()] | None:
    """Length and message of the frame that seems to begin here; () if none can; None if too little is here to say."""
    here = len(stream) - begin
    if stream[begin] == _V1:
        if here < 6:
            return None
        size, msg_id = 8 + stream[begin + 1], stream[begin + 5]
    else:
        if here < 3:
            return None
        flags = stream[begin + 2]
        if flags & ~_SIGNED:
            return ()
        if here < 10:
            return None
        size = 12 + stream[begin + 1] + (13 if flags else 0)
        msg_id = int.from_bytes(stream[begin + 7 : begin + 10], "little")
    if here < size:
        return None
    if msg_id not in formats:
        # No checksum vouches for an unknown message: its length is believed if another frame begins behind it.
        if here == size:
            return None
        if stream[begin + size] not in (_V1, _V2):
            return ()
    return size, msg_id


def _checked(stream: bytes, begin: int, size: int, msg_id: int, known: tuple[int, bytes]) -> Frame | None:
    length, extra = known
    head = begin + (10 if stream[begin] == _V2 else 6)
    end = head + stream[begin + 1]
    if _crc(stream[begin + 1 : end] + extra).crc != int.from_bytes(stream[end : end + 2], "little"):
        return None
    # Longer payloads come from newer dialects, whose extensions are appended.
    payload = stream[head:end].ljust(length, b"\0")[:length]
    sender = begin + (5 if stream[begin] == _V2 else 3)
    return Frame(msg_id, stream[sender], stream[sender + 1], payload, stream[begin : begin + size])
