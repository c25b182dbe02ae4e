"""The pad's detector on synthetic images, and its pose from exact corners."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pad_images import DOWN, drawn, projected, view

from aeroloop.perception import pad
from aeroloop.perception.pad_detector import Outcome, PadDetector, pad_pose

TILT_RAD = math.radians(15)
# Camera height in m, then the rms errors of specification V6 in mm: lateral, height.
TABLE = [(0.1, 0.02, 0.15), (0.5, 0.07, 0.3), (1.2, 0.21, 1.6), (2.0, 0.41, 2.7), (5.0, 2.0, 15.0), (10.0, 8.4, 61.0)]


@pytest.fixture(scope="module")
def detector() -> PadDetector:
    return PadDetector(DOWN)


@pytest.mark.parametrize(("height_m", "lateral_mm", "vertical_mm"), TABLE)
def test_errors_at_each_height(detector: PadDetector, height_m: float, lateral_mm: float, vertical_mm: float) -> None:
    """Within twice the table, which was made with rendered images."""
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(6):
        tilt = rng.uniform(-0.7, 0.7, 2) * TILT_RAD
        right, down = rng.uniform(-0.1, 0.1, 2) * height_m
        seen = view(height_m, right, down, tilt=tilt, yaw=rng.uniform(-math.pi, math.pi))
        sighting = detector.look(drawn(seen, rng))
        assert sighting.outcome is Outcome.FOUND
        assert sighting.pose is not None
        errors.append(1e3 * (sighting.pose.pos_C - seen.pos_C))
    x, y, z = np.sqrt(np.mean(np.square(errors), axis=0))
    assert math.hypot(x, y) <= 2 * lateral_mm
    assert z <= 2 * vertical_mm


def test_a_pad_of_another_scale(detector: PadDetector) -> None:
    rng = np.random.default_rng(2)
    seen = view(1.0, 0.05, -0.03, yaw=0.4)
    image = drawn(seen, rng, scale=0.5)
    pose = PadDetector(DOWN, scale=0.5).look(image).pose
    assert pose is not None
    assert pose.pos_C == pytest.approx(seen.pos_C, abs=2e-3)
    wrong = detector.look(image).pose
    assert wrong is not None
    assert wrong.pos_C[2] == pytest.approx(2.0, rel=0.01), "twice as far: only its size tells"


def test_half_covered(detector: PadDetector) -> None:
    board = pad.image()
    board[:, :1320] = 90
    seen = view(5.0, 0.2, 0.1, tilt=(0.1, 0.0), yaw=1.0)
    pose = detector.look(drawn(seen, np.random.default_rng(3), board=board)).pose
    assert pose is not None
    assert pose.pos_C[:2] == pytest.approx(seen.pos_C[:2], abs=0.01)


def test_nothing_and_other_markers_are_no_pad(detector: PadDetector) -> None:
    import cv2

    rng = np.random.default_rng(4)
    board = np.full_like(pad.image(), 255)
    assert detector.look(drawn(view(2.0), rng, board=board)).outcome is Outcome.NOTHING
    whole = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    board[1000:2000, 1000:2000] = whole.generateImageMarker(23, 1000)
    assert detector.look(drawn(view(2.0), rng, board=board)).outcome is Outcome.NOTHING
    board[1000:2000, 1000:2000] = whole.generateImageMarker(3, 1000)
    assert set(detector.look(drawn(view(2.0), rng, board=board)).corners_px) == {3}, "what the test would see"


def test_a_second_pad_in_the_image_is_not_used(detector: PadDetector) -> None:
    rng = np.random.default_rng(5)
    left, right = drawn(view(5.0, -1.2), rng), drawn(view(5.0, 1.2), rng)
    both = np.hstack([left[:, :320], right[:, 320:]])
    sighting = detector.look(both)
    assert sighting.outcome is Outcome.TWICE
    assert sighting.pose is None
    assert detector.look(left).outcome is Outcome.FOUND


def test_one_wrong_marker_is_left_out_and_two_are_refused() -> None:
    seen = view(2.0, 0.1, 0.1, tilt=(0.1, -0.1))
    corners = {number: projected(seen, pad.corners_P(number)) for number in range(9)}
    corners[2] = corners[2] + [12.0, 0.0]
    pose = pad_pose(corners, DOWN)
    assert pose is not None
    assert 2 not in pose.markers
    assert pose.pos_C == pytest.approx(seen.pos_C, abs=1e-6)
    corners[0] = corners[0] + [0.0, 15.0]
    assert pad_pose(corners, DOWN) is None


def test_corners_on_one_point_give_no_pose() -> None:
    assert pad_pose({0: np.full((4, 2), 100.0)}, DOWN) is None


angles = st.floats(-TILT_RAD, TILT_RAD)
yaws = st.floats(-math.pi, math.pi)


@example(which={8}, tilt=(0.0, 0.0), yaw=0.0, height=1.0, off=(0.0, 0.0625), scale=0.3)
@settings(max_examples=60, deadline=None)
@given(
    which=st.sets(st.integers(0, 8), min_size=1),
    tilt=st.tuples(angles, angles),
    yaw=yaws,
    height=st.floats(0.3, 1.0),
    off=st.tuples(st.floats(-0.2, 0.2), st.floats(-0.2, 0.2)),
    scale=st.sampled_from([1.0, 0.3]),
)
def test_exact_corners_return_the_pose(
    which: set[int], tilt: tuple[float, float], yaw: float, height: float, off: tuple[float, float], scale: float
) -> None:
    """For any subset whose largest marker has a side over 30 px."""
    side_m = max(pad.MARKERS[number].side_m for number in which) * scale
    height_m = height * DOWN.fx * side_m / 32.0
    seen = view(height_m, off[0] * height_m, off[1] * height_m, tilt=tilt, yaw=yaw)
    corners = {number: projected(seen, pad.corners_P(number, scale)) for number in which}
    pose = pad_pose(corners, DOWN, scale=scale)
    assert pose is not None
    assert pose.pos_C == pytest.approx(seen.pos_C, abs=1e-6)
    assert pose.rot_CP == pytest.approx(seen.rot_CP, abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(yaw=yaws, other=yaws, tilt=st.tuples(angles, angles))
def test_the_yaw_of_the_pad_does_not_change_the_landing_point(
    yaw: float, other: float, tilt: tuple[float, float]
) -> None:
    places = []
    for turn in (yaw, other):
        seen = view(3.0, 0.3, -0.2, tilt=tilt, yaw=turn)
        pose = pad_pose({number: projected(seen, pad.corners_P(number)) for number in range(9)}, DOWN)
        assert pose is not None
        places.append(pose.pos_C)
    assert places[0] == pytest.approx(places[1], abs=1e-6)
