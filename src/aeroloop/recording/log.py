"""The log file of a flight: one MCAP file, one JSON channel per logged stream of the stream table.

A log is readable up to its last flush, however the recorder died. JSON has no NaN and no infinity: both are
written as null and read back as NaN.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import foxglove
import msgspec
import numpy as np
from foxglove.mcap import MCAPCompression, MCAPWriteOptions
from mcap.records import Channel, Header, McapRecord, Message, Metadata
from mcap.stream_reader import StreamReader
from numpy.typing import NDArray

from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream
from aeroloop.core.streams import BY_NAME, STREAMS, logged

PROFILE = "aeroloop"
MAGIC = b"\x89MCAP0\r\n"
CHUNK_BYTES = 64 * 1024  # what a crash between two flushes can cost at most, before compression

LOGGED = tuple(stream for stream in STREAMS if stream.logged)


@cache
def _record_type(name: str) -> type[msgspec.Struct]:
    """A struct of one stream: msgspec encodes and decodes it several times faster than a dict."""
    fields = [(field, float | None, None) for field in BY_NAME[name].names]
    return msgspec.defstruct(f"{name}_record", fields, gc=False)


class _Sink:
    """The file under the MCAP writer, which only prints write errors: keep the first one for `LogWriter`.

    After an error nothing more is written, so that what is on the disk stays readable; the writer, which
    panics when its position is not where it left it, is told the one it would have.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.error: OSError | None = None
        self._position = self._end = 0

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        try:
            while rest and self.error is None:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.error = error
        self._position += len(data)
        self._end = max(self._end, self._position)
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset + (0, self._position, self._end)[whence]
        if self.error is None:
            self._file.seek(self._position)
        return self._position

    def flush(self) -> None:
        """The file is unbuffered: there is nothing to flush."""


class LogWriter:
    """Writes a new log. Every method raises an AeroloopError once the disk refuses to take more."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("xb", buffering=0)
        except FileExistsError:
            raise ConfigError(f"{path}: already exists; a log is never overwritten") from None
        except OSError as error:
            raise ConfigError(f"{path}: cannot be created: {error.strerror}") from None
        self._sink = _Sink(self._file)
        self._context = foxglove.Context()
        self._writer = foxglove.open_mcap(
            self._sink,
            context=self._context,
            writer_options=MCAPWriteOptions(
                profile=PROFILE,
                chunk_size=CHUNK_BYTES,
                compression=MCAPCompression.Zstd,
                compression_threads=0,
            ),
        )
        self._encode = msgspec.json.Encoder().encode
        self._channels = {stream.name: self._open_channel(stream) for stream in LOGGED}

    def _open_channel(self, stream: Stream) -> tuple[Callable[..., None], type[msgspec.Struct]]:
        channel = foxglove.Channel(
            stream.name,
            schema=stream.json_schema(),
            message_encoding="json",
            context=self._context,
            metadata={
                "producer": stream.producer,
                "rate_hz": f"{stream.rate_hz:g}",
                "simulated": str(stream.simulated).lower(),
                "units": ",".join(f"{field.name}={field.unit}" for field in stream.fields),
            },
        )
        return channel.log, _record_type(stream.name)

    def write(self, stream: Stream, row: tuple[float, ...] | bytes) -> None:
        """Add one row, as numbers or as `stream.packing` packs them."""
        values = row if isinstance(row, tuple) else stream.packing.unpack(row)
        log, record = self._channels[stream.name]
        log(self._encode(record(*values)), log_time=round(values[0] * NS))
        self._raise_refusal()

    def write_metadata(self, name: str, values: Mapping[str, str]) -> None:
        self._writer.write_metadata(name, dict(values))
        self._raise_refusal()

    def flush(self) -> None:
        """Everything written so far survives a `kill -9`."""
        self._writer.flush()
        self._raise_refusal()

    def close(self) -> None:
        """Finish the file; closing twice is harmless."""
        if self._file.closed:
            return
        with closing(self._file):
            self._writer.close()
        self._raise_refusal()

    def _raise_refusal(self) -> None:
        error = self._sink.error
        if error is not None:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = "the disk is full" if full else error.strerror
            raise AeroloopError(f"{self._path}: the log cannot be continued: {reason}") from error


@dataclass(frozen=True)
class Log:
    """A whole flight: per logged stream an array (rows, fields) of float64, in the order of writing."""

    rows: dict[str, NDArray[np.float64]]
    metadata: dict[str, dict[str, str]]
    truncated: bool  # the file has no proper end, so the recorder was killed or the disk was full

    @staticmethod
    def empty() -> Log:
        """The log of a flight that never recorded anything."""
        return Log({stream.name: np.empty((0, len(stream.fields))) for stream in LOGGED}, {}, truncated=False)

    def column(self, stream: str, field: str) -> NDArray[np.float64]:
        return self.rows[stream][:, BY_NAME[stream].names.index(field)]


def read(path: Path) -> Log:
    """Read a log, or as much of it as there is: a cut or a damaged chunk ends it."""
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _read(file: BinaryIO, path: Path) -> Log:
    messages: dict[str, list[bytes]] = {stream.name: [] for stream in LOGGED}
    by_channel: dict[int, list[bytes]] = {}
    metadata: dict[str, dict[str, str]] = {}
    truncated = False
    if not MAGIC.startswith(file.read(len(MAGIC))):
        raise ConfigError(f"{path}: not a flight log, expected an MCAP file")
    file.seek(0)
    for record in _until_damage(StreamReader(file, validate_crcs=True).records):
        match record:
            case Message(channel_id=channel, data=data) if channel in by_channel:
                by_channel[channel].append(data)
            case Channel(id=channel, topic=topic) if topic in messages:
                by_channel[channel] = messages[topic]
            case Metadata(name=name, metadata=values):
                metadata[name] = values
            case Header(profile=profile) if profile != PROFILE:
                raise ConfigError(f"{path}: an MCAP file, but not a flight log of Aeroloop")
            case None:
                truncated = True
    return Log({name: _decode(name, lines) for name, lines in messages.items()}, metadata, truncated)


def _until_damage(records: Iterator[McapRecord]) -> Iterator[McapRecord | None]:
    """All records; or those before the first damage, then None."""
    try:
        yield from records
    except Exception:  # where the cut or the flipped bit is decides the kind: struct, zstd, UTF-8, CRC, ...
        yield None


def _decode(name: str, lines: list[bytes]) -> NDArray[np.float64]:
    records: list[Any] = msgspec.json.Decoder(_record_type(name)).decode_lines(b"\n".join(lines))
    rows = [msgspec.structs.astuple(record) for record in records]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(BY_NAME[name].names))


LATER = ("plant_fault", "flight_fault", "parameter_change")
"""Streams that older logs lack: without rows they count for nothing, so that those logs keep their hashes."""


def _family(log: Log) -> str:
    """The kind of flight that a log is of: the one whose streams it holds."""
    with_rows = (family for family in ("quadrotor", "fixedwing") if any(len(log.rows[s.name]) for s in logged(family)))
    return next(with_rows, "tiltrotor")


def log_sha256(log: Log) -> str:
    """Hash of what was simulated: equal for equal flights, whatever the wall clock and the interleaving."""
    digest = hashlib.sha256()
    for stream in logged(_family(log)):
        if stream.simulated:
            rows = log.rows[stream.name]
            if not len(rows) and stream.name in LATER:
                continue
            digest.update(f"{stream.name} {len(rows)}\n".encode())
            digest.update(np.where(np.isnan(rows), np.nan, rows).astype("<f8").tobytes())
    return digest.hexdigest()
