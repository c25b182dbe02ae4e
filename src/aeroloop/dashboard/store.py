"""The last minutes of every stream of a flight, in bounded memory: read by charts and pages.

Each stream of each aircraft has a ring of rows, oldest first. A ring grows with its rows, to ten minutes at the feed's
highest rate or until all rings together reach their limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.stream import KEYS, Stream

Rows = NDArray[np.float64]

KEPT_S = 600.0
"""The longest window that pages offer."""
MOST_ROWS = 60_000  # ten minutes at 100 Hz, the feed's highest rate
MOST_BYTES = 256 * 2**20
MOST_VEHICLES = 16
MOST_KEYS = 4096  # of one index of newest rows
FIRST_ROWS = 64

SELECTORS = ("link", "task", "line")
"""First columns of streams whose rows belong to several items in turn: the number in a signal's brackets selects the
item. `line` is the former name of `link`, in older logs."""
RENAMED = {"line": "router_link"}
"""Former names of streams, in saved chart layouts."""
MULTIPLEXED = frozenset({"target", "message", "parameter", "signal", "index"})
"""Columns of streams whose other columns are not functions of time alone, so not signals."""
PATH = "path"
"""First column of a stream of points along paths, which are not signals either."""

_SIGNAL = re.compile(r"([a-z_]{1,32})(?:\[(\d{1,5})\])?\.(\w{1,64})", re.ASCII)


ANGLES = {"roll_rad": "roll, ZYX", "pitch_rad": "pitch, ZYX", "yaw_rad": "yaw, ZYX"}
"""Signals of streams that have a quaternion only, which is not readable on a chart."""


def selector(stream: Stream) -> str | None:
    """The column that selects the item of a row."""
    first = _first(stream)
    return first if first in SELECTORS and not is_multiplexed(stream) else None


def is_multiplexed(stream: Stream) -> bool:
    return bool(MULTIPLEXED & set(stream.names)) or _first(stream) == PATH


def _first(stream: Stream) -> str:
    """After the time and the aircraft's number."""
    return next((each for each in stream.names if each not in KEYS), "")


@dataclass(frozen=True, slots=True)
class Signal:
    """A quantity that can be drawn over time; its name is `stream.field`, or `stream[number].field`."""

    stream: Stream
    number: int  # number of the aircraft; for streams with a selector, number of the item
    field: str

    @property
    def name(self) -> str:
        shown = f"[{self.number}]" if self.number or selector(self.stream) else ""
        return f"{self.stream.name}{shown}.{self.field}"

    @property
    def unit(self) -> str:
        return next((each.unit for each in self.stream.fields if each.name == self.field), "rad")

    @property
    def meaning(self) -> str:
        return next(
            (each.meaning for each in self.stream.fields if each.name == self.field), ANGLES.get(self.field, "")
        )

    def of(self, rows: Rows) -> Rows:
        """Its values in rows of its stream."""
        if self.field in self.stream.names:
            return rows[:, self.stream.names.index(self.field)].copy()
        w, x, y, z = (rows[:, self.stream.names.index(name)] for name in ("qw", "qx", "qy", "qz"))
        angles: Rows
        if self.field == "roll_rad":
            angles = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        elif self.field == "pitch_rad":
            angles = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
        else:
            angles = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        return angles


def _drawable(stream: Stream) -> tuple[str, ...]:
    return (*stream.names, *ANGLES) if "qw" in stream.names and "roll_rad" not in stream.names else stream.names


