"""Frames of films: the same pixels again, every family in the image, and what a film cannot be made of."""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from PIL import Image

from aeroloop.api.run import Run
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario_files import find
from aeroloop.dashboard import replay
from aeroloop.video import bodies, crafts
from aeroloop.video.film import Film, Settings
from aeroloop.video.make import drawn_by
from aeroloop.video.stage import Stage
from helpers import video_runs

SIZE_PX = (160, 90)
FAMILIES = ("tiltrotor-spiral", "quad-hover", "fixedwing-loiter", "rrr-circle", "rocket-hop")


@pytest.fixture(autouse=True)
def _egl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "MUJOCO_GL", "egl")


def drawn(run: Path, **settings: Any) -> list[np.ndarray[Any, Any]]:
    return list(Film(run, Settings(**{"size_px": SIZE_PX, "fps": 2.0, **settings})).frames())


def sha256(frames: list[np.ndarray[Any, Any]]) -> list[str]:
    return [hashlib.sha256(np.ascontiguousarray(frame)).hexdigest() for frame in frames]


def test_the_same_log_gives_the_same_pixels(tmp_path: Path) -> None:
    run = video_runs.made(tmp_path / "run", "mixed-fleet")
    settings = {"size_px": (640, 360), "instruments": True, "to_s": 1.0}
    first, again = sha256(drawn(run, **settings)), sha256(drawn(run, **settings))
    assert first == again
    assert len(set(first)) == len(first) == 3  # 1 s at 2 fps, both ends: something moves in each


