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
from wing_flights import flown

from aeroloop.core.errors import EXIT_LINK, EXIT_OK, EXIT_USAGE
from aeroloop.core.wing_signals import Step
from aeroloop.flight.results import SUMMARY
from conftest import HANG_S, until

if TYPE_CHECKING:
    from conftest import Bench, Ended

LOITER = ("fly", "fixedwing-loiter", "--no-report", "--out", "run")
SHORT = ("fixedwing-loiter", "--set", "duration_s=12")
NEAR = ("mission.apart_m=900.0", "mission.linger_s=0.0", "checks=[]")
"""With the right seed, places that are near each other."""
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
SEVERE = "world.wind.turbulence.w20_m_s=23.15"
"""45 knots at 20 feet."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wing-runs")


@pytest.fixture(scope="session")
def errand(runs: Path) -> Run:
    """The long one, flown once."""
    return fly(runs, "fixedwing-hierarchical")


@pytest.fixture(scope="session")
def firmware(runs: Path) -> Run:
    """The same, flown by the firmware."""
    return fly(runs, "fixedwing-hierarchical", "--loop", "pil")


@pytest.mark.soak  # short: between other places, below
def test_it_finds_its_way_to_the_goal_over_no_mountain(errand: Run) -> None:
    metrics = errand.metrics
    assert metrics["arrived"] == 1.0, errand.said
    assert metrics["over_blocked_cells"] == metrics["outside_channel"] == metrics["ground_contacts"] == 0.0
    assert metrics["clearance_min_m"] > 20.0
    assert metrics["plans_failed"] == 0.0
    assert metrics["messages_lost"] == metrics["unanswered_cycles"] == metrics["log_lost_rows"] == 0.0
    assert errand.summary["ended"] == "completed"


@pytest.mark.soak  # short: between other places, below
def test_it_holds_path_height_and_speed_in_moderate_turbulence(errand: Run) -> None:
    metrics = errand.metrics
    assert metrics["cross_track_rms_m"] < 5.0
    assert metrics["roll_max_deg"] <= 30.0
    assert metrics["altitude_error_max_m"] < 10.0
    assert metrics["airspeed_error_max_m_s"] < 2.0
    wind = errand.log.column("air", "wind_x_m_s")
    assert np.std(wind) > 1.0, "there is turbulence to hold against"


@pytest.mark.soak  # short: between other places, below
def test_the_mission_goes_through_the_papers_steps(errand: Run) -> None:
    steps = [Step(int(step)) for step in errand.log.column("mission_step", "step")]
    assert all(after in ON_A_WAY[before] for before, after in itertools.pairwise(steps)), steps
    assert (steps[0], steps[-1]) == (Step.LOITER, Step.ARRIVED)
    assert steps.count(Step.REPLAN) >= 3


@pytest.mark.soak  # short: between other places, below
def test_it_ends_on_the_circle_round_the_goal(errand: Run) -> None:
    log = errand.log
    x_m, y_m = (log.column("truth", f"{axis}_m")[-200:] for axis in "xy")
    goal_m = [log.column("plan", f"goal_{axis}_m")[-1] for axis in "xy"]
    assert np.hypot(x_m - goal_m[0], y_m - goal_m[1]) == pytest.approx(150.0, abs=25.0)


def assert_passed(run: Run) -> None:
    assert run.exit_code == EXIT_OK, run.said
    assert {check["name"] for check in run.summary["checks"]} >= {"arrived", "airspeed_error_max_m_s"}


@pytest.mark.soak  # short: between other places, below
def test_every_check_of_the_scenario_passes(errand: Run) -> None:
    assert_passed(errand)


@pytest.mark.soak  # short: the recorded flight
def test_the_firmware_finds_the_same_cells_and_flies_the_same_way(errand: Run, firmware: Run) -> None:
    assert_passed(firmware)
    metrics = firmware.metrics
    assert metrics["missed_cycles"] == metrics["unanswered_cycles"] == metrics["messages_lost"] == 0.0
    assert 0.0 < metrics["cpu_use_mean_pct"] < 100.0
    one, other = errand.log, firmware.log
    assert len(one.rows["plan"]) > 10
    assert np.array_equal(one.rows["plan_cell"][:, 1:], other.rows["plan_cell"][:, 1:]), "cell for cell"
    for column in ("plan", "status", "goal_x_m", "goal_y_m", "leaves", "expanded", "cost", "fine"):
        assert np.array_equal(one.column("plan", column), other.column("plan", column)), column
    along = min(len(log.rows["truth"]) for log in (one, other))  # a period less or more at the end
    for axis in "xyz":
        apart = [log.column("truth", f"{axis}_m")[:along] for log in (one, other)]
        assert np.max(np.abs(apart[0] - apart[1])) < 0.5, axis


@pytest.mark.parametrize("seed", [14, pytest.param(20, marks=pytest.mark.soak)])
def test_it_gets_there_between_other_places(seed: int) -> None:
    ended, metrics = flown("fixedwing-hierarchical", f"seed={seed}", *NEAR)
    assert (ended, metrics["arrived"]) == ("completed", 1.0)
    assert metrics["over_blocked_cells"] == metrics["outside_channel"] == metrics["ground_contacts"] == 0.0
    assert metrics["roll_max_deg"] < 30.0
    assert metrics["cross_track_rms_m"] < 5.0


def test_in_severe_turbulence_it_keeps_its_clearance() -> None:
    ended, metrics = flown("fixedwing-hierarchical", "seed=13", SEVERE, *NEAR)
    assert (ended, metrics["ground_contacts"], metrics["over_blocked_cells"]) == ("completed", 0.0, 0.0)
    assert metrics["clearance_min_m"] > 10.0


@pytest.mark.soak  # short: the pair above
@pytest.mark.parametrize("seed", range(1, 51))
def test_fifty_pairs_in_severe_turbulence_touch_no_ground(seed: int) -> None:
    ended, metrics = flown("fixedwing-hierarchical", f"seed={seed}", SEVERE, "duration_s=1200", "checks=[]")
    assert (ended, metrics["ground_contacts"]) == ("completed", 0.0)
    assert metrics["clearance_min_m"] > 10.0
    assert metrics["arrived"] == float(seed != 48)  # which arrives after 1741 s


@pytest.mark.soak  # short: tests/board/test_wing_firmware.py runs both schedulers
def test_the_cooperative_scheduler_gets_there_too(runs: Path) -> None:
    near = itertools.chain.from_iterable(("--set", key) for key in ("seed=13", *NEAR))
    run = fly(runs, "fixedwing-hierarchical", *near, "--loop", "pil", "--set", 'board.scheduler="cooperative"')
    assert run.exit_code == EXIT_OK, run.said
    assert run.metrics["arrived"] == 1.0
    assert run.metrics["missed_cycles"] == run.metrics["outside_channel"] == 0.0


@pytest.mark.parametrize(("sensor", "kind"), [("gnss", "silent"), ("airspeed", "frozen")])
def test_it_flies_on_without_a_sensor(sensor: str, kind: str) -> None:
    fault = f'sensors.faults=[{{sensor="{sensor}", kind="{kind}", start_s=5.0, end_s=25.0}}]'
    ended, metrics = flown("fixedwing-loiter", "duration_s=30", fault)
    assert ended == "completed"
    assert metrics["clearance_min_m"] > 20.0


@pytest.mark.soak  # short: the recorded flights
def test_the_circle_is_held_and_one_seed_is_one_hash_on_any_link(runs: Path) -> None:
    first = fly(runs, *SHORT)
    assert first.exit_code == EXIT_OK, first.said
    told = first.summary
    assert fly(runs, *SHORT, "--link", "udp://127.0.0.1:0").summary["log_sha256"] == told["log_sha256"]
    assert len(first.log.rows["estimate"]) > 200


@pytest.mark.soak  # short: the recorded flights
def test_the_firmware_on_this_host_is_one_flight_on_any_link(runs: Path) -> None:
    over_tcp, inline = (fly(runs, *SHORT, "--loop", "sil", *link) for link in ((), ("--link", "memory://")))
    assert over_tcp.exit_code == EXIT_OK, over_tcp.said
    assert over_tcp.summary["log_sha256"] == inline.summary["log_sha256"]


def test_another_airframe_flies_from_its_file_alone() -> None:
    ended, metrics = flown("fixedwing-anaconda", "seed=13", *NEAR)
    assert (ended, metrics["arrived"]) == ("completed", 1.0)
    assert metrics["over_blocked_cells"] == metrics["outside_channel"] == 0.0
    assert metrics["roll_max_deg"] < 30.0
    assert metrics["cross_track_rms_m"] < 5.0
    assert metrics["altitude_error_max_m"] < 10.0
    assert metrics["airspeed_error_max_m_s"] < 2.0


@pytest.mark.parametrize("rung", [*(pytest.param(rung, marks=pytest.mark.soak) for rung in ("mil", "sil")), "pil"])
def test_it_flies_at_the_walls_pace(runs: Path, rung: str) -> None:
    paced = ("--loop", rung, "--pace", "4x", "--set", "duration_s=6", "--set", "checks=[]")
    run = fly(runs, "fixedwing-loiter", *paced)
    assert run.exit_code == EXIT_OK, run.said
    assert run.metrics["flown_s"] == pytest.approx(6.0)
    assert len(run.log.rows["command"]) > 40
    assert len(run.log.rows["pace"]) > 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--loop", "hil"), "link.url: hil needs the board's link"),
        (("--loop", "hil", "--pace", "4x", "--link", "serial:///dev/ttyS9"), "fly hil with --pace real"),
        (("--loop", "sil", "--link", "serial:///dev/ttyS9"), "fly it with --loop hil"),
        (("--set", 'vehicle.airframe="kite"'), "unknown airframe 'kite'"),
        (("--set", "mission.airspeed_m_s=8"), "mission.airspeed_m_s: the airframe cannot fly at 8 m/s"),
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
    until(lambda: len(bench.log().rows["truth"]) > 50, HANG_S, "a second of flight in the log")
    children = flight.children()
    assert set(children) == {"recorder", "plant", "board"}
    os.kill(children[role], number)
    ended = flight.wait()
    bench.await_gone(children.values())
    assert "Traceback" not in ended.err, ended.err
    assert (ended.code, summary(bench)["error"]) == (EXIT_LINK, ended.sentence())
    bench.assert_clean()
    return ended


@pytest.mark.soak  # short: test_faults.py, with the tilt-rotor
def test_a_board_that_dies_is_named(bench: Bench) -> None:
    ended = strike(bench, "board", signal.SIGKILL)
    assert ended.sentence() == "the board process was killed by SIGKILL"


def test_a_board_that_freezes_in_real_time_is_a_silent_link(bench: Bench) -> None:
    ended = strike(bench, "board", signal.SIGSTOP, "--pace", "real")
    assert "the board has sent nothing on loopback://" in ended.sentence()


@pytest.mark.soak  # short: test_faults.py, with the tilt-rotor
def test_a_line_that_loses_everything_is_a_silent_link(bench: Bench) -> None:
    ended = bench.run(*LOITER, "--pace", "real", "--set", "link.to_board.loss=1.0")
    assert ended.code == EXIT_LINK
    assert "the board has sent nothing on loopback://" in ended.sentence()


@pytest.mark.soak  # short: test_faults.py, with the tilt-rotor
def test_a_plant_that_dies_is_named(bench: Bench) -> None:
    ended = strike(bench, "plant", signal.SIGKILL)
    assert ended.sentence() == "the plant process was killed by SIGKILL"
