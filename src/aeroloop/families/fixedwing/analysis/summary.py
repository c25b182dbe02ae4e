"""What summary.json says of a fixed wing's flight and of no other: its plans, its board, its links."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from aeroloop.analysis import timing
from aeroloop.analysis.board import by_task
from aeroloop.analysis.statistics import FAULT_SWITCHED, event_name, last, mean
from aeroloop.analysis.track import Track, positions
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import words as fault_words
from aeroloop.core.wing_signals import SURFACES, WING_TASKS, PlanStatus, Step
from aeroloop.families.fixedwing.places import planner_of
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
    missed = log.column("wing_pace", "missed")
    return {
        "timing": {
            "step_lateness_s": timing.statistics(log.column("wing_pace", "lateness_s")),
            "missed_deadlines": int(missed[-1]) if missed.size else None,
        },
        "plans": _plans(log, scenario),
        "board": _board(log, scenario),
        "links": {"board_at_plant": _counters(log)},
    }


def events(log: Log) -> list[dict[str, Any]]:
    happened = [
        {"t_s": t_s, "source": "flight", "event": event_name(code), "value": value}
        for t_s, code, value in log.rows["wing_event"].tolist()
    ]
    steps = [
        {"t_s": t_s, "source": "mission", "event": _step_name(code), "value": f"plan {plan:g}"}
        for t_s, code, plan in log.rows["wing_step"].tolist()
    ]
    faults = [
        {"t_s": t_s, "source": "plant", "event": FAULT_SWITCHED, "value": fault_words(row)}
        for t_s, *row in log.rows["wing_fault"].tolist()
    ]
    return happened + steps + faults


def tracks(log: Log) -> list[Track]:
    """Where it flew, and where the virtual point of its path was, at the height it was to keep."""
    angles = np.stack([log.column("wing_truth", f"{angle}_rad") for angle in ("roll", "pitch", "yaw")], axis=1)
    path = [log.column("wing_guidance", name) for name in ("path_x_m", "path_y_m")]
    t_s, true_s = log.column("wing_guidance", "t_s"), log.column("wing_truth", "t_s")
    height_m = np.interp(t_s, true_s, log.column("wing_truth", "z_m")) if len(true_s) else t_s
    return [
        Track(
            "",
            true_s,
            positions(log, "wing_truth"),
            angles,
            t_s,
            np.stack([*path, height_m], axis=1),
            log.column("wing_command", "t_s"),
            np.stack([log.column("wing_command", field) for field in SURFACE_FIELDS], axis=1),
            COMMANDS,
        )
    ]


def _step_name(code: float) -> str:
    return f"STEP_{Step(int(code)).name}" if code in list(Step) else f"STEP_{code:g}"


def _plans(log: Log, scenario: FixedWingScenario) -> list[dict[str, Any]]:
    rows = [dict(zip(log.columns["wing_plan"], row.tolist(), strict=True)) for row in log.rows["wing_plan"]]
    failed = any(told["status"] != PlanStatus.FOUND for told in rows)
    planner = None
    if failed:
        with suppress(ConfigError):  # the map's file is gone
            planner = planner_of(scenario)
    return [{**_plan(told), "why": _why(told, planner)} for told in rows]


def _why(told: dict[str, float], planner: Planner | None) -> str:
    """Why there is nothing to fly, in a sentence; nothing where there is."""
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
    if not len(log.rows["wing_cpu"]):
        return None
    planning_s = log.column("wing_cpu", "planning_s")
    planning_use = log.column("wing_cpu", "planning_use_pct")
    weights = planning_s.sum()
    of_tasks = by_task(log, "wing_task", WING_TASKS)
    priorities = {task.name: task.priority for task in WING_TASKS}
    return {
        "clock": "instruction-count",
        "instructions_per_s": 1e9 / 2**scenario.controller.emulator.shift,
        "cpu_use_mean_pct": mean(log.column("wing_cpu", "use_pct")),
        "cpu_use_max_pct": float(log.column("wing_cpu", "use_pct").max()),
        "cpu_use_planning_pct": float((planning_use * planning_s).sum() / weights) if weights > 0 else None,
        "switches_per_s_mean": mean(log.column("wing_cpu", "switches_per_s")),
        "stack_used_B": float(log.column("wing_cpu", "stack_used_B").max()),
        "stack_size_B": last(log.column("wing_cpu", "stack_size_B")),
        "missed_cycles": last(log.column("wing_cpu", "missed_cycles")),
        "worst_latency_s": float(log.column("wing_cpu", "worst_latency_s").max()),
        "tasks": [
            {
                "name": name,
                "priority": priorities.get(name),
                "exec_mean_s": mean(columns["exec_s"]),
                "share_mean_pct": mean(columns["share_pct"]),
                "worst_s": float(columns["worst_s"].max()),
                "runs": float(columns["runs"].sum()),
            }
            for name, columns in of_tasks.items()
        ],
    }


def _counters(log: Log) -> dict[str, int] | None:
    rows = log.rows["wing_link"]
    names = log.columns["wing_link"][1:]
    return dict(zip(names, (int(n) for n in rows[-1, 1:]), strict=True)) if len(rows) else None
