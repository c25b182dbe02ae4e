"""The interface between boards and bench, once: every message, its fields, and what the numbers in them mean.

Each kind of board has a table. Python packs and unpacks by it, the firmware's `interface.h` is made from it
(`interface_c.py`), and its hash travels in the board's start message: a board that was built from another table is
refused before it flies.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

from aeroloop.core.common_streams import EVENT as EVENT_FIELDS
from aeroloop.core.common_streams import TASK_TIMES
from aeroloop.core.signals import COMMAND_COUNT, REFERENCE_COUNT, SENSOR_COUNT, TASKS, Event, Mode, ResetCause, Task
from aeroloop.core.wing_signals import WING_TASKS, BoardParameter, PlanStatus, Step, UserAnswer, UserCommand
from aeroloop.protocols import board_fields, wing_fields
from aeroloop.protocols.board_fields import COUNTER_NAMES

C_TYPES = {"b": "i8", "B": "u8", "h": "i16", "H": "u16", "i": "i32", "I": "u32", "f": "f32"}


@dataclass(frozen=True)
class Message:
    """One message: its first byte if it has one, and its fields as name and struct format."""

    name: str
    sender: str  # "board", "plant" or "ground"
    number: int | None
    fields: tuple[tuple[str, str], ...]
    meaning: str

    @cached_property
    def packing(self) -> struct.Struct:
        head = "" if self.number is None else "B"
        return struct.Struct("<" + head + "".join(kind for _, kind in self.fields))

    def pack(self, *values: float) -> bytes:
        head = () if self.number is None else (self.number,)
        return self.packing.pack(*head, *values)

    def unpack(self, data: bytes) -> tuple[float, ...]:
        values = self.packing.unpack(data)
        return values if self.number is None else values[1:]

    @property
    def size(self) -> int:
        return self.packing.size

    @property
    def numbered(self) -> bool:
        """Whether it carries the sequence number of a board's reports."""
        return self.fields[:1] == (("sequence", "B"),)


@dataclass(frozen=True)
class Interface:
    """The messages between one kind of board and the bench."""

    revision: int  # incremented with every change of the table, to identify the older of two sides
    messages: tuple[Message, ...]
    enumerations: dict[str, tuple[IntEnum, ...]]
    tasks: tuple[Task, ...]
    rebuild: str  # the command that builds an image
    sizes: dict[str, int]  # further macros of the firmware

    def describe(self) -> str:
        """The whole table as text, of which the hash is computed."""
        lines = ["frame 7e, escape 7d xor 20, fletcher-16 low byte first"]
        for message in self.messages:
            fields = " ".join(f"{name}:{C_TYPES[kind]}" for name, kind in message.fields)
            lines.append(f"{message.sender} {message.number} {message.name} {fields}".rstrip())
        for name, members in self.enumerations.items():
            lines.append(name + " " + " ".join(f"{member.name}={member.value}" for member in members))
        lines.append("Task " + " ".join(task.name for task in self.tasks))
        return "\n".join(lines) + "\n"

    @cached_property
    def hash(self) -> int:
        return int.from_bytes(hashlib.sha256(self.describe().encode()).digest()[:4], "little")

    def longest(self, *senders: str) -> int:
        """Size of the longest message of these senders."""
        return max(message.size for message in self.messages if message.sender in senders)


BOARD_EVENTS: tuple[IntEnum, ...] = tuple(event for event in Event if event <= Event.MESSAGES_LOST)
"""Those after it are autopilots'."""

START = Message(
    "start",
    "board",
    1,
    (("cause", "B"), ("revision", "H"), ("interface", "I"), ("image", "I"), ("uptime_ms", "I")),
    "start message: interface, image and uptime of the board; repeated until it is answered",
)
"""Of every kind of board."""


