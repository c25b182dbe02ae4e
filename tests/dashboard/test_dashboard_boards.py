"""The panel of several boards: the words for a row of the stream `redundancy`."""

from __future__ import annotations

import pytest

from aeroloop.core.redundancy import BY_VOTE, REDUNDANCY, VERDICT_WORDS, Verdict
from aeroloop.dashboard.boards_panel import boards_view


def row(**values: float) -> dict[str, float]:
    """Two valid boards, of which the first flies from the start."""
    return {**dict.fromkeys(REDUNDANCY.names, 0.0), "t_s": 20.0, "board_3": -1.0, "spread": 0.125, **values}


def test_the_first_board_flies_and_the_second_stands_by() -> None:
    view = boards_view(row())
    assert (view.flies, view.why, view.spread) == ("board.1 flies", "since the start", "12 % of the band")
    assert view.boards == (("board.1", "ok", "flies"), ("board.2", "ok", "stands by"))


def test_the_second_board_flies_because_the_first_is_gone() -> None:
    view = boards_view(row(active=1, reason=Verdict.MISSING, since_s=10.008, board_1=Verdict.DISCONNECTED))
    assert view.flies == "board.2 flies"
    assert view.why == "since 10.01 s, because the one before sent no command in its control period"
    assert view.boards == (("board.1", "bad", "disconnected"), ("board.2", "ok", "flies"))


def test_three_boards_vote_and_a_liar_is_not_one_of_them() -> None:
    view = boards_view(row(active=BY_VOTE, board_2=Verdict.OUTVOTED, board_3=Verdict.VALID))
    assert (view.flies, view.why) == ("vote of 2 boards", "since the start")
    assert [severity for _, severity, _ in view.boards] == ["ok", "bad", "ok"]
    assert [words for _, _, words in view.boards] == ["votes", VERDICT_WORDS[Verdict.OUTVOTED], "votes"]


@pytest.mark.parametrize("verdict", [Verdict.STARTING, Verdict.RETURNING])
def test_a_board_that_will_be_back_is_a_warning(verdict: Verdict) -> None:
    assert boards_view(row(board_2=verdict)).boards[1] == ("board.2", "warn", VERDICT_WORDS[verdict])


def test_no_board_flies_while_the_last_command_is_held() -> None:
    view = boards_view(row(held_cycles=30.0, board_1=Verdict.MISSING, board_2=Verdict.MISSING))
    assert view.flies == "no board flies"
    assert view.why == "since the start; the last command is held for 30 control periods"
    assert [severity for _, severity, _ in view.boards] == ["bad", "bad"]
    assert {words for _, _, words in view.boards} == {VERDICT_WORDS[Verdict.MISSING]}


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_words(verdict: Verdict) -> None:
    view = boards_view(row(active=1, reason=verdict, since_s=1.0, board_1=verdict))
    assert view.boards[0][2] and view.flies == "board.2 flies"
