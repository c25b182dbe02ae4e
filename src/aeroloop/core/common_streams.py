"""Streams that have the same meaning for every aircraft, each defined once.

A family lists those it has, and may append its own columns. So two families may use one name for different columns: a
log is read with the stream table that it contains.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from aeroloop.core.stream import (
    QUATERNION,
    RATES,
    REMEMBERED,
    VELOCITY,
    WIND,
    XYZ,
    Column,
    Field,
    Stream,
    fields,
)

EVENT: tuple[Column, ...] = (
    ("code", "-", "number of the event in signals.Event"),
    ("value", "-", "its value, see signals.Event"),
)
FRAME_COUNTERS: tuple[Column, ...] = (
    ("frames_in", "-", "valid frames received"),
    ("frames_out", "-", "frames sent"),
    ("bytes_in", "B", "bytes received"),
    ("bytes_out", "B", "bytes sent"),
    ("bad_checksums", "-", "frames whose checksum did not match"),
)
PROCESSOR: tuple[Column, ...] = (
    ("use_pct", "%", "processor time in tasks since the sample before"),
    ("switches_per_s", "1/s", "context switches; a task that preempts another costs two"),
    ("stack_used_B", "B", "maximum stack use"),
    ("stack_size_B", "B", "stack size"),
)
TASK_TIMES: tuple[Column, ...] = (
    ("task", "-", "number of the task in the table of the board's tasks"),
    ("exec_s", "s", "execution time per control period, mean since the sample before"),
    ("share_pct", "%", "its fraction of the execution time of all tasks"),
    ("worst_s", "s", "longest execution since the start"),
    ("runs", "-", "executions since the sample before"),
)


def _simulated(name: str, meaning: str, *columns: Column, remembered: int = 0, optional: bool = False) -> Stream:
    return Stream(name, "plant", 0.0, True, True, meaning, fields(*columns), remembered=remembered, optional=optional)


def _measured(name: str, rate_hz: float, meaning: str, *columns: Column) -> Stream:
    """Time measured on the machine, not simulated."""
    return Stream(name, "plant", rate_hz, False, True, meaning, fields(*columns))


CHANGE = _simulated(
    "change",
    "wind, mass or battery changed in flight",
    ("number", "-", "number of the quantity among those that the family offers, from 0"),
    ("value_x", "of the quantity", "new value; of several numbers the first"),
    ("value_y", "of the quantity", "of several numbers the second, otherwise 0"),
    ("value_z", "of the quantity", "of several numbers the third, otherwise 0"),
    remembered=REMEMBERED,
    optional=True,
)
"""Of every flight whose family offers changes; no family lists it."""

COMMON: tuple[Stream, ...] = (
    _simulated("truth", "state of the aircraft in the world", *XYZ, *VELOCITY, *QUATERNION, *RATES),
    _simulated("air", "air at the aircraft's position", *WIND, ("density_kg_m3", "kg/m3", "density")),
    _simulated("effort", "actuator outputs"),
    _simulated("sensors", "measured values, as sent to the controller"),
    _simulated("command", "command accepted from the controller"),
    _simulated("estimate", "state estimate of the controller", *XYZ, *VELOCITY),
    _simulated("setpoint", "setpoint of the aircraft", *XYZ),
    _simulated("event", "events at the plant", *EVENT, remembered=REMEMBERED),
    _simulated("board_event", "events on the board", *EVENT, remembered=REMEMBERED),
    _simulated(
        "fault",
        "a fault switched in flight",
        ("target", "-", "index of the target in faults.TARGETS"),
        ("kind", "-", "index of the kind in faults.KINDS"),
        ("on", "-", "1 on, 0 off"),
        ("channel", "-", "number of the sensor's channel, from 0"),
        ("value_x", "of the kind", "how much; of three axes the first"),
        ("value_y", "of the kind", "of three axes the second, otherwise 0"),
        ("value_z", "of the kind", "of three axes the third, otherwise 0"),
        remembered=REMEMBERED,
        optional=True,
    ),
    _simulated(
        "cpu",
        "run-time statistics of a board with our firmware; on the emulated board times are instruction-count times",
        *PROCESSOR,
    ),
    _simulated(
        "task",
        "run-time statistics of one task of a board with our firmware, one row a task and sample",
        *TASK_TIMES,
    ),
    _measured(
        "pace",
        50.0,
        "timing of the plant",
        ("lateness_s", "s", "largest wall time from a step's deadline to its start since the row before"),
        ("missed", "-", "deadlines missed so far"),
    ),
    _measured("link", 1.0, "counters of the controller's link at the plant", *FRAME_COUNTERS),
    _measured("board_link", 1.0, "counters of the controller's link at the board", *FRAME_COUNTERS),
)
_BY_NAME = {stream.name: stream for stream in COMMON}


def common(name: str, *columns: Column, **changes: Any) -> Stream:
    """The common stream of this name, followed by those of the given columns that it does not have: a board's message
    may begin with the same ones. `changes` replace other fields of `Stream`."""
    stream = _BY_NAME[name]
    own = tuple(Field(*column) for column in columns if column[0] not in stream.names)
    return replace(stream, fields=(*stream.fields, *own), **changes)
