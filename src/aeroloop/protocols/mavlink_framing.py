"""Finds MAVLink 1 and 2 frames in a byte stream and verifies their checksums; no I/O.

The one scanner of the parser (`mavlink.py`), the router's wire and the cutter of impaired links.

pymavlink's byte parser is not used: after a stray start byte it consumes up to 280 bytes with good frames among them,
and it waits for them to arrive, which stalls lockstep. This one tries again at the byte after every false start.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from fastcrc import crc16

checksum = crc16.mcrf4xx
"""Checksum over length to payload, and the message's CRC_EXTRA byte."""
V1, V2 = 0xFE, 0xFD
SIGNED = 0x01
"""The only incompatibility flag that exists."""
HEAD, SIGNATURE = 10, 13
LONGEST_FRAME = HEAD + 255 + 2 + SIGNATURE  # header, payload, checksum, signature

ANY_START = re.compile(b"[\xfd\xfe]")
# MAVLink 2 with an unknown flag is no start; so a run of start bytes is skipped at once.
READABLE_START = re.compile(b"\xfe|\xfd(?=.?\\Z|.[\x00\x01])", re.DOTALL)


class Format(NamedTuple):
    """Properties of a message that the framing needs."""

    msg_id: int
    size: int  # of the whole payload
    extra: bytes  # the last byte of the checksum's input (CRC_EXTRA)


Formats = Mapping[bytes, Format]
"""By message ID as in MAVLink 2: three bytes, little endian."""


def formats_of(dialect: Mapping[int, Any]) -> Formats:
    """Formats of pymavlink's classes, by message ID."""
    return {
        msg_id.to_bytes(3, "little"): Format(msg_id, kind.unpacker.size, bytes([kind.crc_extra]))
        for msg_id, kind in dialect.items()
    }


def sealed(frame: bytes, extra: bytes) -> bytes:
    """Header and payload with their checksum."""
    return frame + checksum(frame[1:] + extra).to_bytes(2, "little")


def message_key(stream: bytes, begin: int) -> bytes:
    """The message ID of the frame that begins here, as a key of `Formats`."""
    return stream[begin + 7 : begin + 10] if stream[begin] == V2 else stream[begin + 5 : begin + 6] + b"\0\0"


def frame_size(stream: bytes, begin: int) -> int | None:
    """The length of the frame that begins here by its length field; None if too few bytes are present."""
    if len(stream) - begin < 3:
        return None
    if stream[begin] == V1:
        return 8 + stream[begin + 1]
    return HEAD + stream[begin + 1] + 2 + (SIGNATURE if stream[begin + 2] & SIGNED else 0)


class FrameSplitter(ABC):
    """Finds candidate frames; a subclass checks them. Memory is bounded by the longest frame."""

    starts = ANY_START

    def __init__(self) -> None:
        self._open = b""

    def _split(self, stream: bytes, more_to_come: bool = True) -> None:
        """An unfinished frame is kept, unless no more bytes will arrive."""
        at = 0
        while start := self.starts.search(stream, at):
            if start.start() > at:
                self._skip(stream[at : start.start()])
                at = start.start()
            size = frame_size(stream, at)
            taken = None if size is None or at + size > len(stream) else self._take(stream, at, size)
            if taken is None and more_to_come:
                break
            if taken and size is not None:
                at += size
            else:
                self._skip(stream[at : at + 1])
                at += 1
        else:
            if at < len(stream):
                self._skip(stream[at:])
                at = len(stream)
        self._open = stream[at:]

    @abstractmethod
    def _take(self, stream: bytes, begin: int, size: int) -> bool | None:
        """False if this is no frame after all; None if that depends on the bytes after it."""

    @abstractmethod
    def _skip(self, between: bytes) -> None:
        """Bytes outside of frames."""


class FrameCounters(Protocol):
    bad_checksums: int
    skipped_bytes: int
    unknown: int


class FrameScanner(FrameSplitter):
    """Bytes in, whole frames with valid checksums out, with any bytes between."""

    starts = READABLE_START

    def __init__(self, formats: Formats, counters: FrameCounters) -> None:
        super().__init__()
        self._formats = formats
        self._found: list[bytes] = []
        self._counters = counters

    def scan(self, chunk: bytes) -> list[bytes]:
        """Every frame that `chunk` completes, in order."""
        stream = self._open + chunk if self._open else chunk
        self._found = found = []
        formats = self._formats
        at, end = 0, len(stream)
        # Fast path for the common case: consecutive MAVLink 2 frames.
        while end - at > HEAD and stream[at] == V2 and (flags := stream[at + 2]) <= SIGNED:
            tail = at + HEAD + stream[at + 1]
            stop = tail + 2 + SIGNATURE if flags else tail + 2
            known = formats.get(stream[at + 7 : at + HEAD])
            if (
                known is None
                or stop > end
                or checksum(stream[at + 1 : tail] + known[2]) != stream[tail] | stream[tail + 1] << 8
            ):
                break
            found.append(stream[at:stop])
            at = stop
        if at == end:
            self._open = b""
        else:
            self._split(stream[at:])
        return found

    def scan_rest(self) -> list[bytes]:
        """Timeout of an unfinished frame: it was none. Returns the frames found inside it."""
        self._found = []
        self._split(self._open, more_to_come=False)
        return self._found

    def _take(self, stream: bytes, begin: int, size: int) -> bool | None:
        known = self._formats.get(message_key(stream, begin))
        if known is None:
            # An unknown message has no verifiable checksum: its length is accepted if another frame begins after it.
            if begin + size == len(stream):
                return None
            if stream[begin + size] not in (V1, V2):
                return False
            self._not_known(int.from_bytes(message_key(stream, begin), "little"))
            return True
        tail = begin + (HEAD if stream[begin] == V2 else 6) + stream[begin + 1]
        if checksum(stream[begin + 1 : tail] + known.extra) != int.from_bytes(stream[tail : tail + 2], "little"):
            self._counters.bad_checksums += 1
            return False
        self._found.append(stream[begin : begin + size])
        return True

    def _skip(self, between: bytes) -> None:
        self._counters.skipped_bytes += len(between)

    def _not_known(self, message: int) -> None:
        self._counters.unknown += 1
