"""What the board's own statistics say over a flight: how busy its processor was, and with what.

Definitions are uC/OS-II's: a task's execution time per period is its time since the sample before, divided by the
control periods in between; its share is its part of the execution time of all tasks, so the shares add up to 100 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.signals import Task
from aeroloop.recording.log import Log

Array = NDArray[np.float64]

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


def by_task(log: Log, stream: str, tasks: Sequence[Task]) -> dict[str, dict[str, Array]]:
    """The columns of every task that sent statistics, the most urgent task first."""
    numbers = log.column(stream, "task")
    fields = ("t_s", "exec_s", "share_pct", "worst_s", "runs")
    return {
        _name(number, tasks): {field: log.column(stream, field)[numbers == number] for field in fields}
        for number in np.unique(numbers[np.isfinite(numbers)])
    }


def _name(number: float, tasks: Sequence[Task]) -> str:
    return tasks[int(number)].name if number in range(len(tasks)) else f"task {number:g}"
