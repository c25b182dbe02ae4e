"""What is rendered is where the pinhole says it is, and the same bytes come again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.cameras.pinhole import intrinsics_px, project, unproject
from aeroloop.core.camera import fitted
from aeroloop.core.shape import BOX_M
from aeroloop.flight.process_table import CAMERA

pytest.importorskip("cv2")
from helpers import camera_renders as scene

FOCAL_PX = fitted(scene.CAMERA).focal_px
INTRINSICS = intrinsics_px(FOCAL_PX, scene.SIZE_PX)
Renders = dict[str, Any]


def renders(out: Path) -> Renders:
    subprocess.run(
        [sys.executable, scene.__file__, str(out)],
        check=True,
        timeout=120,
        env={**os.environ, **dict(CAMERA.environment)},
    )
    with np.load(out) as file:
        return dict(file)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Renders, Renders]:
    """Two processes."""
    folder = tmp_path_factory.mktemp("renders")
    return renders(folder / "first.npz"), renders(folder / "second.npz")


@pytest.fixture(scope="module")
def made(both: tuple[Renders, Renders]) -> Renders:
    return both[0]


def corners_px(made: Renders, view: int) -> np.ndarray[Any, Any]:
    """Of the plate, by the projection."""
    x, y = scene.PLATE_M
    points_W = np.array([[x, y], [-x, y], [-x, -y], [x, -y]])
    points_W = np.column_stack([points_W, np.full(4, scene.PLATE_Z_M + 1e-4)])
    return project((points_W - made["pos_W"][view]) @ made["R_WC"][view], INTRINSICS)


def edge_line(
    mask: np.ndarray[Any, Any], a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]
) -> tuple[float, float, float]:
    """n . p = c of the boundary of `mask` near the segment from a to b, fitted through the pixel steps across it."""
    steep = abs(b[1] - a[1]) > abs(b[0] - a[0])
    picture, (p, q) = (mask, (a, b)) if steep else (mask.T, (a[::-1], b[::-1]))
    low, high = sorted((p[1], q[1]))
    points = []
    for row in range(int(low) + 4, int(high) - 3):
        near = p[0] + (q[0] - p[0]) * (row - p[1]) / (q[1] - p[1])
        first = max(0, int(near) - 4)
        steps = np.flatnonzero(np.diff(picture[row, first : first + 9].astype(int)))
        if len(steps) == 1:
            points.append((first + steps[0] + 0.5, row))
    assert len(points) > 30
    at, along = np.array(points).T
    slope, start = np.polyfit(along, at, 1)
    return (1.0, -slope, start) if steep else (-slope, 1.0, start)


def test_a_corner_is_rendered_where_the_projection_says(made: Renders) -> None:
    seen = 0
    for view, rgb in enumerate(made["rgb"]):
        expected = corners_px(made, view)
        if (expected < 6).any() or (expected > np.array(scene.SIZE_PX) - 7).any():
            continue
        mask = rgb.min(axis=2) > 220
        lines = [edge_line(mask, expected[i], expected[(i + 1) % 4]) for i in range(4)]
        sides = [np.abs(expected[(i + 1) % 4] - expected[i]).min() for i in range(4)]
        for i in range(4):
            if min(sides[i - 1], sides[i]) < 4.0:  # along a row or column pixels cannot tell better than 0.5 px
                continue
            (a, b, c), (d, e, f) = lines[i - 1], lines[i]
            found = np.linalg.solve([[a, b], [d, e]], [c, f])
            assert np.linalg.norm(found - expected[i]) < 0.3
            seen += 1
    assert seen >= 12


def test_every_pixel_of_depth_lies_on_a_true_surface(made: Renders) -> None:
    v, u = np.mgrid[0 : scene.SIZE_PX[1], 0 : scene.SIZE_PX[0]]
    pixels = np.column_stack([u.ravel(), v.ravel()]).astype(float)
    half = np.array([*scene.PLATE_M, scene.PLATE_Z_M / 2])
    for pos_W, R_WC, depth_m in zip(made["pos_W"], made["R_WC"], made["depth_m"], strict=True):
        points_W = unproject(pixels, depth_m.ravel(), INTRINSICS) @ R_WC.T + pos_W
        beyond = np.abs(points_W - np.array([0.0, 0.0, half[2]])) - half
        to_box = np.abs(
            np.where(beyond.max(axis=1) > 0, np.linalg.norm(np.maximum(beyond, 0), axis=1), beyond.max(axis=1))
        )
        on_plate = (np.abs(points_W[:, :2]) <= np.array(scene.PLATE_M) + 1e-5).all(axis=1)
        to_plate = np.where(on_plate, np.abs(points_W[:, 2] - scene.PLATE_Z_M - 1e-4), np.inf)
        error_m = np.minimum.reduce([np.abs(points_W[:, 2]), to_box, to_plate])
        assert error_m.max() < 1e-5


def test_bands_of_a_still_scene_are_the_whole_image(made: Renders) -> None:
    for banded in made["banded"]:
        assert np.abs(banded.astype(int) - made["rgb"][0]).max() <= 1


def test_the_wider_image_behind_no_lens_is_the_image(made: Renders) -> None:
    assert np.abs(made["cropped"] - made["rgb"][0]).max() <= 1


def test_equal_seeds_give_equal_bytes_in_two_processes(both: tuple[Renders, Renders]) -> None:
    first, second = both
    assert first["crc32"].tolist() == second["crc32"].tolist()
    assert len(set(first["crc32"].tolist())) == scene.FRAMES


def test_frames_left_out_leave_the_others(made: Renders) -> None:
    assert made["alone"] == made["crc32"][-1]
    assert made["other_seed"] != made["crc32"][-1]


def test_depth_is_in_its_range_and_has_gaps(made: Renders) -> None:
    depth_mm = made["depth_mm"]
    read = depth_mm[depth_mm > 0]
    assert 0.9 < len(read) / depth_mm.size < 1.0
    assert read.min() > 900
    assert read.max() < 3500


def test_another_aircraft_is_seen_where_it_is(made: Renders) -> None:
    """A box whose back is nearer than its middle by half its length."""
    away_m, focal_px = 3.0 - BOX_M[0], fitted(scene.FORWARD).focal_px
    nothing, ahead, left, other = made["ahead_m"]
    assert nothing.min() > 5.0  # ground and sky alone
    rows, columns = np.nonzero(ahead < 4.0)
    assert ahead[rows, columns].min() == pytest.approx(away_m, abs=1e-4)
    assert np.ptp(columns) + 1 == pytest.approx(2 * BOX_M[1] / away_m * focal_px, abs=2.0)
    assert np.ptp(rows) + 1 == pytest.approx(2 * BOX_M[2] / away_m * focal_px, abs=2.0)
    assert columns.mean() == pytest.approx((scene.SIZE_PX[0] - 1) / 2, abs=0.6)
    moved = np.nonzero(left < 4.0)[1]
    back = moved[left[left < 4.0] < away_m + 0.01]
    assert columns.mean() - back.mean() == pytest.approx(0.6 / away_m * focal_px, abs=1.0)
    assert np.array_equal(left, other)  # all aircraft of a flight have one shape
