"""Stick recordings: `Recorder` writes axis events, `RecordedSource` replays them.

Text. The first line is JSON with the range of each axis, `{"axes":{"ABS_X":[-32768,32767]}}`; each further
line is an event, `t_s,axis,value`, in order of time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from aeroloop.core import config
from aeroloop.core.errors import ConfigError
from aeroloop.ground.axes import AxisEvent, AxisName, AxisRange
from aeroloop.ground.files import read_text

MAX_EVENTS = 1_000_000
MAX_BYTES = 64 * 1024 * 1024
_EVENT = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?),(\w+),(-?\d{1,10})", re.ASCII)


class Header(Struct, frozen=True, forbid_unknown_fields=True):
    """First line of a recording."""

    axes: Annotated[dict[AxisName, AxisRange], Meta(min_length=1, max_length=64)]


class RecordedSource:
    """A file used as a stick; after its last event the stick keeps its position."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        first, *lines = read_text(path, max_bytes=MAX_BYTES).split("\n")
        self.ranges: Mapping[str, AxisRange] = _header(first, where=f"{path}, line 1").axes
        self._events = _events(path, lines, self.ranges)
        self._next = 0

    def poll(self, now_s: float) -> list[AxisEvent]:
        first = self._next
        while self._next < len(self._events) and self._events[self._next].t_s <= now_s:
            self._next += 1
        return self._events[first : self._next]

    def close(self) -> None:
        """No file is open."""


class Recorder:
    """Writes a recording of live events, complete after every `write`."""

    def __init__(self, path: Path, ranges: Mapping[str, AxisRange]) -> None:
        self._path = path
        try:
            self._file = path.open("xb", buffering=0)
        except FileExistsError:
            raise ConfigError(f"{path}: exists already; expected the name of a new file") from None
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
        self._append(msgspec.json.encode(Header(dict(ranges))) + b"\n")

    def write(self, events: Iterable[AxisEvent]) -> None:
        lines = "".join(f"{event.t_s!r},{event.axis},{event.value}\n" for event in events)
        self._append(lines.encode())

    def close(self) -> None:
        self._file.close()

    def _append(self, data: bytes) -> None:
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise ConfigError(f"{self._path}: cannot be written: {error.strerror}") from None


def _header(line: str, *, where: str) -> Header:
    try:
        table = msgspec.json.decode(line)
    except msgspec.DecodeError:
        table = None
    if not isinstance(table, dict):
        raise ConfigError(f'{where}: expected a JSON header such as {{"axes":{{"ABS_X":[-32768,32767]}}}}')
    return config.convert(table, Header, where)


def _events(path: Path, lines: list[str], ranges: Mapping[str, AxisRange]) -> list[AxisEvent]:
    events: list[AxisEvent] = []
    last_s = 0.0
    for number, line in enumerate(lines, start=2):
        if not line and number == len(lines) + 1:
            break  # the end of the last line
        where = f"{path}, line {number}"
        match = _EVENT.fullmatch(line)
        if not match:
            raise ConfigError(f"{where}: expected t_s,axis,value with a whole value, not {line[:60]!r}")
        t_s, axis, value = float(match[1]), match[2], int(match[3])
        if not (last_s <= t_s and math.isfinite(t_s)):
            raise ConfigError(f"{where}: t_s: expected a time not before {last_s}, not {match[1]}")
        if axis not in ranges:
            raise ConfigError(f"{where}: axis: expected one of the header's: {', '.join(ranges)}, not {axis}")
        if len(events) == MAX_EVENTS:
            raise ConfigError(f"{where}: expected at most {MAX_EVENTS} events")
        events.append(AxisEvent(t_s, axis, value))
        last_s = t_s
    return events
