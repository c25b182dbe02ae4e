"""`aeroloop redundancy-matrix`: a short selection flown inline, and the judgement, page and JSON of made-up flights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner
from typer.testing import Result as Ran

from aeroloop.campaign import redundancy_failures, redundancy_page
from aeroloop.campaign import redundancy_matrix as matrix
from aeroloop.campaign.redundancy_failures import BY_NAME, COMBINATIONS, FAILURES, TIMES_S, Cell, cells
from aeroloop.campaign.redundancy_flown import FLIGHTS, Flown
from aeroloop.campaign.redundancy_matrix import DETECTED, NO_EFFECT, NONE_LEFT, REFUSED, RESOLVED, WRONG, Result
from aeroloop.cli import app as cli
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import BOARDS
from aeroloop.core.scenario import Scenario
from aeroloop.exchanges.redundant import ALL_GONE

SHORT = ("--failures", "dead,bias of 1 N,wrong image", "--at", "0.3,0.45", "--lasts", "0.5", "--workers", "1")
FLOWN = (("standby", 2), ("vote", 3))
TIME_S = np.arange(0.0, 1.0, 0.012)


def run(*arguments: str | Path) -> Ran:
    return CliRunner().invoke(cli.app, ["redundancy-matrix", *map(str, arguments)])


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """Twelve flights of a second, with two of the four combinations."""
    folder = tmp_path_factory.mktemp("boards") / "matrix"
    with pytest.MonkeyPatch.context() as patched:
        for module in (redundancy_failures, redundancy_page):
            patched.setattr(module, "COMBINATIONS", FLOWN)
        return run(*SHORT, "--out", folder, "--json"), folder


def test_the_command_flies_failures_at_several_times(flown: tuple[Ran, Path]) -> None:
    result, folder = flown
    assert result.exit_code == 0, result.output
    summary = json.loads((folder / "summary.json").read_text())
    assert json.loads(result.stdout) == summary and summary["passed"]
    found = {(one["failure"], one["mode"], one["boards"]): one for one in summary["cells"]}
    assert len(found) == 3 * len(FLOWN) and len(summary["flights"]) == 5 * len(FLOWN)
    assert {one["at_s"] for one in summary["flights"]} == {0.0, 0.3, 0.45}
    for mode, boards in FLOWN:
        dead = found["dead", mode, boards]
        assert dead["outcome"] == RESOLVED and dead["identified"] == ["board.1"] and dead["right_identified"]
        assert dead["cycles_held"] <= 1 and 0 < dead["apart_m"] < 1e-3 and dead["apart_deg"] < 0.1
        assert dead["continuous"] and dead["checks_pass"]
        assert found["wrong image", mode, boards]["outcome"] == REFUSED
    liar = found["bias of 1 N", "standby", 2]
    assert (liar["outcome"], liar["continuous"], liar["right_identified"]) == (DETECTED, False, False)
    assert liar["command_jump_N"] == pytest.approx(1.0, abs=1e-3)
    assert found["bias of 1 N", "vote", 3]["outcome"] == RESOLVED


def test_the_page_shows_the_matrix_and_every_number(flown: tuple[Ran, Path]) -> None:
    text = (flown[1] / "report.html").read_text()
    assert "6 of 6 cells are as expected" in text
    for words in ('id="matrix"', 'id="standby-2"', 'id="vote-3"', "Worst at (s)", "detected, not resolved"):
        assert words in text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--failures", "deaf"), "--failures deaf: expected one of: dead, hang"),
        (("--at", "soon"), "--at soon: expected times in s"),
        (("--at", "4,-1"), "--at 4,-1: expected times in s"),
        (("--loop", "hil"), "--loop hil: expected mil, sil or pil"),
        (("quad-hover", "--failures", "dead"), "quad-hover: has one board"),
        (("--out", "."), "exists already"),
    ],
)
def test_bad_usage_is_one_sentence(arguments: tuple[str, ...], expected: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, ConfigError)
    assert expected in str(result.exception) and "\n" not in str(result.exception)


@pytest.mark.parametrize(
    ("damaged", "more", "flown_again"),
    [
        (False, (), ["dead", "wrong image"]),
        (True, (), ["none", "dead", "wrong image"]),
        (False, ("--seed", "2"), ["none", "dead", "wrong image"]),
    ],
    ids=["complete", "damaged", "another seed"],
)
def test_a_matrix_that_was_interrupted_goes_on_where_it_ended(
    damaged: bool, more: tuple[str, ...], flown_again: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same results as in one go."""
    short = ("--failures", "dead,wrong image", "--at", "0.2", "--lasts", "0.1", "--workers", "1")
    for module in (redundancy_failures, redundancy_page):
        monkeypatch.setattr(module, "COMBINATIONS", FLOWN[:1])
    assert run(*short, *more, "--out", tmp_path / "whole").exit_code == 0
    assert not (tmp_path / "whole" / FLIGHTS).exists()
    fly, begun, folder = matrix._fly, list[str](), tmp_path / "parts"

    def followed(cell: Cell, plan: Scenario) -> Flown:
        begun.append(cell.failure)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return fly(cell, plan)

    monkeypatch.setattr(matrix, "_fly", followed)
    stopped = run(*short, "--out", folder)
    assert begun == ["none", "dead"] and "continues" in stopped.stderr and not (folder / "report.html").exists()
    if damaged:
        (file,) = (folder / FLIGHTS).iterdir()
        file.write_bytes(b"damaged")
    assert run(*short, *more, "--out", folder).exit_code == 0
    assert begun[2:] == flown_again
    for name in ("summary.json", "report.html"):
        assert (folder / name).read_text() == (tmp_path / "whole" / name).read_text()
    assert "exists already" in str(run(*short, "--out", folder).exception)


