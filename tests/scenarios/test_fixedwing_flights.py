"""Whole flights of the fixed wing, as a user flies them."""

from __future__ import annotations

import itertools
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quad_runs import Run, fly

from aeroloop.errors import EXIT_CHECK_FAILED, EXIT_LINK, EXIT_OK, EXIT_USAGE
from aeroloop.results import SUMMARY
from aeroloop.wing_signals import Step
from conftest import HANG_S, until

if TYPE_CHECKING:
    from conftest import Bench, Ended

LOITER = ("fly", "fixedwing-loiter", "--no-report", "--out", "run")
SHORT = ("fixedwing-loiter", "--set", "duration_s=12")
ON_A_WAY = {
    Step.LOITER: {Step.PLAN},
    Step.PLAN: {Step.LEAVE},
    Step.LEAVE: {Step.FOLLOW, Step.APPROACH},
    Step.FOLLOW: {Step.REPLAN},
    Step.REPLAN: {Step.TRANSIENT, Step.FOLLOW},
    Step.TRANSIENT: {Step.FOLLOW, Step.APPROACH},
    Step.APPROACH: {Step.ARRIVE},
    Step.ARRIVE: {Step.ARRIVED},
}
"""The paper's Figure 8, where nothing goes wrong."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wing-runs")


@pytest.fixture(scope="session")
def errand(runs: Path) -> Run:
    """The long one, flown once."""
    return fly(runs, "fixedwing-hierarchical")


def test_it_finds_its_way_to_the_goal_over_no_mountain(errand: Run) -> None:
    metrics = errand.metrics
    assert metrics["arrived"] == 1.0, errand.said
    assert metrics["over_blocked_cells"] == metrics["outside_channel"] == metrics["ground_contacts"] == 0.0
    assert metrics["clearance_min_m"] > 20.0
    assert metrics["plans_failed"] == 0.0
    assert metrics["messages_lost"] == metrics["unanswered_cycles"] == metrics["log_lost_rows"] == 0.0
    assert errand.summary["ended"] == "completed"


def test_it_holds_path_height_and_speed_in_moderate_turbulence(errand: Run) -> None:
    metrics = errand.metrics
    assert metrics["cross_track_rms_m"] < 5.0
    assert metrics["roll_max_deg"] <= 30.0
    assert metrics["altitude_error_max_m"] < 10.0
    assert metrics["airspeed_error_p99_m_s"] < 2.0
    wind = errand.log.column("wing_air", "wind_x_m_s")
    assert np.std(wind) > 1.0, "there is turbulence to hold against"


def test_the_mission_goes_through_the_papers_steps(errand: Run) -> None:
    steps = [Step(int(step)) for step in errand.log.column("wing_step", "step")]
    assert all(after in ON_A_WAY[before] for before, after in itertools.pairwise(steps)), steps
    assert (steps[0], steps[-1]) == (Step.LOITER, Step.ARRIVED)
    assert steps.count(Step.REPLAN) >= 3


def test_it_ends_on_the_circle_round_the_goal(errand: Run) -> None:
    log = errand.log
    x_m, y_m = (log.column("wing_truth", f"{axis}_m")[-200:] for axis in "xy")
    goal_m = log.rows["wing_plan"][-1][6:8]
    assert np.hypot(x_m - goal_m[0], y_m - goal_m[1]) == pytest.approx(150.0, abs=25.0)


def test_only_what_is_not_yet_held_fails_the_checks(errand: Run) -> None:
    failed = {check["name"] for check in errand.summary["checks"] if not check["ok"]}
    assert failed <= {"airspeed_error_max_m_s"}
    assert errand.exit_code == (EXIT_CHECK_FAILED if failed else EXIT_OK)


def test_the_circle_is_held_and_one_seed_is_one_hash_on_any_link(runs: Path) -> None:
    first = fly(runs, *SHORT)
    assert first.exit_code == EXIT_OK, first.said
    told = first.summary
    assert fly(runs, *SHORT, "--link", "udp://127.0.0.1:0").summary["log_sha256"] == told["log_sha256"]
    assert fly(runs, *SHORT, "--seed", "2").summary["log_sha256"] != told["log_sha256"]
    assert len(first.log.rows["wing_estimate"]) > 200


def test_compiled_laws_fly_as_the_interpreted_ones(runs: Path) -> None:
    mil, sil = fly(runs, *SHORT), fly(runs, *SHORT, "--loop", "sil")
    assert sil.exit_code == EXIT_OK, sil.said
    for axis in "xyz":
        one, other = (run.log.column("wing_truth", f"{axis}_m") for run in (mil, sil))
        assert np.max(np.abs(one - other)) < 0.01


def test_another_airframe_flies_from_its_file_alone(runs: Path) -> None:
    run = fly(runs, "fixedwing-anaconda", "--set", "duration_s=40", "--set", "checks=[]")
    assert run.exit_code == EXIT_OK, run.said
    assert run.metrics["altitude_error_max_m"] < 10.0
    assert run.metrics["roll_max_deg"] < 35.0


def test_the_firmware_finds_the_same_cells_and_flies_the_same_way(runs: Path, errand: Run) -> None:
    pil = fly(runs, "fixedwing-hierarchical", "--loop", "pil", "--set", "duration_s=60", "--set", "checks=[]")
    assert pil.exit_code == EXIT_OK, pil.said
    assert pil.metrics["missed_cycles"] == pil.metrics["unanswered_cycles"] == 0.0
    told = pil.log.rows["wing_cell"][:, 1:]
    plans = pil.log.column("wing_plan", "plan")
    assert len(plans) >= 2
    for plan in plans[:-1]:  # of the last one not all may have been told
        mine, its = (rows[rows[:, 0] == plan] for rows in (told, errand.log.rows["wing_cell"][:, 1:]))
        assert np.array_equal(mine, its), plan
    for axis in "xyz":
        one, other = (run.log.column("wing_truth", f"{axis}_m")[:500] for run in (pil, errand))
        assert np.max(np.abs(one - other)) < 0.5, "the first circle"


def test_it_flies_at_the_walls_pace(runs: Path) -> None:
    run = fly(runs, "fixedwing-loiter", "--pace", "4x", "--set", "duration_s=8", "--set", "checks=[]")
    assert run.exit_code == EXIT_OK, run.said
    assert run.metrics["flown_s"] == pytest.approx(8.0)
    assert len(run.log.rows["wing_command"]) > 40
    assert len(run.log.rows["wing_pace"]) > 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--loop", "hil"), "no board outside flies the fixed wing yet"),
        (("--loop", "pil", "--pace", "real"), "emulated board flies in lockstep only"),
        (("--set", "mission.height_m=500"), "mission.height_m"),
        (("--set", 'vehicle.airframe="kite"'), "unknown airframe 'kite'"),
    ],
)
def test_what_cannot_be_flown_is_said_and_leaves_nothing(bench: Bench, arguments: tuple[str, ...], words: str) -> None:
    ended = bench.run(*LOITER, *arguments)
    assert ended.code == EXIT_USAGE
    assert words in ended.sentence()
    assert not (bench.folder / "run").exists()


def summary(bench: Bench) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((bench.folder / "run" / SUMMARY).read_bytes())
    return told


def strike(bench: Bench, role: str, number: signal.Signals, *arguments: str) -> Ended:
    """Send a signal to a process in flight; how the flight ends, with everything cleaned up."""
    flight = bench.start(*LOITER, "--set", "duration_s=3600", *arguments)
    until(lambda: len(bench.log().rows["wing_truth"]) > 50, HANG_S, "a second of flight in the log")
    children = flight.children()
    assert set(children) == {"recorder", "wing_plant", "wing_board"}
    os.kill(children[role], number)
    ended = flight.wait()
    bench.await_gone(children.values())
    assert "Traceback" not in ended.err, ended.err
    assert (ended.code, summary(bench)["error"]) == (EXIT_LINK, ended.sentence())
    bench.assert_clean()
    return ended


@pytest.mark.parametrize("pace", ["lockstep", "real"])
def test_a_board_that_dies_is_named(bench: Bench, pace: str) -> None:
    ended = strike(bench, "wing_board", signal.SIGKILL, "--pace", pace)
    assert ended.sentence() == "the board process was killed by SIGKILL"


def test_a_board_that_freezes_in_real_time_is_a_silent_link(bench: Bench) -> None:
    ended = strike(bench, "wing_board", signal.SIGSTOP, "--pace", "real")
    assert "the board has been silent on loopback://" in ended.sentence()


def test_a_plant_that_dies_is_named(bench: Bench) -> None:
    ended = strike(bench, "wing_plant", signal.SIGKILL)
    assert ended.sentence() == "the plant process was killed by SIGKILL"
