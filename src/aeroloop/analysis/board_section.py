"""The report's section of a board's processor, whatever it flies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aeroloop.analysis.board import clock_words, task_times
from aeroloop.analysis.board_plots import board_pictures
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Facts, Figures, Note, Section, Table, bold, code
from aeroloop.analysis.words import BOARD_NUMBERS
from aeroloop.core.signals import Task
from aeroloop.recording.log import Log

TASK_COLUMNS = (
    Column("Task", "name"),
    Column("Priority"),
    Column("Starts with", "text"),
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
    """`board` is what summary.json says of it."""
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
    return Section("board", "The board's processor", [*blocks, Figures(board_pictures(log, tasks))])


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
