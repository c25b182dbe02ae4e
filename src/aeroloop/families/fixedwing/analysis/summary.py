"""The part of summary.json specific to fixed wings: plans, board, links."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from aeroloop.analysis import board, generic
from aeroloop.analysis.family import Analysis
from aeroloop.analysis.statistics import largest, last
from aeroloop.analysis.track import Track
from aeroloop.core.errors import ConfigError
from aeroloop.core.wing_signals import SURFACES, WING_TASKS, PlanStatus, Step
from aeroloop.families.fixedwing.analysis import operator
from aeroloop.families.fixedwing.analysis.metrics import metrics, use_while_planning_pct
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.planning.plan import WHY, inside_obstacles
from aeroloop.planning.planner import Planner
from aeroloop.recording.log import Log

SURFACE_FIELDS = (*(f"{name}_rad" for name in SURFACES[:3]), "throttle")
COMMANDS = (*SURFACE_FIELDS[:3], "throttle_ratio")
"""The same, each with a unit at its end."""
ENDS = ("start", "goal")
WHOLE = ("plan", "leaves", "expanded", "cost", "cells", "fine")


def details(log: Log, scenario: FixedWingScenario) -> dict[str, Any]:
    return {
        "timing": generic.step_timing(log),
        "plans": _plans(log, scenario),
        "operator": operator.commands(log, scenario),
        "board": _board(log, scenario),
        "links": generic.links(log),
    }


def events(log: Log) -> list[dict[str, Any]]:
    steps = [
        {"t_s": t_s, "source": "mission", "vehicle": int(vehicle), "event": _step_name(code), "value": f"plan {plan:g}"}
        for t_s, vehicle, code, plan in log.rows["mission_step"].tolist()
    ]
    return generic.events(log) + steps


def tracks(log: Log) -> list[Track]:
    """The path flown, and the virtual point of its path at the height setpoint."""
    (track,) = generic.tracks(log, dict(zip(SURFACE_FIELDS, COMMANDS, strict=True)))
    t_s = log.column("guidance", "t_s")
    height_m = np.interp(t_s, track.t_s, track.pos_W[:, 2]) if len(track.t_s) else t_s
    path = [log.column("guidance", name) for name in ("path_x_m", "path_y_m")]
    return [replace(track, reference_t_s=t_s, reference_W=np.stack([*path, height_m], axis=1))]


def _step_name(code: float) -> str:
    return f"STEP_{Step(int(code)).name}" if code in list(Step) else f"STEP_{code:g}"


def _plans(log: Log, scenario: FixedWingScenario) -> list[dict[str, Any]]:
    rows = [dict(zip(log.columns["plan"], row.tolist(), strict=True)) for row in log.rows["plan"]]
    failed = any(told["status"] != PlanStatus.FOUND for told in rows)
    planner = None
    if failed:
        with suppress(ConfigError):  # the map's file is missing
            planner = planner_of(scenario)
    return [{**_plan(told), "why": _why(told, planner)} for told in rows]


def _why(told: dict[str, float], planner: Planner | None) -> str:
    """Why there is no path, in a sentence; empty if there is one."""
    status = told["status"]
    if status == PlanStatus.FOUND or status not in list(PlanStatus):
        return ""
    blocked = [planner is not None and _blocked(planner, told[f"{end}_x_m"], told[f"{end}_y_m"]) for end in ENDS]
    return "; ".join((WHY[PlanStatus(int(status))], *inside_obstacles(*blocked)))


def _blocked(planner: Planner, x_m: float, y_m: float) -> bool:
    elevation, level = planner.elevation, planner.settings.resolution.finest
    return elevation.inside(x_m, y_m) and planner.blocked(elevation.cell_at(level, x_m, y_m))


def _plan(told: dict[str, float]) -> dict[str, Any]:
    status = told["status"]
    return {
        **{name: int(told[name]) for name in WHOLE},
        "began_s": told["began_s"],
        "took_s": told["t_s"] - told["began_s"],
        "work_s": told["work_s"],
        "status": PlanStatus(int(status)).name if status in list(PlanStatus) else f"STATUS_{status:g}",
        "reaches_goal": bool(told["reaches_goal"]),
    }


def _board(log: Log, scenario: FixedWingScenario) -> dict[str, Any] | None:
    """The board's statistics over the flight; None of a board without firmware."""
    if not len(log.rows["cpu"]):
        return None
    priorities = {task.name: task.priority for task in WING_TASKS}
    emulated = scenario.loop == "pil"
    return {
        "clock": "instruction-count" if emulated else "board",
        "instructions_per_s": 1e9 / 2**scenario.controller.emulator.shift if emulated else None,
        "period_s": scenario.controller.board.period_s,
        "scheduler": scenario.controller.board.scheduler,
        **board.processor(log),
        "cpu_use_planning_pct": use_while_planning_pct(log),
        "missed_cycles": last(log.column("cpu", "missed_cycles")),
        "worst_latency_s": largest(log.column("cpu", "worst_latency_s")),
        "tasks": [
            {"name": name, "priority": priorities.get(name), **times}
            for name, times in board.task_times(log, WING_TASKS).items()
        ],
    }


ANALYSIS = Analysis[FixedWingScenario](
    metrics=metrics,
    never=("diverged", "ground_contacts"),
    details=details,
    events=events,
    tracks=tracks,
    command_caption="Surfaces in rad and throttle, 0 to 1, that the plant accepted from the board.",
    tasks=WING_TASKS,
)
