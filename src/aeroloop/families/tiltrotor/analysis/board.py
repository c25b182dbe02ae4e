"""What the board's own statistics say over a flight: how busy its processor was, and with what."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aeroloop.analysis.board import Array, by_task
from aeroloop.core.signals import TASKS, Event
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log


def clock(scenario: TiltrotorScenario) -> str:
    """Which of the CLOCKS the board's statistics were measured with."""
    if scenario.loop != "pil":
        return "board"
    return "instruction-count" if scenario.lockstep else "emulator"


def statistics(log: Log, scenario: TiltrotorScenario) -> dict[str, Any] | None:
    """The board's statistics over the flight; None of a board that sent none."""
    if not len(log.rows["board_cpu"]):
        return None
    cpu = {name: log.column("board_cpu", name) for name in ("use_pct", "switches_per_s", "worst_cycle_s")}
    return {
        "clock": clock(scenario),
        "instructions_per_s": 1e9 / 2**scenario.controller.emulator.shift
        if clock(scenario) == "instruction-count"
        else None,
        "cpu_use_mean_pct": _mean(cpu["use_pct"]),
        "cpu_use_max_pct": float(np.max(cpu["use_pct"])),
        "switches_per_s_mean": _mean(cpu["switches_per_s"]),
        "switches_per_s_max": float(np.max(cpu["switches_per_s"])),
        "stack_used_B": float(np.max(log.column("board_cpu", "stack_used_B"))),
        "stack_size_B": float(log.column("board_cpu", "stack_size_B")[-1]),
        "overruns": overruns(log),
        "worst_cycle_s": float(np.max(cpu["worst_cycle_s"])),
        "tasks": {
            name: {
                "exec_mean_s": _mean(columns["exec_s"]),
                "share_mean_pct": _mean(columns["share_pct"]),
                "worst_s": float(np.max(columns["worst_s"])),
                "runs": float(np.sum(columns["runs"])),
            }
            for name, columns in by_task(log, "board_task", TASKS).items()
        },
    }


def overruns(log: Log) -> float:
    """Cycles that took longer than the period: what the board said of each, or counted, if that is more.

    Either may miss some: an event may be lost, and the last count is from before the end.
    """
    told = np.count_nonzero(log.column("board_event", "code") == Event.OVERRUN)
    counts, uptime_s = log.column("board_cpu", "overruns"), log.column("board_cpu", "uptime_s")
    last_of_a_start = (np.diff(uptime_s) <= 0) | (np.diff(counts) < 0)  # each start counts from zero again
    counted = np.sum(counts[:-1][last_of_a_start]) + np.sum(counts[-1:])
    return float(np.maximum(told, counted))


def _mean(values: Array) -> float:
    """Of what was measured: a board that did nothing at all has no shares."""
    measured = values[np.isfinite(values)]
    return float(np.mean(measured)) if measured.size else math.nan
