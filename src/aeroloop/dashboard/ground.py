"""Uneven ground for the 3D view: a mesh of heights and a picture of it in light and shade."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.world.elevation_map import ElevationConfig, ElevationMap, elevation_map
from aeroloop.world.terrain import Flat, Grid, Incline, Level, TerrainConfig, terrain

POINTS = 96
"""Of the mesh, along either side."""
PIXELS = 384
EDGE_POINTS = 6
"""Of the mesh between the terrain's own edge and the far one."""
FAR_M = 400.0
NEAR_M = 60.0
"""Where the terrain has no edge of its own, it is drawn finely so far from home."""
SUN_W = np.array([-0.45, -0.4, 0.8])
LOW_RGB, HIGH_RGB = np.array([0.55, 0.66, 0.5]), np.array([0.82, 0.78, 0.64])


@dataclass(frozen=True)
class Relief:
    coordinates: list[list[list[float] | None]]  # rows from south to north, in them points from west to east: x, y, z
    picture_url: str


def of_scenario(scenario: Scenario) -> Relief | None:
    """None for level ground, which needs no mesh."""
    config = value_at(scenario, "world.terrain")
    if config is None or isinstance(config, Level):
        return None
    try:
        return _relief(config)
    except AeroloopError:  # its file is gone: a view without hills beats none
        return None


def surface(config: TerrainConfig | ElevationConfig) -> Flat | Incline | Grid:
    """The ground that a scenario's `world.terrain` asks for."""
    if isinstance(config, ElevationConfig):
        return elevation(config).grid()
    return terrain(config)


@lru_cache(maxsize=4)
def elevation(config: ElevationConfig) -> ElevationMap:
    """Read once, for it may be large."""
    return elevation_map(config)


@lru_cache(maxsize=4)
def _relief(config: TerrainConfig | ElevationConfig) -> Relief:
    return relief(surface(config))


def relief(ground: Flat | Incline | Grid) -> Relief:
    easts, norths = axes(ground)
    heights = np.array([[ground.height_m(x, y) for x in easts] for y in norths])
    coordinates: list[list[list[float] | None]] = [
        [[round(x, 2), round(y, 2), round(z, 3)] for x, z in zip(easts.tolist(), row, strict=True)]
        for y, row in zip(norths.tolist(), heights.tolist(), strict=True)
    ]
    return Relief(coordinates, _data_url(picture(easts, norths, heights)))


def axes(ground: Flat | Incline | Grid) -> tuple[Vec, Vec]:
    """Where the mesh has points: many on the terrain, few from its edge to far away."""
    if isinstance(ground, Grid):
        rows, columns = ground.heights_m.shape
        west, south = ground.corner_m
        east, north = west + (columns - 1) * ground.spacing_m, south + (rows - 1) * ground.spacing_m
    else:
        west = south = -NEAR_M
        east = north = NEAR_M
    return _axis(west, east), _axis(south, north)


def _axis(low_m: float, high_m: float) -> Vec:
    beyond = FAR_M * np.linspace(1.0, 0.0, EDGE_POINTS, endpoint=False) ** 2
    inner = np.linspace(low_m, high_m, POINTS - 2 * EDGE_POINTS)
    return np.concatenate([low_m - beyond, inner, high_m + beyond[::-1]])


def picture(easts: Vec, norths: Vec, heights_m: Vec) -> Vec:
    """RGB from 0 to 1, `[north, east]`: pixels lie between the mesh's points as a texture does, evenly by index."""
    index = np.linspace(0.0, POINTS - 1.0, PIXELS)
    x, y = (np.interp(index, np.arange(POINTS), axis) for axis in (easts, norths))
    along = np.array([np.interp(index, np.arange(POINTS), row) for row in heights_m])
    z = np.array([np.interp(index, np.arange(POINTS), column) for column in along.T]).T
    slope_y, slope_x = np.gradient(z, y, x)
    light = (SUN_W[2] - slope_x * SUN_W[0] - slope_y * SUN_W[1]) / np.sqrt(1.0 + slope_x**2 + slope_y**2)
    span_m = float(np.ptp(heights_m)) or 1.0
    tint = ((z - heights_m.min()) / span_m)[..., None]
    rgb = (LOW_RGB + tint * (HIGH_RGB - LOW_RGB)) * np.clip(0.35 + 0.8 * light, 0.15, 1.2)[..., None]
    shaded: Vec = np.clip(rgb, 0.0, 1.0)
    return shaded


def _data_url(rgb: Vec) -> str:
    from matplotlib.image import imsave  # slow to import, and level ground never needs it

    file = io.BytesIO()
    imsave(file, np.round(rgb * 255).astype(np.uint8), format="png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
