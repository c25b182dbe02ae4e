"""The interface between board and bench, once: every message, its fields, and what the numbers in them mean.

Python packs and unpacks by this table, the firmware's `interface.h` is made from it, and its hash travels in the
board's start message: a board that was built from another table is refused before it flies.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from aeroloop.core.signals import COMMAND_COUNT, REFERENCE_COUNT, SENSOR_COUNT, TASKS, Event, Mode, ResetCause, Task
from aeroloop.protocols import board_fields
from aeroloop.protocols.board_fields import COUNTER_NAMES

REVISION = 1
"""Raise it with every change of the table below, so that the older of two sides can be told."""

C_TYPES = {"B": "u8", "H": "u16", "I": "u32", "f": "f32"}


@dataclass(frozen=True)
class Message:
    """One message: its first byte where it has one, and its fields as name and struct format."""

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


def _floats(fields: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Values as they travel: single precision, under their names."""
    return tuple((name, "f") for name, _, _ in fields)


START = Message(
    "start",
    "board",
    1,
    (("cause", "B"), ("revision", "H"), ("interface", "I"), ("image", "I"), ("uptime_ms", "I")),
    "start the simulation; repeated until the first answer comes",
)
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
EVENT = Message(
    "event", "board", 7, (("sequence", "B"), ("code", "B"), ("value", "f")), "something worth a line in the log"
)
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
    "the answer to a start message: what the bench speaks",
)
REFERENCE = Message(
    "reference",
    "ground",
    None,
    (("t_ms", "I"), *_floats(board_fields.REFERENCE)),
    "where the aircraft should be, and how it should be moving; on the reference link",
)
MESSAGES = (START, REQUEST, ACTUATORS, CPU, TASK, COUNTERS, EVENT, ANSWER, HELLO, REFERENCE)
BARE_START = bytes([1])
"""A board that does not say what it speaks, such as the paper's."""


ENUMERATIONS: dict[str, tuple[IntEnum, ...]] = {
    "Event": tuple(event for event in Event if event <= Event.MESSAGES_LOST),  # those after it are autopilots'
    "Mode": tuple(Mode),
    "ResetCause": tuple(ResetCause),
}


def describe() -> str:
    """The whole table as text: what the hash is taken of."""
    lines = ["frame 7e, escape 7d xor 20, fletcher-16 low byte first"]
    for message in MESSAGES:
        fields = " ".join(f"{name}:{C_TYPES[kind]}" for name, kind in message.fields)
        lines.append(f"{message.sender} {message.number} {message.name} {fields}".rstrip())
    for name, members in ENUMERATIONS.items():
        lines.append(name + " " + " ".join(f"{member.name}={member.value}" for member in members))
    lines.append("Task " + " ".join(task.name for task in TASKS))
    return "\n".join(lines) + "\n"


HASH = int.from_bytes(hashlib.sha256(describe().encode()).digest()[:4], "little")


def c_header() -> str:
    """interface.h of the firmware."""
    longest = max(message.size for message in MESSAGES)
    lines = [
        "/* Made by aeroloop.protocols.interface: change the table there, not this file. */",
        "#ifndef INTERFACE_H",
        "#define INTERFACE_H",
        "",
        f"#define INTERFACE_REVISION {REVISION}u",
        f"#define INTERFACE_HASH 0x{HASH:08x}u",
        f"#define SENSOR_COUNT {SENSOR_COUNT}",
        f"#define COMMAND_COUNT {COMMAND_COUNT}",
        f"#define REFERENCE_COUNT {REFERENCE_COUNT}",
        f"#define COUNTER_COUNT {len(COUNTER_NAMES)}",
        f"#define LONGEST_DATA {longest}",
        "",
    ]
    lines += message_macros(MESSAGES, C_TYPES)
    for name, members in ENUMERATIONS.items():
        lines += ["", c_enum(name, members)]
    lines += ["", *task_table(TASKS), "", "#endif"]
    return "\n".join(lines) + "\n"


def message_macros(messages: Iterable[Message], types: dict[str, str]) -> list[str]:
    """C: number and size of each message, and what is in it."""
    lines = []
    for message in messages:
        upper = message.name.upper()
        fields = ", ".join(f"{types[kind]} {name}" for name, kind in message.fields) or "nothing more"
        lines.append(f"/* {message.sender}: {message.meaning}. {fields} */")
        if message.number is not None:
            lines.append(f"#define MESSAGE_{upper} {message.number}u")
        lines.append(f"#define {upper}_SIZE {message.size}u")
    return lines


def task_table(tasks: Iterable[Task]) -> list[str]:
    """C: numbers of the tasks, and X(name, priority, trigger) for each."""
    listed = tuple(tasks)
    names = ", ".join(f"TASK_{task.name.upper()}" for task in listed)
    table = " \\\n".join(f'    X({task.name}, {task.priority}, "{task.trigger}")' for task in listed)
    return [f"enum {{ {names}, TASK_COUNT }};", "", f"#define TASK_TABLE(X) \\\n{table}"]


def c_enum(name: str, members: Iterable[IntEnum]) -> str:
    prefix = re.sub(r"(?<!^)([A-Z])", r"_\1", name).upper()
    return f"enum {{ {', '.join(f'{prefix}_{member.name} = {member.value}' for member in members)} }};"
