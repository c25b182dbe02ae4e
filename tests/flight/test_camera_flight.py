"""Flights with cameras: the flight is the same as without, frames repeat, and the flight survives its cameras."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aeroloop.core.config import apply_overrides, read_toml
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load
from aeroloop.flight.process_table import roles
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight, Outcome
from aeroloop.recording.log import Log, log_sha256, read

pytest.importorskip("cv2")
SMALL = ("cameras[0].size_px=[64, 48]", "duration_s=1.0", "checks=[]")


def scenario(*changes: str) -> Scenario:
    return load(SCENARIOS / "quad-camera.toml", (*SMALL, *changes))


def without_cameras() -> Scenario:
    table = read_toml(SCENARIOS / "quad-camera.toml")
    apply_overrides(table, SMALL)
    del table["cameras"]
    return load(SCENARIOS / "quad-camera.toml", given=table)


def flown(plan: Scenario, out: Path, flight_ready=lambda flight: None) -> tuple[Outcome, Log, list[str]]:  # type: ignore[no-untyped-def]
    out.mkdir()
    told: list[str] = []
    with Flight(plan, out) as flight:
        outcome = flight.fly(lambda _: None, ready=lambda _: flight_ready(flight), notice=told.append)
    return outcome, read(out / LOG), told


def test_frames_repeat_and_the_flight_is_that_without_cameras(tmp_path: Path) -> None:
    depth = 'cameras[0].preset="rgbd"'
    (first, one, _), (_, two, _) = (flown(scenario(depth), tmp_path / name) for name in ("one", "two"))
    assert first.error is None
    crc, number, late, dropped = (one.column("camera", name) for name in ("crc32", "number", "late", "dropped"))
    assert number.tolist() == list(range(11))  # 1 s at 10 Hz, both ends
    assert np.allclose(one.column("camera", "delivered_s") - one.column("camera", "t_s"), 0.08)
    assert not late.any()
    assert not dropped.any()
    assert len(set(crc.tolist())) == 11  # the aircraft stands, but each frame has its noise
    assert crc.tolist() == two.column("camera", "crc32").tolist()
    (images,) = (values for name, values in one.metadata.items() if name.startswith("camera_frames"))
    assert 3 <= len(images) <= 8
    _, bare, _ = flown(without_cameras(), tmp_path / "bare")
    assert log_sha256(one) == log_sha256(bare)
    assert "camera" not in bare.rows


def test_a_flight_goes_on_without_its_camera_process(tmp_path: Path) -> None:
    def kill(flight: Flight) -> None:
        os.kill(flight._children["camera"].process.pid, signal.SIGKILL)

    # In real time: a second in lockstep is over before the supervisor has looked.
    outcome, log, told = flown(scenario("pace=real", "duration_s=4"), tmp_path / "out", kill)
    assert outcome.error is None
    assert outcome.ended == "completed"
    words = "the camera process was killed by SIGKILL: the flight continues without camera images"
    assert words in outcome.remarks
    assert told.count(words) == 1
    assert log.rows["truth"][-1, 0] > 0.99


def test_without_opencv_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "cv2.py").write_text("raise ImportError('none')\n")
    ran = subprocess.run(
        [sys.executable, "-m", "aeroloop.cli", "fly", "quad-camera", "--out", str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert ran.returncode == 2
    assert "cameras: OpenCV is missing; expected pip install 'aeroloop[vision]'" in " ".join(
        (ran.stdout + ran.stderr).split()
    )


def test_only_a_flight_with_cameras_has_the_process() -> None:
    assert [role.name for role in roles(scenario())] == ["recorder", "plant", "camera"]
    assert [role.name for role in roles(without_cameras())] == ["recorder", "plant"]
