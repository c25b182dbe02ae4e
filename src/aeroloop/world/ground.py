"""The ground as MuJoCo's geometry: the same surface as `world/terrain.py`, for contacts."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.world.room_layout import Layout
from aeroloop.world.terrain import Flat, Grid, Incline

BEYOND_M = 10_000.0
"""Extent beyond a grid's edge; no flight goes farther."""
DEPTH_M = 5.0
"""Thickness of the ground below its lowest point: nothing passes through it in one step."""
SPRUNG = {"contype": 4, "conaffinity": 8}
"""Bits of feet on springs (`world/feet.py`): they touch furniture, and not the ground."""
COLOUR = [0.44, 0.54, 0.44, 1]

Ground = Flat | Incline | Grid


def lay(spec: mujoco.MjSpec, terrain: Ground) -> None:
    """Replace the scene's plane by the terrain, with the plane's properties."""
    plane = spec.geom("ground")
    match terrain:
        case Flat():
            plane.pos = [0.0, 0.0, terrain.height_m(0.0, 0.0)]
        case Incline():
            plane.quat = upright(terrain.normal_W(0.0, 0.0))
        case Grid():
            _lay_grid(spec, terrain, {"contype": 1, "conaffinity": 2, "friction": plane.friction, "rgba": COLOUR})
            spec.delete(plane)


def furnish(spec: mujoco.MjSpec, room: Layout) -> None:
    """Walls, block and boxes that an aircraft can touch, with the plane's properties."""
    properties = {"contype": 1, "conaffinity": 2, "friction": spec.geom("ground").friction, "rgba": COLOUR}
    for box in (*room.walls(), *room.boxes):
        turned = [math.cos(box.yaw_rad / 2), 0.0, 0.0, math.sin(box.yaw_rad / 2)]
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=box.centre_W, size=box.half_m, quat=turned, **properties
        )


def touch_furniture(spec: mujoco.MjSpec) -> None:
    """Let what stands on the ground touch feet with the bits `SPRUNG`."""
    for geom in spec.worldbody.geoms:
        if geom.contype and not geom.name.startswith("ground"):
            geom.contype |= SPRUNG["conaffinity"]


def upright(normal_W: Vec3) -> Quat:
    """The shortest rotation from z to the normal."""
    x, y, z = normal_W
    length = math.sqrt(2.0 * (1.0 + z))
    return 0.5 * length, -y / length, x / length, 0.0


def _lay_grid(spec: mujoco.MjSpec, grid: Grid, properties: dict[str, Any]) -> None:
    """Nine fields: the grid, and its continuation at the four sides and corners."""
    columns = _parts(grid.corner_m[0], grid.heights_m.shape[1], grid.spacing_m)
    rows = _parts(grid.corner_m[1], grid.heights_m.shape[0], grid.spacing_m)
    for j, (south_m, north_m, lines) in enumerate(rows):
        for i, (west_m, east_m, points) in enumerate(columns):
            heights = grid.heights_m[np.ix_(lines, points)]
            low_m, high_m = float(heights.min()), float(heights.max())
            name = f"ground_{j}{i}"
            spec.add_hfield(
                name=name,
                nrow=heights.shape[0],
                ncol=heights.shape[1],
                # MuJoCo scales the heights to 0..1 and multiplies them with the third size, which may not be 0.
                size=[(east_m - west_m) / 2, (north_m - south_m) / 2, max(high_m - low_m, 1e-3), DEPTH_M],
                userdata=heights.ravel().tolist(),
            )
            centre_m = [(west_m + east_m) / 2, (south_m + north_m) / 2, low_m]
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_HFIELD, name=name, hfieldname=name, pos=centre_m, **properties
            )


def _parts(start_m: float, points: int, spacing_m: float) -> list[tuple[float, float, Vec]]:
    """Along one axis before, on and beyond the grid: the interval, and its points."""
    end_m = start_m + (points - 1) * spacing_m
    return [
        (start_m - BEYOND_M, start_m, np.array([0, 0])),
        (start_m, end_m, np.arange(points)),
        (end_m, end_m + BEYOND_M, np.array([points - 1, points - 1])),
    ]
