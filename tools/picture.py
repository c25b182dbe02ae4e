"""Draws README's picture: the tilt-rotor on its spiral, from a run's log. Needs OpenGL (`aeroloop doctor`).

python tools/picture.py RUN docs/images/tiltrotor-spiral.png
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("MUJOCO_GL", "egl")

import matplotlib.image
import mujoco
import numpy as np

from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.recording.log import read

HEIGHT, WIDTH = 540, 1200
SHOWN_S = 54.6
TRAIL_STEP = 60
TRAIL_RGBA = np.array([0.95, 0.55, 0.1, 1.0], dtype=np.float32)


def picture(run: Path) -> np.ndarray:
    log = read(run / "flight.mcap")
    shown = int(np.searchsorted(log.column("truth", "t_s"), SHOWN_S))
    names = ("x_m", "y_m", "z_m", "qw", "qx", "qy", "qz", "tilt_right_rad", "tilt_left_rad")
    state = np.stack([log.column("truth", name) for name in names], axis=1)[: shown + 1]
    model = airframe.build(parameters("cad"), 0.004)
    model.vis.global_.offheight, model.vis.global_.offwidth = HEIGHT, WIDTH
    model.stat.extent = 4.0
    data = mujoco.MjData(model)
    data.qpos[:] = state[-1]
    mujoco.mj_forward(model, data)
    renderer = mujoco.Renderer(model, HEIGHT, WIDTH)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = state[-1, :3] + np.array([-0.9, 1.1, -0.35])
    camera.distance, camera.azimuth, camera.elevation = 3.0, 140.0, -16.0
    renderer.update_scene(data, camera)
    for a, b in zip(state[:-TRAIL_STEP:TRAIL_STEP, :3], state[TRAIL_STEP::TRAIL_STEP, :3], strict=False):
        _draw_line(renderer.scene, a, b)
    picture: np.ndarray = renderer.render()
    return picture


def _draw_line(scene: mujoco.MjvScene, a: np.ndarray, b: np.ndarray) -> None:
    geom = scene.geoms[scene.ngeom]
    capsule = mujoco.mjtGeom.mjGEOM_CAPSULE
    mujoco.mjv_initGeom(geom, capsule, np.zeros(3), np.zeros(3), np.zeros(9), TRAIL_RGBA)
    mujoco.mjv_connector(geom, capsule, 0.012, a, b)
    scene.ngeom += 1


if __name__ == "__main__":
    matplotlib.image.imsave(sys.argv[2], picture(Path(sys.argv[1])))