def test_every_failure_of_the_specification_is_planned() -> None:
    rows = [failure.name for failure in FAILURES]
    assert len({*rows}) == len(rows) == 20
    assert {"both links lost", "cross link lost", "wrong image", "two dead", "slow", "babbling", "NaN"} <= {*rows}
    found = cells()
    assert len(found) == len(COMBINATIONS) * (1 + 19 * len(TIMES_S) + 1)
    for cell in found:
        if cell[:2] != COMBINATIONS[-1] or cell.at_s > TIMES_S[0]:
            continue
        plan = matrix.scenario_of(cell, matrix.Setting("tiltrotor-spiral", "mil", 1, 12.0))
        assert plan.duration_s == 12.0 and plan.controller.redundancy.boards == 3
        assert {fault.from_s for fault in plan.faults} <= {cell.at_s}


def one_flight(cell: Cell, **changes: object) -> Flown:
    """A flight that nothing disturbs, with what is changed."""
    calm = Flown(
        cell,
        refused="",
        ended="completed",
        command=np.column_stack([np.arange(len(TIME_S)), np.full((len(TIME_S), 2), 9.0)]),
        truth=np.column_stack([TIME_S, np.zeros((len(TIME_S), 6))]),
        held=0.0,
        identified=(),
        disagreed=False,
        failed=frozenset(),
    )
    return replace(calm, **changes)  # type: ignore[arg-type]


def moved(column: int, value: float) -> np.ndarray:
    truth = np.column_stack([TIME_S, np.zeros((len(TIME_S), 6))])
    truth[50:, column] = value
    return truth


def jumped(value: float, at: int = 50) -> np.ndarray:
    command = np.column_stack([np.arange(len(TIME_S)), np.full((len(TIME_S), 2), 9.0)])
    command[30, 1] += 1e-6
    command[at, 2] += value
    return command


def judged(failure: str, mode: str, boards: int, **changes: object) -> Result:
    calm = one_flight(Cell(mode, boards, "none", 0.5))
    (result,) = matrix.judged([calm, one_flight(Cell(mode, boards, failure, 0.4), **changes)])
    return result


@pytest.mark.parametrize(
    ("changes", "ok", "outcome"),
    [
        ({}, True, RESOLVED),
        ({"held": 1.0, "truth": moved(1, 0.9e-3)}, True, RESOLVED),
        ({"held": 2.0}, False, RESOLVED),
        ({"truth": moved(3, -1.1e-3)}, False, RESOLVED),
        ({"truth": moved(4, np.radians(0.09))}, True, RESOLVED),
        ({"truth": moved(6, np.radians(-0.11))}, False, RESOLVED),
        ({"truth": moved(6, np.radians(359.95))}, True, RESOLVED),
        ({"command": jumped(0.09, 31)}, True, RESOLVED),
        ({"command": jumped(0.11, 34)}, False, RESOLVED),
        ({"command": jumped(0.11, 40)}, True, RESOLVED),
        ({"failed": frozenset({"yaw_max_deg"})}, False, RESOLVED),
        ({"identified": (0, 1)}, False, WRONG),
        ({"identified": ()}, False, NO_EFFECT),
        ({"held": 400.0}, False, NONE_LEFT),
        ({"ended": "diverged"}, False, "lost"),
    ],
)
def test_a_silent_failure_must_be_resolved_within_the_targets(
    changes: dict[str, object], ok: bool, outcome: str
) -> None:
    result = judged("dead", "standby", 2, **{"identified": (0,), **changes})
    assert (result.ok, result.outcome) == (ok, outcome)


def test_a_check_that_the_undisturbed_flight_fails_is_not_the_failures() -> None:
    cell = Cell("standby", 2, "dead", 0.4)
    for by_calm, ok in (({"yaw_max_deg", "roll_max_deg"}, True), ({"roll_max_deg"}, False)):
        calm = one_flight(cell._replace(failure="none"), failed=frozenset(by_calm))
        result = matrix.judge(one_flight(cell, identified=(0,), failed=frozenset({"yaw_max_deg"})), calm)
        assert (result.checks_pass, result.ok) == (ok, ok)