class Ring:
    """Rows in one block of memory: a quarter more than are kept, so that moving them is rare."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._buffer = np.empty((FIRST_ROWS, len(stream.fields)))
        self._end = 0
        self._seen = np.zeros(len(stream.fields), dtype=bool)

    @property
    def used_B(self) -> int:
        return self._buffer.nbytes

    @property
    def is_full(self) -> bool:
        return self._end == len(self._buffer)

    @property
    def rows(self) -> Rows:
        """A view that the next row may change."""
        kept = min(self._end, MOST_ROWS)
        return self._buffer[self._end - kept : self._end]

    def add(self, row: tuple[float, ...]) -> None:
        self._buffer[self._end] = row
        self._end += 1

    def make_room(self, spare_B: int) -> None:
        wanted = min(2 * len(self._buffer), MOST_ROWS * 5 // 4)
        extra_B = (wanted - len(self._buffer)) * self._buffer.itemsize * self._buffer.shape[1]
        if 0 < extra_B <= spare_B:
            grown = np.empty((wanted, self._buffer.shape[1]))
            grown[: self._end] = self._buffer
            self._buffer = grown
        else:
            kept = len(self._buffer) * 4 // 5
            self._buffer[:kept] = self._buffer[self._end - kept : self._end].copy()
            self._end = kept

    def ever_finite(self) -> NDArray[np.bool_]:
        """Columns that had a finite number so far: a missing rotor never has one."""
        if not self._seen.all():
            self._seen |= np.isfinite(self.rows).any(axis=0)
        return self._seen


@dataclass
class _Newest:
    """The newest row for each value of some fields."""

    columns: tuple[int, ...]
    rows: dict[tuple[float, ...], tuple[float, ...]] = field(default_factory=dict)

    def add(self, row: tuple[float, ...]) -> None:
        key = tuple(row[column] for column in self.columns)
        if key not in self.rows and len(self.rows) >= MOST_KEYS:
            del self.rows[next(iter(self.rows))]
        self.rows[key] = row


class Store:
    """The rows of one flight. For one event loop: nothing here blocks."""

    def __init__(self, streams: Iterable[Stream] = ()) -> None:
        """`streams`: those of the flight, if known before their first rows."""
        self.t_s = 0.0  # newest simulated time
        self._streams = {stream.name: stream for stream in streams}
        self.refused = 0  # rows that do not match their stream, or are older than the newest
        self._rings: dict[tuple[str, int], Ring] = {}
        self._indexes: dict[tuple[str, tuple[str, ...]], _Newest] = {}
        self._by_stream: dict[str, list[_Newest]] = {}

    def add(self, stream: Stream, row: tuple[float, ...]) -> None:
        ring = self._ring_for(stream, row)
        if ring is None:
            self.refused += 1
            return
        if ring.is_full:
            ring.make_room(MOST_BYTES - sum(each.used_B for each in self._rings.values()))
        ring.add(row)
        self.t_s = max(self.t_s, row[0])
        for index in self._by_stream.get(stream.name, ()):
            index.add(row)

    def _ring_for(self, stream: Stream, row: tuple[float, ...]) -> Ring | None:
        if len(row) != len(stream.fields) or not math.isfinite(row[0]):
            return None
        vehicle = row[1] if stream.names[1:2] == ("vehicle",) else 0.0
        if not (0 <= vehicle < MOST_VEHICLES and vehicle == int(vehicle)):
            return None
        ring = self._rings.get((stream.name, int(vehicle)))
        if ring is None:
            ring = self._rings[stream.name, int(vehicle)] = Ring(stream)
            self._streams[stream.name] = stream
        elif len(ring.rows) and row[0] < ring.rows[-1, 0]:
            return None
        return ring

    def names(self, stream: str) -> tuple[str, ...]:
        """Units of the columns of a stream; empty if there is no such stream."""
        known = self._streams.get(stream)
        return known.names if known is not None else ()

    def signal(self, name: str) -> Signal | None:
        """None if the flight has no such stream or field."""
        match = _SIGNAL.fullmatch(name)
        stream = self._stream(match[1]) if match else None
        if match is None or stream is None or match[3] not in _drawable(stream):
            return None
        return Signal(stream, int(match[2] or 0), match[3])

    def _stream(self, name: str) -> Stream | None:
        return self._streams.get(name) or self._streams.get(RENAMED.get(name, ""))

    def is_steady(self, stream: str) -> bool:
        """Simulated, and at a rate: events and counters are not curves."""
        known = self._streams.get(stream)
        return known is None or (known.simulated and known.rate_hz > 0.0)

    def vehicles(self, stream: str) -> list[int]:
        return sorted(vehicle for name, vehicle in self._rings if name == stream)

    def latest(self, stream: str, vehicle: int = 0) -> dict[str, float] | None:
        """The newest row by field name."""
        ring = self._rings.get((stream, vehicle))
        return None if ring is None else dict(zip(ring.stream.names, ring.rows[-1].tolist(), strict=True))

    def rows(self, stream: str, vehicle: int = 0) -> Rows:
        """All rows kept, columns as in the stream table."""
        return self.since(stream, -math.inf, vehicle)

    def columns(self, stream: str, *names: str, vehicle: int = 0, since_s: float = -math.inf) -> Rows:
        """Some columns of the rows newer than a time; empty for a stream that the flight does not have."""
        rows, known = self.since(stream, since_s, vehicle), self.names(stream)
        return rows[:, [known.index(name) for name in names]] if known else np.empty((0, len(names)))

    def since(self, stream: str, t_s: float, vehicle: int = 0) -> Rows:
        """The rows newer than `t_s`."""
        ring = self._rings.get((stream, vehicle))
        if ring is None:
            return np.empty((0, len(self.names(stream))))
        rows = ring.rows
        return rows[np.searchsorted(rows[:, 0], t_s, side="right") :].copy()

    def newest(self, stream: str, key: tuple[str, ...]) -> list[dict[str, float]]:
        """The newest row for each value of the key fields, in the order of their first rows."""
        index = self._indexes.get((stream, key))
        names = self.names(stream)
        if not names:
            return []
        if index is None:
            index = self._indexes[stream, key] = _Newest(tuple(names.index(name) for name in key))
            self._by_stream.setdefault(stream, []).append(index)
            for vehicle in self.vehicles(stream):
                for row in self._rings[stream, vehicle].rows.tolist():
                    index.add(tuple(row))
        return [dict(zip(names, row, strict=True)) for row in index.rows.values()]

    def signals(self) -> list[str]:
        """The names of all columns that can be drawn: "truth.x_m", "truth[1].z_m", "router_link[2].load_in_pct"."""
        found = []
        for (name, vehicle), ring in sorted(self._rings.items()):
            if is_multiplexed(ring.stream):
                continue
            which = selector(ring.stream)
            unseen = {each for each, seen in zip(ring.stream.names, ring.ever_finite(), strict=True) if not seen}
            hidden = {*KEYS, which} | unseen
            fields = [each for each in _drawable(ring.stream) if each not in hidden]
            numbers: Iterable[int] = [vehicle]
            if which is not None:
                numbers = sorted(int(row[which]) for row in self.newest(name, (which,)))
            found += [Signal(ring.stream, number, each).name for number in numbers for each in fields]
        return found

    def window(self, signal: str, start_s: float, end_s: float, points: int) -> tuple[Rows, Rows]:
        """Times and values of a signal from start to end, thinned to `points` with minima and maxima kept."""
        wanted = self.signal(signal)
        nothing = np.empty(0), np.empty(0)
        if wanted is None:
            return nothing
        which = selector(wanted.stream)
        ring = self._rings.get((wanted.stream.name, 0 if which else wanted.number))
        if ring is None:
            return nothing
        rows = ring.rows
        first, end = np.searchsorted(rows[:, 0], (start_s, end_s), side="left")
        rows = rows[first : end + 1] if end < len(rows) and rows[end, 0] == end_s else rows[first:end]
        if which is not None:
            rows = rows[rows[:, wanted.stream.names.index(which)] == wanted.number]
        return thinned(rows[:, 0].copy(), wanted.of(rows), points, end_s - start_s)


def thinned(t_s: Rows, values: Rows, points: int, span_s: float) -> tuple[Rows, Rows]:
    """Minimum and maximum of each time slice; a slice without any number keeps one NaN, so that a gap is kept.

    The slices are fixed in time while the span is constant: a moving curve does not flicker.
    """
    if len(t_s) <= points:
        return t_s, values
    width_s = round(span_s / max(points // 2 - 1, 1), 9)
    if not 0 < width_s < math.inf:
        return t_s[-points:], values[-points:]
    slices = np.floor(t_s / width_s)
    finite = np.flatnonzero(np.isfinite(values))
    order = finite[np.lexsort((values[finite], slices[finite]))]
    edges = np.flatnonzero(np.diff(slices[order])) if len(order) else np.empty(0, dtype=np.intp)
    lowest, highest = (order[np.r_[0, edges + 1]], order[np.r_[edges, -1]]) if len(order) else (order, order)
    _, firsts = np.unique(slices, return_index=True)
    gaps = firsts[~np.isin(slices[firsts], slices[finite])]
    chosen = np.unique(np.concatenate((lowest, highest, gaps)))
    return t_s[chosen], values[chosen]
