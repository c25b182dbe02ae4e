"""Frames of a camera that slides along a flat textured wall: exact, small and quick, for SLAM without a renderer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from aeroloop.perception.slam.camera import Calibration, Intrinsics

WIDTH, HEIGHT, FOCAL_PX, WALL_M = 192, 144, 160.0, 2.0
PX_PER_M = FOCAL_PX / WALL_M
CALIBRATION = Calibration(
    colour=Intrinsics(width=WIDTH, height=HEIGHT, fx=FOCAL_PX, fy=FOCAL_PX, cx=(WIDTH - 1) / 2, cy=(HEIGHT - 1) / 2),
    depth_unit_m=0.001,
)
SETTINGS = ("features=300", "keyframe_inliers=20", "ransac_iterations=100")
DEPTH = np.full((HEIGHT, WIDTH), round(1000 * WALL_M), dtype=np.uint16)
DARK = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
WHITE = np.full_like(DARK, 255)


@lru_cache(maxsize=1)
def _wall() -> NDArray[np.uint8]:
    """12 m of it."""
    rng = np.random.default_rng(7)
    wall = np.full((HEIGHT, round(12 * PX_PER_M) + WIDTH, 3), 128, dtype=np.uint8)
    for _ in range(1200):
        x, y = int(rng.integers(wall.shape[1])), int(rng.integers(HEIGHT))
        w, h = (int(size) for size in rng.integers(3, 25, 2))
        wall[y : y + h, x : x + w] = rng.integers(0, 256, 3)
    return wall


def rgb(x_m: float) -> NDArray[np.uint8]:
    """The wall from here, to the nearest pixel."""
    left = round(x_m * PX_PER_M)
    return np.ascontiguousarray(_wall()[:, left : left + WIDTH])
