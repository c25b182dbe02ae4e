"""Render a flight through the textured room as a TUM RGB-D folder, with the noise of a Kinect and its ground truth.

    python -m tools.room_sequence build/room --seed 1 --laps 2.1 --rate 10

One pass draws colour and depth (EGL, no screen needed). The depth of a flight has a calibration error too: without it
odometry would be better than that of any real camera.
"""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray
from PIL import Image

from aeroloop.perception.slam import camera as cameras
from aeroloop.perception.slam import se3, tum
from aeroloop.perception.slam.camera import Calibration, Intrinsics
from aeroloop.world import room_layout
from aeroloop.world.room import Room, room

Array = NDArray[np.float64]

FOCAL_PX, WIDTH_PX = 525.0, 640  # of the preset `rgbd`; smaller images have the same field of view
LAP_S = 40.0
ELLIPSE_M = (3.2, 2.4)  # half axes
OUTWARD_RAD, DOWN_RAD = math.radians(34.0), math.radians(7.0)
DEPTH_UNIT_M = 0.001
NEAR_M, FAR_M = 0.5, 4.5
BASELINE_M, DISPARITY_SIGMA, DISPARITY_QUANTUM_PX = 0.075, 1.425e-3, 1 / 8  # Khoshelham and Elberink 2012


@dataclass(frozen=True)
class Flight:
    seed: int = 0
    laps: float = 2.1
    rate_hz: float = 10.0
    width_px: int = WIDTH_PX
    texture_px: int = 512
    noise: bool = True
    start_lap: float = 0.0


def intrinsics(width_px: int) -> Intrinsics:
    height_px, focal_px = width_px * 3 // 4, FOCAL_PX * width_px / WIDTH_PX
    return Intrinsics(
        width=width_px,
        height=height_px,
        fx=focal_px,
        fy=focal_px,
        cx=(width_px - 1) / 2,
        cy=(height_px - 1) / 2,
    )


def pose_at(t_s: float) -> Array:
    """Pose of the optical frame: an ellipse around the block, the camera turned outwards, with some sway."""
    turn = 2 * math.pi * t_s / LAP_S
    a, b = ELLIPSE_M
    pos_W = np.array([a * math.cos(turn), b * math.sin(turn), 1.2 + 0.25 * math.sin(1.5 * turn + 0.4)])
    pos_W += 0.03 * np.array([math.sin(1.9 * t_s), math.sin(1.3 * t_s + 1.0), math.sin(2.3 * t_s + 2.0)])
    heading = math.atan2(b * math.cos(turn), -a * math.sin(turn))
    yaw = heading - OUTWARD_RAD + math.radians(2.0) * math.sin(0.9 * t_s)
    down = DOWN_RAD + math.radians(2.0) * math.sin(1.4 * t_s + 0.5)
    roll = math.radians(2.0) * math.sin(1.1 * t_s + 1.5)
    z_W = np.array([math.cos(yaw) * math.cos(down), math.sin(yaw) * math.cos(down), -math.sin(down)])
    level = np.array([math.sin(yaw), -math.cos(yaw), 0.0])
    below = np.cross(z_W, level)
    x_W = math.cos(roll) * level + math.sin(roll) * below
    return se3.compose(np.stack([x_W, np.cross(z_W, x_W), z_W], axis=1), pos_W)


