"""What the board's own statistics say over a flight: how busy its processor was, and with what.

Definitions are uC/OS-II's: a task's execution time per period is its time since the sample before, divided by the
control periods in between; its share is its part of the execution time of all tasks, so the shares add up to 100 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aeroloop.analysis.statistics import Array, largest, last, mean
from aeroloop.core.signals import Task
from aeroloop.recording.log import Log

CLOCKS = {
    "instruction-count": "Times are instruction-count times: the emulator gives every instruction the same time, here "
    "{mips:g} million instructions per second. They repeat from run to run and are never silicon time.",
    "emulator": "Times are the emulator's, which ran in real time on this host: they depend on the host and are "
    "never silicon time.",
    "board": "Times are those of the board's own clock.",
}


def clock_words(board: Mapping[str, Any]) -> str:
    """What a reader must know of the times in a board's statistics."""
    return CLOCKS[board["clock"]].format(mips=(board.get("instructions_per_s") or math.nan) / 1e6)


def by_task(log: Log, tasks: Sequence[Task]) -> dict[str, dict[str, Array]]:
    """The columns of every task that sent statistics, the most urgent task first."""
    numbers = log.column("task", "task")
    fields = ("t_s", "exec_s", "share_pct", "worst_s", "runs")
    return {
        _name(number, tasks): {field: log.column("task", field)[numbers == number] for field in fields}
        for number in np.unique(numbers[np.isfinite(numbers)])
    }


def metrics(log: Log) -> dict[str, float]:
    """Of a board's processor."""
    return {
        "cpu_use_max_pct": largest(log.column("cpu", "use_pct")),
        "cpu_use_mean_pct": mean(log.column("cpu", "use_pct")),
        "stack_used_max_B": largest(log.column("cpu", "stack_used_B")),
    }


def processor(log: Log) -> dict[str, float]:
    """What every board tells of its processor, over the flight."""
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
    """Of each task over the flight, the most urgent one first."""
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
    """A board that did nothing at all has no shares."""
    return mean(values[np.isfinite(values)])


def _name(number: float, tasks: Sequence[Task]) -> str:
    return tasks[int(number)].name if number in range(len(tasks)) else f"task {number:g}"


def _mean(values: Array) -> float:
    """Of what was measured: a board that did nothing at all has no shares."""
    return mean(values[np.isfinite(values)])
