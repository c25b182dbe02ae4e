"""Flights with a companion computer: frames are rendered, the pad is found in them, and the flight survives it all."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader

from aeroloop.analysis import slam_metrics, slam_section
from aeroloop.analysis.landing_metrics import metrics
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load
from aeroloop.flight.flight_control import FlightControl
from aeroloop.flight.process_table import roles
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight, Outcome
from aeroloop.recording.log import Log, log_sha256, read

pytest.importorskip("cv2")
SHORT = (
    "duration_s=30.0",
    "checks=[]",
    "world.wind.steady_W=[0.0,0.0,0.0]",
    "world.wind.turbulence.w20_m_s=0.0",
    "cameras[0].size_px=[320, 240]",
    "cameras[0].rate_hz=10.0",
    "cameras[0].start_s=10.0",
    "pad.pos_m=[0.4, -0.3]",
    "pilot.waypoints=[{pos_m=[0.0, 0.0, 2.5]}]",
)
SLOW = "cameras[0].rate_hz=5.0"
GUARD_S = 120.0


def scenario(*changes: str) -> Scenario:
    return load(SCENARIOS / "quad-landing.toml", (*SHORT, *changes))


def flown(
    plan: Scenario,
    out: Path,
    ready: Callable[[Flight], None] = lambda _: None,
) -> tuple[Outcome, Log]:
    out.mkdir()
    with Flight(plan, out) as flight:
        outcome = flight.fly(lambda flown_s: None, ready=lambda _: ready(flight))
    return outcome, read(out / LOG)


def test_it_lands_on_the_pad_that_it_sees_and_repeats(tmp_path: Path) -> None:
    """The second flight, of which the first frames are enough, has its autopilot in a process of its own: the same
    bytes, the same flight."""
    plan = scenario(SLOW)
    outcome, log = flown(plan, tmp_path / "one")
    assert outcome.error is None
    numbers = metrics(plan, log)
    assert numbers["touchdown_m"] < 0.15
    assert numbers["pad_seen_pct"] > 80.0
    assert np.all(np.diff(log.column("landing", "number")) == 1)
    _, again = flown(scenario(SLOW, "link.url=loopback://", "duration_s=13.0"), tmp_path / "two")
    for stream in (each.name for each in log.streams if each.simulated and len(log.rows[each.name])):
        rows = again.rows[stream][again.column(stream, "t_s") < 12.9]
        assert np.array_equal(log.rows[stream][: len(rows)], rows, equal_nan=True), stream
    seen = again.column("camera", "crc32").tolist()
    assert len(seen) >= 15 and log.column("camera", "crc32").tolist()[: len(seen)] == seen


def test_a_flight_goes_on_without_its_companion(tmp_path: Path) -> None:
    """It lands by GPS, as without a target."""

    def kill(flight: Flight) -> None:
        os.kill(flight._children["companion"].process.pid, signal.SIGKILL)

    outcome, log = flown(
        scenario("cameras[0].size_px=[64, 48]", "autopilot.parameters={PLD_SRCH_ALT=3.0,PLD_SRCH_TOUT=2.0}"),
        tmp_path / "out",
        kill,
    )
    assert outcome.error is None
    assert outcome.ended == "completed"
    words = "the companion process was killed by SIGKILL: the flight continues without its companion computer"
    assert words in outcome.remarks
    assert metrics(scenario(), log)["touchdown_m"] > 0.2


def kill_the_camera(flight: Flight, control: FlightControl, at_s: float) -> float:
    """Between two steps of a flight that was started paused; returns the simulated time."""
    stands_s, deadline_s = 0.0, time.monotonic() + GUARD_S
    try:
        while not control.paused:
            assert time.monotonic() < deadline_s, "the flight does not begin"
            time.sleep(0.005)
        while stands_s < at_s:
            stands_s = control.step(100)
        flight._children["camera"].process.kill()
    finally:
        control.resume()
    return stands_s


def test_a_camera_that_dies_in_flight_is_started_again_and_its_companion_misses_no_frame(tmp_path: Path) -> None:
    """In lockstep: the flight is that of a camera which lived."""
    plan = scenario("cameras[0].size_px=[64, 48]", "duration_s=11.5")
    _, whole = flown(plan, tmp_path / "whole")
    (tmp_path / "killed").mkdir()
    with Flight(plan, tmp_path / "killed", paused=True) as flight, ThreadPoolExecutor(1) as beside:
        killed: list[Future[float]] = []
        outcome = flight.fly(
            lambda flown_s: None,
            ready=lambda launch: killed.append(beside.submit(kill_the_camera, flight, FlightControl(launch), 10.52)),
        )
    assert 10.52 <= killed[0].result() < 11.0
    log = read(tmp_path / "killed" / LOG)
    assert outcome.error is None
    assert "the camera process was killed by SIGKILL: it is started again" in outcome.remarks
    assert log.column("camera", "crc32").tolist() == whole.column("camera", "crc32").tolist()
    assert log_sha256(log) == log_sha256(whole)


@pytest.mark.soak  # test_camera_faults.py has the fault without rendering
def test_a_pad_that_is_hidden_is_not_landed_on(tmp_path: Path) -> None:
    """From the beginning, as by the button of the page: it searches, and lands by GPS."""
    hidden = 'faults=[{target="pad", kind="hide", from_s=5.0}]'
    quick = "autopilot.parameters={PLD_SRCH_ALT=3.0,PLD_SRCH_TOUT=2.0}"
    outcome, log = flown(scenario(hidden, quick), tmp_path / "out")
    assert outcome.error is None
    assert len(log.rows["landing"]) > 100
    assert not log.column("landing", "accepted").any()
    assert log.column("landing", "markers").max() == 0
    assert metrics(scenario(), log)["touchdown_m"] > 0.2


def test_who_flies_with_whom() -> None:
    names = [role.name for role in roles(scenario())]
    assert names == ["recorder", "plant", "camera", "companion"]
    peers = {role.name: set(role.peers) for role in roles(scenario("link.url=loopback://"))}
    assert peers["companion"] == {"camera", "board"}
    assert "companion" not in [role.name for role in roles(scenario("landing.use=gps"))]


def test_a_map_is_made_in_flight(tmp_path: Path) -> None:
    """Small images of the first leg; whole laps are in `make flights` and docs/slam.md."""
    small = ("duration_s=13.0", "checks=[]", "cameras[0].size_px=[320, 240]", "cameras[0].start_s=10.0")
    plan = load(SCENARIOS / "quad-slam.toml", small)
    outcome, log = flown(plan, tmp_path / "out")
    assert outcome.error is None
    assert log.column("slam", "number").tolist() == list(range(100, 131))
    assert len(log.rows["slam_path"]) == 31
    numbers = slam_metrics.metrics(plan, log)
    assert numbers["ate_m"] < 0.1
    assert numbers["false_loops"] == 0
    assert numbers["map_median_m"] < 0.3  # a short path leaves its direction uncertain
    assert {path.name for path in (tmp_path / "out" / "slam").iterdir()} >= {
        "trajectory.txt",
        "map.ply",
        "summary.json",
    }
    with (tmp_path / "out" / LOG).open("rb") as file:
        (cloud,) = [message for _, _, message in make_reader(file).iter_messages(topics=["/aircraft/0/map"])]
    assert len(cloud.data) > 16 * numbers["map_points"]
    section, *_ = slam_section.sections(plan, log)
    assert section.title == "SLAM"
