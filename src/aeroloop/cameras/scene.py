"""What cameras see: a MuJoCo model that is only drawn, of a flight's ground. Its own airframe is left out, since a
camera would look at its own feet; other aircraft are in `others.py`."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from aeroloop.cameras import object_scene, others
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.shape import of_scenario as shape_of
from aeroloop.world.ground import lay
from aeroloop.world.placed_objects import of_scenario as objects_of
from aeroloop.world.relief import Surface, of_config
from aeroloop.world.room_layout import RoomConfig
from aeroloop.world.terrain import Flat

Picture = NDArray[np.uint8]
NEAR_M, FAR_M = 0.01, 20_000.0
ROOM_FAR_M = 200.0
TEXTURE_PX = 1024
TILE_M = 12.0
"""The ground's texture repeats after this distance."""
OCTAVES = (4, 8, 16, 32, 64, 128, 256, 512)
"""Points of random values along a tile's side."""
STONES = 500
"""With sharp edges, 3 to 20 px in radius."""
LOW_RGB, HIGH_RGB = np.array([62.0, 74.0, 44.0]), np.array([188.0, 176.0, 138.0])
XML = f"""
<mujoco model="scene">
  <visual>
    <map znear="{NEAR_M}" zfar="{FAR_M}"/>
    <headlight active="0"/>
    <quality shadowsize="0" offsamples="0"/>
  </visual>
  <statistic extent="1" center="0 0 0"/>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.55 0.7 0.9" rgb2="0.95 0.97 1"
             width="64" height="384"/>
  </asset>
  <worldbody>
    <light directional="true" pos="0 0 50" dir="-0.3 -0.2 -1" castshadow="false" ambient="0.45 0.45 0.45"
           diffuse="0.55 0.55 0.55" specular="0 0 0"/>
    <geom name="ground" type="plane" size="0 0 20"/>
  </worldbody>
</mujoco>
"""


def of_scenario(scenario: Scenario) -> mujoco.MjSpec:
    """The ground or room of a flight, its objects, and its aircraft if there are several; a caller may add more before
    it compiles the model."""
    room, count = value_at(scenario, "world.room"), scenario.aircraft.count
    spec = of_ground(ground_of(scenario)) if room is None else of_room(room)
    object_scene.add(spec, objects_of(scenario))
    if count > 1:
        others.add(spec, shape_of(scenario), count)
    return spec


def ground_of(scenario: Scenario) -> Surface:
    config = value_at(scenario, "world.terrain")
    return Flat() if config is None else of_config(config)


def of_ground(ground: Surface, picture: Picture | None = None, tile_m: float = TILE_M) -> mujoco.MjSpec:
    """`picture`: of the ground, repeated after `tile_m`; without one that of cameras."""
    drawn = ground_texture() if picture is None else picture
    spec = mujoco.MjSpec.from_string(XML)
    lay(spec, ground)
    texture = spec.add_texture(
        name="ground", type=mujoco.mjtTexture.mjTEXTURE_2D, width=TEXTURE_PX, height=TEXTURE_PX, nchannel=3
    )
    texture.data = drawn.tobytes()
    material = spec.add_material(name="ground", texrepeat=[1.0 / tile_m, 1.0 / tile_m], texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "ground"
    for geom in spec.worldbody.geoms:
        if geom.name.startswith("ground"):
            geom.material, geom.rgba = "ground", [1.0, 1.0, 1.0, 1.0]
    return spec


def of_room(config: RoomConfig, *, texture_px: int = 512) -> mujoco.MjSpec:
    from aeroloop.world.room import room  # draws its textures, which takes seconds

    drawn = room(config.seed, config.size_m, config.centre_m, texture_px=texture_px)
    spec = mujoco.MjSpec.from_string(drawn.xml, assets=drawn.assets)
    spec.visual.map.znear, spec.visual.map.zfar = NEAR_M, ROOM_FAR_M
    spec.stat.extent, spec.stat.center = 1.0, [0.0, 0.0, 0.0]
    return spec


def ground_texture(seed: int = 0, stones: int = STONES) -> Picture:
    """Earth and grass with detail at every scale, so that every height has something to see; its edges match."""
    rng = np.random.default_rng(seed)
    grey = sum(_octave(rng, points) / (3.0 + index) for index, points in enumerate(OCTAVES))
    tint = _octave(rng, 16)[..., None] * np.array([14.0, 18.0, 4.0])
    level = np.asarray((grey - np.min(grey)) / np.ptp(grey))[..., None]
    rgb = LOW_RGB + level * (HIGH_RGB - LOW_RGB) + tint
    y, x = np.mgrid[-20:21, -20:21]
    for at_x, at_y, radius_px, shape, grey_level in zip(
        *rng.integers(TEXTURE_PX, size=(2, stones)),
        rng.uniform(3.0, 20.0, stones) ** 2 / 20.0 + 1.0,
        rng.uniform(0.5, 1.5, stones),
        rng.uniform(50.0, 230.0, stones),
        strict=True,
    ):
        j, i = np.nonzero((x * shape) ** 2 + (y / shape) ** 2 <= radius_px**2)
        rgb[(at_y + j - 20) % TEXTURE_PX, (at_x + i - 20) % TEXTURE_PX] = grey_level * np.array([1.0, 0.97, 0.9])
    picture: Picture = np.clip(rgb, 0.0, 255.0).astype(np.uint8)
    return picture


def _octave(rng: np.random.Generator, points: int) -> Vec:
    """Random values on a grid, linear in between, periodic."""
    values = rng.standard_normal((points, points))
    place = np.arange(TEXTURE_PX) * (points / TEXTURE_PX)
    first = place.astype(int)
    part, second = place - first, (first + 1) % points
    rows = values[first] * (1.0 - part)[:, None] + values[second] * part[:, None]
    smooth: Vec = rows[:, first] * (1.0 - part) + rows[:, second] * part
    return smooth
