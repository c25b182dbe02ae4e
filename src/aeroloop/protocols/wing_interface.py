"""The interface between the fixed wing's board and the bench, once: every message and its fields.

Two lines, one frame (`framing.py`): the simulator's (HILS: sensors in, servos out) and the ground's (COMM: user
commands up, telemetry down). On the host both travel on one link, told apart by the first byte. Python packs and
unpacks by this table, and the firmware's `wing_interface.h` is made from it.

    plant  -> board  sensors     every control period, numbered
    board  -> plant  servos      the answer, with the number of the sensors it answers
    board  -> plant  done        this period's work is over; said by the bench's end of the board, lockstep waits for it
    ground -> board  goal        where to fly
    board  -> ground estimate, guidance, step, plan, cell, path, cpu, task, event
"""

from __future__ import annotations

import hashlib

from aeroloop.core.stream import EVENT
from aeroloop.core.wing_signals import WING_TASKS, PlanStatus, Step
from aeroloop.protocols import wing_fields as told
from aeroloop.protocols.interface import Message

REVISION = 1
C_TYPES = {"b": "i8", "B": "u8", "h": "i16", "H": "u16", "i": "i32", "I": "u32", "f": "f32"}
DEGREES = 1e7
"""Latitude and longitude travel as whole numbers of 1e-7 degrees, as receivers give them."""

_WHOLE = {
    "step": "B",
    "path": "H",
    "plan": "H",
    "status": "B",
    "leaves": "H",
    "expanded": "I",
    "cost": "I",
    "cells": "H",
    "fine": "H",
    "reaches_goal": "B",
    "index": "H",
    "level": "B",
    "col": "H",
    "row": "H",
    "kind": "B",
    "task": "B",
    "runs": "I",
    "code": "B",
    "stack_used_B": "I",
    "stack_size_B": "I",
    "missed_cycles": "I",
    "value": "f",
}


def _told(number: int, name: str, values: tuple[tuple[str, str, str], ...], meaning: str) -> Message:
    """What the board tells the ground: each message is a row of a stream, without its time."""
    fields = tuple((value, _WHOLE.get(value, "f")) for value, _, _ in values)
    return Message(name, "board", number, (("sequence", "B"), *fields), meaning)


SENSORS = Message(
    "sensors",
    "plant",
    0x10,
    (
        ("cycle", "H"),
        ("t_ms", "I"),
        *((f"gyro_{axis}_rad_s", "f") for axis in "xyz"),
        *((f"accel_{axis}_m_s2", "f") for axis in "xyz"),
        *((f"field_{axis}_T", "f") for axis in "xyz"),
        ("static_Pa", "f"),
        ("dynamic_Pa", "f"),
        ("fix", "B"),
        ("lat_1e7", "i"),
        ("lon_1e7", "i"),
        ("alt_mm", "i"),
        ("vx_m_s", "f"),
        ("vy_m_s", "f"),
        ("vz_m_s", "f"),
    ),
    "sensors of a control period",
)
SERVOS = Message(
    "servos",
    "board",
    0x11,
    (
        ("cycle", "H"),
        ("aileron_rad", "f"),
        ("elevator_rad", "f"),
        ("rudder_rad", "f"),
        ("throttle", "f"),
        ("latency_s", "f"),
    ),
    "the answer to sensors",
)
DONE = Message("done", "board", 0x12, (("cycle", "H"), ("busy_s", "f")), "the work of this control period is over")
GOAL = Message("goal", "ground", 0x20, (("number", "B"), ("x_m", "f"), ("y_m", "f")), "user command: fly there")
TELLING: dict[str, Message] = {
    "wing_estimate": _told(0x30, "estimate", told.ESTIMATE, "where the board believes that it is, every period"),
    "wing_guidance": _told(0x31, "guidance", told.GUIDANCE, "path following, every period"),
    "wing_step": _told(0x32, "step", told.STEP, "the mission goes on to another step"),
    "wing_plan": _told(0x33, "plan", told.PLAN, "a search for a way has ended"),
    "wing_cell": _told(0x34, "cell", told.CELL, "a cell on the way"),
    "wing_path": _told(0x35, "path", told.PATH, "a point of a path"),
    "wing_cpu": _told(0x36, "cpu", told.CPU, "run-time statistics of the processor, once a second"),
    "wing_task": _told(0x37, "task", told.TASK, "run-time statistics of one task, once a second"),
    "wing_event": _told(0x38, "event", EVENT, "something worth a line in the log"),
}
"""By stream."""
MESSAGES = (SENSORS, SERVOS, DONE, GOAL, *TELLING.values())


def describe() -> str:
    """The whole table as text: what the hash is taken of."""
    lines = [f"revision {REVISION}"]
    for message in MESSAGES:
        fields = " ".join(f"{name}:{C_TYPES[kind]}" for name, kind in message.fields)
        lines.append(f"{message.sender} {message.number} {message.name} {fields}".rstrip())
    lines += ["Step " + " ".join(f"{step.name}={step.value}" for step in Step)]
    lines += ["PlanStatus " + " ".join(f"{status.name}={status.value}" for status in PlanStatus)]
    lines.append("Task " + " ".join(task.name for task in WING_TASKS))
    return "\n".join(lines) + "\n"


HASH = int.from_bytes(hashlib.sha256(describe().encode()).digest()[:4], "little")
