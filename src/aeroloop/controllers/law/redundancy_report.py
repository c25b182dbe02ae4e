"""What metrics and report say of several boards: who flew, why, and what the change cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from aeroloop.analysis.generic_sections import signals
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Figures, Note, Section, Table, Text
from aeroloop.analysis.statistics import Array, largest
from aeroloop.analysis.vehicle_log import event_values, happened
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.redundancy import BY_VOTE, MOST_BOARDS, REDUNDANCY, VERDICT_WORDS, Verdict, board_name
from aeroloop.core.signals import Event
from aeroloop.recording.log import Log

STREAM = REDUNDANCY.name


def metrics(scenario: RequestScenario, log: Log) -> dict[str, float]:
    """Of a flight with several boards; empty of any other."""
    if scenario.controller.redundancy is None:
        return {}
    return {
        "switchovers": happened(log, Event.BOARD_SELECTED),
        "cycles_held_max": largest(log.column(STREAM, "held_cycles")),
        "command_jump_max_N": command_jump_N(log),
        "boards_failed": happened(log, Event.BOARD_OUT),
        "boards_voted_out": float(sum(_voted_out(log, n) for n in scenario.controller.redundancy.numbers)),
        "boards_returned": happened(log, Event.BOARD_IN),
        "boards_disagreed": float(np.sum(event_values(log, Event.BOARDS_DISAGREE) > 0)),
    }


def command_jump_N(log: Log) -> float:
    """The largest change of a thrust in the control periods in which a board failed or another began to fly."""
    forces = [name for name in log.columns["command"] if name.endswith("_N")]
    t_s, codes = log.column("event", "t_s"), log.column("event", "code")
    changed_s = t_s[(codes == Event.BOARD_SELECTED) | (codes == Event.BOARD_OUT)]
    flown_s = log.column("command", "t_s")
    at = np.searchsorted(flown_s, changed_s - 1e-9)
    at = at[(at > 0) & (at < len(flown_s))]
    if not at.size:
        return 0.0
    rows = np.stack([log.column("command", name) for name in forces], axis=1)
    return float(np.max(np.abs(rows[at] - rows[at - 1])))


def _voted_out(log: Log, board: int) -> int:
    verdicts = log.column(STREAM, f"board_{board + 1}")
    return int(np.sum((verdicts[1:] == Verdict.OUTVOTED) & (verdicts[:-1] == Verdict.VALID)))


class Spell(NamedTuple):
    """A time in which the same board flew."""

    from_s: float
    to_s: float
    active: int
    reason: Verdict


def spells(log: Log) -> Iterator[Spell]:
    rows: Array = np.stack([log.column(STREAM, name) for name in ("t_s", "active", "reason")], axis=1)
    starts: list[int] = np.flatnonzero(np.diff(rows[:, 1], prepend=np.nan) != 0).tolist()
    ends = [*starts[1:], len(rows) - 1]
    for start, end in zip(starts, ends, strict=True):
        yield Spell(rows[start, 0], rows[end, 0], int(rows[start, 1]), Verdict(int(rows[start, 2])))


def who(active: int) -> str:
    return "vote" if active == BY_VOTE else board_name(active)


def sections(scenario: RequestScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    redundancy = scenario.controller.redundancy
    if redundancy is None or not len(log.rows[STREAM]):
        return []
    flown = [
        (who(each.active), number(each.from_s), number(each.to_s), VERDICT_WORDS[each.reason] if each.reason else "–")
        for each in spells(log)
    ]
    boards = []
    for board in redundancy.numbers:
        verdicts = log.column(STREAM, f"board_{board + 1}")
        bad = sorted({int(v) for v in verdicts if v != Verdict.VALID})
        share = 100 * float(np.mean(verdicts == Verdict.VALID))
        words = "; ".join(VERDICT_WORDS[Verdict(v)] for v in bad) or "–"
        boards.append((board_name(board), f"{share:.1f} %", words))
    numbers = summary["metrics"]
    absent = [f"board_{number + 1}" for number in range(redundancy.boards, MOST_BOARDS)]
    blocks: list[Block] = [
        Text(
            f"{redundancy.boards} boards, {redundancy.mode}, sensors {redundancy.sensors}. Integrators were "
            + ("aligned through the plant." if redundancy.align else "not aligned.")
        ),
        Table(
            [Column("Flew", "name"), Column("From (s)"), Column("To (s)"), Column("Because the one before", "text")],
            flown,
        ),
        Table([Column("Board", "name"), Column("Valid"), Column("Otherwise", "text")], boards),
        Note(
            f"Control periods without a new command: at most {number(numbers['cycles_held_max'])}. Largest change of a "
            f"thrust when a board failed: {number(numbers['command_jump_max_N'])} N. In the figure, active counts "
            "boards from 0 and is -1 in a vote; verdicts of boards are numbers of core.redundancy.Verdict, 0 is valid; "
            "spread is the largest difference of two commands as a fraction of the band."
        ),
        Figures(signals(log, STREAM, "Boards", without=("reason", "since_s", *absent))),
    ]
    return [Section("redundancy", "Selected boards", blocks)]
