"""The aircraft of a log: their poses at any time, and which one a film follows."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import euler_from_quat
from aeroloop.dashboard import replay
from aeroloop.video import crafts
from helpers import video_runs


def flown(folder: Path, name: str, wanted: str = "") -> list[crafts.Craft]:
    return crafts.of_recording(replay.load(video_runs.made(folder, name)), wanted)


def test_a_pose_is_interpolated_between_rows(tmp_path: Path) -> None:
    (craft,) = flown(tmp_path / "run", "quad-hover")
    t_s = 1.0 + video_runs.PERIOD_S / 2
    pose = craft.pose(t_s)
    # A chord lies r (1 - cos(half its angle)) inside the circle.
    sagitta_m = video_runs.RADIUS_M * (1 - math.cos(video_runs.RATE_RAD_S * video_runs.PERIOD_S / 2))
    assert math.dist(pose.pos_W, video_runs.position("quad-hover", t_s)) == pytest.approx(sagitta_m, rel=1e-6)
    assert euler_from_quat(pose.quat_WB)[2] == pytest.approx(video_runs.yaw_rad("quad-hover", t_s), abs=1e-9)
    assert craft.pose(-1.0).pos_W == craft.pose(0.0).pos_W
    assert craft.pose(99.0).pos_W == craft.pose(2.0).pos_W


def test_the_followed_heading_is_the_mean_over_time(tmp_path: Path) -> None:
    (craft,) = flown(tmp_path / "run", "quad-hover")
    middle_s = 1.0  # as much before as after it: at a constant rate the mean is the value
    assert craft.heading_rad(middle_s) == pytest.approx(video_runs.yaw_rad("quad-hover", middle_s), abs=0.01)
    assert all(math.isfinite(craft.heading_rad(t_s)) for t_s in (-1.0, 0.0, 2.0, 9.0))


def test_several_aircraft_are_found_by_name_and_number(tmp_path: Path) -> None:
    recording = replay.load(video_runs.made(tmp_path / "run", "quad-swarm"))
    names = [craft.name for craft in crafts.of_recording(recording)]
    assert names[:2] == ["quad-swarm-1", "quad-swarm-2"]
    assert next(craft.name for craft in crafts.of_recording(recording, "3")) == names[2]
    second = crafts.of_recording(recording, "quad-swarm-2")
    assert second[0].name == names[1] and sorted(craft.name for craft in second) == sorted(names)
    assert np.allclose(second[0].pos_W[0], video_runs.position("quad-swarm", 0.0, 1))
    with pytest.raises(ConfigError, match=r"--aircraft quad-swarm-9: .*expected one of: quad-swarm-1"):
        crafts.of_recording(recording, "quad-swarm-9")
    with pytest.raises(ConfigError, match="a number from 1"):
        crafts.of_recording(recording, "0")


def test_parts_of_a_fleet_have_their_own_shapes(tmp_path: Path) -> None:
    found = flown(tmp_path / "run", "mixed-fleet", "wing")
    assert found[0].name == "wing"
    assert len({craft.shape.reach_m for craft in found}) >= 3
    assert len({craft.rgb for craft in found}) == len(found)
