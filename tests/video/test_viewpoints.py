"""Cameras of films: the aircraft is in the image, the whole flight for the free camera, and nothing is in the way."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aeroloop.cameras.pinhole import Pose, intrinsics_px, project
from aeroloop.dashboard import replay
from aeroloop.video import crafts, viewpoints
from aeroloop.video.viewpoints import Surroundings
from aeroloop.world.room_layout import RoomConfig
from aeroloop.world.terrain import Flat
from helpers import video_runs

SIZE_PX = (160, 90)
SPAN_S = (0.0, 2.0)
OPEN = Surroundings(Flat(), None)


@pytest.fixture(scope="module")
def quad(tmp_path_factory: pytest.TempPathFactory) -> crafts.Craft:
    folder = tmp_path_factory.mktemp("run") / "run"
    return crafts.of_recording(replay.load(video_runs.made(folder, "quad-hover")))[0]


def pixel(pose: Pose, kind: str, craft: crafts.Craft, point_W: tuple[float, float, float]) -> tuple[float, float]:
    place = (np.array(point_W) - pose.pos_W) @ pose.R_WC
    assert place[2] > 0.0, "behind the camera"
    focal_px = viewpoints.focal_px(kind, craft, SIZE_PX[1])
    x, y = project(place[None], intrinsics_px(focal_px, SIZE_PX))[0].tolist()
    return x, y


def is_inside(at_px: tuple[float, float]) -> bool:
    return all(0 <= value < side for value, side in zip(at_px, SIZE_PX, strict=True))


@pytest.mark.parametrize("kind", ["chase", "free"])
def test_the_aircraft_is_in_the_image_at_all_times(quad: crafts.Craft, kind: str) -> None:
    view = viewpoints.of_kind(kind, [quad], SPAN_S, OPEN)
    for t_s in np.linspace(*SPAN_S, 9).tolist():
        pose = view(t_s)
        assert is_inside(pixel(pose, kind, quad, quad.pose(t_s).pos_W))
        assert pose.pos_W[2] > 0.0
        assert np.allclose(pose.R_WC.T @ pose.R_WC, np.eye(3)) and np.linalg.det(pose.R_WC) == pytest.approx(1.0)


def test_the_chase_camera_is_behind_and_the_free_one_stays(quad: crafts.Craft) -> None:
    chase, free = (viewpoints.of_kind(kind, [quad], SPAN_S, OPEN) for kind in ("chase", "free"))
    t_s = 1.0
    yaw = video_runs.yaw_rad("quad-hover", t_s)
    forward = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    assert (chase(t_s).pos_W - np.array(quad.pose(t_s).pos_W)) @ forward < -2.0 * quad.shape.reach_m
    assert np.array_equal(free(0.0).pos_W, free(2.0).pos_W) and np.array_equal(free(0.0).R_WC, free(2.0).R_WC)


def test_the_free_camera_is_no_farther_than_needed(quad: crafts.Craft) -> None:
    pose = viewpoints.of_kind("free", [quad], SPAN_S, OPEN, aspect=16 / 9)(0.0)
    x, y = np.array([pixel(pose, "free", quad, tuple(row)) for row in quad.pos_W.tolist()]).T
    used = max(np.ptp(x) / SIZE_PX[0], np.ptp(y) / SIZE_PX[1])
    assert 0.5 < used < 1.0


def test_a_given_eye_turns_to_the_aircraft(quad: crafts.Craft) -> None:
    view = viewpoints.of_kind("free", [quad], SPAN_S, OPEN, eye_W=(1.0, -9.0, 2.0))
    for t_s in (0.0, 1.3):
        assert view(t_s).pos_W.tolist() == [1.0, -9.0, 2.0]
        middle = (SIZE_PX[0] - 1) / 2, (SIZE_PX[1] - 1) / 2
        assert pixel(view(t_s), "free", quad, quad.pose(t_s).pos_W) == pytest.approx(middle, abs=1e-6)


def test_the_onboard_camera_looks_along_the_nose(quad: crafts.Craft) -> None:
    pose, yaw = viewpoints.of_kind("onboard", [quad], SPAN_S, OPEN)(1.0), video_runs.yaw_rad("quad-hover", 1.0)
    east, north, up = pose.R_WC[:, 2].tolist()
    assert math.atan2(north, east) == pytest.approx(yaw, abs=1e-6) and -0.3 < up < 0.0
    assert viewpoints.hides_own("onboard", quad) and not viewpoints.hides_own("chase", quad)


def test_in_a_room_nothing_is_between_camera_and_aircraft(quad: crafts.Craft) -> None:
    room = RoomConfig(size_m=(12.5, 12.5, 3.0), centre_m=(0.0, 0.0)).layout
    view = viewpoints.of_kind("chase", [quad], SPAN_S, Surroundings(Flat(), room))
    for t_s in (0.0, 0.7, 1.6):
        x, y, _ = view(t_s).pos_W.tolist()
        assert max(abs(x), abs(y)) < 6.25


def test_the_ground_is_below_the_camera(quad: crafts.Craft) -> None:
    view = viewpoints.of_kind("chase", [quad], SPAN_S, Surroundings(Flat(7.0), None))
    assert view(1.0).pos_W[2] > 7.0
