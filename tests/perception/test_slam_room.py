"""SLAM on rendered sequences of the textured room, against the exact truth."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from room_sequences import part, rendered
from typer.testing import CliRunner, Result

from aeroloop.analysis import slam_maps
from aeroloop.cli import app as cli
from aeroloop.core.errors import ConfigError
from aeroloop.perception.slam import camera as cameras
from aeroloop.perception.slam import se3, tum
from aeroloop.perception.slam.icp import Icp
from aeroloop.perception.slam.result import SlamResult
from aeroloop.perception.slam.run import run, summary
from aeroloop.perception.slam.settings import FRONT_ENDS, settings_of
from aeroloop.perception.slam.tracker import Slam
from aeroloop.perception.slam.tum import Sequence
from aeroloop.world.room import room
from aeroloop.world.room_layout import RoomConfig

pytest.importorskip("cv2")

FEW = "features=500"  # of small images


@pytest.fixture(scope="module")
def lap(tmp_path_factory: pytest.TempPathFactory) -> Sequence:
    """Somewhat more than a lap, in small images and few."""
    options = ("--laps", "1.1", "--rate", "3", "--width", "320", "--texture", "256")
    return rendered(tmp_path_factory.mktemp("room") / "lap", *options)


@pytest.fixture(scope="module")
def found(lap: Sequence) -> SlamResult:
    return run(lap, settings_of((FEW,)))


def _slam(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, ["slam", *map(str, arguments)])


def test_loops_close_and_the_optimised_path_is_better_than_odometry(found: SlamResult) -> None:
    numbers = json.loads(json.dumps(summary(found)))
    assert numbers["loops"] >= 5
    assert numbers["false_loops"] == 0
    assert numbers["frames_lost"] == 0
    assert numbers["ate_optimised_m"] < 0.5 * numbers["ate_odometry_m"]
    assert numbers["ate_optimised_m"] < 0.1


def test_the_map_is_nearer_to_the_surfaces_with_loops(found: SlamResult) -> None:
    numbers = slam_maps.map_errors(found, RoomConfig(centre_m=(0.0, 0.0)).layout)
    assert len(found.map().points_W) > 10_000
    assert numbers["map_optimised_median_m"] < 0.06
    assert numbers["map_optimised_median_m"] < numbers["map_odometry_median_m"]
    assert numbers["map_optimised_p95_m"] > 2 * numbers["map_optimised_median_m"]


def test_drawn_depth_lies_on_the_rooms_surfaces(tmp_path: Path) -> None:
    """Pinhole, pose convention and room agree: half a pixel of principal point would be millimetres."""
    exact = rendered(tmp_path, "--laps", "0.02", "--rate", "1", "--width", "320", "--texture", "16", "--exact")
    assert exact.truth is not None
    frame = exact.frame(0)
    points_C, _ = cameras.cloud(frame, exact.calibration.colour, stride=1, near_m=0.1, far_m=20.0)
    off_m = room(0, texture_px=16).distance_m(se3.transformed(exact.truth.T_WC[0], points_C))
    assert len(points_C) > 60_000
    assert float(off_m.max()) < 0.0008  # half a count of 1 mm, along the ray


def test_results_repeat_to_the_bit(lap: Sequence) -> None:
    settings = settings_of((FEW, "loop_age=1", "keyframe_m=0.1"))
    first, again = (run(part(lap, 0, 16), settings) for _ in range(2))
    assert len(first.state.loops) > 3
    assert first.trajectory.tobytes() == again.trajectory.tobytes()
    assert first.map().points_W.tobytes() == again.map().points_W.tobytes()


@pytest.mark.parametrize("name", ["orb", "sift"])
def test_features_follow_the_camera(name: str, lap: Sequence) -> None:
    result = run(part(lap, 0, 9), settings_of((FEW, f"front_end={name}")))
    assert summary(result)["frames_lost"] == 0
    assert len(result.state.keyframes) > 3
    accuracy = result.accuracy(result.odometry)
    assert accuracy is not None
    assert accuracy.ate_m < 0.05  # of 1.2 m


def test_icp_corrects_a_wrong_guess(lap: Sequence) -> None:
    assert lap.truth is not None
    icp = Icp(lap.calibration.colour, settings_of())
    true = se3.inverse(lap.truth.T_WC[0]) @ lap.truth.T_WC[1]
    wrong = true @ se3.exp(np.array([0.0, 0.0, 0.06, 0.0, 0.04, 0.0]))  # forwards and sideways, where surfaces tell
    motion = icp.motion((icp.view(lap.frame(0)), icp.view(lap.frame(1))), wrong, 0)
    assert motion is not None
    assert motion.inliers > 40
    left = se3.log(se3.inverse(true) @ motion.T_AB)
    assert abs(left[4]) < 0.015  # rad
    assert abs(left[2]) < 0.05  # m; the rest of it is the weight of the guess


def test_without_texture_the_camera_is_lost_and_found_again(lap: Sequence) -> None:
    settings = settings_of((FEW, "loop_age=1"))
    slam = Slam(lap.calibration.colour, settings)
    frames = [lap.frame(number) for number in range(6)]
    for frame in frames:
        slam.add(frame)
    before, mapped = len(slam.state.keyframes), len(slam.state.anchored())
    blank = [replace(frames[-1], t_s=3.0 + k, grey=np.full_like(frames[-1].grey, 255)) for k in range(7)]
    assert all(slam.add(frame).lost for frame in blank)
    assert len(slam.state.keyframes) == before + 1  # after six lost frames
    assert len(slam.state.anchored()) == mapped  # it is not in the map
    for k in range(8):
        slam.add(replace(frames[2], t_s=12.0 + k))
    state = slam.finish()
    assert len(state.anchored()) > mapped
    wrong = se3.inverse(state.trajectory()[2]) @ state.trajectory()[-1]
    assert se3.distance_m(wrong) < 0.01


def _short(lap: Sequence, folder: Path, count: int) -> Path:
    for name in ("rgb", "depth"):
        (folder / name).mkdir(parents=True)
        lines = (lap.folder / f"{name}.txt").read_text().splitlines()[: count + 1]
        (folder / f"{name}.txt").write_text("\n".join(lines))
        for line in lines[1:]:
            shutil.copy(lap.folder / line.split()[1], folder / line.split()[1])
    for name in ("groundtruth.txt", "calibration.toml", "room.toml"):
        shutil.copy(lap.folder / name, folder / name)
    return folder


def test_the_command_writes_its_files(lap: Sequence, tmp_path: Path) -> None:
    folder, out = _short(lap, tmp_path / "sequence", 5), tmp_path / "out"
    ended = _slam(folder, "--out", out, "--set", FEW, "--json")
    assert ended.exit_code == 0, ended.output
    numbers = json.loads(ended.stdout)
    assert numbers == json.loads((out / "summary.json").read_text())
    assert (numbers["frames"], numbers["settings"]["features"]) == (5, 500)
    for name in ("trajectory.txt", "trajectory_odometry.txt"):
        assert len(tum.read_trajectory(out / name).t_s) == 5
    ply = (out / "map.ply").read_bytes()
    header, _, body = ply.partition(b"end_header\n")
    assert f"element vertex {numbers['map_points']}\n".encode() in header
    assert len(body) == 15 * numbers["map_points"]
    page = (out / "report.html").read_text()
    over_time = ("slam-error", "slam-inliers", "slam-times", "slam-graph")
    for figure in (
        *over_time,
        "slam-room",
        "slam-range",
        "slam-paths",
        "slam-cross-sections",
        "slam-map-odometry",
        "slam-map",
    ):
        assert f'"{figure}"' in page
    assert numbers["map_optimised_median_m"] > 0  # the room is known
    refused = _slam(folder, "--out", out)
    assert isinstance(refused.exception, ConfigError)
    assert str(refused.exception) == f"{out}: exists already; --out expects a new folder"


def test_front_ends_are_compared_in_one_table(lap: Sequence, tmp_path: Path) -> None:
    folder, out = _short(lap, tmp_path / "sequence", 4), tmp_path / "out"
    (folder / "groundtruth.txt").unlink()
    ended = _slam(folder, "--compare", "--out", out, "--set", FEW)
    assert ended.exit_code == 0, ended.output
    rows = json.loads((out / "summary.json").read_text())["front_ends"]
    assert [row["front_end"] for row in rows] == list(FRONT_ENDS)
    assert all(row["ate_optimised_m"] is None and (out / row["front_end"] / "map.ply").exists() for row in rows)
    page = (out / "report.html").read_text()
    assert all(name in page for name in (*FRONT_ENDS, "not measured"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--front-end", "surf"), "slam settings: front_end: "),
        (("--set", "features=-1"), "slam settings: features: "),
        (("--set", "feature=5"), "slam settings: feature: "),
        (("--compare", "--front-end", "orb"), "--compare runs every front end: expected no --front-end"),
    ],
)
def test_bad_options_are_one_sentence(options: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    ended = _slam(tmp_path, *options)
    assert isinstance(ended.exception, ConfigError)
    assert sentence in str(ended.exception)


def test_without_opencv_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    ended = _slam(tmp_path)
    assert isinstance(ended.exception, ConfigError)
    assert (ended.exception.exit_code, str(ended.exception)) == (
        2,
        "SLAM needs OpenCV: pip install 'aeroloop[vision]'",
    )


@pytest.mark.soak  # in short: test_loops_close_and_the_optimised_path_is_better_than_odometry
def test_two_laps_meet_the_targets(tmp_path: Path) -> None:
    sequence = rendered(tmp_path / "laps", "--laps", "2.1", "--rate", "10")
    result = run(sequence, settings_of())
    numbers = summary(result)
    assert numbers["ate_ratio"] <= 1 / 3
    assert numbers["ate_optimised_m"] <= 0.05
    assert numbers["false_loops"] == 0
    points_W = se3.transformed(result.aligned(result.trajectory), result.map().points_W)
    assert float(np.median(room(0, texture_px=16).distance_m(points_W))) <= 0.04