class Renderer:
    """Colour and exact depth from any pose. MuJoCo must not have been imported with another renderer."""

    def __init__(self, scenery: Room, camera: Intrinsics) -> None:
        os.environ["MUJOCO_GL"] = "egl"
        os.environ.setdefault("LP_NUM_THREADS", "1")
        import mujoco

        self._mujoco, self._camera = mujoco, camera
        self._gl = mujoco.GLContext(camera.width, camera.height)
        self._gl.make_current()
        self._model = mujoco.MjModel.from_xml_string(scenery.xml, scenery.assets)
        data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, data)
        self._scene = mujoco.MjvScene(self._model, maxgeom=200)
        option = mujoco.MjvOption()
        mujoco.mjv_updateScene(
            self._model, data, option, None, mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_ALL.value, self._scene
        )
        for flag in ("SHADOW", "REFLECTION", "HAZE", "SKYBOX"):
            self._scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR.value
        self._rectangle = mujoco.MjrRect(0, 0, camera.width, camera.height)

    def image(self, T_WC: Array) -> tuple[NDArray[np.uint8], Array]:
        camera, mujoco = self._camera, self._mujoco
        near = self._model.vis.map.znear * self._model.stat.extent
        far = self._model.vis.map.zfar * self._model.stat.extent
        for view in self._scene.camera:
            view.pos, view.forward, view.up = T_WC[:3, 3], T_WC[:3, 2], -T_WC[:3, 1]
            view.orthographic = 0
            view.frustum_center = 0.0
            view.frustum_width = near * camera.width / 2 / camera.fx
            view.frustum_top = near * camera.height / 2 / camera.fy
            view.frustum_bottom = -view.frustum_top
            view.frustum_near, view.frustum_far = near, far
        rgb = np.empty((camera.height, camera.width, 3), dtype=np.uint8)
        buffer = np.empty((camera.height, camera.width), dtype=np.float32)
        mujoco.mjr_render(self._rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(rgb, buffer, self._rectangle, self._context)
        c = 0.5 * (far + near) / (far - near) - 0.5
        d = far * near / (far - near)
        return rgb[::-1].copy(), (d / (buffer.astype(float) + c))[::-1].copy()

    def close(self) -> None:
        self._context.free()
        self._gl.free()


def calibration_error(rng: np.random.Generator, camera: Intrinsics) -> Array:
    """Factors of depth, drawn once a flight: 0.5 % of scale, and a smooth field of 1 %."""
    coarse = rng.normal(0.0, 0.01, (6, 8)).astype(np.float32)
    field = Image.fromarray(coarse, mode="F").resize((camera.width, camera.height), Image.Resampling.BICUBIC)
    factors: Array = (1.0 + rng.normal(0.0, 0.005)) * (1.0 + np.asarray(field, dtype=float))
    return factors


def kinect(depth_m: Array, factors: Array, rng: np.random.Generator, focal_px: float) -> Array:
    """Depth as a Kinect 1 measures it; 0 where it has no reading."""
    height, width = depth_m.shape
    depth = np.minimum(depth_m, 100.0)
    fb = focal_px * BASELINE_M
    quantum_px = DISPARITY_QUANTUM_PX * focal_px / FOCAL_PX  # smaller images measure as well as the full ones
    coarse = rng.normal(0.0, DISPARITY_SIGMA * fb, ((height + 1) // 2, (width + 1) // 2))
    noise = np.repeat(np.repeat(coarse, 2, axis=0), 2, axis=1)[:height, :width]
    disparity = np.rint((fb / (depth * factors) + noise) / quantum_px) * quantum_px
    measured = fb / np.maximum(disparity, 1e-3)
    edge = np.zeros(depth.shape, dtype=bool)
    edge[:, 1:] |= np.abs(np.diff(depth, axis=1)) > 0.05 * depth[:, 1:]
    edge[1:] |= np.abs(np.diff(depth, axis=0)) > 0.05 * depth[1:]
    blocks = rng.random(((height + 3) // 4, (width + 3) // 4)) < 0.01
    missing = np.repeat(np.repeat(blocks, 4, axis=0), 4, axis=1)[:height, :width]
    return np.where(edge | missing | (measured < NEAR_M) | (measured > FAR_M), 0.0, measured)


def noisy(rgb: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    sigma = np.sqrt(4.0 + 0.08 * rgb)
    drawn: Array = rgb + sigma * rng.standard_normal(rgb.shape)
    return np.clip(np.rint(drawn), 0, 255).astype(np.uint8)


def write(folder: Path, flight: Flight) -> None:
    camera = intrinsics(flight.width_px)
    renderer = Renderer(room(flight.seed, texture_px=flight.texture_px), camera)
    factors = calibration_error(np.random.default_rng([flight.seed, 3]), camera)
    for name in ("rgb", "depth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    times, poses = [], []
    for k in range(round(flight.laps * LAP_S * flight.rate_hz) + 1):
        t_s = k / flight.rate_hz
        T_WC = pose_at(t_s + flight.start_lap * LAP_S)
        rgb, depth_m = renderer.image(T_WC)
        if flight.noise:
            rng = np.random.default_rng([flight.seed, 4, k])
            rgb, depth_m = noisy(rgb, rng), kinect(depth_m, factors, rng, camera.fx)
        counts = np.where(depth_m < 60.0, np.rint(depth_m / DEPTH_UNIT_M), 0.0).astype(np.uint16)
        _save(folder / "rgb" / f"{t_s:.6f}.png", rgb)
        _save(folder / "depth" / f"{t_s:.6f}.png", counts)
        times.append(t_s)
        poses.append(T_WC)
    for name in ("rgb", "depth"):
        lines = "".join(f"{t_s:.6f} {name}/{t_s:.6f}.png\n" for t_s in times)
        (folder / f"{name}.txt").write_text("# time file\n" + lines, encoding="utf-8")
    (folder / tum.TRUTH).write_text(tum.trajectory_text(np.array(times), np.array(poses)), encoding="utf-8")
    table = cameras.as_table(Calibration(colour=camera, depth_unit_m=DEPTH_UNIT_M))
    (folder / cameras.FILE).write_text(tomli_w.dumps(table), encoding="utf-8")
    (folder / room_layout.FILE).write_text(
        tomli_w.dumps({"seed": flight.seed, "centre_m": [0.0, 0.0]}), encoding="utf-8"
    )
    renderer.close()


def _save(path: Path, pixels: NDArray[Any]) -> None:
    Image.fromarray(pixels).save(path, compress_level=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--laps", type=float, default=2.1, help="of 40 s and about 18 m each")
    parser.add_argument("--start-lap", type=float, default=0.0, help="where on the lap the flight begins")
    parser.add_argument("--rate", type=float, default=10.0, help="frames per second")
    parser.add_argument("--width", type=int, default=WIDTH_PX, help="of the images, in pixels; 4:3")
    parser.add_argument("--texture", type=int, default=512, help="size of a texture in pixels")
    parser.add_argument("--exact", action="store_true", help="without noise and calibration error")
    a = parser.parse_args()
    write(a.folder, Flight(a.seed, a.laps, a.rate, a.width, a.texture, not a.exact, a.start_lap))


if __name__ == "__main__":
    main()