@pytest.mark.parametrize(
    ("failure", "mode", "boards", "changes", "ok", "outcome"),
    [
        ("bias of 1 N", "vote", 3, {"identified": (0,)}, True, RESOLVED),
        ("bias of 1 N", "vote", 3, {"disagreed": True}, False, DETECTED),
        ("bias of 1 N", "vote", 3, {"identified": (0,), "truth": moved(1, 0.01)}, False, RESOLVED),
        ("bias of 1 N", "vote", 2, {"disagreed": True, "truth": moved(1, 0.4)}, True, DETECTED),
        ("bias of 1 N", "standby", 2, {"truth": moved(1, 0.4)}, False, "not noticed"),
        ("bias of 1 N", "standby", 2, {"identified": (1,)}, False, WRONG),
        ("stuck command", "vote", 2, {"disagreed": True, "ended": "diverged"}, True, "detected, flight lost"),
        ("stuck command", "vote", 3, {"disagreed": True, "ended": "diverged"}, False, "detected, flight lost"),
        ("stuck command", "vote", 2, {"ended": "diverged"}, False, "lost"),
        ("cross link lost", "standby", 2, {}, True, NO_EFFECT),
        ("cross link lost", "standby", 2, {"identified": (0,)}, False, WRONG),
        ("both links lost", "vote", 3, {"identified": (0, 1)}, True, RESOLVED),
        ("both links lost", "vote", 3, {"identified": (0,)}, False, "resolved in part"),
        ("both links lost", "standby", 2, {"identified": (0, 1), "held": 400.0}, True, NONE_LEFT),
        ("wrong image", "standby", 2, {"refused": "board.1: the board's image is old"}, True, REFUSED),
        ("wrong image", "standby", 2, {"refused": "board.2: the board's image is old"}, False, REFUSED),
        ("wrong image", "standby", 2, {}, False, NO_EFFECT),
        ("dead", "standby", 2, {"refused": ALL_GONE}, False, NONE_LEFT),
        ("dead", "standby", 2, {"refused": "board.1: did not answer"}, False, "not flown"),
        ("two dead", "standby", 2, {"refused": "board.1: did not answer"}, False, "not flown"),
        ("two dead", "standby", 2, {"refused": ALL_GONE}, True, NONE_LEFT),
    ],
)
def test_what_is_asked_depends_on_failure_mode_and_boards(
    failure: str, mode: str, boards: int, changes: dict[str, object], ok: bool, outcome: str
) -> None:
    result = judged(failure, mode, boards, **changes)
    assert (result.ok, result.outcome) == (ok, outcome)


RESULTS = [
    Result(Cell(mode, boards, failure, at_s), RESOLVED, 0.0, 0.0, 1e-6, 0.0, True, (0,), right=True, ok=True)
    for mode, boards in COMBINATIONS
    for failure in ("dead", "hang")
    for at_s in (2.0, 4.0, 6.0)
]


def test_a_cell_is_its_worst_flight_with_the_largest_numbers_and_its_time() -> None:
    results = list(RESULTS)
    results[0] = replace(results[0], jump_N=0.05, apart_deg=0.02)
    results[1] = replace(results[1], outcome=WRONG, identified=(1,), right=False, ok=False)
    results[2] = replace(results[2], held=1.0, apart_m=5e-4)
    found = matrix.worst(results)
    assert len(found) == 8
    assert found[0] == Result(
        Cell("standby", 2, "dead", 4.0), WRONG, 0.05, 1.0, 5e-4, 0.02, True, (1,), False, ok=False
    )
    assert all(one.ok for one in found[1:])
    assert matrix.worst([replace(RESULTS[0], apart_m=2e-6), *RESULTS[1:3]])[0].cell.at_s == 2.0


def test_page_and_summary_name_what_is_not_as_expected(tmp_path: Path) -> None:
    bad = replace(RESULTS[4], outcome=WRONG, identified=(1, 2), right=False, ok=False, jump_N=0.25, why="made up")
    results = [*RESULTS[:4], bad, *RESULTS[5:]]
    text = redundancy_page.write(tmp_path, results, "24 made-up flights.").read_text()
    assert "7 of 8 cells are as expected. 24 made-up flights." in text
    assert "hang at 4 s, standby, 2 boards: wrong board identified, made up" in text
    assert "board.2, board.3" in text and "wrong board identified (not as expected)" in text
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert not summary["passed"] and len(summary["cells"]) == 8 and len(summary["flights"]) == 24
    (cell,) = [one for one in summary["cells"] if not one["ok"]]
    assert (cell["failure"], cell["at_s"], cell["command_jump_N"], cell["continuous"]) == ("hang", 4.0, 0.25, False)


def test_a_cell_that_is_not_as_expected_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = replace(RESULTS[0], outcome=WRONG, right=False, ok=False)
    monkeypatch.setattr(matrix, "fly_all", lambda *arguments, **more: [])
    monkeypatch.setattr(matrix, "judged", lambda flights: [bad, *RESULTS[1:]])
    result = run("--out", tmp_path / "matrix", "--failures", "dead")
    assert result.exit_code == 1, result.output
    assert "8 cells: 1 not as expected" in result.output and "wrong board" in result.output


def test_boards_to_be_identified_exist() -> None:
    for failure in BY_NAME.values():
        named = {fault.get("channel") or fault["target"] for fault in failure.faults}
        assert {*map(BOARDS.index, named)} >= {*failure.boards}, failure.name
