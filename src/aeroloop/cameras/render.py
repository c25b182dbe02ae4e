"""Draws a scene as a camera sees it: colour and depth of one pass, on the GPU or by Mesa's software renderer.

MuJoCo's classic renderer over EGL; `MUJOCO_GL=egl` must be set before mujoco is imported. A process makes one renderer,
with one GL context. Depth is float64: MuJoCo's own conversion to float32 costs accuracy.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from aeroloop.cameras.others import Placed
from aeroloop.cameras.pinhole import Pose
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Quat, Vec, Vec3

Rgb = NDArray[np.uint8]
PoseOfRow = Callable[[float], Pose]
"""Pose of the camera when it reads a row; the fraction of the image's height, 0 at the top."""
NO_EGL = (
    "cameras: OpenGL over EGL is missing: {}; "
    "expected libEGL and a driver: sudo apt-get install libegl1 libgl1-mesa-dri libopengl0"
)


class Renderer:
    def __init__(self, spec: mujoco.MjSpec, largest_px: tuple[int, int], *, marks: int = 64) -> None:
        """ConfigError if this machine cannot draw. `marks`: room in the scene for what is not in the model."""
        spec.visual.global_.offwidth, spec.visual.global_.offheight = largest_px
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._gl = _context(*largest_px)
        self._scene = mujoco.MjvScene(self._model, maxgeom=self._model.ngeom + marks)
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self.update()
        for flag in ("SHADOW", "REFLECTION", "HAZE", "FOG"):
            self._scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0
        extent = self._model.stat.extent
        self._near_m = float(np.float32(self._model.vis.map.znear * extent))
        self._far_m = float(np.float32(self._model.vis.map.zfar * extent))

    def move(self, name: str, pos_W: Vec3, quat_W: Quat) -> None:
        """A mocap body of the scene; `update` follows."""
        index = self._model.body(name).mocapid[0]
        self._data.mocap_pos[index], self._data.mocap_quat[index] = pos_W, quat_W

    def update(self) -> None:
        """Required when something in the scene has moved."""
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mjv_updateScene(
            self._model,
            self._data,
            mujoco.MjvOption(),
            None,
            mujoco.MjvCamera(),
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )

    def others(self, count: int) -> Placed:
        """To move the aircraft that `others.add` put into the scene."""
        return Placed(self._model, self._data, count, self.update)

    def driver(self) -> str:
        """Name and version of what draws."""
        from OpenGL import GL

        return ", ".join(GL.glGetString(name).decode() for name in (GL.GL_RENDERER, GL.GL_VERSION))

    def draw(self, pose: Pose, focal_px: float, size_px: tuple[int, int]) -> tuple[Rgb, Vec]:
        """Colour (h, w, 3) and depth along the optical axis in m (h, w), from the top."""
        return self.draw_bands(lambda _: pose, 1, focal_px, size_px)

    def draw_bands(self, pose_of: PoseOfRow, bands: int, focal_px: float, size_px: tuple[int, int]) -> tuple[Rgb, Vec]:
        """The same in horizontal bands, each with the pose of its middle row."""
        width, height = size_px
        edges = [round(height * index / bands) for index in range(bands + 1)]
        for top, bottom in pairwise(edges):
            if bottom > top:
                self._look(pose_of((top + bottom) / 2.0 / height), focal_px, size_px, top, bottom)
                mujoco.mjr_render(mujoco.MjrRect(0, height - bottom, width, bottom - top), self._scene, self._context)
        rgb, buffer = np.empty((height, width, 3), np.uint8), np.empty((height, width), np.float32)
        mujoco.mjr_readPixels(rgb, buffer, mujoco.MjrRect(0, 0, width, height), self._context)
        near, far = np.float32(self._near_m), np.float32(self._far_m)
        c = 0.5 * float((far + near) / (far - near)) - 0.5
        d = 0.5 * float(np.float32(2) * far * near / (far - near))
        return rgb[::-1], d / (buffer[::-1].astype(np.float64) + c)

    def _look(self, pose: Pose, focal_px: float, size_px: tuple[int, int], top: int, bottom: int) -> None:
        """Rows from `top` to `bottom`: an off-axis frustum. MuJoCo draws the mean of two cameras."""
        width, height = size_px
        scale = self._near_m / focal_px
        for camera in self._scene.camera:
            camera.pos, camera.forward, camera.up = pose.pos_W, pose.R_WC[:, 2], -pose.R_WC[:, 1]
            camera.orthographic = 0
            camera.frustum_center, camera.frustum_width = 0.0, width / 2.0 * scale
            camera.frustum_top, camera.frustum_bottom = (height / 2.0 - top) * scale, (height / 2.0 - bottom) * scale
            camera.frustum_near, camera.frustum_far = self._near_m, self._far_m

    def close(self) -> None:
        self._context.free()
        self._gl.free()


def _context(width: int, height: int) -> Any:
    """A GL context that is current."""
    try:
        from mujoco.egl import GLContext

        context = GLContext(width, height)
        context.make_current()
    except Exception as error:  # ImportError, AttributeError or OpenGL's own, by what is missing
        raise ConfigError(NO_EGL.format(str(error).partition("\n")[0] or type(error).__name__)) from None
    return context
