"""The fixed-wing paper's claims about its real-time kernel beside a flight of our board.

Our kernel counts two switches for each run of a task, one in and one out. The paper's kernel (MicroC/OS-II) counts a
direct change from one task to the next once. So each run is one switch; one more follows the last task of a period, and
one more follows HILS_Tx, which preempts CNTR:  switches = runs + periods + runs of HILS_Tx.  A plan that hands over to
path generation adds a few that are not counted here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from aeroloop.analysis.page import number
from aeroloop.analysis.section import Column, Note, Section, Table
from aeroloop.codegen.image_symbols import Share, share
from aeroloop.codegen.images import kept_image
from aeroloop.families.fixedwing.images import image
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.recording.log import Log

COLUMNS = (Column("", "name"), Column("Paper", "text"), Column("This flight", "text"))
KERNEL_FILE, KERNEL_PREFIX = "kernel.c", "kernel_"
BEGINS, PREEMPTS = "hils_rx", "hils_tx"
NOTE = (
    "The paper's processor is an 8-bit controller at 30 MHz. The load is comparable only on a processor as slow as "
    "that: scenario fixedwing-paper, 0.98 million instructions a second. The kernel's share is that of its functions "
    "in the emulated board's image, by the image's symbols, where that is on the machine that makes this report."
)


def sections(scenario: FixedWingScenario, log: Log, board: Mapping[str, Any] | None) -> list[Section]:
    """`board` is that part of summary.json. Empty unless the paper's tasks flew on our firmware."""
    if board is None or board["scheduler"] != "preemptive" or scenario.controller.control.law_file:
        return []
    table = Table(COLUMNS, rows(log, board, kernel_share(scenario)))
    return [Section("paper", "Comparison with the paper's claims", [table, Note(NOTE)])]


def kernel_share(scenario: FixedWingScenario) -> Share | None:
    """Of the emulated board's image; None: it is not on this machine, or the flight had another board."""
    if scenario.loop != "pil":
        return None
    elf = kept_image(*image(scenario))
    return share(elf, KERNEL_FILE, KERNEL_PREFIX) if elf is not None else None


def rows(log: Log, board: Mapping[str, Any], kernel: Share | None) -> list[tuple[str, str, str]]:
    """Quantity, the paper's value, and this flight's number."""
    period_s = board["period_s"]
    runs = {task["name"]: task["runs"] for task in board["tasks"]}
    return [
        ("Sampling period", "50 ms", f"{period_s * 1e3:g} ms"),
        ("Processor use, no planning", "about 40 %", f"{number(use_between_plans_pct(log), digits=3)} %"),
        ("Processor use while planning", "nearly 100 %", f"{number(board['cpu_use_planning_pct'], digits=3)} %"),
        (
            "Context switches in a period",
            "about 7",
            f"{number(switches_of_the_papers_kernel(runs), digits=3)} as the paper's kernel counts, "
            f"{number(board['switches_per_s_mean'] * period_s, digits=3)} as ours does",
        ),
        (
            "Execution time of all tasks in a period",
            "checked against 50 ms",
            f"at most {number(longest_period_s(log), scale=1e3, digits=3)} ms, mean of a second",
        ),
        ("Cycles whose servos were late", "not given", number(board["missed_cycles"])),
        (
            "Kernel in the code",
            "5 to 10 kB of 190 kB, 5.26 %",
            f"{kernel.part_B} B of {kernel.flash_B / 1000:.1f} kB, {kernel.pct:.2f} %" if kernel else "-",
        ),
    ]


def use_between_plans_pct(log: Log) -> float:
    """Median of the samples in which nothing was planned."""
    use_pct = log.column("cpu", "use_pct")[log.column("cpu", "planning_s") == 0]
    return float(np.median(use_pct)) if len(use_pct) else math.nan


def switches_of_the_papers_kernel(runs: Mapping[str, float]) -> float:
    """In a period, by the runs of each task."""
    periods = runs.get(BEGINS, 0.0)
    return (sum(runs.values()) + periods + runs.get(PREEMPTS, 0.0)) / periods if periods else math.nan


def longest_period_s(log: Log) -> float:
    """The largest sum, over all tasks, of the mean execution time in a period."""
    t_s, exec_s = log.column("task", "t_s"), log.column("task", "exec_s")
    sums_s = [float(np.nansum(exec_s[t_s == sample])) for sample in np.unique(t_s)]
    return max(sums_s, default=math.nan)
