"""The mission's table of transitions as a C header, for the board: `mission.TRANSITIONS` is its only source."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from aeroloop.core.wing_signals import PlanStatus, Step
from aeroloop.planning.mission import TRANSITIONS, Event
from aeroloop.planning.mission_words import Kind


def mission_c() -> dict[str, str]:
    """The file mission_table.h."""
    rows = " \\\n".join(
        f"    {{STEP_{before.name}, MISSION_EVENT_{event.name}, STEP_{after.name}}},"
        for (before, event), after in TRANSITIONS.items()
    )
    lines = [
        "/* Generated from aeroloop.planning.mission: change the table there, not this file. */",
        "#ifndef MISSION_TABLE_H",
        "#define MISSION_TABLE_H",
        "",
        _enum("mission_state_t", "STEP", Step),
        _enum("mission_event_t", "MISSION_EVENT", Event),
        _enum("mission_plan_status_t", "PLAN", PlanStatus),
        _enum("mission_kind_t", "KIND", Kind),
        "/* Step, event, next step; an event that is not here changes nothing. */",
        f"#define MISSION_TRANSITIONS \\\n{rows}",
        "",
        "#endif",
    ]
    return {"mission_table.h": "\n".join(lines) + "\n"}


def _enum(name: str, prefix: str, members: Iterable[Enum]) -> str:
    listed = "".join(f"    {prefix}_{member.name} = {member.value},\n" for member in members)
    return f"typedef enum {{\n{listed}}} {name};\n"
