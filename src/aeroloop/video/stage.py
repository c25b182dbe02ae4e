"""The scene of a film: ground or room, pad, aircraft with shadows, and paths flown, drawn at one time after another.

The renderer is that of the cameras (`cameras/render.py`), with lines added to its scene.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

import mujoco
import numpy as np

from aeroloop.cameras import object_scene, scene
from aeroloop.cameras.pinhole import Pose
from aeroloop.cameras.render import Renderer, Rgb
from aeroloop.core.faults import SIGHT_TARGETS, TARGETS, SightFaults
from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.video import bodies, trails
from aeroloop.video.crafts import Craft
from aeroloop.video.viewpoints import Surroundings
from aeroloop.world.ground import upright
from aeroloop.world.placed_objects import of_scenario as objects_of
from aeroloop.world.room_layout import RoomConfig

SHADOW_RGBA = [0.0, 0.0, 0.0, 0.32]
SHADOW_REACH, SHADOW_UP = 0.7, 0.02
"""Radius of a shadow and its height over the ground, in the aircraft's reach."""
FAR_M = 40_000.0
NEAREST = 0.02
"""Of the frustum, in the aircraft's reach."""
CELLS, LINE_PX, LINE = 10, 3, 0.8
CONTRAST, BRIGHT = 0.55, 1.05
"""Of the ground, against that of the cameras."""
BELOW_M = -5_000.0
"""What is not shown is there, so that the number of geometries stays."""


class Stage(Renderer):
    """Draws a log's aircraft in the world of the first."""

    def __init__(
        self,
        crafts: Sequence[Craft],
        span_s: tuple[float, float],
        largest_px: tuple[int, int],
        *,
        own_hidden: bool,
        line_scale: float = 1.0,
    ) -> None:
        """ConfigError if this machine cannot draw, or OpenCV is missing for a pad."""
        self._crafts, own = crafts, crafts[0]
        scenario = own.scenario
        self.around = surroundings(scenario)
        spec = _world(own, self.around)
        spec.visual.map.zfar = FAR_M
        spec.visual.map.znear = max(scene.NEAR_M, NEAREST * own.shape.reach_m)
        self._shown = [craft for craft in crafts if craft is not own or not own_hidden]
        for craft in self._shown:
            bodies.add(spec, craft.shape, craft.name, craft.rgb)
            shadow = spec.worldbody.add_body(name=_shadow(craft), mocap=True)
            radius_m = SHADOW_REACH * craft.shape.reach_m
            shadow.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[radius_m, 1e-4 * radius_m, 0.0], rgba=SHADOW_RGBA
            )
        objects = objects_of(scenario)
        object_scene.add(spec, objects)
        self._objects = object_scene.ObjectScene(objects, self)
        self._pad = scenario.pad
        if self._pad is not None:
            from aeroloop.cameras import pad_scene

            pad_scene.add(spec, self._pad)
        self._segments, self._span_s, self._line_scale = trails.segments(crafts, span_s), span_s, line_scale
        self._times_s = [segment.t_s for segment in self._segments]
        super().__init__(spec, largest_px, marks=len(self._segments) + len(crafts) + 64)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_HAZE] = 1  # the edge of the ground
        self._placed = [bodies.Placed(self._model, self._data, craft.shape, craft.name) for craft in self._shown]
        self._turned = [np.zeros(len(craft.shape.rotors)) for craft in self._shown]
        self._faults = _faults(own)
        self._pad_scene = None
        if self._pad is not None:
            self._pad_scene = pad_scene.PadScene(self._pad, self.around.ground, self)
        self._world_geoms = -1
        self._marked = 0

    def set_time(self, t_s: float, since_s: float) -> None:
        """Everything as it is at this time, `since_s` after the last."""
        for store in dict.fromkeys(craft.store for craft in self._crafts):
            store.seek(t_s)
        for craft, placed, turned in zip(self._shown, self._placed, self._turned, strict=True):
            moving = craft.moving(t_s)
            rates = craft.rotor_rates()[: len(turned)]
            turned[: len(rates)] += np.array(rates) * since_s
            placed.place(moving, np.mod(turned, 2 * math.pi).tolist())
            self.move(_shadow(craft), *self._shadow_at(craft, moving.pose.pos_W))
        self._objects.place(t_s)
        if self._pad_scene is not None:
            hidden, covered = (self._faults.active("pad", kind, t_s) for kind in ("hide", "cover"))
            self._pad_scene.place(t_s, hidden=hidden, covered=covered)
        self.update()
        self._mark(t_s)

    def _shadow_at(self, craft: Craft, pos_W: Vec3) -> tuple[Vec3, Quat]:
        x, y, z = pos_W
        ground_m = self.around.ground.height_m(x, y)
        # Under a robot on its base a shadow would be in it, and far above the ground it is no help.
        if craft.page.stands or z < ground_m:
            return (x, y, BELOW_M), bodies.LEVEL
        up_m = SHADOW_UP * craft.shape.reach_m
        return (x, y, ground_m + up_m), upright(self.around.ground.normal_W(x, y))

    def _mark(self, t_s: float) -> None:
        """Add the lines to the scene. `update` writes the geometries of the world only, so that those of lines stay
        behind them: only new ones are set."""
        geoms, world = self._scene.geoms, int(self._scene.ngeom)
        if world != self._world_geoms:
            self._world_geoms, self._marked = world, 0
        count = bisect_right(self._times_s, t_s)
        for index in range(self._marked, count):
            trails.connect(geoms[world + index], self._segments[index], self._line_scale)
        self._marked = count
        for craft in self._crafts:
            trails.connect(geoms[world + count], trails.newest(craft, self._span_s, t_s), self._line_scale)
            count += 1
        self._scene.ngeom = world + count

    def picture(self, pose: Pose, focal_px: float, size_px: tuple[int, int]) -> Rgb:
        """Colour (h, w, 3), from the top, without depth."""
        width, height = size_px
        self._look(pose, focal_px, size_px, 0, height)
        area = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(area, self._scene, self._context)
        rgb = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_readPixels(rgb, None, area, self._context)
        return rgb[::-1]


