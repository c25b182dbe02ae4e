"""The board's own statistics over a flight: processor load, total and per task.

Definitions are uC/OS-II's: a task's execution time per period is its time since the sample before, divided by the
control periods in between; its share is its part of the execution time of all tasks, so the shares add up to 100 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aeroloop.analysis.statistics import Array, largest, last, mean
from aeroloop.analysis.vehicle_log import event_values, happened
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.signals import Event, Task
from aeroloop.core.tables import part
from aeroloop.recording.log import Log

CLOCKS = {
    "instruction-count": "Times are instruction-count times: the emulator gives every instruction the same time, here "
    "{mips:g} million instructions per second. They repeat from run to run and are never silicon time.",
    "emulator": "Times are the emulator's, which ran in real time on this host: they depend on the host and are "
    "never silicon time.",
    "board": "Times are those of the board's own clock.",
}


def clock_words(board: Mapping[str, Any]) -> str:
    """Note for the reader on the clock of a board's statistics."""
    return CLOCKS[board["clock"]].format(mips=(board.get("instructions_per_s") or math.nan) / 1e6)


def clock(scenario: Scenario) -> str:
    """The one of CLOCKS that the board's statistics were measured with."""
    if scenario.loop != "pil":
        return "board"
    return "instruction-count" if scenario.lockstep else "emulator"


def statistics(log: Log, scenario: Scenario, tasks: Sequence[Task]) -> dict[str, Any] | None:
    """Cycle statistics of a board whose `cpu` has `overruns` and `worst_cycle_s`, over the flight; None if it sent
    none."""
    if not len(log.rows.get("cpu", ())):
        return None
    counted = clock(scenario) == "instruction-count"
    return {
        "clock": clock(scenario),
        "instructions_per_s": 1e9 / 2 ** value_at(scenario, "emulator.shift") if counted else None,
        **processor(log),
        "overruns": overruns(log),
        "worst_cycle_s": largest(log.column("cpu", "worst_cycle_s")),
        "tasks": task_times(log, tasks),
    }


def overruns(log: Log) -> float:
    """Cycles longer than the period: the larger of the board's events and its counter.

    Either may miss some: an event may be lost, and the last count is from before the end.
    """
    told = happened(log, Event.OVERRUN, "board_event")
    counts, uptime_s = log.column("cpu", "overruns"), log.column("cpu", "uptime_s")
    last_of_a_start = (np.diff(uptime_s) <= 0) | (np.diff(counts) < 0)  # each start counts from zero again
    counted = np.sum(counts[:-1][last_of_a_start]) + np.sum(counts[-1:])
    return float(np.maximum(told, counted))


def has_telemetry(log: Log) -> bool:
    """Whether the log has the streams of a board with our firmware."""
    return {"cpu", "board_event"} <= log.rows.keys() and "overruns" in log.columns["cpu"]


def tasks_of(scenario: Scenario) -> tuple[Task, ...]:
    """The firmware tasks of its controller's boards, by their numbers in the stream `task`."""
    reference = scenario.flown_by.tasks
    tasks: tuple[Task, ...] = part(reference) if reference else ()
    return tasks


def kept(log: Log) -> dict[str, float]:
    """Metrics of a board with our firmware that must be zero; they are zero if it reports nothing."""
    reports = has_telemetry(log)
    return {
        "overruns": overruns(log) if reports else 0.0,
        "law_not_finite": happened(log, Event.LAW_NOT_FINITE, "board_event") if reports else 0.0,
        "law_fallbacks": fallbacks(log) if reports else 0.0,
        "board_restarts": happened(log, Event.BOARD_RESTARTED),
    }


def fallbacks(log: Log) -> float:
    """Changes to another law than the predictive one: to the last good command, and to its fallback."""
    return float(np.sum(event_values(log, Event.LAW_FALLBACK, "board_event") > 0))


def by_task(log: Log, tasks: Sequence[Task]) -> dict[str, dict[str, Array]]:
    """The columns of every task that sent statistics, the most urgent task first."""
    numbers = log.column("task", "task")
    fields = ("t_s", "exec_s", "share_pct", "worst_s", "runs")
    return {
        _name(number, tasks): {field: log.column("task", field)[numbers == number] for field in fields}
        for number in np.unique(numbers[np.isfinite(numbers)])
    }


def metrics(log: Log) -> dict[str, float]:
    """Load of a board's processor."""
    return {
        "cpu_use_max_pct": largest(log.column("cpu", "use_pct")),
        "cpu_use_mean_pct": mean(log.column("cpu", "use_pct")),
        "stack_used_max_B": largest(log.column("cpu", "stack_used_B")),
    }


def processor(log: Log) -> dict[str, float]:
    """The part of the processor statistics that every board reports, over the flight."""
    use_pct, switches_per_s = log.column("cpu", "use_pct"), log.column("cpu", "switches_per_s")
    return {
        "cpu_use_mean_pct": _measured_mean(use_pct),
        "cpu_use_max_pct": largest(use_pct),
        "switches_per_s_mean": _measured_mean(switches_per_s),
        "switches_per_s_max": largest(switches_per_s),
        "stack_used_B": largest(log.column("cpu", "stack_used_B")),
        "stack_size_B": last(log.column("cpu", "stack_size_B")),
    }


def task_times(log: Log, tasks: Sequence[Task]) -> dict[str, dict[str, float]]:
    """Statistics of each task over the flight, the highest priority first."""
    return {
        name: {
            "exec_mean_s": _measured_mean(columns["exec_s"]),
            "share_mean_pct": _measured_mean(columns["share_pct"]),
            "worst_s": largest(columns["worst_s"]),
            "runs": float(np.sum(columns["runs"])),
        }
        for name, columns in by_task(log, tasks).items()
    }


def _measured_mean(values: Array) -> float:
    """A board without any execution time has no shares."""
    return mean(values[np.isfinite(values)])


def _name(number: float, tasks: Sequence[Task]) -> str:
    return tasks[int(number)].name if number in range(len(tasks)) else f"task {number:g}"
