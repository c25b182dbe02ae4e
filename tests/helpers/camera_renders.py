"""Renders for the tests of cameras, in a process of its own: MuJoCo chooses OpenGL when it is imported, and a process
has one context. `MUJOCO_GL=egl python camera_renders.py OUT.npz` writes images, poses and checksums."""

from __future__ import annotations

import sys
from typing import Any

import mujoco
import numpy as np

from aeroloop.cameras import effects, others
from aeroloop.cameras.pinhole import BodyPose, Pose, camera_pose
from aeroloop.cameras.render import Renderer
from aeroloop.cameras.scene import of_ground
from aeroloop.cameras.shots import Shooter
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.shape import box
from aeroloop.world.terrain import Flat

PLATE_M = (0.5, 0.35)
PLATE_Z_M = 0.2
"""Half sides and height of a white plate on a box of the same size."""
SIZE_PX = (320, 240)
FRAMES = 4
CAMERA = Camera(name="down", size_px=SIZE_PX)
RGBD = Camera(
    name="eyes",
    preset="rgbd",
    size_px=SIZE_PX,
    angles_deg=(0.0, 60.0, 0.0),
    exposure_s=0.01,
    blur_samples=2,
    readout_s=0.02,
    bands=3,
    lens=(-0.1, 0.01, 0.001, 0.0, 0.0),
    vignette=0.3,
)

FORWARD = Camera(name="forward", preset="rgbd", size_px=SIZE_PX, pos_m=(0.0, 0.0, 0.0), angles_deg=(0.0, 0.0, 0.0))
LEVEL = (1.0, 0.0, 0.0, 0.0)
AHEAD, LEFT = (BodyPose(0.0, (3.0, left_m, 5.0), LEVEL) for left_m in (0.0, 0.6))


def moving(t_s: float) -> BodyPose:
    return BodyPose(t_s, (0.3 * t_s - 1.0, 0.1, 1.6), quat_from_euler(0.1 * np.sin(9.0 * t_s), 0.05, 0.4 * t_s))


def scene() -> mujoco.MjSpec:
    spec = of_ground(Flat())
    x, y = PLATE_M
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=[0.0, 0.0, PLATE_Z_M / 2],
        size=[x, y, PLATE_Z_M / 2],
        rgba=[0.0, 0.0, 0.3, 1.0],
    )
    white = spec.add_material(name="white", emission=1.0)
    white.rgba = [1.0, 1.0, 1.0, 1.0]
    # Drawn just above the box, so that depth tells which one is seen.
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, pos=[0.0, 0.0, PLATE_Z_M + 1e-4], size=[x, y, 1.0], material="white"
    )
    others.add(spec, box(), 2)
    return spec


def aircraft_ahead(renderer: Renderer) -> list[np.ndarray[Any, Any]]:
    """Depth seen by a camera that looks forward 5 m above the ground: nothing there, an aircraft ahead, and to the left
    of that."""
    place, pose = renderer.others(2), camera_pose(BodyPose(0.0, (0.0, 0.0, 5.0), LEVEL), fitted(FORWARD))
    seen = []
    for poses in ({}, {1: AHEAD}, {1: LEFT}, {0: LEFT}):
        place(poses)
        seen.append(renderer.draw(pose, fitted(FORWARD).focal_px, SIZE_PX)[1])
    place({})
    return seen


def main(out: str) -> None:
    renderer = Renderer(scene(), (400, 320))
    ahead_m = aircraft_ahead(renderer)
    model, rng = fitted(CAMERA), np.random.default_rng(3)
    bodies = [
        BodyPose(
            0.0, (*rng.uniform(-0.2, 0.2, 2), rng.uniform(1.5, 2.2)), quat_from_euler(*rng.uniform(-0.2, 0.2, 2), yaw)
        )
        for yaw in rng.uniform(-3.0, 3.0, 8)
    ]
    poses = [camera_pose(body, model) for body in bodies]
    drawn = [renderer.draw(pose, model.focal_px, SIZE_PX) for pose in poses]
    still = poses[0]
    banded = [renderer.draw_bands(lambda _: still, bands, model.focal_px, SIZE_PX) for bands in (5, 16)]
    no_lens = (0.0,) * 5
    wide = renderer.draw(still, model.focal_px, effects.wider(no_lens, model.focal_px, SIZE_PX))
    cropped = effects.bent(wide[0], no_lens, model.focal_px, SIZE_PX, smooth=True)
    turned = Pose(still.pos_W, still.R_WC)
    shooter = Shooter(RGBD, 5, renderer)
    images = [shooter.shoot(number, moving) for number in range(FRAMES)]
    alone = Shooter(RGBD, 5, renderer).shoot(FRAMES - 1, moving)
    other_seed = Shooter(RGBD, 6, renderer).shoot(FRAMES - 1, moving)
    np.savez(
        out,
        pos_W=[pose.pos_W for pose in poses],
        R_WC=[pose.R_WC for pose in poses],
        rgb=[rgb for rgb, _ in drawn],
        depth_m=[depth_m for _, depth_m in drawn],
        banded=[rgb for rgb, _ in banded],
        cropped=cropped,
        whole=renderer.draw(turned, model.focal_px, SIZE_PX)[0],
        crc32=[image.crc32 for image in images],
        alone=alone.crc32,
        other_seed=other_seed.crc32,
        depth_mm=images[0].depth,
        ahead_m=ahead_m,
    )
    renderer.close()


if __name__ == "__main__":
    main(sys.argv[1])
