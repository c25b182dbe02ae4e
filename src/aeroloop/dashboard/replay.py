"""A past run as a flight that pages can show: its log up to any time, and a playback clock.

flight.mcap ─▶ Recording (shared) ─▶ ReplayStore (one for each page) ─▶ the 3D view, instruments and charts
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np

from aeroloop.core.change_offers import change_offers, change_words
from aeroloop.core.common_streams import CHANGE
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.fault_offers import offers, words
from aeroloop.core.fleet import parts_of, prefix
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import KEYS, Field, Stream
from aeroloop.core.streams import streams_of
from aeroloop.dashboard import event_words
from aeroloop.dashboard.past_runs import read_run
from aeroloop.dashboard.store import MOST_VEHICLES, Ring, Rows, Store
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.viewed_flight import ViewedFlight
from aeroloop.dashboard.watched_fleet import Part, WatchedFleet
from aeroloop.dashboard.watched_flight import MOST_NOTICES, Notice, WatchedFlight
from aeroloop.flight.results import LOG, SCENARIO
from aeroloop.recording.log import Log, part_of, read
from aeroloop.world.object_kinds import names as object_names

LARGEST_LOG_B = 1024 * 2**20
MOST_RECORDINGS = 3
"""Number of logs kept in memory for the next page."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class RecordedPart:
    """One aircraft, or several of one scenario, from the log."""

    scenario: Scenario
    streams: tuple[Stream, ...]
    rows: Mapping[str, Rows]  # by stream, in the order of time


@dataclass(frozen=True)
class Recording:
    folder: Path
    parts: tuple[RecordedPart, ...]
    notices: tuple[Notice, ...]  # in the order of time
    start_s: float
    end_s: float


def load(folder: Path) -> Recording:
    """Read a run from its folder; ConfigError if it has no flight."""
    path = folder / LOG
    try:
        size_B = path.stat().st_size
    except OSError:
        raise ConfigError(f"{folder}: no log to replay; expected {LOG}") from None
    if size_B > LARGEST_LOG_B:
        most = f"expected at most {LARGEST_LOG_B >> 20} MiB"
        raise ConfigError(f"{path}: {size_B / 2**20:.0f} MiB are too large to replay; {most}")
    plan, log = load_plan(folder / SCENARIO), read(path)
    parts = tuple(_recorded(part, part_of(log, prefix(plan, part))) for part in parts_of(plan))
    times_s = [rows[[0, -1], 0] for part in parts for rows in part.rows.values() if len(rows)]
    if not times_s:
        raise ConfigError(f"{path}: no rows to replay")
    several = len(parts) > 1
    notices = [notice for part in parts for notice in _notices(part, f"{part.scenario.name}: " if several else "")]
    ordered = sorted(notices, key=lambda notice: notice.t_s)
    return Recording(folder, parts, tuple(ordered), float(np.min(times_s)), float(np.max(times_s)))


def _recorded(scenario: Scenario, log: Log) -> RecordedPart:
    known = {stream.name: stream for stream in streams_of(scenario)}
    streams = tuple(_stream(name, columns, known.get(name)) for name, columns in log.columns.items())
    return RecordedPart(scenario, streams, {stream.name: _ordered(log.rows[stream.name]) for stream in streams})


def _stream(name: str, columns: tuple[str, ...], known: Stream | None) -> Stream:
    """Our definition, with units, if the log has the same columns; otherwise the log's own."""
    if known is not None and known.names == columns:
        return known
    fields = tuple(Field(column, "-", "") for column in columns)
    return Stream(name, "log", 0.0, True, True, "", fields)


def _ordered(rows: Rows) -> Rows:
    rows = rows[np.isfinite(rows[:, 0])]
    return rows if np.all(np.diff(rows[:, 0]) >= 0) else rows[np.argsort(rows[:, 0], kind="stable")]


def _notices(part: RecordedPart, of_part: str) -> Iterable[Notice]:
    several = part.scenario.aircraft.count > 1
    known = offers(part.scenario)
    objects = object_names(part.scenario)
    for stream in part.streams:
        told_of = (*event_words.EVENTS, "fault", CHANGE.name)
        for row in part.rows[stream.name].tolist() if stream.name in told_of else ():
            told: tuple[Severity, str] | None
            if stream.name == "fault":
                told = "warn", words(tuple(row[len(KEYS) :]), known)
            elif stream.name == CHANGE.name:
                told = "warn", change_words(row[len(KEYS) :], change_offers(part.scenario))
            else:
                told = event_words.description(stream, tuple(row), several=several, objects=objects)
            if told is not None:
                yield Notice(0, row[0], told[0], of_part + told[1])


