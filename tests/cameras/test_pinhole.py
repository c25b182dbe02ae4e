"""Projection, distortion, mounting and interpolated poses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.cameras.pinhole import (
    BodyPose,
    PoseHistory,
    camera_pose,
    distorted,
    intrinsics_px,
    project,
    undistorted,
    unproject,
)
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.frames import quat_from_euler

LEVEL = (1.0, 0.0, 0.0, 0.0)


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.05, 100)), min_size=1, max_size=20),
    st.floats(50, 2000),
)
def test_unprojecting_a_projection_returns_the_points(
    points: list[tuple[float, float, float]], focal_px: float
) -> None:
    points_C = np.array(points)
    intrinsics = intrinsics_px(focal_px, (640, 480))
    back = unproject(project(points_C, intrinsics), points_C[:, 2], intrinsics)
    assert np.abs(back - points_C).max() < 1e-9


@given(
    st.tuples(st.floats(-0.3, 0.3), st.floats(-0.1, 0.1), *[st.floats(-0.01, 0.01)] * 2, st.floats(-0.05, 0.05)),
    st.lists(st.tuples(st.floats(-0.5, 0.5), st.floats(-0.4, 0.4)), min_size=1, max_size=10),
)
def test_the_lens_can_be_undone(lens: tuple[float, ...], points: list[tuple[float, float]]) -> None:
    seen = distorted(np.array(points), lens)
    assert np.abs(undistorted(seen, lens) - np.array(points)).max() < 1e-6


def test_presets_look_where_they_should() -> None:
    body = BodyPose(0.0, (1.0, 2.0, 3.0), LEVEL)
    down = camera_pose(body, fitted(Camera(name="down")))
    assert np.allclose(down.R_WC[:, 2], [0, 0, -1])  # looks down
    assert np.allclose(-down.R_WC[:, 1], [1, 0, 0])  # the image's top is the nose
    assert np.allclose(down.pos_W, [1.0, 2.0, 2.98])
    forward = camera_pose(body, fitted(Camera(name="eyes", preset="rgbd")))
    dip = math.radians(7.0)
    assert np.allclose(forward.R_WC[:, 2], [math.cos(dip), 0, -math.sin(dip)])
    assert np.allclose(forward.R_WC[:, 0], [0, -1, 0])  # right of the image is right of the nose
    assert math.isclose(fitted(Camera(name="a")).fovy_deg, 55.1, abs_tol=0.05)
    assert math.isclose(fitted(Camera(name="a", preset="rgbd")).fovy_deg, 49.1, abs_tol=0.05)


@given(st.floats(0, 1), st.floats(-3, 3), st.floats(-3, 3))
def test_a_pose_between_two_rows_turns_evenly(part: float, first: float, turn: float) -> None:
    history = PoseHistory()
    history.add(BodyPose(1.0, (0.0, 0.0, 0.0), quat_from_euler(0, 0, first)))
    history.add(BodyPose(1.1, (1.0, -2.0, 4.0), quat_from_euler(0, 0, first + turn)))
    between = history.at(1.0 + 0.1 * part)
    assert np.allclose(between.pos_W, np.array([1.0, -2.0, 4.0]) * part, atol=1e-9)
    expected = np.array(quat_from_euler(0, 0, first + turn * part))
    assert abs(abs(float(expected @ np.array(between.quat_WB))) - 1.0) < 1e-9


def test_old_poses_are_forgotten_and_the_needed_ones_kept() -> None:
    history = PoseHistory()
    for i in range(100):
        history.add(BodyPose(i * 0.1, (i * 0.1, 0.0, 0.0), LEVEL))
    history.forget(5.05)
    assert history.at(5.05).pos_W[0] == pytest.approx(5.05)
    assert history.at(0.0).pos_W[0] == pytest.approx(5.0)
