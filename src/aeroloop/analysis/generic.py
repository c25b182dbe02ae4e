"""The analysis of any flight by the common streams: shared by families, and complete for one without its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aeroloop.analysis import board, timing
from aeroloop.analysis.statistics import CHANGED, FAULT_SWITCHED, Array, event_name, largest, last, lost_rows
from aeroloop.analysis.track import ATTITUDE, POSITION, QUATERNION, Track, euler_rad
from aeroloop.analysis.vehicle_log import VehicleLog, event_values, happened
from aeroloop.core.change_offers import change_offers, change_words
from aeroloop.core.common_streams import CHANGE
from aeroloop.core.fault_offers import offers, words
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import Event
from aeroloop.core.stream import KEYS
from aeroloop.recording.log import Log

SOURCES = {"event": "plant", "board_event": "board"}
"""Event streams, and their sources."""
EVENTS = (*SOURCES, "fault", CHANGE.name)
"""Streams that reports show in a table."""


def metrics(log: Log, scenario: Scenario) -> dict[str, float]:
    return {
        "flown_s": _flown_s(log),
        "diverged": float(happened(log, Event.DIVERGED) > 0),
        "ground_contacts": happened(log, Event.GROUND_CONTACT),
        **kept(log, scenario),
        **board.kept(log),
    }


def kept(log: Log, scenario: Scenario) -> dict[str, float]:
    """Timing of plant and recorder."""
    return {
        "deadlines_missed": 0.0 if scenario.lockstep else largest(log.column("pace", "missed")),
        "log_lost_rows": lost_rows(log),
        **_touchdown_load(log),
    }


def _touchdown_load(log: Log) -> dict[str, float]:
    """Only of an aircraft with springs (`contact.stiffness_N_m`) that has touched down."""
    loads = event_values(log, Event.TOUCHDOWN_LOAD) if "event" in log.rows else np.empty(0)
    return {"touchdown_load_max_g": largest(loads)} if loads.size else {}


def _flown_s(log: Log) -> float:
    """From the truth; for a family without it, from all simulated streams."""
    if "truth" in log.rows:
        return last(log.column("truth", "t_s"))
    times_s = [log.column(s.name, "t_s")[-1:] for s in log.streams if s.simulated and s.name not in EVENTS]
    return largest(np.concatenate([np.empty(0), *times_s]))


def details(log: Log, scenario: Scenario) -> dict[str, Any]:
    told = board.statistics(log, scenario, board.tasks_of(scenario)) if board.has_telemetry(log) else None
    return {"timing": step_timing(log), "board": told, "links": links(log)}


def step_timing(log: Log) -> dict[str, Any]:
    missed = log.column("pace", "missed")
    return {
        "step_lateness_s": timing.statistics(log.column("pace", "lateness_s")),
        "missed_deadlines": int(largest(missed)) if missed.size else None,
    }


def links(log: Log) -> dict[str, dict[str, int] | None]:
    """The last counters of each stream that has them; those of the second aircraft are `link[1]`."""
    counted = [stream for stream in log.streams if {"vehicle", "frames_in"} <= set(stream.columns)]
    found: dict[str, dict[str, int] | None] = {}
    for stream in counted:
        rows = log.rows[stream.name]
        for number in map(int, np.unique(rows[:, 1])):
            counters = map(int, rows[rows[:, 1] == number][-1].tolist())
            row = dict(zip(stream.columns, counters, strict=True))
            found[_of_aircraft(stream.name, number)] = {name: row[name] for name in row if name not in KEYS}
        found.setdefault(stream.name, None)
    return found


def _of_aircraft(stream: str, number: int) -> str:
    return f"{stream}[{number}]" if number else stream


def events(log: Log) -> list[dict[str, Any]]:
    return [
        {"t_s": t_s, "source": source, "vehicle": int(vehicle), "event": event_name(code), "value": value}
        for stream, source in SOURCES.items()
        for t_s, vehicle, code, value in _rows(log, stream)
    ]


def faults(log: Log, scenario: Scenario) -> list[dict[str, Any]]:
    """Description of a switched fault, planned or manual."""
    rows = _rows(log, "fault")
    known = offers(scenario) if rows else ()
    return [
        {"t_s": t_s, "source": "plant", "vehicle": int(vehicle), "event": FAULT_SWITCHED, "value": words(row, known)}
        for t_s, vehicle, *row in rows
    ]


def changes(log: Log, scenario: Scenario) -> list[dict[str, Any]]:
    """Description of a quantity changed in flight, planned or by hand."""
    rows = _rows(log, CHANGE.name)
    known = change_offers(scenario) if rows else ()
    return [
        {"t_s": t_s, "source": "plant", "vehicle": int(vehicle), "event": CHANGED, "value": change_words(row, known)}
        for t_s, vehicle, *row in rows
    ]


def _rows(log: Log, stream: str) -> list[list[float]]:
    """None for a family without that stream."""
    rows: list[list[float]] = log.rows[stream].tolist() if stream in log.rows else []
    return rows


def tracks(log: Log, commands: Mapping[str, str] | None = None) -> list[Track]:
    """The tracks of every aircraft in the log. `commands`: columns of the commands, and their labels with units."""
    names = log.columns.get("command", ())
    commands = commands or {name: name for name in names if name not in KEYS}
    numbers = [int(n) for n in np.unique(log.column("truth", "vehicle"))] if "truth" in log.rows else []
    return [
        _track(log, VehicleLog(log, number), f"vehicle {number}" if len(numbers) > 1 else "", commands)
        for number in numbers or [0]
    ]


def _track(log: Log, flight: VehicleLog, name: str, commands: Mapping[str, str]) -> Track:
    def columns(stream: str, fields: tuple[str, ...]) -> tuple[Array, Array]:
        if stream not in log.rows:
            return np.empty(0), np.empty((0, len(fields)))
        return flight.column(stream, "t_s"), flight.columns(stream, fields)

    t_s, pos_W = columns("truth", POSITION)
    command_t_s, command = columns("command", tuple(commands))
    there = [not column.size or bool(np.isfinite(column).any()) for column in command.T]  # a missing rotor has NaN
    called = tuple(name for name, is_there in zip(commands.values(), there, strict=True) if is_there)
    return Track(
        name,
        t_s,
        pos_W,
        _attitude_rad(log, flight, len(t_s)),
        *columns("setpoint", POSITION),
        command_t_s,
        command[:, there],
        called,
    )


def _attitude_rad(log: Log, flight: VehicleLog, rows: int) -> Array:
    """Roll, pitch and yaw as logged, or from the quaternion; zero if there is neither."""
    angles, known = tuple(f"{angle}_rad" for angle in ATTITUDE), set(log.columns.get("truth", ()))
    if set(angles) <= known:
        return flight.columns("truth", angles)
    return euler_rad(flight.columns("truth", QUATERNION)) if set(QUATERNION) <= known else np.zeros((rows, 3))
