"""The report's section on a board's processor, with figures over the time of the flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.board import by_task, clock_words, task_times
from aeroloop.analysis.drawing import BLUE, Line, Picture, colors, legend_above, logarithmic, over_time, picture, single
from aeroloop.analysis.labels import BOARD_NUMBERS
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Facts, Figures, Note, Section, Table, bold, code
from aeroloop.analysis.statistics import Array
from aeroloop.core.signals import Task
from aeroloop.recording.log import Log

Columns = dict[str, dict[str, Array]]

SAMPLES = {"marker": ".", "markersize": 3}  # few samples, so each is shown
TASK_COLUMNS = (
    Column("Task", "name"),
    Column("Priority"),
    Column("Trigger", "text"),
    Column("Mean per period (µs)"),
    Column("Share (%)"),
    Column("Worst (µs)"),
    Column("Runs"),
)
TASK_NOTE = (
    "The smallest priority number is the most urgent. Mean per period and share are over the flight, worst is the "
    "longest single run."
)


def board_section(log: Log, tasks: Sequence[Task], board: Mapping[str, Any]) -> Section:
    """`board` is its part of summary.json."""
    facts = [
        f"{title} " + bold(number(board[key], scale=scale))
        for key, (title, scale) in BOARD_NUMBERS.items()
        if key in board
    ]
    if "scheduler" in board:
        facts.append("scheduler " + bold(board["scheduler"]))
    blocks: list[Block] = [Note(clock_words(board)), Facts(facts)]
    rows = _tasks(log, tasks)
    if rows:
        blocks += [Table(TASK_COLUMNS, rows), Note(TASK_NOTE)]
    return Section("board", "Processor load of the board", [*blocks, Figures(board_pictures(log, tasks))])


def _tasks(log: Log, tasks: Sequence[Task]) -> list[tuple[str, ...]]:
    known = {task.name: (str(task.priority), task.trigger) for task in tasks}
    return [
        (
            code(name),
            *known.get(name, ("–", "–")),
            number(task["exec_mean_s"], scale=1e6),
            number(task["share_mean_pct"], digits=3),
            number(task["worst_s"], scale=1e6),
            number(task["runs"], digits=9),
        )
        for name, task in task_times(log, tasks).items()
    ]


def board_pictures(log: Log, tasks: Sequence[Task]) -> list[Picture]:
    pictures = [
        picture(
            "cpu-use",
            "Processor use",
            "Processor time in tasks, as a fraction of the time since the previous sample.",
            lambda: _cpu(log, "use_pct", "processor use (%)"),
        ),
        picture(
            "context-switches",
            "Context switches",
            "Changes from one task to another per second; one preemption counts as two.",
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
            "Execution time of each task per control period, mean since the previous sample, on a logarithmic axis.",
            lambda: _task_times(by_task(log, tasks)),
        ),
        picture(
            "task-shares",
            "Share per task",
            "Fraction of the total execution time of all tasks.",
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