class _Recorded(Ring):
    """All rows of a stream and aircraft, shown up to a time."""

    def __init__(self, stream: Stream, rows: Rows) -> None:
        super().__init__(stream)
        self._buffer, self._end = rows, len(rows)
        self.ever_finite()  # of the whole flight: signals with later values can be selected at once

    @property
    def rows(self) -> Rows:
        return self._buffer[: self._end]

    def seek(self, t_s: float) -> bool:
        """Whether there are rows up to that time."""
        self._end = int(np.searchsorted(self._buffer[:, 0], t_s, side="right"))
        return self._end > 0


class ReplayStore(Store):
    """A flight's rows up to a time; `seek` sets it."""

    def __init__(self, part: RecordedPart) -> None:
        super().__init__(part.streams)
        self._all: dict[tuple[str, int], _Recorded] = {}
        for stream in part.streams:
            rows = part.rows[stream.name]
            several = stream.names[1:2] == ("vehicle",)
            for vehicle in range(MOST_VEHICLES) if several else (0,):
                own = rows[rows[:, 1] == vehicle] if several else rows
                if len(own):
                    self._all[stream.name, vehicle] = _Recorded(stream, own)

    def seek(self, t_s: float) -> None:
        self._rings = {key: ring for key, ring in self._all.items() if ring.seek(t_s)}
        self._indexes, self._by_stream = {}, {}
        self.t_s = t_s

    def add(self, stream: Stream, row: tuple[float, ...]) -> None:
        raise AeroloopError("a recording takes no rows")


class Player:
    """A clock between two times: stopped, or running at some speed and stopping at the end."""

    def __init__(self, start_s: float, end_s: float) -> None:
        self.start_s, self.end_s = start_s, end_s
        self.t_s = start_s
        self.speed = 1.0
        self.playing = False
        self._wall_s = 0.0

    def play(self, now_s: float) -> None:
        """From the start again, if it is at the end."""
        if self.t_s >= self.end_s:
            self.t_s = self.start_s
        self.playing, self._wall_s = True, now_s

    def pause(self) -> None:
        self.playing = False

    def hold(self, now_s: float) -> None:
        """Stop for now, and continue from here."""
        self._wall_s = now_s

    def seek(self, t_s: float) -> None:
        self.t_s = min(max(t_s, self.start_s), self.end_s)

    def advance(self, now_s: float) -> None:
        """Advance to the current wall-clock time."""
        if self.playing:
            self.seek(self.t_s + (now_s - self._wall_s) * self.speed)
            self._wall_s = now_s
            self.playing = self.t_s < self.end_s


class ReplayedFlight(ViewedFlight):
    """The view of a recording on one page; it accepts no commands."""

    def __init__(self, recording: Recording, *, may_write: bool = False) -> None:
        super().__init__(WatchedFlight(recording.folder.parent))
        self.may_write = may_write
        self.recording = recording
        self._stores = {part.scenario.name: ReplayStore(part) for part in recording.parts}
        parts = {
            part.scenario.name: Part(part.scenario, self._stores[part.scenario.name], None) for part in recording.parts
        }
        self.fleet = WatchedFleet(parts)
        self._run = recording.folder.resolve()
        self.replay_url = f"/replay/{quote(recording.folder.name)}/camera/"
        self.outcome = read_run(recording.folder)
        self._times_s = [notice.t_s for notice in recording.notices]
        self.choose(recording.parts[0].scenario.name)
        self.seek(recording.start_s)

    @property
    def state_words(self) -> tuple[str, Severity]:
        return "replay", "info"

    def flights(self) -> list[tuple[str, str]]:
        """The parts of a fleet, for selection."""
        return [(part.scenario.name, self.recording.folder.name) for part in self.recording.parts]

    may_choose = True  # the page has its own copy of this flight

    def choose(self, flight_id: str) -> None:
        """Show that part, with the others beside it."""
        if flight_id in self._stores:
            part = self.fleet.choose(flight_id)
            self.flight_id, self.scenario, self.store = flight_id, part.scenario, part.store

    def seek(self, t_s: float) -> None:
        for store in self._stores.values():
            store.seek(t_s)
        told = self.recording.notices[: bisect_right(self._times_s, t_s)]
        self.notices.clear()
        self.notices.extend(told[-MOST_NOTICES:])


class Recordings:
    """The recordings opened last, read once for all pages."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Path, int], Recording] = OrderedDict()
        self._reading = asyncio.Lock()

    async def open(self, folder: Path) -> Recording:
        """In a thread, one at a time; AeroloopError if it cannot be read."""
        async with self._reading:
            try:
                key = folder, (folder / LOG).stat().st_mtime_ns
            except OSError:
                key = folder, 0
            if key not in self._kept:
                self._kept[key] = await asyncio.to_thread(load, folder)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_RECORDINGS:
                self._kept.popitem(last=False)
            return self._kept[key]
