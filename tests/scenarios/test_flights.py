"""Whole flights in lockstep, as a user flies them: what the first system must show."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from well_known_logs import well_known

from aeroloop.recording.log import Log, read

FLIGHT_GUARD_S = 240
SPIRAL = ("tiltrotor-spiral", "--report")
"""Flown once for several tests."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


class Run:
    def __init__(self, folder: Path, exit_code: int, printed: str) -> None:
        self.folder, self.exit_code, self.printed = folder, exit_code, printed

    @property
    def summary(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / "summary.json").read_text())
        return loaded

    @cached_property
    def log(self) -> Log:
        return read(self.folder / "flight.mcap")


@cache
def fly(runs: Path, *arguments: str) -> Run:
    """One flight through the command line; equal arguments fly once."""
    folder = runs / f"run-{len(list(runs.iterdir()))}"
    done = subprocess.run(
        [sys.executable, "-m", "aeroloop.cli", "fly", "--no-report", *arguments, "--json", "--out", str(folder)],
        capture_output=True,
        text=True,
        timeout=FLIGHT_GUARD_S,
        check=False,
    )
    assert folder.is_dir(), done.stderr
    return Run(folder, done.returncode, done.stdout)


def positions(run: Run) -> np.ndarray:
    return np.stack([run.log.column("truth", name) for name in ("x_m", "y_m", "z_m")], axis=1)


def test_the_spiral_passes(runs: Path) -> None:
    run = fly(runs, *SPIRAL)
    assert run.exit_code == 0
    assert json.loads(run.printed) == run.summary
    metrics = run.summary["metrics"]
    assert metrics["pos_x_rms_m"] < 0.03
    assert metrics["pos_y_rms_m"] < 0.12
    assert metrics["pos_z_rms_m"] < 0.06
    assert metrics["roll_max_deg"] < 26
    assert metrics["yaw_max_deg"] < 3
    assert metrics["saturated_steps"] == 0
    assert metrics["flown_s"] == pytest.approx(60)
    assert metrics["log_lost_rows"] == 0
    for name in ("flight.mcap", "report.html", "scenario.toml", "summary.json"):
        assert (run.folder / name).stat().st_size > 0


def test_the_log_has_foxgloves_topics_at_the_wall_clocks_time(runs: Path) -> None:
    run = fly(runs, *SPIRAL)
    told = list(well_known(run.folder / "flight.mcap"))
    assert {each.topic for each in told} == {
        *(f"/aircraft/0/{kind}" for kind in ("tf", "pose", "attitude", "setpoint", "location", "shape", "path")),
        "/log",
    }
    made_ns = (run.folder / "scenario.toml").stat().st_mtime_ns  # just before the start
    assert made_ns <= run.log.epoch_ns <= (run.folder / "flight.mcap").stat().st_mtime_ns
    poses = [each for each in told if each.topic == "/aircraft/0/pose"]
    assert len(poses) == 1201  # 20 a second, the first and the last too
    x, y, z = positions(run)[-1]
    assert (poses[-1].log_time - run.log.epoch_ns) / 1e9 == pytest.approx(60.0)
    at = poses[-1].message.pose.position
    assert (at.x, at.y, at.z) == (x, y, z)


def test_every_stream_is_logged_at_its_rate(runs: Path) -> None:
    log = fly(runs, *SPIRAL).log
    assert len(log.rows["truth"]) == len(log.rows["effort"]) == 15001
    assert len(log.rows["command"]) == 5000
    assert len(log.rows["sensors"]) == len(log.rows["setpoint"]) == 5001
    assert np.diff(log.column("truth", "t_s")) == pytest.approx(0.004)


@pytest.mark.parametrize(
    ("feedforward", "predicted"),
    [
        ("true", (0.021, 0.109, 0.045, 24.8)),
        pytest.param("false", (0.17, 0.39, 0.045, 16.4), marks=pytest.mark.soak),
    ],
)
def test_from_a_hover_the_world_flies_as_the_design_model_predicts(
    runs: Path, feedforward: str, predicted: tuple[float, ...]
) -> None:
    run = fly(runs, "tiltrotor-spiral-rest", "--set", f"ground.velocity_feedforward={feedforward}")
    metrics = run.summary["metrics"]
    flown = [metrics[name] for name in ("pos_x_rms_m", "pos_y_rms_m", "pos_z_rms_m", "roll_max_deg")]
    assert flown == pytest.approx(predicted, rel=0.03)


@pytest.mark.soak  # short: the recorded flights
def test_mil_and_sil_fly_the_same_path(runs: Path) -> None:
    mil, sil = fly(runs, *SPIRAL), fly(runs, "tiltrotor-spiral", "--loop", "sil")
    assert sil.exit_code == 0
    assert sil.summary["loop"] == "sil"
    assert np.max(np.abs(positions(mil) - positions(sil))) < 1e-4


