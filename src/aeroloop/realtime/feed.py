"""The live feed: rows as they are recorded, for viewers of a flight. Lossy, so that no viewer can slow the flight.

    recorder ─▶ FeedOut ─datagrams─▶ folder/listeners/NAME.sock ─▶ FeedIn

A listener binds its own socket in the flight's folder, where the sender finds it. Rows it does not read in time are
lost, and counted at both ends. A datagram holds several rows, each behind the number of its stream:

    hash of streams.json's table (8 bytes) | number of the datagram (u64) | { stream (u16) | row } ...

Events are sent in full. Streams up to 100 Hz are sent in full, faster ones at 50 rows per second, for each vehicle; and
not many more per second of wall time, since in lockstep a flight may be far faster than its viewer.
"""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import struct
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS
from aeroloop.core.stream import Stream

LONGEST = 32 * 1024
"""Maximum bytes of a datagram."""
LISTENERS = "listeners"
TABLE = "streams.json"
"""In the flight's folder: its streams, in the order of their numbers, so that any flight can be viewed."""
EPOCH = "epoch"
"""File in the flight's folder: the wall-clock time at simulated time 0, in ns since 1970, once the flight has
started."""
MOST_LISTENERS = 16
LOOK_PERIOD_NS = NS // 4
SEND_PERIOD_NS = NS // 25
"""A listener's queue holds as few as ten datagrams (net.unix.max_dgram_qlen), so it may sleep ten of these."""

FULL_HZ, THINNED_HZ = 100.0, 50.0
SLOW_HZ = 10.0
"""Slower streams are sent in full, in lockstep too: their rows belong together."""
SLACK_S = 0.05
"""Tolerated jitter in the row times of a stream that is sent in full."""
WALL_PERIOD_NS = NS // 100
WALL_BURST_NS = NS // 4

_HEAD = struct.Struct("<8sQ")
_NUMBER = struct.Struct("<H")
_T_S = struct.Struct("<d")
_T_S_AND_VEHICLE = struct.Struct("<2d")


def _hash(streams: Sequence[Stream]) -> bytes:
    """Both ends must use the same stream numbers and columns."""
    table = "\n".join(f"{stream.name} {' '.join(stream.names)}" for stream in streams)
    return hashlib.blake2b(table.encode(), digest_size=8).digest()


class _Tap:
    """Selects the rows of one stream that are sent."""

    def __init__(self, number: int, stream: Stream) -> None:
        self.number = _NUMBER.pack(number)
        self.memory: deque[bytes] | None = deque(maxlen=stream.remembered) if stream.remembered else None
        self._in_full = stream.rate_hz < SLOW_HZ
        thinned = stream.rate_hz > FULL_HZ
        self._period_s = 1 / (THINNED_HZ if thinned else FULL_HZ)
        self._slack_s = 0.0 if thinned else SLACK_S
        self._several = stream.names[1:2] == ("vehicle",)
        self._due: dict[float, tuple[float, int]] = {}  # per vehicle: in the row's time, and in wall time

    def passes(self, record: bytes, now_ns: int) -> bool:
        if self._in_full:
            return True
        if self._several:
            t_s, vehicle = _T_S_AND_VEHICLE.unpack_from(record)
        else:
            (t_s,), vehicle = _T_S.unpack_from(record), 0.0
        due_s, due_ns = self._due.get(vehicle, (t_s, now_ns))
        early_s = due_s - t_s
        if early_s > 1e-6 and early_s < 1.0:  # farther ahead: the clock restarted
            return False
        if due_ns > now_ns:
            return False
        behind_s, behind_ns = t_s - self._slack_s, now_ns - WALL_BURST_NS
        self._due[vehicle] = max(min(due_s, t_s), behind_s) + self._period_s, max(due_ns, behind_ns) + WALL_PERIOD_NS
        return True


