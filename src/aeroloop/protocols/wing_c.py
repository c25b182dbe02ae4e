"""wing_interface.h of the fixed wing's firmware, made from the table in `wing_interface`."""

from __future__ import annotations

from aeroloop.core.wing_signals import WING_TASKS
from aeroloop.protocols import interface
from aeroloop.protocols.wing_interface import C_TYPES, HASH, MESSAGES, REVISION, TELLING

AS_INTERFACE = '#include "wing_interface.h"\n'
"""interface.h: under this name, what every application shares looks for its numbers."""


def c_header() -> str:
    told = " \\\n".join(
        f'    {{{m.number}u, "{"".join(kind for _, kind in m.fields[1:])}"}},' for m in TELLING.values()
    )
    lines = [
        "/* Made by aeroloop.protocols.wing_c: change the table in wing_interface.py, not this file. */",
        "#ifndef WING_INTERFACE_H",
        "#define WING_INTERFACE_H",
        "",
        f"#define INTERFACE_REVISION {REVISION}u",
        f"#define INTERFACE_HASH 0x{HASH:08x}u",
        f"#define LONGEST_DATA {max(message.size for message in MESSAGES)}",
        f"#define MOST_TOLD_VALUES {max(len(message.fields) for message in TELLING.values()) - 1}",
        "",
        *interface.message_macros(MESSAGES, C_TYPES),
        "",
        "/* What is told to the ground: number, and formats of the values after the running number. */",
        f"#define TELLING_TABLE \\\n{told}",
        "",
        *(interface.c_enum(name, interface.ENUMERATIONS[name]) for name in ("Event", "ResetCause")),
        "",
        *interface.task_table(WING_TASKS),
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"
