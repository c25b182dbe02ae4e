"""Processor time of the selector of several boards in a control period: one decision, and its deadlines."""

from __future__ import annotations

import time
from functools import partial

from aeroloop.core.redundancy import Redundancy, Verdict
from aeroloop.sim.selector import Report, Selector
from benchmarks.measure import Aim, Outcome, row, take_turns

AT_MOST = Aim(1.0, at_least=False)
PERIOD_NS = 12_000_000
COMBINATIONS = (("standby", 2), ("vote", 3))
COMMAND = (9.0, 9.0, 0.01, 0.01)
MOST_US = 20.0
"""Of a control period of 12 ms."""


def run(quick: bool) -> Outcome:
    rounds, cycles = (2, 500) if quick else (11, 5000)
    outcome = Outcome()
    for mode, boards in COMBINATIONS:
        both = {"selector": partial(_us, mode, boards, cycles), "first command": partial(_first_us, boards, cycles)}
        taken = take_turns(both, rounds)
        what, of_first = f"{mode}, {boards} boards", taken["first command"]
        outcome.rows.append(row(what, "us", taken["selector"], "first command", of_first))
        added = [ours - first for ours, first in zip(taken["selector"], of_first, strict=True)]
        limit = [MOST_US] * rounds
        outcome.rows.append(row(f"{what}, added", "us", added, "at most", limit, None if quick else AT_MOST))
    return outcome


def _us(mode: str, boards: int, cycles: int) -> float:
    table = Redundancy(boards=boards, mode=mode)  # type: ignore[arg-type]
    selector = Selector(table, PERIOD_NS, COMMAND)
    began_s = time.process_time()
    for cycle in range(1, cycles + 1):
        t_ns = cycle * PERIOD_NS
        reports = [Report(COMMAND, t_ns, cycle, Verdict.VALID, aligned=True) for _ in range(boards)]
        selector.deadline_ns(t_ns, reports)
        selector.decide(t_ns, reports)
        selector.deadline_ns(t_ns, reports)
    return (time.process_time() - began_s) / cycles * 1e6


def _first_us(boards: int, cycles: int) -> float:
    """What a flight with one board does."""
    from aeroloop.sim.loop import first

    commands = [COMMAND] * boards
    began_s = time.process_time()
    for _ in range(cycles):
        for _ in range(3):
            first(commands)
    return (time.process_time() - began_s) / cycles * 1e6
