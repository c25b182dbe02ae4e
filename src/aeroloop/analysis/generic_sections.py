"""The report's sections of a family that names none: the path flown, and the signals of every stream over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aeroloop.analysis.drawing import PANEL_IN, Line, Path3, Picture, panels, picture, top_and_altitude
from aeroloop.analysis.generic import EVENTS, tracks
from aeroloop.analysis.section import Figures, Section
from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import KEYS
from aeroloop.recording.log import Log

MOST_PANELS = 8


def sections(scenario: Scenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    return [Section("figures", "Flight", [Figures(_paths(log))]), *_streams(log)]


def _paths(log: Log) -> list[Picture]:
    flown = [Path3(track.t_s, track.pos_W, {}) for track in tracks(log) if track.t_s.size]
    if not flown:
        return []
    caption = "The path flown seen from above, and its height over time."
    return [picture("top-and-altitude", "From above, and altitude", caption, lambda: top_and_altitude(flown))]


def _streams(log: Log) -> Iterator[Section]:
    """One for each stream of numbers that were simulated; events have a table."""
    for stream in log.streams:
        if stream.simulated and stream.name not in EVENTS and len(log.rows[stream.name]):
            title = stream.name.replace("_", " ").capitalize()
            yield Section(f"stream-{stream.name}", title, [Figures(_signals(log, stream.name))])


def _signals(log: Log, stream: str) -> list[Picture]:
    names = [name for name in log.columns[stream] if name not in KEYS]
    groups = [names[i : i + MOST_PANELS] for i in range(0, len(names), MOST_PANELS)]
    return [_picture(log, stream, number, group) for number, group in enumerate(groups, 1)]


def _picture(log: Log, stream: str, number: int, names: list[str]) -> Picture:
    lines: dict[str, Sequence[Line]] = {name: _lines(log, stream, name) for name in names}
    return picture(
        f"{stream}-{number}",
        stream.replace("_", " ").capitalize(),
        f"{', '.join(names)} over time.",
        lambda: panels(lines, height_in=max(2, len(names)) * PANEL_IN),
    )


def _lines(log: Log, stream: str, name: str) -> list[Line]:
    """One for each vehicle, where a stream has several."""
    t_s, values = log.column(stream, "t_s"), log.column(stream, name)
    whose = log.column(stream, "vehicle")
    numbers = np.unique(whose)
    return [Line(f"vehicle {n:g}" if len(numbers) > 1 else "", t_s[whose == n], values[whose == n]) for n in numbers]
