"""How high the ground is: flat, or a grid of heights with straight lines in between."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from aeroloop.errors import ConfigError
from aeroloop.frames import Vec3


class Terrain(Protocol):
    def height_m(self, x_m: float, y_m: float) -> float:
        """z of the ground in W."""

    def normal_W(self, x_m: float, y_m: float) -> Vec3:
        """Unit vector out of the ground."""


class Flat:
    """Level ground."""

    def __init__(self, height_m: float = 0.0) -> None:
        self._height_m = height_m

    def height_m(self, x_m: float, y_m: float) -> float:
        return self._height_m

    def normal_W(self, x_m: float, y_m: float) -> Vec3:
        return 0.0, 0.0, 1.0


class Grid:
    """Bilinear between points of a square grid, `heights[north, east]`; beyond its edge the edge goes on level."""

    def __init__(self, heights_m: ArrayLike, *, spacing_m: float, corner_m: tuple[float, float]) -> None:
        """`corner_m` is where `heights[0, 0]`, the south-western point, lies in W."""
        heights = np.asarray(heights_m, dtype=np.float64)
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise ConfigError(
                f"A terrain grid of shape {heights.shape} cannot be used: "
                "expected finite heights in two dimensions, with at least two points in each."
            )
        if not (spacing_m > 0 and math.isfinite(spacing_m)):
            raise ConfigError(f"The spacing {spacing_m} m of the terrain grid is wrong: expected a positive number.")
        self._rows: list[list[float]] = heights.tolist()  # reading a list is several times faster than an array
        self._spacing_m = spacing_m
        self._west_m, self._south_m = corner_m
        self._cells_north, self._cells_east = heights.shape[0] - 1, heights.shape[1] - 1

    def height_m(self, x_m: float, y_m: float) -> float:
        i, u = _locate((x_m - self._west_m) / self._spacing_m, self._cells_east)
        j, v = _locate((y_m - self._south_m) / self._spacing_m, self._cells_north)
        south, north = self._rows[j], self._rows[j + 1]
        return (1.0 - v) * ((1.0 - u) * south[i] + u * south[i + 1]) + v * ((1.0 - u) * north[i] + u * north[i + 1])

    def normal_W(self, x_m: float, y_m: float) -> Vec3:
        a, b = (x_m - self._west_m) / self._spacing_m, (y_m - self._south_m) / self._spacing_m
        i, u = _locate(a, self._cells_east)
        j, v = _locate(b, self._cells_north)
        south, north = self._rows[j], self._rows[j + 1]
        slope_x = slope_y = 0.0
        if 0.0 <= a <= self._cells_east:
            slope_x = ((1.0 - v) * (south[i + 1] - south[i]) + v * (north[i + 1] - north[i])) / self._spacing_m
        if 0.0 <= b <= self._cells_north:
            slope_y = ((1.0 - u) * (north[i] - south[i]) + u * (north[i + 1] - south[i + 1])) / self._spacing_m
        length = math.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
        return -slope_x / length, -slope_y / length, 1.0 / length


def _locate(grid_units: float, cells: int) -> tuple[int, float]:
    """The cell, and how far into it, from 0 to 1."""
    if grid_units <= 0.0:
        return 0, 0.0
    if grid_units >= cells:
        return cells - 1, 1.0
    cell = int(grid_units)
    return cell, grid_units - cell
