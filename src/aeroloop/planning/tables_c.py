"""Generates the planning tables as C for the board: templates in single precision, and the mission's transitions.

Their only sources are the library of templates and `mission.TRANSITIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import numpy as np

from aeroloop.core.wing_signals import PlanStatus, Step
from aeroloop.planning.mission import TRANSITIONS, Event
from aeroloop.planning.mission_messages import Kind
from aeroloop.planning.templates import Library, NodeKind, Template, library

HEADER = """\
/* Path templates in units of a cell: x, y, heading from the first point's, curvature, at even steps. Generated. */
#ifndef TEMPLATES_H
#define TEMPLATES_H

#include <stdint.h>

typedef struct {
    uint16_t count;
    float length;
    const float (*samples)[4];
} template_t;

/* By the kind of the first node (0: N, 1: D), whether a cell between turns, and the kind of the last node. */
extern const template_t TEMPLATES[2][2][2];

#endif
"""


def templates_c(templates: Library | None = None) -> dict[str, str]:
    """The files templates.h and templates.c."""
    templates = templates or library()
    source = ['#include "templates.h"\n\n#include <stddef.h>\n']
    names: dict[tuple[NodeKind, bool, NodeKind], str] = {}
    for key, template in templates.items():
        names[key] = template.name.replace("-", "_")
        source.append(f"static const float {names[key]}[][4] = {{\n{_rows(template)}}};\n")
    entries = []
    for begin in NodeKind:
        for turning in (False, True):
            for end in NodeKind:
                found = templates.get((begin, turning, end))
                value = "{0, 0.0f, NULL}"
                if found:
                    name = names[begin, turning, end]
                    value = f"{{{len(found.samples.x)}, {_number(found.samples.length)}, {name}}}"
                entries.append(f"    [{int(begin)}][{int(turning)}][{int(end)}] = {value},\n")
    source.append("const template_t TEMPLATES[2][2][2] = {\n" + "".join(entries) + "};\n")
    return {"templates.h": HEADER, "templates.c": "\n".join(source)}


def _rows(template: Template) -> str:
    samples = template.samples
    columns = (samples.x, samples.y, samples.psi - samples.psi[0], samples.kappa)
    return "".join(f"    {{{', '.join(map(_number, row))}}},\n" for row in zip(*columns, strict=True))


def _number(value: float) -> str:
    """Nine digits identify one number of single precision."""
    text = f"{float(np.float32(value)) + 0.0:.9g}"
    return f"{text}f" if any(mark in text for mark in ".en") else f"{text}.0f"


def mission_c(*, transient_stitch: bool = False) -> dict[str, str]:
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
        # Not compiled into other images at all: their instructions and so their timing stay the same.
        *(["#define STITCH_TRANSIENT 1"] if transient_stitch else []),
        "",
        "#endif",
    ]
    return {"mission_table.h": "\n".join(lines) + "\n"}


def _enum(name: str, prefix: str, members: Iterable[Enum]) -> str:
    listed = "".join(f"    {prefix}_{member.name} = {member.value},\n" for member in members)
    return f"typedef enum {{\n{listed}}} {name};\n"