def surroundings(scenario: Scenario) -> Surroundings:
    room = value_at(scenario, "world.room")
    return Surroundings(scene.ground_of(scenario), room.layout if isinstance(room, RoomConfig) else None)


def _world(craft: Craft, around: Surroundings) -> mujoco.MjSpec:
    room = value_at(craft.scenario, "world.room")
    if room is not None:
        return scene.of_room(room)
    return scene.of_ground(around.ground, grassland(), _tile_m(craft, around))


@cache
def grassland() -> scene.Picture:
    """Ground without the stones that cameras need, and with lines at every tenth of its side: lengths are seen."""
    picture = scene.ground_texture(stones=0).astype(float)
    mean = picture.mean(axis=(0, 1))
    picture = mean + CONTRAST * (picture - mean)
    side = len(picture)
    lines = (np.arange(CELLS)[:, None] * side // CELLS + np.arange(LINE_PX)).ravel()
    picture[lines], picture[:, lines] = LINE * picture[lines], LINE * picture[:, lines]
    drawn: scene.Picture = np.clip(BRIGHT * picture, 0, 255).astype(np.uint8)
    return drawn


def _tile_m(craft: Craft, around: Surroundings) -> float:
    """Squares of 0.1, 1, 10 or 100 m, by how high it flies and how large it is."""
    heights_m = [z - around.ground.height_m(x, y) for x, y, z in craft.pos_W[:: len(craft.pos_W) // 50 + 1].tolist()]
    scale_m = max(float(np.median(heights_m)), craft.shape.reach_m)
    return CELLS * float(10.0 ** np.clip(round(math.log10(scale_m / 8.0)), -1, 2))


def _shadow(craft: Craft) -> str:
    return f"{craft.name}/shadow"


def _faults(craft: Craft) -> SightFaults:
    """What hides or covers the pad, by the log."""
    found, names = SightFaults(), craft.store.names("fault")
    craft.store.seek(math.inf)
    sight = tuple(map(TARGETS.index, SIGHT_TARGETS))
    columns = [names.index(name) for name in ("t_s", "target", "kind", "on", "channel")] if names else []
    for row in craft.store.rows("fault", craft.vehicle).tolist() if names else ():
        if row[columns[1]] in sight:
            found.take(*(row[column] for column in columns))
    return found
