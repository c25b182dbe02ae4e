"""The log file of a flight: one MCAP file, one JSON channel per logged stream.

A log is readable up to its last flush, however the recorder died. JSON has no NaN and no infinity: both are written as
null and read back as NaN. It contains the table of its streams, in the order of its hash (metadata `streams`), so that
it is self-contained. Times of its messages are the wall clock's at the start of the flight (metadata `clock`) plus
simulated time. Topics of other encodings (`recording/well_known.py`) are for other programs; reading back leaves them
out.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import foxglove
import msgspec
import numpy as np
from foxglove.mcap import MCAPCompression, MCAPWriteOptions
from mcap.records import Channel, Header, McapRecord, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
from numpy.typing import NDArray

from aeroloop.core.errors import DISK_FULL, ConfigError, StorageError
from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream

PROFILE = "aeroloop"
MAGIC = b"\x89MCAP0\r\n"
CHUNK_BYTES = 64 * 1024  # maximum loss by a crash between two flushes, before compression

STREAMS = "streams"
"""The metadata with the table of streams, under the key TABLE as JSON."""
TABLE = "table"
CLOCK, EPOCH_NS = "clock", "epoch_ns"
"""The metadata with the wall-clock time at simulated time 0, in ns since 1970."""
JSON = "json"


class Logged(msgspec.Struct, frozen=True):
    """A stream of a log, as the log describes it."""

    name: str
    columns: tuple[str, ...]
    simulated: bool = True
    optional: bool = False
    units: tuple[str, ...] = ()  # of the columns; empty in older logs

    @staticmethod
    def of(stream: Stream) -> Logged:
        units = tuple(field.unit for field in stream.fields)
        return Logged(stream.name, stream.names, stream.simulated, stream.optional, units)


def _record_type(stream: Logged) -> type[msgspec.Struct]:
    """A struct of one stream: msgspec encodes and decodes it several times faster than a dict."""
    fields = [(field, float | None, None) for field in stream.columns]
    return msgspec.defstruct(f"{stream.name}_record", fields, gc=False)


class StreamChannels:
    """A JSON channel for each stream in one context, for a log or a live view."""

    def __init__(self, context: foxglove.Context, streams: Sequence[Stream], prefix: str = "") -> None:
        """`prefix` begins the names of the channels."""
        self.epoch_ns = 0  # wall-clock time at simulated time 0, since 1970
        self._encode = msgspec.json.Encoder().encode
        self._channels = {stream.name: _channel(context, stream, prefix) for stream in streams}
        self._records = {stream.name: _record_type(Logged.of(stream)) for stream in streams}

    def write(self, stream: Stream, row: Sequence[float]) -> None:
        record = self._encode(self._records[stream.name](*row))
        self._channels[stream.name].log(record, log_time=self.epoch_ns + round(row[0] * NS))

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()


def _channel(context: foxglove.Context, stream: Stream, prefix: str) -> foxglove.Channel:
    return foxglove.Channel(
        f"{prefix}{stream.name}",
        schema=stream.json_schema(),
        message_encoding=JSON,
        context=context,
        metadata={
            "producer": stream.producer,
            "rate_hz": f"{stream.rate_hz:g}",
            "simulated": str(stream.simulated).lower(),
            "units": ",".join(f"{field.name}={field.unit}" for field in stream.fields),
        },
    )


class _Sink:
    """The file under the MCAP writer, which only prints write errors: keep the first one for `LogWriter`.

    After an error nothing more is written, so that the file stays readable; the writer, which panics if its position is
    not the expected one, gets the position it would have.
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
    """Writes a new log. Every method raises a StorageError after a write error."""

    def __init__(self, path: Path, streams: Sequence[Stream]) -> None:
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
        self._channels = StreamChannels(self._context, streams)
        # At the beginning, so that a log without its end has it too.
        table = msgspec.json.encode([Logged.of(stream) for stream in streams])
        self._writer.write_metadata(STREAMS, {TABLE: table.decode()})

    @property
    def context(self) -> foxglove.Context:
        """Its channels write to this file."""
        return self._context

    def begin(self, epoch_ns: int) -> None:
        """Before the first row: the wall clock's time where simulated time is 0, in ns since 1970."""
        self._channels.epoch_ns = epoch_ns
        self.write_metadata(CLOCK, {EPOCH_NS: str(epoch_ns)})

    def write(self, stream: Stream, row: tuple[float, ...] | bytes) -> None:
        """Add one row, as numbers or as `stream.packing` packs them."""
        self._channels.write(stream, row if isinstance(row, tuple) else stream.packing.unpack(row))
        self._raise_refusal()

    def write_metadata(self, name: str, values: Mapping[str, str]) -> None:
        self._writer.write_metadata(name, dict(values))
        self._raise_refusal()

    def flush(self) -> None:
        """Everything written so far survives a `kill -9`."""
        self._writer.flush()
        self._raise_refusal()

    def close(self) -> None:
        """Finish the file; may be called twice."""
        if self._file.closed:
            return
        with closing(self._file):
            self._writer.close()
        self._raise_refusal()

    def _raise_refusal(self) -> None:
        error = self._sink.error
        if error is not None:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = DISK_FULL if full else error.strerror
            raise StorageError(f"{self._path}: the log cannot be continued: {reason}") from error


