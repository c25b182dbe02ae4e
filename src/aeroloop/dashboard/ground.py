"""Terrain for the 3D view: a mesh of heights and a shaded image of it."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.world.elevation_map import ElevationConfig
from aeroloop.world.relief import Surface, mesh, of_config, shaded
from aeroloop.world.terrain import Level, TerrainConfig

POINTS = 96
"""Points of the mesh along either side."""
PIXELS = 384


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
    except AeroloopError:  # its file is missing: a view without terrain is better than none
        return None


@lru_cache(maxsize=4)
def _relief(config: TerrainConfig | ElevationConfig) -> Relief:
    return relief(of_config(config))


def relief(ground: Surface) -> Relief:
    easts, norths, heights = mesh(ground, POINTS)
    coordinates: list[list[list[float] | None]] = [
        [[round(x, 2), round(y, 2), round(z, 3)] for x, z in zip(easts.tolist(), row, strict=True)]
        for y, row in zip(norths.tolist(), heights.tolist(), strict=True)
    ]
    return Relief(coordinates, _data_url(picture(easts, norths, heights)))


def picture(easts: Vec, norths: Vec, heights_m: Vec) -> Vec:
    """RGB from 0 to 1, `[north, east]`: pixels are spaced evenly between the mesh's points, as in a texture."""
    index = np.linspace(0.0, POINTS - 1.0, PIXELS)
    x, y = (np.interp(index, np.arange(POINTS), axis) for axis in (easts, norths))
    along = np.array([np.interp(index, np.arange(POINTS), row) for row in heights_m])
    z = np.array([np.interp(index, np.arange(POINTS), column) for column in along.T]).T
    return shaded(x, y, z, heights_m)


def _data_url(rgb: Vec) -> str:
    from matplotlib.image import imsave  # imported here: slow to import, and not needed for level ground

    file = io.BytesIO()
    imsave(file, np.round(rgb * 255).astype(np.uint8), format="png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
