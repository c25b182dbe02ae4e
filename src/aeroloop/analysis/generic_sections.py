"""The report's sections for a family without its own: the path flown, and the signals of every stream over time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aeroloop.analysis.drawing import PANEL_IN, Line, Path3, Picture, panels, picture, top_and_altitude
from aeroloop.analysis.generic import EVENTS, tracks
from aeroloop.analysis.section import Figures, Section, flight_sections
from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import KEYS
from aeroloop.recording.log import Log

MOST_PANELS = 8


def sections(scenario: Scenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    return [*flight_sections(_paths(log)), *_streams(log)]


def _paths(log: Log) -> list[Picture]:
    flown = [Path3(track.t_s, track.pos_W, {}) for track in tracks(log) if track.t_s.size]
    if not flown:
        return []
    caption = "Position over the ground, and height above the origin over time."
    return [picture("top-and-altitude", "Top view, and height over time", caption, lambda: top_and_altitude(flown))]


def _streams(log: Log) -> Iterator[Section]:
    """One for each stream of simulated numbers; events have a table."""
    for stream in log.streams:
        if stream.simulated and stream.name not in EVENTS and len(log.rows[stream.name]):
            title = stream.name.replace("_", " ").capitalize()
            yield Section(f"stream-{stream.name}", title, [Figures(signals(log, stream.name))])


def signals(log: Log, stream: str, title: str = "", without: Collection[str] = ()) -> list[Picture]:
    """All columns of a stream over time, but those `without`."""
    names = [name for name in log.columns[stream] if name not in KEYS and name not in without]
    groups = [names[i : i + MOST_PANELS] for i in range(0, len(names), MOST_PANELS)]
    title = title or stream.replace("_", " ").capitalize()
    return [_picture(log, stream, f"{stream}-{number}", title, group) for number, group in enumerate(groups, 1)]


def _picture(log: Log, stream: str, key: str, title: str, names: list[str]) -> Picture:
    lines: dict[str, Sequence[Line]] = {name: _lines(log, stream, name) for name in names}
    caption = f"{', '.join(names)} over time."
    return picture(key, title, caption, lambda: panels(lines, height_in=max(2, len(names)) * PANEL_IN))


def _lines(log: Log, stream: str, name: str) -> list[Line]:
    """One for each vehicle, if a stream has several."""
    t_s, values = log.column(stream, "t_s"), log.column(stream, name)
    whose = log.column(stream, "vehicle")
    numbers = np.unique(whose)
    return [Line(f"vehicle {n:g}" if len(numbers) > 1 else "", t_s[whose == n], values[whose == n]) for n in numbers]