@dataclass(frozen=True)
class Log:
    """A whole flight: per logged stream an array (rows, fields) of float64, in the order of writing."""

    rows: dict[str, NDArray[np.float64]]
    metadata: dict[str, dict[str, str]]
    truncated: bool  # the file has no proper end, so the recorder was killed or the disk was full
    streams: tuple[Logged, ...]  # its own, in the order of its hash; `rows` may have more, without rows
    columns: dict[str, tuple[str, ...]]  # names of the columns of each stream

    @staticmethod
    def empty(streams: Sequence[Stream]) -> Log:
        """The log of a flight that never recorded anything."""
        own = tuple(Logged.of(stream) for stream in streams if stream.logged)
        return _log({}, {}, own, own, truncated=False)

    @property
    def epoch_ns(self) -> int:
        """Wall-clock time at simulated time 0, since 1970; 0 if the log does not contain it."""
        try:
            return int(self.metadata[CLOCK][EPOCH_NS])
        except (KeyError, ValueError):
            return 0

    def column(self, stream: str, field: str) -> NDArray[np.float64]:
        return self.rows[stream][:, self.columns[stream].index(field)]


def read(path: Path, expected: Sequence[Stream] = ()) -> Log:
    """Read a log as far as possible: it ends at a cut or a damaged chunk.

    `expected`: streams that have no rows where the log lacks them.
    """
    try:
        with path.open("rb") as file:
            return _read(file, path, tuple(Logged.of(stream) for stream in expected if stream.logged))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _read(file: BinaryIO, path: Path, expected: tuple[Logged, ...]) -> Log:
    schemas: dict[int, tuple[str, ...]] = {}
    found: dict[str, Logged] = {}
    lines: dict[str, list[bytes]] = {}
    by_channel: dict[int, list[bytes]] = {}
    metadata: dict[str, dict[str, str]] = {}
    truncated = False
    if not MAGIC.startswith(file.read(len(MAGIC))):
        raise ConfigError(f"{path}: not a flight log, expected an MCAP file")
    file.seek(0)
    for record in until_damage(StreamReader(file, validate_crcs=True).records):
        match record:
            case Message(channel_id=channel, data=data):
                if channel in by_channel:
                    by_channel[channel].append(data)
            case Schema(id=number, data=data, encoding="jsonschema"):
                schemas[number] = tuple(msgspec.json.decode(data)["properties"])
            case Channel(id=channel, topic=topic, schema_id=number, metadata=notes, message_encoding=encoding):
                if encoding == JSON and number in schemas:
                    found[topic] = Logged(topic, schemas[number], notes.get("simulated") == "true")
                    by_channel[channel] = lines.setdefault(topic, [])
            case Metadata(name=name, metadata=values):
                metadata[name] = values
            case Header(profile=profile) if profile != PROFILE:
                raise ConfigError(f"{path}: an MCAP file, but not a flight log of Aeroloop")
            case None:
                truncated = True
    rows = {name: _decode(found[name], of_stream) for name, of_stream in lines.items()}
    own = _told(metadata) or tuple(found.values())
    return _log(rows, metadata, own, (*expected, *own, *found.values()), truncated=truncated)


def _told(metadata: Mapping[str, Mapping[str, str]]) -> tuple[Logged, ...]:
    """The log's own table of streams; None in an older log without one, or if it is damaged."""
    try:
        return msgspec.json.decode(metadata[STREAMS][TABLE], type=tuple[Logged, ...])
    except (KeyError, msgspec.MsgspecError):
        return ()


def _log(
    rows: dict[str, NDArray[np.float64]],
    metadata: dict[str, dict[str, str]],
    own: tuple[Logged, ...],
    known: tuple[Logged, ...],
    *,
    truncated: bool,
) -> Log:
    """With an empty array for each known stream without rows; of one known twice the later columns apply."""
    columns = {stream.name: stream.columns for stream in known}
    empty = {name: np.empty((0, len(names))) for name, names in columns.items()}
    return Log({**empty, **rows}, metadata, truncated, own, columns)


def until_damage(records: Iterator[McapRecord]) -> Iterator[McapRecord | None]:
    """All records; or those before the first damage, then None."""
    try:
        yield from records
    except Exception:  # the exception depends on where the cut or the flipped bit is: struct, zstd, UTF-8, CRC, ...
        yield None


def _decode(stream: Logged, lines: list[bytes]) -> NDArray[np.float64]:
    records: list[Any] = msgspec.json.Decoder(_record_type(stream)).decode_lines(b"\n".join(lines))
    rows = [msgspec.structs.astuple(record) for record in records]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(stream.columns))


def part_of(log: Log, prefix: str) -> Log:
    """The log of one part of a fleet, as if it had flown alone: the streams with its prefix, without the prefix."""
    if not prefix:
        return log
    own = {name: name.removeprefix(prefix) for name in log.rows if name.startswith(prefix)}
    streams = tuple(msgspec.structs.replace(s, name=own[s.name]) for s in log.streams if s.name in own)
    rows = {name: log.rows[channel] for channel, name in own.items()}
    columns = {name: log.columns[channel] for channel, name in own.items()}
    return Log(rows, log.metadata, log.truncated, streams, columns)


def log_sha256(log: Log) -> str:
    """Hash of the simulated streams: equal for equal flights, independent of the wall clock and the order of
    writing."""
    digest = hashlib.sha256()
    for stream in log.streams:
        rows = log.rows[stream.name]
        if not stream.simulated or (stream.optional and not len(rows)):
            continue
        digest.update(f"{stream.name} {len(rows)}\n".encode())
        digest.update(np.where(np.isnan(rows), np.nan, rows).astype("<f8").tobytes())
    return digest.hexdigest()