@pytest.mark.parametrize("name", FAMILIES)
def test_the_aircraft_of_every_family_is_in_the_image(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = video_runs.made(tmp_path / "run", name)
    (seen,) = drawn(run, from_s=1.0, to_s=1.0)
    monkeypatch.setattr("aeroloop.video.viewpoints.hides_own", lambda kind, craft: True)
    (without,) = drawn(run, from_s=1.0, to_s=1.0)
    changed = np.abs(seen.astype(int) - without).sum(axis=2) > 30
    height, width = changed.shape
    near = changed[height // 4 : 3 * height // 4, width // 4 : 3 * width // 4]
    assert near.mean() > 0.003  # a part of the middle is the aircraft; a wing from behind is thin
    assert changed[:, : width // 10].mean() < 0.3  # and not of the whole image
    assert 60 < seen.mean() < 220  # lit
    assert without[-height // 3 :].std() > 4.0  # the ground has a structure


def test_objects_of_the_world_are_in_the_film_where_they_are(tmp_path: Path) -> None:
    """A red box drives to the north, away from a camera that stands south of it, beside a green one that stands."""
    drives = 'motion={kind="line",to_m=[3.0,40.0,0.0],speed_m_s=30.0},colour="#ff0000"'
    boxes = (
        f'{{name="red",kind="box",at_m=[3.0,0.0,0.0],size_m=[3.0,3.0,6.0],{drives}}}',
        '{name="green",kind="box",at_m=[9.0,0.0,0.0],size_m=[3.0,3.0,6.0],colour="#00ff00"}',
    )
    plan = load_plan(find("quad-hover"), (f"world.objects=[{','.join(boxes)}]",))
    run = video_runs.made(tmp_path / "run", "quad-hover", plan=plan)
    frames = drawn(run, camera="free", eye_W=(6.0, -25.0, 5.0), to_s=1.0, fps=1.0)
    assert len(frames) == 2
    area = [[int(mask.sum()) for mask in (coloured(frame, 0), coloured(frame, 1))] for frame in frames]
    (red_before, green_before), (red_after, green_after) = area
    assert 0 < red_after < 0.5 * red_before, "it is farther away"
    assert green_after == pytest.approx(green_before, rel=0.1) and green_before > 20


def coloured(frame: np.ndarray[Any, Any], channel: int) -> np.ndarray[Any, Any]:
    """Pixels in which this channel is more than twice the others."""
    return frame[..., channel] > 2.0 * np.delete(frame, channel, axis=2).max(axis=2).astype(float) + 20.0


def test_hinges_and_rotors_turn(tmp_path: Path) -> None:
    (craft,) = crafts.of_recording(replay.load(video_runs.made(tmp_path / "run", "tiltrotor-spiral")))
    spec = mujoco.MjSpec()
    bodies.add(spec, craft.shape, "one", craft.rgb)
    model = spec.compile()
    data = mujoco.MjData(model)
    placed = bodies.Placed(model, data, craft.shape, "one")
    angle = 0.3
    hinges = sum(body.hinge is not None for body in craft.shape.bodies)
    for hinge_rad, rotor_rad in ((0.0, 0.0), (angle, 0.0), (0.0, angle)):
        placed.place(crafts.Moving(craft.pose(1.0), (hinge_rad,) * hinges), [rotor_rad] * len(craft.shape.rotors))
        mujoco.mj_kinematics(model, data)
        turned = [data.joint(f"one/hinge{index}").qpos[0] for index in range(hinges)]
        assert turned == [hinge_rad] * hinges
        hub = model.joint("one/rotor0").bodyid[0]
        # The rotor turns with its pod and about its own axis: in both cases by the angle.
        R = data.xmat[hub].reshape(3, 3)
        if hinge_rad == rotor_rad == 0.0:
            rest = R.copy()
        else:
            assert math.acos((np.trace(rest.T @ R) - 1) / 2) == pytest.approx(angle, abs=1e-6)
    assert np.allclose(data.body("one").xpos, craft.pose(1.0).pos_W)


def test_paths_are_drawn_up_to_the_time_of_the_frame(tmp_path: Path) -> None:
    own = crafts.of_recording(replay.load(video_runs.made(tmp_path / "run", "quad-hover")))
    stage = Stage(own, (0.0, 2.0), SIZE_PX, own_hidden=False)
    try:
        counts = []
        for t_s in (0.0, 1.0, 2.0):
            stage.set_time(t_s, 1.0)
            counts.append(int(stage._scene.ngeom))
    finally:
        stage.close()
    rows = round(1.0 / video_runs.PERIOD_S)
    assert np.diff(counts).tolist() == [rows, rows]  # one segment a row


def test_times_of_frames(tmp_path: Path) -> None:
    run = video_runs.made(tmp_path / "run", "quad-hover")
    film = Film(run / "flight.mcap", Settings(fps=10.0, speed=0.5, from_s=0.5, to_s=1.5))
    assert film.count == 21  # 1 s of flight at half the speed are 2 s, both ends
    assert [film.time_s(0), film.time_s(20)] == pytest.approx([0.5, 1.5])
    assert Film(run, Settings()).count == 51
    for wrong, words in (({"from_s": 3.0}, "--from 3: expected 0 to 2 s"), ({"from_s": 1.0, "to_s": 0.5}, "--to 0.5")):
        with pytest.raises(ConfigError, match=words):
            Film(run, Settings(**wrong))
    with pytest.raises(ConfigError, match="no run"):
        Film(tmp_path / "absent", Settings())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"camera": "side"}, "--camera side: expected one of: chase, free, onboard"),
        ({"size_px": (161, 90)}, "--size 161x90: expected even numbers"),
        ({"size_px": (320, 180), "instruments": True}, "with --instruments expected at least 640x360"),
        ({"fps": 0.0}, "--fps 0"),
        ({"speed": -1.0}, "--speed -1"),
        ({"eye_W": (1.0, 2.0, 3.0)}, "--eye: expected --camera free"),
    ],
)
def test_settings_that_make_no_film_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Settings(**wrong)


def test_a_run_in_python_makes_its_film(tmp_path: Path) -> None:
    run = Run(video_runs.made(tmp_path / "run", "quad-hover"), video_runs.plan_of("quad-hover"), {})
    film = run.video(tmp_path / "short.gif", size_px=SIZE_PX, camera="free", from_s=0.5, to_s=1.0)
    with Image.open(film) as picture:
        assert (picture.size, getattr(picture, "n_frames", 1)) == (SIZE_PX, 7)  # half a second at 12.5 fps, both ends
    assert film == tmp_path / "short.gif"


def test_several_processes_draw_the_same_frames(tmp_path: Path) -> None:
    film = Film(video_runs.made(tmp_path / "run", "quad-hover"), Settings(size_px=SIZE_PX, fps=2.0))
    frames = list(drawn_by(2, tmp_path / "run", film))
    assert sha256(frames) == sha256(list(film.frames()))
    assert len(frames) == film.count == 5


def test_a_process_that_cannot_draw_ends_the_film_with_its_sentence(tmp_path: Path) -> None:
    film = Film(video_runs.made(tmp_path / "run", "quad-hover"), Settings(size_px=SIZE_PX, fps=2.0))
    with pytest.raises(ConfigError, match=r"gone: no run; expected a folder that `aeroloop fly` made"):
        list(drawn_by(1, tmp_path / "gone", film))