@pytest.mark.parametrize(
    "link",
    ["pty://", *(pytest.param(url, marks=pytest.mark.soak) for url in ("udp://127.0.0.1:0", "tcp://127.0.0.1:0"))],
)
def test_the_link_does_not_change_a_lockstep_flight(runs: Path, link: str) -> None:
    short = ("tiltrotor-spiral", "--set", "duration_s=6", "--set", "checks=[]")
    over = fly(runs, *short, "--link", link, "--set", f'ground.url="{link}"')
    assert over.summary["metrics"]["flown_s"] == pytest.approx(6)
    assert over.summary["log_sha256"] == fly(runs, *short).summary["log_sha256"]


@pytest.mark.soak  # short: the recorded flights
def test_one_seed_one_hash(runs: Path) -> None:
    noisy = ("tiltrotor-noisy-link", "--set", "duration_s=12")
    first = fly(runs, *noisy, "--seed", "5").summary
    again = fly(runs, *noisy, "--seed", "5", "--set", "summary=again").summary
    other = fly(runs, *noisy, "--seed", "6").summary
    assert first["log_sha256"] == again["log_sha256"] != other["log_sha256"]


@pytest.mark.soak  # short: the recorded flights
def test_sensor_noise_follows_the_seed(runs: Path) -> None:
    noisy = ("tiltrotor-spiral", "--set", "sensors.pos_std_m=0.01", "--set", "duration_s=3")
    first, again, other = (fly(runs, *noisy, "--set", f"summary=s{n}", "--seed", s) for n, s in enumerate("112"))
    assert first.summary["log_sha256"] == again.summary["log_sha256"] != other.summary["log_sha256"]


@pytest.mark.soak  # short: the recorded flights
def test_without_randomness_the_seed_changes_nothing(runs: Path) -> None:
    short = ("tiltrotor-spiral", "--set", "duration_s=3")
    assert (
        fly(runs, *short, "--seed", "1").summary["log_sha256"] == fly(runs, *short, "--seed", "2").summary["log_sha256"]
    )


@pytest.mark.soak  # short: the recorded flights
def test_six_ms_of_delay_flies_and_a_full_sample_diverges(runs: Path) -> None:
    inside, beyond = fly(runs, "tiltrotor-delay-6ms"), fly(runs, "tiltrotor-delay-12ms", "--report")
    assert inside.exit_code == 0
    assert inside.summary["metrics"]["diverged"] == 0
    assert beyond.exit_code == 0  # its check is that it diverges
    assert beyond.summary["ended"] == "diverged"
    assert beyond.summary["metrics"]["flown_s"] < 5
    assert "Delay margin" in (beyond.folder / "report.html").read_text()


@pytest.mark.soak  # short: the recorded flights
def test_a_flight_that_is_cut_short_repeats_to_the_bit_too(runs: Path) -> None:
    again = fly(runs, "tiltrotor-delay-12ms", "--set", "summary=again")
    assert fly(runs, "tiltrotor-delay-12ms").summary["log_sha256"] == again.summary["log_sha256"]


def test_impairments_work_the_same_at_the_walls_pace(runs: Path) -> None:
    # At a quarter of real time a machine that stalls for some ms takes a quarter of them from the margin of 3 ms.
    run = fly(runs, "tiltrotor-delay-6ms", "--pace", "0.25x", "--set", "duration_s=1.5")
    assert run.exit_code == 0
    assert run.summary["metrics"]["safe_commands"] == 0
    assert run.log.column("command", "t_s")[0] < 0.05


def test_a_supervisor_that_is_held_up_still_hears_that_the_flight_is_done(tmp_path: Path) -> None:
    """A blocked terminal holds up the progress bar: the plant may be gone before anybody listens again."""
    from aeroloop.core import scenario_files
    from aeroloop.flight import results
    from aeroloop.flight.supervisor import Flight

    plan = scenario_files.load(scenario_files.find("tiltrotor-spiral"), ("duration_s=6",))
    results.make_folder(tmp_path / "run", plan)
    held_up = False

    def progress(_: float) -> None:
        nonlocal held_up
        if not held_up:
            held_up = True
            time.sleep(4)

    with Flight(plan, tmp_path / "run") as flight:
        assert flight.fly(progress).ended == "completed"


@pytest.mark.parametrize(("delay_ms", "diverges"), [pytest.param(8, False, marks=pytest.mark.soak), (10, True)])
def test_the_predicted_margin_of_nine_ms_is_where_it_is(runs: Path, delay_ms: int, diverges: bool) -> None:
    run = fly(runs, "tiltrotor-spiral", "--set", f"link.to_plant.delay_s={delay_ms / 1000}")
    assert run.summary["metrics"]["diverged"] == diverges
    assert run.exit_code == (1 if diverges else 0)


def test_delay_counts_on_either_way(runs: Path) -> None:
    """Sensing to acting is what the margin is about: 5 ms there and 5 ms back are 10."""
    both = ("--set", "link.to_plant.delay_s=0.005", "--set", "link.to_board.delay_s=0.005")
    assert fly(runs, "tiltrotor-spiral", *both).summary["metrics"]["diverged"] == 1


