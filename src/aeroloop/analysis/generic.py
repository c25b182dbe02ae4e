"""The analysis of any flight, by the columns of its streams: for a family that brings none of its own.

| what | where it is found |
|---|---|
| events | streams with `code` and `value` |
| faults that were switched | streams with `target`, `kind` and `on` |
| links | streams with `frames_in`: counters, of which the last row counts |
| how well time was kept | streams with `lateness_s` and `missed` |
| the way that was flown | the first simulated stream with `x_m`, `y_m` and `z_m` |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aeroloop.analysis import timing
from aeroloop.analysis.statistics import FAULT_SWITCHED, Array, event_name, largest, lost_rows
from aeroloop.analysis.track import ANGLES, POSITION, Track, angles, positions
from aeroloop.core.fault_offers import words
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import Event
from aeroloop.recording.log import Log

KEYS = ("t_s", "vehicle")
"""Columns that say when and of whom a row is."""


def metrics(log: Log, scenario: Scenario) -> dict[str, float]:
    times_s = [log.column(s.name, "t_s")[-1:] for s in log.streams if s.simulated and "code" not in s.columns]
    missed = _all(log, "missed")
    return {
        "flown_s": largest(np.concatenate([np.empty(0), *times_s])),
        "diverged": float(any(event["event"] == Event.DIVERGED.name for event in events(log))),
        "ground_contacts": float(sum(event["event"] == Event.GROUND_CONTACT.name for event in events(log))),
        "deadlines_missed": 0.0 if scenario.lockstep else largest(missed),
        "log_lost_rows": lost_rows(log),
    }


def details(log: Log, scenario: Scenario) -> dict[str, Any]:
    return {
        "timing": timing.pace(_all(log, "lateness_s"), _all(log, "missed")),
        "links": {stream: counters(log, stream) for stream in with_columns(log, "frames_in")},
    }


def events(log: Log) -> list[dict[str, Any]]:
    happened = [
        {"t_s": row["t_s"], "source": stream, "event": event_name(row["code"]), "value": row["value"]}
        for stream in with_columns(log, "code", "value")
        for row in _rows(log, stream)
    ]
    faults = [
        {
            "t_s": row["t_s"],
            "source": stream,
            "event": FAULT_SWITCHED,
            "value": words([value for column, value in row.items() if column not in KEYS]),
        }
        for stream in with_columns(log, "target", "kind", "on")
        for row in _rows(log, stream)
    ]
    return happened + faults


def tracks(log: Log) -> list[Track]:
    """Without commands and setpoints, which have no common names."""
    nothing = np.empty(0), np.empty((0, 3)), np.empty(0), np.empty((0, 0)), ()
    for stream in with_columns(log, *POSITION):
        t_s = log.column(stream, "t_s")
        return [Track("", t_s, positions(log, stream), _attitude(log, stream), *nothing)]
    return [Track("", np.empty(0), np.empty((0, 3)), np.empty((0, 3)), *nothing)]


def with_columns(log: Log, *columns: str) -> list[str]:
    """The log's streams that have them, in its order."""
    return [stream.name for stream in log.streams if set(columns) <= set(stream.columns)]


def _attitude(log: Log, stream: str) -> Array:
    """Roll, pitch and yaw where they are logged; zero where they are not."""
    if stream not in with_columns(log, *ANGLES):
        return np.zeros((len(log.rows[stream]), 3))
    return angles(log, stream)


def _all(log: Log, column: str) -> Array:
    """The values of a column in every stream that has it."""
    return np.concatenate([np.empty(0), *(log.column(stream, column) for stream in with_columns(log, column))])


def _rows(log: Log, stream: str) -> list[dict[str, float]]:
    return [dict(zip(log.columns[stream], row, strict=True)) for row in log.rows[stream].tolist()]


def counters(log: Log, stream: str) -> dict[str, int] | None:
    """The last that a link counted; None where it counted nothing."""
    rows = _rows(log, stream)
    return {name: int(value) for name, value in rows[-1].items() if name not in KEYS} if rows else None