class FeedOut:
    """The sender. It never waits and its memory is bounded: rows that a listener has no room for are lost."""

    def __init__(self, folder: Path, streams: Sequence[Stream]) -> None:
        self.dropped = 0  # datagrams lost because a listener's queue was full
        self._folder = folder / LISTENERS
        self._table = _hash(streams)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            (folder / TABLE).write_bytes(msgspec.json.encode(streams))
        self._listeners: dict[str, socket.socket] = {}
        self._taps = {stream.name: _Tap(number, stream) for number, stream in enumerate(streams)}
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._sequence = 0
        self._now_ns = self._looked_ns = self._sent_ns = 0

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def offer(self, stream: Stream, record: bytes) -> None:
        """A packed row."""
        if not self._listeners and not stream.remembered:
            return
        tap = self._taps[stream.name]
        if tap.memory is not None:
            tap.memory.append(record)
        if not self._listeners or not tap.passes(record, self._now_ns):
            return
        size = _NUMBER.size + len(record)
        if _HEAD.size + self._held_bytes + size > LONGEST:
            self._send()
        self._held += (tap.number, record)
        self._held_bytes += size

    def step(self, now_ns: int) -> None:
        """Look for listeners periodically, and send the queued rows."""
        self._now_ns = now_ns
        if self._held and now_ns - self._sent_ns >= SEND_PERIOD_NS:
            self._sent_ns = now_ns
            self._send()
        if now_ns - self._looked_ns >= LOOK_PERIOD_NS or not self._looked_ns:
            self._looked_ns = now_ns
            self._look()

    def close(self) -> None:
        """Send the last rows and stop."""
        self._look()
        self._send()
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()

    def _look(self) -> None:
        try:
            names = {path.name for path in self._folder.glob("*.sock")}
        except OSError:
            names = set()
        for name in self._listeners.keys() - names:
            self._listeners.pop(name).close()
        for name in sorted(names - self._listeners.keys())[: MOST_LISTENERS - len(self._listeners)]:
            self._add_reader(name)

    def _add_reader(self, name: str) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.setblocking(False)
        try:
            listener.connect(str(self._folder / name))
        except OSError as error:
            listener.close()
            if isinstance(error, ConnectionRefusedError):
                self._forget(name)
            return
        self._send()  # queued rows are older, and kept where required
        self._listeners[name] = listener
        remembered = [part for tap in self._taps.values() for row in tap.memory or () for part in (tap.number, row)]
        batch: list[bytes] = []
        size = _HEAD.size
        for number, row in zip(remembered[::2], remembered[1::2], strict=True):
            if size + len(number) + len(row) > LONGEST:
                self._send_to(name, self._head() + b"".join(batch))
                batch, size = [], _HEAD.size
            batch += (number, row)
            size += len(number) + len(row)
        # Sent even if empty: the listener then knows the number from which on it can miss datagrams.
        self._send_to(name, self._head() + b"".join(batch))

    def _head(self) -> bytes:
        return _HEAD.pack(self._table, self._sequence)

    def _send(self) -> None:
        if not self._held:
            return
        self._sequence += 1
        datagram = self._head() + b"".join(self._held)
        self._held, self._held_bytes = [], 0
        for name in tuple(self._listeners):
            self._send_to(name, datagram)

    def _send_to(self, name: str, datagram: bytes) -> None:
        if name not in self._listeners:
            return
        try:
            self._listeners[name].send(datagram, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            self.dropped += 1
        except OSError:
            self._listeners.pop(name).close()
            self._forget(name)

    def _forget(self, name: str) -> None:
        """Remove a socket whose owner has ended."""
        path = self._folder / name
        with suppress(OSError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()


def publish_epoch(folder: Path, epoch_ns: int) -> None:
    """Write the epoch for listeners, atomically."""
    with suppress(OSError):
        draft = folder / f"{EPOCH}.draft"
        draft.write_text(str(epoch_ns))
        draft.rename(folder / EPOCH)


def read_epoch(folder: Path) -> int | None:
    """None while the flight has not started."""
    try:
        return int((folder / EPOCH).read_text())
    except (OSError, ValueError):
        return None


_COUNT = count()
MOST_AT_ONCE = 64
"""Datagrams per call of `rows`, so that the reader has time for other work."""


class FeedIn:
    """A listener."""

    def __init__(self, folder: Path) -> None:
        self.lost = 0  # datagrams
        self.refused = 0  # invalid datagrams
        listeners = folder / LISTENERS
        self._path = listeners / f"{os.getpid()}-{next(_COUNT)}.sock"
        self._sequence: int | None = None
        self._streams: tuple[Stream, ...] = ()
        self._table = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            listeners.mkdir(mode=0o700, exist_ok=True)
            self._path.unlink(missing_ok=True)  # of an earlier process with the same pid
            self._socket.bind(str(self._path))
        except OSError as error:
            self._socket.close()
            raise LinkError(f"{folder}: no flight to listen to: {error.strerror or error}") from None

    def fileno(self) -> int:
        return self._socket.fileno()

    def rows(self) -> list[tuple[Stream, tuple[float, ...]]]:
        """The received rows, in order."""
        taken: list[tuple[Stream, tuple[float, ...]]] = []
        for _ in range(MOST_AT_ONCE):
            try:
                datagram = self._socket.recv(LONGEST, socket.MSG_DONTWAIT)
            except OSError:
                break
            if self._accepted(datagram):
                taken += self._unpacked(datagram)
        return taken

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _accepted(self, datagram: bytes) -> bool:
        if len(datagram) < _HEAD.size:
            self.refused += 1
            return False
        table, sequence = _HEAD.unpack_from(datagram)
        if table != self._table:
            self._read_table()
        if table != self._table or not self._whole(datagram):
            self.refused += 1
            return False
        if self._sequence is not None and sequence > self._sequence + 1:
            self.lost += sequence - self._sequence - 1
        self._sequence = sequence
        return True

    def _read_table(self) -> None:
        try:
            self._streams = msgspec.json.decode(
                (self._path.parent.parent / TABLE).read_bytes(), type=tuple[Stream, ...]
            )
        except (OSError, msgspec.MsgspecError):
            raise LinkError(
                f"{self._path.parent.parent}: cannot be viewed: its {TABLE} cannot be read; "
                "use the version of Aeroloop that flies it"
            ) from None
        self._table = _hash(self._streams)

    def _whole(self, datagram: bytes) -> bool:
        """Whether it consists of complete rows of known streams."""
        at = _HEAD.size
        while at + _NUMBER.size <= len(datagram):
            (number,) = _NUMBER.unpack_from(datagram, at)
            if number >= len(self._streams):
                return False
            at += _NUMBER.size + self._streams[number].packing.size
        return at == len(datagram)

    def _unpacked(self, datagram: bytes) -> list[tuple[Stream, tuple[float, ...]]]:
        rows = []
        at = _HEAD.size
        while at < len(datagram):
            stream = self._streams[_NUMBER.unpack_from(datagram, at)[0]]
            rows.append((stream, stream.packing.unpack_from(datagram, at + _NUMBER.size)))
            at += _NUMBER.size + stream.packing.size
        return rows
