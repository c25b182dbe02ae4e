"""The landing pad in the scene of the cameras: a textured board that can move, be hidden, and be covered by half."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from aeroloop.cameras.render import Renderer
from aeroloop.core.companion import Pad
from aeroloop.perception.pad import BOARD_M, image
from aeroloop.world.relief import Surface

PX_PER_M = 1800
"""Every cell of every marker is a whole number of pixels."""
THICK_M = 0.003
"""It lies on the ground; less would be drawn as a pattern of both."""
COVER_M = 0.004
BELOW_M = -100.0
"""A board that is hidden is there."""
PAD, COVER = "pad", "pad-cover"


def add(spec: mujoco.MjSpec, pad: Pad) -> None:
    half_m = BOARD_M * pad.scale / 2.0
    picture = np.repeat(image(PX_PER_M)[..., None], 3, axis=2)
    height, width, _ = picture.shape
    texture = spec.add_texture(name=PAD, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3)
    texture.data = picture.tobytes()
    material = spec.add_material(name=PAD)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = PAD
    board = spec.worldbody.add_body(name=PAD, mocap=True)
    board.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[half_m, half_m, 1.0], material=PAD)
    cover = spec.worldbody.add_body(name=COVER, mocap=True)
    # It covers the right half of the board, which has two of the large and two of the small markers.
    cover.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[half_m / 2, half_m, 1.0],
        pos=[half_m / 2, 0, 0],
        rgba=[0.3, 0.3, 0.3, 1],
    )


class PadScene:
    """Moves the pad of a scene."""

    def __init__(self, pad: Pad, ground: Surface, renderer: Renderer) -> None:
        self._pad, self._ground, self._renderer = pad, ground, renderer
        self._placed: tuple[float, ...] = ()

    def place(self, t_s: float, *, hidden: bool = False, covered: bool = False) -> None:
        """As it is at this time."""
        x, y, yaw = self._pad.at(t_s)
        wanted = (x, y, yaw, hidden, covered)
        if wanted == self._placed:
            return
        self._placed = wanted
        quat = (math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))
        z = self._ground.height_m(x, y)
        self._renderer.move(PAD, (x, y, BELOW_M if hidden else z + THICK_M), quat)
        self._renderer.move(COVER, (x, y, z + THICK_M + COVER_M if covered and not hidden else BELOW_M), quat)
        self._renderer.update()
