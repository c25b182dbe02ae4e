"""Generates interface.h of a board's firmware from its table in `interface`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum

from aeroloop.core.signals import Task
from aeroloop.protocols.interface import C_TYPES, Interface, Message

ENUMERATIONS = ("Event", "Mode", "ResetCause", "UserCommand", "BoardParameter", "UserAnswer")
"""Enumerations of the header; the others are in the headers of their users, such as mission_table.h."""


def c_header(interface: Interface) -> str:
    told = [message for message in interface.messages if message.numbered]
    rows = " \\\n".join(f'    {{{m.number}u, "{"".join(kind for _, kind in m.fields[1:])}"}},' for m in told)
    lines = [
        "/* Made by aeroloop.protocols.interface_c: change the table in interface.py, not this file. */",
        "#ifndef INTERFACE_H",
        "#define INTERFACE_H",
        "",
        f"#define INTERFACE_REVISION {interface.revision}u",
        f"#define INTERFACE_HASH 0x{interface.hash:08x}u",
        *(f"#define {name} {value}" for name, value in interface.sizes.items()),
        *_longest(interface),
        "",
        *_messages(interface.messages),
        "",
        "/* What the board tells of itself: number, and formats of the values after the running number. */",
        f"#define TELLING_TABLE \\\n{rows}",
        "",
        *(_enum(name, members) for name, members in interface.enumerations.items() if name in ENUMERATIONS),
        "",
        *_tasks(interface.tasks),
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _longest(interface: Interface) -> list[str]:
    """Size of the data in a frame, if the table's sizes do not define it: messages there have variable length."""
    if "LONGEST_DATA" in interface.sizes:
        return []
    return [f"#define LONGEST_DATA {max(message.size for message in interface.messages)}"]


def _messages(messages: Iterable[Message]) -> list[str]:
    """Number and size of each message, and what is in it."""
    lines = []
    for message in messages:
        upper = message.name.upper()
        fields = ", ".join(f"{C_TYPES[kind]} {name}" for name, kind in message.fields) or "nothing more"
        lines.append(f"/* {message.sender}: {message.meaning}. {fields} */")
        if message.number is not None:
            lines.append(f"#define MESSAGE_{upper} {message.number}u")
        lines.append(f"#define {upper}_SIZE {message.size}u")
    return lines


def _tasks(tasks: tuple[Task, ...]) -> list[str]:
    """Numbers of the tasks, and X(name, priority, trigger) for each."""
    names = ", ".join(f"TASK_{task.name.upper()}" for task in tasks)
    table = " \\\n".join(f'    X({task.name}, {task.priority}, "{task.trigger}")' for task in tasks)
    return [f"enum {{ {names}, TASK_COUNT }};", "", f"#define TASK_TABLE(X) \\\n{table}"]


def _enum(name: str, members: Iterable[IntEnum]) -> str:
    prefix = re.sub(r"(?<!^)([A-Z])", r"_\1", name).upper()
    return f"enum {{ {', '.join(f'{prefix}_{member.name} = {member.value}' for member in members)} }};"
