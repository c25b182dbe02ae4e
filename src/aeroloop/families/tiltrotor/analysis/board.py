"""What the board's own statistics say over a flight: how busy its processor was, and with what."""

from __future__ import annotations

from typing import Any

import numpy as np

from aeroloop.analysis.board import processor, task_times
from aeroloop.analysis.statistics import largest
from aeroloop.analysis.vehicle_log import happened
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
    if not len(log.rows["cpu"]):
        return None
    return {
        "clock": clock(scenario),
        "instructions_per_s": 1e9 / 2**scenario.controller.emulator.shift
        if clock(scenario) == "instruction-count"
        else None,
        **processor(log),
        "period_s": scenario.controller.control.period_s,
        "overruns": overruns(log),
        "worst_cycle_s": largest(log.column("cpu", "worst_cycle_s")),
        "tasks": task_times(log, TASKS),
    }


def overruns(log: Log) -> float:
    """Cycles that took longer than the period: what the board said of each, or counted, if that is more.

    Either may miss some: an event may be lost, and the last count is from before the end.
    """
    told = happened(log, Event.OVERRUN, "board_event")
    counts, uptime_s = log.column("cpu", "overruns"), log.column("cpu", "uptime_s")
    last_of_a_start = (np.diff(uptime_s) <= 0) | (np.diff(counts) < 0)  # each start counts from zero again
    counted = np.sum(counts[:-1][last_of_a_start]) + np.sum(counts[-1:])
    return float(np.maximum(told, counted))