def _floats(fields: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Values as they travel: single precision, under their names."""
    return tuple((name, "f") for name, _, _ in fields)


REQUEST = Message("request", "board", 2, (), "a cycle begins: send sensors")
ACTUATORS = Message("actuators", "board", 3, _floats(board_fields.ACTUATORS), "the end of the cycle")
CPU = Message(
    "cpu",
    "board",
    4,
    (
        ("sequence", "B"),
        ("use_pct", "f"),
        ("switches_per_s", "f"),
        ("stack_used_B", "I"),
        ("stack_size_B", "I"),
        ("overruns", "I"),
        ("worst_cycle_s", "f"),
        ("uptime_ms", "I"),
    ),
    "run-time statistics of the processor, once a second",
)
TASK = Message(
    "task",
    "board",
    5,
    (("sequence", "B"), ("task", "B"), ("exec_s", "f"), ("share_pct", "f"), ("worst_s", "f"), ("runs", "I")),
    "run-time statistics of one task, once a second",
)
COUNTERS = Message(
    "counters",
    "board",
    6,
    (("sequence", "B"), ("link", "B"), *((name, "I") for name in COUNTER_NAMES)),
    "counters of the board link (0) or the reference link (1), once a second",
)
EVENT = Message("event", "board", 7, (("sequence", "B"), ("code", "B"), ("value", "f")), "event for the log")
ANSWER = Message(
    "answer",
    "plant",
    None,
    _floats(board_fields.SENSORS),
    "sensors: the answer to a request",
)
HELLO = Message(
    "hello",
    "plant",
    129,
    (("revision", "H"), ("interface", "I")),
    "the answer to a start message: interface of the bench",
)
REFERENCE = Message(
    "reference",
    "ground",
    None,
    (("t_ms", "I"), *_floats(board_fields.REFERENCE)),
    "setpoint of the aircraft, and how it should be moving; on the reference link",
)
BARE_START = bytes([1])
"""A board that does not report its interface, such as the paper's."""

TILTROTOR = Interface(
    revision=1,
    messages=(START, REQUEST, ACTUATORS, CPU, TASK, COUNTERS, EVENT, ANSWER, HELLO, REFERENCE),
    enumerations={"Event": BOARD_EVENTS, "Mode": tuple(Mode), "ResetCause": tuple(ResetCause)},
    tasks=TASKS,
    rebuild="aeroloop board flash, or aeroloop board run",
    sizes={
        "SENSOR_COUNT": SENSOR_COUNT,
        "COMMAND_COUNT": COMMAND_COUNT,
        "REFERENCE_COUNT": REFERENCE_COUNT,
        "COUNTER_COUNT": len(COUNTER_NAMES),
    },
)
"""The tilt-rotor's: the board requests, the plant answers; `board.py` describes the order of messages."""

HEARTBEAT = Message(
    "heartbeat",
    "board",
    8,
    (("cycle", "I"), ("health", "B"), ("memory", "I"), ("active", "B")),
    "one of several boards: its cycle, whether it is healthy, the hash of the integrators with which it computed, and "
    "whether it was told that it flies",
)
MOST_ALIGNED = 14
"""Numbers of a law's memory that boards can align: a message to the board is not longer than the sensors."""


def _integrators(count: int) -> tuple[tuple[str, str], ...]:
    return tuple((f"integrator_{index}", "f") for index in range(count))


def integrators_message(count: int) -> Message:
    fields = (("cycle", "I"), *_integrators(count))
    return Message("integrators", "board", 9, fields, "one of several boards: its law's integrators after this cycle")


def align_message(count: int) -> Message:
    fields = (("cycle", "I"), ("active", "B"), ("take", "B"), *_integrators(count))
    meaning = "to one of several boards, before the sensors: whether it flies, and integrators to take if `take` is 1"
    return Message("align", "plant", 130, fields, meaning)


def redundant(count: int) -> Interface:
    """The interface of the tilt-rotor's board where several fly, with this number of integrators. Images of flights
    with one board do not have these messages."""
    more = (HEARTBEAT, integrators_message(count), align_message(count))
    return replace(
        TILTROTOR,
        revision=2,
        messages=(*TILTROTOR.messages, *more),
        sizes={**TILTROTOR.sizes, "ALIGNED_COUNT": count},
    )


DEGREES = 1e7
"""Latitude and longitude are integers of 1e-7 degrees, as receivers give them."""

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
    "number": "B",
    "command": "B",
    "parameter": "B",
    "answer": "B",
}


def _told(number: int, name: str, values: tuple[tuple[str, str, str], ...], meaning: str) -> Message:
    """A report of the board to the ground: each message is a row of a stream, without its time."""
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
USER = Message(
    "user",
    "ground",
    0x21,
    (("number", "B"), ("command", "B"), ("parameter", "B"), ("x", "f"), ("y", "f")),
    "user command of the operator: a goal, another command, or a parameter with its value in x",
)
TELLING: dict[str, Message] = {
    "estimate": _told(0x30, "estimate", wing_fields.ESTIMATE, "the board's state estimate, every period"),
    "guidance": _told(0x31, "guidance", wing_fields.GUIDANCE, "path following, every period"),
    "mission_step": _told(0x32, "step", wing_fields.STEP, "the mission changes to another step"),
    "plan": _told(0x33, "plan", wing_fields.PLAN, "a path search has ended"),
    "plan_cell": _told(0x34, "cell", wing_fields.CELL, "a cell on the path"),
    "path": _told(0x35, "path", wing_fields.PATH, "a point of a path"),
    "cpu": _told(0x36, "cpu", wing_fields.CPU, "run-time statistics of the processor, once a second"),
    "task": _told(0x37, "task", TASK_TIMES, "run-time statistics of one task, once a second"),
    "board_event": _told(0x38, "event", EVENT_FIELDS, "event for the log"),
    "user_answer": _told(0x39, "answer", wing_fields.ANSWER, "the answer to a user command"),
    "parameter": _told(0x3A, "parameter", wing_fields.PARAMETER, "a parameter's value on the board"),
}
"""By stream."""

WING = Interface(
    revision=3,
    messages=(START, SENSORS, SERVOS, DONE, GOAL, USER, *TELLING.values()),
    enumerations={
        "Event": BOARD_EVENTS,
        "ResetCause": tuple(ResetCause),
        "Step": tuple(Step),
        "PlanStatus": tuple(PlanStatus),
        "UserCommand": tuple(UserCommand),
        "BoardParameter": tuple(BoardParameter),
        "UserAnswer": tuple(UserAnswer),
    },
    tasks=WING_TASKS,
    rebuild="aeroloop board flash SCENARIO, or aeroloop board run SCENARIO",
    sizes={
        "MOST_TOLD_VALUES": max(len(message.fields) for message in TELLING.values()) - 1,
        "PARAMETER_COUNT": len(BoardParameter),
    },
)
"""The fixed wing's: the plant drives. Two lines, the simulator's (HILS: sensors in, servos out) and the ground's (COMM:
user commands up, telemetry down); on the host both travel on one link, told apart by the first byte.

    board  -> plant  start       says what the board is
    plant  -> board  sensors     every control period, numbered
    board  -> plant  servos      the answer, with the number of the sensors it answers
    board  -> plant  done        this period's work is over; said by the bench's end of the board, lockstep waits for it
    ground -> board  goal        where to fly
    ground -> board  user        a command of the operator, numbered; repeated until it is answered
    board  -> ground estimate, guidance, step, plan, cell, path, cpu, task, event, answer, parameter
"""
