"""The camera images of a log, read again.

They are Foxglove's CompressedImage in protobuf; of its fields only `data` is read, so that no protobuf library is
needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcap.reader import make_reader
from mcap.records import Channel, Message, Metadata
from mcap.stream_reader import StreamReader

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.recording.log import CLOCK, EPOCH_NS, MAGIC, until_damage

TOPIC = re.compile(r"/aircraft/([^/]+)/camera/([^/]+)")
DATA_FIELD = 2
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
"""Protobuf's wire types."""


@dataclass(frozen=True)
class LoggedImage:
    aircraft: str
    camera: str
    t_s: float  # simulated
    jpeg: bytes


def images(path: Path) -> Iterator[LoggedImage]:
    """In the order of writing; a log that is cut or damaged ends there."""
    topics: dict[int, tuple[str, str]] = {}
    epoch_ns = 0
    try:
        with path.open("rb") as file:
            if not MAGIC.startswith(file.read(len(MAGIC))):
                raise ConfigError(f"{path}: not a flight log, expected an MCAP file")
            file.seek(0)
            for record in until_damage(StreamReader(file, validate_crcs=True).records):
                match record:
                    case Channel(id=channel, topic=topic) if found := TOPIC.fullmatch(topic):
                        topics[channel] = found.group(1), found.group(2)
                    case Metadata(name=name, metadata=values) if name == CLOCK:
                        epoch_ns = int(values[EPOCH_NS])
                    case Message(channel_id=channel, log_time=t_ns, data=data) if channel in topics:
                        yield LoggedImage(*topics[channel], (t_ns - epoch_ns) / NS, field(data, DATA_FIELD))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


class ImagesByTime:
    """Single images, without the rest of the log. ConfigError if it has no index, as after a crash."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            self._reader = make_reader(self._file)
            metadata = {each.name: each.metadata for each in self._reader.iter_metadata()}
            self._epoch_ns = int(metadata[CLOCK][EPOCH_NS])
        except Exception:  # the exception depends on where the damage is
            self._file.close()
            raise ConfigError(f"{path}: no index of images; expected a log that was closed") from None

    def at(self, topic: str, t_s: float, within_s: float) -> tuple[float, bytes] | None:
        """Time and JPEG of the newest image up to that time, and not older by more than `within_s`."""
        first_ns = self._epoch_ns + round((t_s - within_s) * NS)
        last_ns = self._epoch_ns + round(t_s * NS)
        found = self._reader.iter_messages([topic], starting_at=max(0, first_ns), ending_at=last_ns, reverse=True)
        for _, _, message in found:
            return (message.log_time - self._epoch_ns) / NS, field(message.data, DATA_FIELD)
        return None

    def close(self) -> None:
        self._file.close()


def field(message: bytes, wanted: int) -> bytes:
    """The bytes of a field of a protobuf message; none if it has no such field."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == BYTES:
            length, at = _varint(message, at)
            if number == wanted:
                return message[at : at + length]
            at += length
        elif kind == VARINT:
            _, at = _varint(message, at)
        else:
            at += {FIXED_64: 8, FIXED_32: 4}[kind]
    return b""


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
