"""Height of the ground: flat, a slope, or a grid of heights with triangles in between."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import ArrayLike

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec, Vec3

MOST_POINTS = 1024
"""Maximum points of a grid along each side."""
HIGHEST_M = 10_000.0
MOST_BYTES = 32 * MOST_POINTS**2
"""Maximum size of a file of heights."""


class Level(Config, frozen=True, tag_field="kind", tag="flat"):
    """Level ground."""


class Slope(Config, frozen=True, tag_field="kind", tag="slope"):
    """One plane through home."""

    east: Annotated[float, meta("m/m", "slope towards the east", ge=-1, le=1)] = 0.0
    north: Annotated[float, meta("m/m", "slope towards the north", ge=-1, le=1)] = 0.0


class HeightMap(Config, frozen=True, tag_field="kind", tag="grid"):
    """Heights of a square grid of points, from a file. Only differences count: the ground at home has height 0."""

    file: Annotated[
        str,
        note(
            "CSV file of heights in metres, relative to the scenario file: a row for each line of points from south to "
            f"north, in it the points from west to east; 2 to {MOST_POINTS} of each"
        ),
    ]
    spacing_m: Annotated[float, meta("m", "distance between points", ge=0.1, le=1000)]
    corner_m: Annotated[
        tuple[float, float], meta("m", "position of the first number, the south-western point: east and north of home")
    ] = (0.0, 0.0)


TerrainConfig = Level | Slope | HeightMap


class Terrain(Protocol):
    def height_m(self, x_m: float, y_m: float) -> float:
        """z of the ground in W."""

    def normal_W(self, x_m: float, y_m: float) -> Vec3:
        """Unit normal of the ground."""


class Flat:
    """Level ground."""

    def __init__(self, height_m: float = 0.0) -> None:
        self._height_m = height_m

    def height_m(self, x_m: float, y_m: float) -> float:
        return self._height_m

    def normal_W(self, x_m: float, y_m: float) -> Vec3:
        return 0.0, 0.0, 1.0


class Incline:
    """One plane through the origin."""

    def __init__(self, east: float, north: float) -> None:
        """Slopes to the east and to the north."""
        self.east, self.north = east, north
        length = math.sqrt(1.0 + east * east + north * north)
        self._normal_W = (-east / length, -north / length, 1.0 / length)

    def height_m(self, x_m: float, y_m: float) -> float:
        return self.east * x_m + self.north * y_m

    def normal_W(self, x_m: float, y_m: float) -> Vec3:
        return self._normal_W


class Grid:
    """Points of a square grid, `heights[north, east]`; beyond its edge the height is constant.

    Each cell is two triangles, divided by the line from south-west to north-east: the same surface as MuJoCo's height
    fields, so that range finder and contacts agree.
    """

    def __init__(self, heights_m: ArrayLike, *, spacing_m: float, corner_m: tuple[float, float]) -> None:
        """`corner_m` is the position of `heights[0, 0]`, the south-western point, in W."""
        heights = np.asarray(heights_m, dtype=np.float64)
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise ConfigError(
                f"A terrain grid of shape {heights.shape} cannot be used: "
                "expected finite heights in two dimensions, with at least two points in each."
            )
        if not (spacing_m > 0 and math.isfinite(spacing_m)):
            raise ConfigError(f"The spacing {spacing_m} m of the terrain grid is wrong: expected a positive number.")
        self.heights_m: Vec = heights
        self.spacing_m, self.corner_m = spacing_m, corner_m
        self._rows: list[list[float]] = heights.tolist()  # reading a list is several times faster than an array
        self._west_m, self._south_m = corner_m
        self._cells_north, self._cells_east = heights.shape[0] - 1, heights.shape[1] - 1

    def height_m(self, x_m: float, y_m: float) -> float:
        i, u = _locate((x_m - self._west_m) / self.spacing_m, self._cells_east)
        j, v = _locate((y_m - self._south_m) / self.spacing_m, self._cells_north)
        south, north = self._rows[j], self._rows[j + 1]
        here = south[i]
        if u >= v:
            return here + u * (south[i + 1] - here) + v * (north[i + 1] - south[i + 1])
        return here + v * (north[i] - here) + u * (north[i + 1] - north[i])

    def normal_W(self, x_m: float, y_m: float) -> Vec3:
        a, b = (x_m - self._west_m) / self.spacing_m, (y_m - self._south_m) / self.spacing_m
        i, u = _locate(a, self._cells_east)
        j, v = _locate(b, self._cells_north)
        south, north = self._rows[j], self._rows[j + 1]
        slope_x = slope_y = 0.0
        if 0.0 <= a <= self._cells_east:
            row = south if u >= v else north
            slope_x = (row[i + 1] - row[i]) / self.spacing_m
        if 0.0 <= b <= self._cells_north:
            column = i + 1 if u >= v else i
            slope_y = (north[column] - south[column]) / self.spacing_m
        length = math.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
        return -slope_x / length, -slope_y / length, 1.0 / length


def _locate(grid_units: float, cells: int) -> tuple[int, float]:
    """The cell, and the position in it, from 0 to 1."""
    if grid_units <= 0.0:
        return 0, 0.0
    if grid_units >= cells:
        return cells - 1, 1.0
    cell = int(grid_units)
    return cell, grid_units - cell


def terrain(config: TerrainConfig) -> Flat | Incline | Grid:
    """The ground of a scenario; its height at the origin is 0."""
    match config:
        case Level():
            return Flat()
        case Slope():
            return Incline(config.east, config.north)
        case HeightMap():
            given = Grid(read_heights(Path(config.file)), spacing_m=config.spacing_m, corner_m=config.corner_m)
            heights = given.heights_m - given.height_m(0.0, 0.0)
            return Grid(heights, spacing_m=config.spacing_m, corner_m=config.corner_m)


def read_heights(path: Path) -> Vec:
    """A CSV file of heights, `[north, east]`, rows from south to north."""
    try:
        if path.exists() and not (path.is_file() and path.stat().st_size <= MOST_BYTES):
            raise ConfigError(f"world.terrain.file: {path}: expected a file of at most {MOST_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"world.terrain.file: {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"world.terrain.file: {path}: expected a CSV file of numbers, not binary data") from None
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = [float(cell) for cell in line.split(",")]
        except ValueError as error:
            raise ConfigError(f"world.terrain.file: {path}: line {number}: expected numbers: {error}") from None
        if not all(-HIGHEST_M <= height <= HIGHEST_M for height in row):
            raise ConfigError(
                f"world.terrain.file: {path}: line {number}: expected heights from {-HIGHEST_M:g} to {HIGHEST_M:g} m"
            )
        if rows and len(row) != len(rows[0]):
            raise ConfigError(
                f"world.terrain.file: {path}: line {number} has {len(row)} heights, the first has {len(rows[0])}"
            )
        rows.append(row)
        if len(rows) > MOST_POINTS or len(row) > MOST_POINTS:
            break
    if not (2 <= len(rows) <= MOST_POINTS and 2 <= len(rows[0]) <= MOST_POINTS):
        raise ConfigError(
            f"world.terrain.file: {path}: expected 2 to {MOST_POINTS} rows of 2 to {MOST_POINTS} heights each"
        )
    return np.array(rows)
