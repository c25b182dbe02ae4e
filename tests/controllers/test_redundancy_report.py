"""Metrics and report section of several boards, from rows made here: who flew, why, and what the change cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from log_rows import rows_of

from aeroloop.analysis.page import Document, render
from aeroloop.analysis.section import Figures, Section, Table
from aeroloop.controllers.law import redundancy_report
from aeroloop.controllers.law.redundancy_report import Spell
from aeroloop.core.redundancy import BY_VOTE, Verdict
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.core.streams import streams_of
from aeroloop.recording.log import Log

TIME_S = np.arange(10) * 0.012
AT = 6
"""The row in which board.1 is missing."""


@pytest.fixture(scope="module")
def standby() -> Scenario:
    return load(find("tiltrotor-standby"))


def made(scenario: Scenario) -> Log:
    """The first of two boards flies, is missing and then disconnected; the second takes over 0.2 N apart."""
    streams = streams_of(scenario)
    rows = rows_of({stream.name: stream for stream in streams})
    after = np.arange(len(TIME_S)) >= AT
    verdicts = np.where(after, Verdict.DISCONNECTED, Verdict.VALID)
    verdicts[AT] = Verdict.MISSING
    thrust_N = 9.0 + 0.2 * after
    filled = {
        "redundancy": rows(
            "redundancy",
            TIME_S,
            active=after,
            reason=Verdict.MISSING * after,
            since_s=TIME_S[AT] * after,
            board_1=verdicts,
            board_3=-1.0,
            held_cycles=np.where(np.arange(len(TIME_S)) == AT, 1.0, 0.0),
        ),
        "command": rows("command", TIME_S, thrust_right_N=thrust_N, thrust_left_N=9.0),
        "event": rows("event", np.full(2, TIME_S[AT]), code=[Event.BOARD_OUT, Event.BOARD_SELECTED], value=[1.0, 2.0]),
    }
    log = Log.empty(streams)
    return replace(log, rows={**log.rows, **filled})


def test_metrics_count_what_happened_to_the_boards(standby: Scenario) -> None:
    metrics = redundancy_report.metrics(standby, made(standby))
    assert metrics.pop("command_jump_max_N") == pytest.approx(0.2)
    assert metrics == {
        "switchovers": 1.0,
        "cycles_held_max": 1.0,
        "boards_failed": 1.0,
        "boards_voted_out": 0.0,
        "boards_returned": 0.0,
        "boards_disagreed": 0.0,
    }


def test_spells_are_the_times_of_each_board(standby: Scenario) -> None:
    first, second = redundancy_report.spells(made(standby))
    assert first == Spell(0.0, TIME_S[AT], 0, Verdict.VALID)
    assert second == Spell(TIME_S[AT], TIME_S[-1], 1, Verdict.MISSING)
    assert [redundancy_report.who(active) for active in (BY_VOTE, 1)] == ["vote", "board.2"]


def test_the_section_says_who_flew_and_why(standby: Scenario) -> None:
    log = made(standby)
    (section,) = redundancy_report.sections(standby, log, {"metrics": redundancy_report.metrics(standby, log)})
    flew, boards = (block for block in section.blocks if isinstance(block, Table))
    assert [row[0] for row in flew.rows] == ["board.1", "board.2"]
    assert flew.rows[1][3] == "sent no command in its control period"
    assert boards.rows == [
        ("board.1", "60.0 %", "sent no command in its control period; disconnected"),
        ("board.2", "100.0 %", "–"),
    ]
    (figures,) = (block for block in section.blocks if isinstance(block, Figures))
    assert "active, board_1, board_2, spread, held_cycles over time" in str(figures.pictures)
    verdict = Section("verdict", "", [])
    page = render(Document("t", "t", "t", "pass", verdict, [section]))
    assert "Selected boards" in page and "at most 1. Largest change of a thrust when a board failed: 0.2 N" in page


def test_a_flight_with_one_board_has_neither(standby: Scenario) -> None:
    alone = with_value(standby, "redundancy", None)
    assert redundancy_report.metrics(alone, made(standby)) == {}
    assert redundancy_report.sections(alone, made(standby), {}) == []
