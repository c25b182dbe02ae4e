"""Uneven ground as a mesh of heights with shaded colours, for drawing."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.world.elevation_map import ElevationConfig, ElevationMap, elevation_map
from aeroloop.world.terrain import Flat, Grid, Incline, TerrainConfig, terrain

EDGE_POINTS = 6
"""Points of the mesh between the terrain's edge and the outer one."""
FAR_M = 400.0
NEAR_M = 60.0
"""Terrain without an edge is drawn finely within this distance from home."""
SUN_W = np.array([-0.45, -0.4, 0.8])
LOW_RGB, HIGH_RGB = np.array([0.55, 0.66, 0.5]), np.array([0.82, 0.78, 0.64])

Surface = Flat | Incline | Grid


def of_config(config: TerrainConfig | ElevationConfig) -> Surface:
    """The ground of a scenario's `world.terrain`."""
    if isinstance(config, ElevationConfig):
        return elevation(config).grid()
    return terrain(config)


@lru_cache(maxsize=4)
def elevation(config: ElevationConfig) -> ElevationMap:
    """Read once, since it may be large."""
    return elevation_map(config)


def mesh(ground: Surface, points: int) -> tuple[Vec, Vec, Vec]:
    """A mesh with this many points along each side, most on the terrain and few from its edge outwards: positions east
    and north, and heights `[north, east]`."""
    if isinstance(ground, Grid):
        rows, columns = ground.heights_m.shape
        west, south = ground.corner_m
        east, north = west + (columns - 1) * ground.spacing_m, south + (rows - 1) * ground.spacing_m
    else:
        west = south = -NEAR_M
        east = north = NEAR_M
    easts, norths = _axis(west, east, points), _axis(south, north, points)
    return easts, norths, np.array([[ground.height_m(x, y) for x in easts] for y in norths])


def _axis(low_m: float, high_m: float, points: int) -> Vec:
    beyond = FAR_M * np.linspace(1.0, 0.0, EDGE_POINTS, endpoint=False) ** 2
    inner = np.linspace(low_m, high_m, points - 2 * EDGE_POINTS)
    return np.concatenate([low_m - beyond, inner, high_m + beyond[::-1]])


def shaded(x: Vec, y: Vec, z: Vec, heights_m: Vec) -> Vec:
    """RGB from 0 to 1 of the heights `z[north, east]` at x and y: lit by a sun, tinted from the lowest of `heights_m`
    to the highest."""
    slope_y, slope_x = np.gradient(z, y, x)
    light = (SUN_W[2] - slope_x * SUN_W[0] - slope_y * SUN_W[1]) / np.sqrt(1.0 + slope_x**2 + slope_y**2)
    span_m = float(np.ptp(heights_m)) or 1.0
    tint = ((z - heights_m.min()) / span_m)[..., None]
    rgb = (LOW_RGB + tint * (HIGH_RGB - LOW_RGB)) * np.clip(0.35 + 0.8 * light, 0.15, 1.2)[..., None]
    return np.asarray(np.clip(rgb, 0.0, 1.0))
