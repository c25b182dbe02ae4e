"""MAVLink 2 frames out, MAVLink 1 and 2 frames in, with pymavlink's `common` dialect; no I/O.

pymavlink packs messages and defines their layout; `mavlink_framing.py` finds the frames.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import new_tuple
from aeroloop.protocols.mavlink_framing import HEAD, V2, FrameScanner, checksum, formats_of

Message = Any
"""An object of one of pymavlink's message classes, which have no type hints."""

FORMATS = formats_of(dialect.mavlink_map)


@dataclass(slots=True)
class MavlinkCounters:
    """Statistics of one end of a link."""

    frames_in: int = 0
    frames_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    bad_checksums: int = 0
    skipped_bytes: int = 0  # between frames, and false start bytes
    unknown: int = 0  # frames of messages that the dialect lacks; their checksum cannot be verified
    other_system: int = 0  # good frames of systems that are ignored
    lost: int = 0  # gaps in the sender's sequence numbers; PX4 may number several links together


class Frame(NamedTuple):
    """A frame with a valid checksum."""

    msg_id: int
    system: int
    component: int
    payload: bytes  # with the zeros that MAVLink 2 truncates: the full length of the dialect's message
    wire: bytes

    def message(self) -> Message:
        """pymavlink's object, for reading fields by name where speed does not matter."""
        return _reader.decode(bytearray(self.wire))


_reader = dialect.MAVLink(None)
_unpack_head = struct.Struct("<BBBxBBB3s").unpack_from  # without the compatibility flags


class MavlinkIn(FrameScanner):
    """Bytes in, checked frames out, with any bytes between; memory is bounded by the longest frame."""

    _counters: MavlinkCounters

    def __init__(self, counters: MavlinkCounters, system: int | None = None) -> None:
        """`system` is the only accepted sender; None accepts all."""
        super().__init__(FORMATS, counters)
        self.system = system  # may be changed at any time
        self.gaps_of: int | None = None  # the only component whose gaps are losses; None: of every sender
        self._numbers: dict[tuple[int, int], int] = {}

    def feed(self, chunk: bytes) -> list[Frame]:
        """Every frame that `chunk` completes, in order."""
        if not chunk:
            return []
        counters, numbers, only = self._counters, self._numbers, self.system
        counters.bytes_in += len(chunk)
        tail = len(chunk) - 2
        # A chunk that is exactly one MAVLink 2 frame of a known sender, the common case in lockstep, is not scanned.
        if tail > HEAD and not self._open:
            start, length, flags, number, system, component, key = _unpack_head(chunk)
            sender = system, component
            last, known = numbers.get(sender), FORMATS.get(key)
            one_frame = start == V2 and length == tail - HEAD and not flags
            if one_frame and last is not None and known is not None and (only is None or only == system):
                msg_id, size, extra = known
                if checksum(chunk[1:tail] + extra) == chunk[tail] | chunk[tail + 1] << 8:
                    if self.gaps_of is None or self.gaps_of == component:
                        counters.lost += (number - last - 1) & 0xFF
                    counters.frames_in += 1
                    numbers[sender] = number
                    payload = chunk[HEAD:tail]
                    if len(payload) != size:
                        payload = payload.ljust(size, b"\0")[:size]
                    return [new_tuple(Frame, (msg_id, system, component, payload, chunk))]
        return self._accepted(self.scan(chunk))

    def give_up(self) -> list[Frame]:
        """Timeout of an unfinished frame: it was none. Returns the frames found inside it."""
        return self._accepted(self.scan_rest())

    def _accepted(self, wires: list[bytes]) -> list[Frame]:
        counters, only, numbers = self._counters, self.system, self._numbers
        frames = []
        for wire in wires:
            if wire[0] == V2:
                number, system, component = wire[4], wire[5], wire[6]
                msg_id, size, _ = FORMATS[wire[7:HEAD]]
                payload = wire[HEAD : HEAD + wire[1]]
            else:
                number, system, component = wire[2], wire[3], wire[4]
                msg_id, size, _ = FORMATS[wire[5:6] + b"\0\0"]
                payload = wire[6:-2]
            if only is not None and system != only:
                counters.other_system += 1
                continue
            if len(payload) != size:
                # Longer payloads come from newer dialects, whose extensions are appended.
                payload = payload.ljust(size, b"\0")[:size]
            sender = system, component
            last = numbers.get(sender)
            if last is not None and (self.gaps_of is None or self.gaps_of == component):
                counters.lost += (number - last - 1) & 0xFF
            numbers[sender] = number
            frames.append(new_tuple(Frame, (msg_id, system, component, payload, wire)))
        counters.frames_in += len(frames)
        return frames


class MavlinkOut:
    """Numbers and packs messages of one sender: the same bytes as pymavlink's, in a third of the time."""

    def __init__(self, counters: MavlinkCounters, system: int, component: int) -> None:
        self._counters = counters
        self._address = bytes([system, component])
        self._number = 0
        self._sender = dialect.MAVLink(None, srcSystem=system, srcComponent=component)

    def pack(self, message: Message) -> bytes:
        if (layout := _layout(message.__class__)) is not None:
            numbers, pack, key, extra = layout
            return self._framed(pack(*numbers(message)), key, extra)
        self._sender.seq = self._number
        wire: bytes = message.pack(self._sender)
        self._number = (self._number + 1) & 0xFF
        self._counters.frames_out += 1
        self._counters.bytes_out += len(wire)
        return wire

    def _framed(self, payload: bytes, key: bytes, extra: bytes) -> bytes:
        """`key`: the message ID on the wire; `extra`: the last byte of the checksum's input."""
        # MAVLink 2 truncates trailing zeros, but sends at least one byte.
        if payload[-1] == 0:
            payload = payload.rstrip(b"\0") or b"\0"
        number, counters = self._number, self._counters
        body = _pack_head(len(payload), 0, number, self._address, key) + payload
        wire = _START + body + checksum(body + extra).to_bytes(2, "little")
        self._number = (number + 1) & 0xFF
        counters.frames_out += 1
        counters.bytes_out += len(wire)
        return wire


_START = bytes([V2])
_pack_head = struct.Struct("<BHB2s3s").pack  # without the start byte, which the checksum excludes


class _Layout(NamedTuple):
    """Packing of one kind of message."""

    numbers: Callable[[Message], Sequence[float]]  # reads them in the order of the wire
    pack: Callable[..., bytes]
    key: bytes  # message ID on the wire
    extra: bytes  # of the checksum


def key_of(kind: Any) -> bytes:
    """The message ID of one of pymavlink's classes, on the wire."""
    return int(kind.id).to_bytes(3, "little")


@cache
def _layout(kind: Any) -> _Layout | None:
    """None if pymavlink must encode a text."""
    if "char" in kind.fieldtypes or len(kind.ordered_fieldnames) < 2:
        return None
    fields: Callable[[Message], tuple[Any, ...]] = attrgetter(*kind.ordered_fieldnames)
    lengths = kind.array_lengths

    def spread(message: Message) -> list[float]:
        numbers: list[float] = []
        for value, length in zip(fields(message), lengths, strict=True):
            numbers += value[:length] if length else (value,)
        return numbers

    numbers = spread if any(lengths) else fields
    return _Layout(numbers, kind.unpacker.pack, key_of(kind), bytes([kind.crc_extra]))
