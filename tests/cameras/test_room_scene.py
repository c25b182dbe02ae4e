"""A flight's cameras see the room where its layout has its surfaces, which the aircraft touches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aeroloop.cameras.pinhole import intrinsics_px, unproject
from aeroloop.flight.process_table import CAMERA
from aeroloop.world.room_layout import RoomConfig

pytest.importorskip("cv2")

CONFIG = RoomConfig(seed=3, centre_m=(0.2, 2.3))
SIZE_PX, FOCAL_PX = (160, 120), 131.25
DRAW = f"""
import sys
import numpy as np
from aeroloop.cameras import scene
from aeroloop.cameras.pinhole import OPTICAL_IN_MOUNT, Pose
from aeroloop.cameras.render import Renderer
from aeroloop.world.room_layout import RoomConfig
renderer = Renderer(scene.of_room(RoomConfig(seed=3, centre_m=(0.2, 2.3)), texture_px=16), {SIZE_PX})
pose = Pose(np.array([0.0, 0.0, 1.2]), OPTICAL_IN_MOUNT)
rgb, depth_m = renderer.draw(pose, {FOCAL_PX}, {SIZE_PX})
np.savez(sys.argv[1], depth_m=depth_m, rgb=rgb, R_WC=pose.R_WC)
"""


def test_drawn_surfaces_are_those_of_the_layout(tmp_path: Path) -> None:
    file = tmp_path / "drawn.npz"
    environment = {**os.environ, **dict(CAMERA.environment)}
    subprocess.run([sys.executable, "-c", DRAW, str(file)], check=True, timeout=120, env=environment)
    with np.load(file) as drawn:
        depth_m, rgb, R_WC = drawn["depth_m"], drawn["rgb"], drawn["R_WC"]
    v, u = np.mgrid[0 : SIZE_PX[1], 0 : SIZE_PX[0]]
    pixels = np.stack([u.ravel(), v.ravel()], axis=1).astype(float)
    points_C = unproject(pixels, depth_m.ravel(), intrinsics_px(FOCAL_PX, SIZE_PX))
    points_W = (points_C @ R_WC.T + np.array([0.0, 0.0, 1.2]))[depth_m.ravel() < 20.0]
    assert len(points_W) > 15_000
    assert float(CONFIG.layout.distance_m(points_W).max()) < 1e-4
    assert float(RoomConfig(seed=4, centre_m=CONFIG.centre_m).layout.distance_m(points_W).max()) > 0.05
    assert rgb.std() > 20  # textures
