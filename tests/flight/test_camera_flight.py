"""Flights with cameras: the flight is the same as without, frames repeat, and the flight survives its cameras."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec
import numpy as np
import pytest

from aeroloop.analysis.summary import summarise
from aeroloop.core.config import apply_overrides, read_toml
from aeroloop.core.paths import SCENARIOS
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import load
from aeroloop.flight.live_control import ENDED
from aeroloop.flight.process_table import roles
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight, Outcome
from aeroloop.realtime.controls import Controls
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


def flown(  # type: ignore[no-untyped-def]
    plan: Scenario, out: Path, ready=lambda flight: None, progress=lambda flight: None
) -> tuple[Outcome, Log, list[str]]:
    """`ready` and `progress` are called with the flight."""
    out.mkdir()
    told: list[str] = []
    with Flight(plan, out) as flight:
        outcome = flight.fly(lambda _: progress(flight), ready=lambda _: ready(flight), notice=told.append)
    return outcome, read(out / LOG), told


def kill_camera(flight: Flight) -> None:
    flight._children["camera"].process.kill()  # does nothing to one that has ended


def test_frames_repeat_and_the_flight_is_that_without_cameras(tmp_path: Path) -> None:
    """Also where the camera process was killed and started again."""
    plan = scenario('cameras[0].preset="rgbd"')
    first, one, _ = flown(plan, tmp_path / "one")
    again, two, told = flown(plan, tmp_path / "two", kill_camera)
    assert first.error is None
    assert again.error is None
    assert told == again.remarks == ["the camera process was killed by SIGKILL: it is started again"]
    crc, number, late, dropped = (one.column("camera", name) for name in ("crc32", "number", "late", "dropped"))
    assert number.tolist() == list(range(11))  # 1 s at 10 Hz, both ends
    assert np.allclose(one.column("camera", "delivered_s") - one.column("camera", "t_s"), 0.08)
    assert not late.any()
    assert not dropped.any()
    assert len(set(crc.tolist())) == 11  # the aircraft stands, but each frame has its noise
    assert number.tolist() == two.column("camera", "number").tolist()
    assert crc.tolist() == two.column("camera", "crc32").tolist()
    (images,) = (values for name, values in one.metadata.items() if name.startswith("camera_frames"))
    assert 3 <= len(images) <= 8
    assert summarise(plan, one, outcome=msgspec.to_builtins(first))["versions"]["renderer"]
    _, bare, _ = flown(without_cameras(), tmp_path / "bare")
    assert log_sha256(one) == log_sha256(bare)
    assert "camera" not in bare.rows


def test_faults_of_a_camera_act_on_the_frames_after_them(tmp_path: Path) -> None:
    """At exact times, so that lockstep flights repeat: fault and poses reach the camera by two ways."""
    faults = (
        '{target="camera", kind="frozen", channel="down", from_s=0.3, to_s=0.65}',
        '{target="camera", kind="dark", from_s=0.75, to_s=0.9}',
    )
    _, log, _ = flown(scenario('cameras[0].preset="rgbd"', f"faults=[{', '.join(faults)}]"), tmp_path / "one")
    crc, black = log.column("camera", "crc32").tolist(), float(zlib.crc32(bytes(64 * 48 * (3 + 2))))
    assert crc == [*crc[:4], *3 * [crc[3]], crc[7], black, black, crc[10]]
    assert len(set(crc)) == 7  # each frame has its noise
    assert log.column("camera", "number").tolist() == list(range(11))
    assert len(log.rows["fault"]) == 4


def test_a_camera_process_is_started_again_once_and_the_flight_goes_on_without_it(tmp_path: Path) -> None:
    def kill_again(flight: Flight) -> None:
        camera = flight._children["camera"]
        if camera.missed:
            Controls(flight.launch[0].folder_path).end("command")
        elif camera.restarts and camera.ready_by_s is None:
            kill_camera(flight)

    def as_a_user(flight: Flight) -> None:
        """By the page's button, which kills no process that the flight needs."""
        controls = Controls(flight.launch[0].folder_path)
        controls.kill("plant")
        controls.kill("camera")

    # In real time and long: the second death is of a process that has started, in flight.
    outcome, log, told = flown(scenario("pace=real", "duration_s=60"), tmp_path / "out", as_a_user, kill_again)
    assert "'plant': not killed; expected a process of this flight that it can do without" in told
    assert outcome.error is None
    first, second = (
        f"the camera process was killed by SIGKILL: {words}"
        for words in ("it is started again", "the flight continues without camera images")
    )
    for words in (told, outcome.remarks):  # a busy machine also has late frames
        assert [each for each in words if "camera process" in each] == [first, second]
    assert outcome.ended == ENDED["command"]
    assert log.rows["truth"][-1, 0] > 0.1


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
