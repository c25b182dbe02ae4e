"""The report's pictures of the board's processor, over the time of the flight."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.board import by_task
from aeroloop.analysis.drawing import BLUE, Line, Picture, colors, legend_above, logarithmic, over_time, picture, single
from aeroloop.analysis.statistics import Array
from aeroloop.core.signals import Task
from aeroloop.recording.log import Log

Columns = dict[str, dict[str, Array]]

SAMPLES = {"marker": ".", "markersize": 3}  # few and far between, so each is shown


def board_pictures(log: Log, tasks: Sequence[Task]) -> list[Picture]:
    pictures = [
        picture(
            "cpu-use",
            "Processor use",
            "Processor time in tasks, as a part of all time since the sample before.",
            lambda: _cpu(log, "use_pct", "processor use (%)"),
        ),
        picture(
            "context-switches",
            "Context switches",
            "Changes from one task to another per second; a task that preempts another costs two.",
            lambda: _cpu(log, "switches_per_s", "switches (1/s)"),
        ),
    ]
    if not len(log.rows["task"]):
        return pictures
    return [
        *pictures,
        picture(
            "task-times",
            "Execution time per task",
            "Execution time of each task per control period, mean since the sample before, on a logarithmic axis.",
            lambda: _task_times(by_task(log, tasks)),
        ),
        picture(
            "task-shares",
            "Share per task",
            "Each task's part of the execution time of all tasks.",
            lambda: _task_shares(by_task(log, tasks)),
        ),
    ]


def _cpu(log: Log, field: str, ylabel: str) -> Figure:
    line = Line("", log.column("cpu", "t_s"), log.column("cpu", field), {"color": BLUE, **SAMPLES})
    figure = over_time(ylabel, [line])
    figure.axes[0].set_ylim(bottom=0)
    return figure


def _task_times(tasks: Columns) -> Figure:
    lines = [
        Line(name, task["t_s"], task["exec_s"] * 1e6, {"color": color, **SAMPLES})
        for (name, task), color in zip(tasks.items(), cycle(colors(len(tasks))), strict=False)
    ]
    return logarithmic(over_time("time per period (µs)", lines), lines)


def _task_shares(tasks: Columns) -> Figure:
    t_s = np.unique(np.concatenate([task["t_s"] for task in tasks.values()]))
    shares_pct = [np.interp(t_s, task["t_s"], np.nan_to_num(task["share_pct"])) for task in tasks.values()]
    figure, axes = single()
    axes.stackplot(t_s, shares_pct, labels=list(tasks), colors=colors(len(tasks)), linewidth=0)
    axes.set(xlabel="time (s)", ylabel="share (%)", ylim=(0, 100))
    legend_above(axes)
    return figure