@pytest.mark.soak  # short: the recorded flights
def test_a_corrupting_and_lossy_line_still_flies_the_spiral(runs: Path) -> None:
    run = fly(runs, "tiltrotor-noisy-link")
    assert run.exit_code == 0
    plant, board = run.summary["links"]["link"], run.summary["links"]["board_link"]
    assert plant["bad_checksums"] > 5
    assert board["bad_checksums"] > 5
    assert board["lost"] > 5
    # No frame is acted on unless its checksum held: the accepted ones are a part of the valid ones.
    assert len(run.log.rows["command"]) <= plant["frames_in"] - len(run.log.rows["sensors"])


def test_a_failed_check_exits_with_one(runs: Path) -> None:
    run = fly(
        runs, "tiltrotor-spiral", "--set", 'checks=[{metric="pos_y_rms_m", below=0.001}]', "--set", "duration_s=6"
    )
    assert run.exit_code == 1
    assert run.summary["ok"] is False
    assert run.summary["ended"] == "completed"


def test_junit_says_the_same(runs: Path, tmp_path: Path) -> None:
    import xml.etree.ElementTree as ET

    folder = tmp_path / "run"
    command = [
        "fly",
        "tiltrotor-spiral",
        "--set",
        "duration_s=3",
        "--junit",
        str(tmp_path / "r.xml"),
        "--out",
        str(folder),
    ]
    done = subprocess.run([sys.executable, "-m", "aeroloop.cli", *command], timeout=FLIGHT_GUARD_S, check=False)
    summary = json.loads((folder / "summary.json").read_text())
    suite = ET.parse(tmp_path / "r.xml").getroot()
    cases = {case.get("name"): case.find("failure") is None for case in suite.iter("testcase")}
    assert cases == {check["name"]: check["ok"] for check in summary["checks"]}
    assert done.returncode == summary["exit_code"]


def test_lost_references_are_held_and_said(runs: Path) -> None:
    run = fly(runs, "tiltrotor-spiral", "--set", "ground.impair.loss=1", "--set", "duration_s=4")
    events = [event["event"] for event in run.summary["events"]]
    assert "REFERENCE_LOST" in events
    assert np.abs(positions(run)[-1] - positions(run)[0]).max() < 1.0  # it stays where it was told last


def test_lost_sensors_lead_to_hold_then_safe_command(runs: Path) -> None:
    run = fly(runs, "tiltrotor-spiral", "--set", "link.to_board.loss=0.8", "--set", "duration_s=6")
    events = [event["event"] for event in run.summary["events"]]
    assert events.index("SENSORS_LOST") < events.index("SAFE_COMMAND") < len(events)
    assert "SENSORS_BACK" in events
    assert run.summary["metrics"]["safe_commands"] > 0


@pytest.mark.parametrize(
    "kind", [*(pytest.param(kind, marks=pytest.mark.soak) for kind in ("hover", "circle")), "lemniscate"]
)
def test_other_trajectories_fly(runs: Path, kind: str) -> None:
    run = fly(
        runs,
        "tiltrotor-spiral",
        "--set",
        f'ground.trajectory={{kind="{kind}"}}',
        "--set",
        "duration_s=15",
        "--set",
        'checks=[{metric="pos_max_m", below=0.3}]',
    )
    assert run.exit_code == 0


def test_waypoints_from_a_file_fly(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("t_s,x_m,y_m,z_m\n0,0,0,1\n5,2,0,2\n10,2,2,2\n")
    (tmp_path / "tour.toml").write_text(
        'name = "tour"\nduration_s = 12\n[ground.trajectory]\nkind = "waypoints"\nfile = "points.csv"\n'
    )
    run = fly(runs, str(tmp_path / "tour.toml"))
    assert run.exit_code == 0
    assert positions(run)[-1] == pytest.approx((2, 2, 2), abs=0.05)


def test_heading_law_turns_right_round_and_keeps_its_place(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("t_s,x_m,y_m,z_m,yaw_rad\n0,0,0,2,0\n10,1,1,2,3.0\n20,0,0,2,-1.0\n")
    (tmp_path / "turn.toml").write_text(
        'name = "turn"\nduration_s = 24\n[control]\nlaw = "dlqr-heading"\n'
        '[ground.trajectory]\nkind = "waypoints"\nfile = "points.csv"\n'
    )
    run = fly(runs, str(tmp_path / "turn.toml"))
    assert run.exit_code == 0
    assert run.summary["metrics"]["pos_max_m"] < 0.3
    assert run.log.column("truth", "yaw_rad")[-1] == pytest.approx(-1.0, abs=0.05)


def test_baud_rate_pacing_costs_what_the_arithmetic_says(runs: Path) -> None:
    """At 921600 Bd an answer of about 70 bytes takes 0.76 ms: it shows in the time at which commands are applied."""
    paced = ("--set", "link.to_board.baud=921600", "--set", "link.to_plant.baud=921600", "--set", "duration_s=3")
    log = fly(runs, "tiltrotor-spiral", *paced).log
    sensed, applied = log.column("sensors", "t_s"), log.column("command", "t_s")
    delays_s = applied[:200] - sensed[:200]
    # answer of 68..136 bytes, then actuators of 21..38 bytes, ten bits each
    assert delays_s.min() > 10 * (68 + 21) / 921600 - 1e-8  # simulated time counts whole nanoseconds
    assert delays_s.max() < 10 * (136 + 42) / 921600
