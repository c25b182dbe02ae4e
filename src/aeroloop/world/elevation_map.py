"""The elevation map of a fixed wing, for planning and flight: whole-metre heights of square units, from any source.

The origin of W is the middle of the map, x east and y north, and z is the elevation itself. A unit's height is that of
its centre on the source's surface (linear between its four points) or, where the source is finer than the units, the
mean over as many evenly spaced points in the unit as the source has there. From a larger source the map is a window at
true scale. A smaller source is an error unless it is to be stretched: then all of it covers the whole map, enlarged
horizontally, with unchanged heights.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.geodesy import span_m
from aeroloop.world import terrain_generator as generator
from aeroloop.world.terrain import Grid
from aeroloop.world.terrain_files import Elevations, read_arrays, read_elevations

MOST_UNKNOWN = 0.05
"""Fraction of a map's points that may be unknown; each gets the height of the nearest known point."""
JACKSBORO_M = (-9000.0, 7000.0)
"""Offset from the middle of the Jacksboro data: here ridges of 900 m lie between connected valleys of 400 m."""


class _Map(Config, frozen=True, kw_only=True):
    side_units: Annotated[int, meta("-", "units along a side, a power of two", ge=2, le=generator.MOST_UNITS)] = 128
    unit_m: Annotated[float, meta("m", "size of a unit", ge=1, le=1000)] = generator.UNIT_M

    def __post_init__(self) -> None:
        try:
            generator.check_side(self.side_units)
        except ConfigError as error:
            raise ValueError(f"side_units: {error}") from None


class JacksboroMap(_Map, frozen=True, kw_only=True, tag_field="kind", tag="jacksboro"):
    """Mountains and valleys near Jacksboro, Tennessee, from matplotlib's sample elevation data."""

    centre_m: Annotated[
        tuple[float, float], meta("m", "the map's middle, east and north of the middle of the data (30 by 32 km)")
    ] = JACKSBORO_M


class ElevationFile(_Map, frozen=True, kw_only=True, tag_field="kind", tag="file"):
    """Elevations from a file: GeoTIFF, NPZ, Esri ASCII grid or CSV."""

    file: Annotated[str, note("elevations (.tif, .npz, .asc, .csv), relative to the scenario file")]
    spacing_m: Annotated[float, meta("m", "distance between points; 0: from the file", ge=0, le=10_000)] = 0.0
    first_row: Annotated[
        Literal["south", "north"], note("side of the first row of CSV and NPZ; the other formats define it")
    ] = "south"
    fit: Annotated[
        Literal["window", "stretch"],
        note("`window`: a part of the file at true scale; `stretch`: all of it, over the whole map"),
    ] = "window"
    centre_m: Annotated[
        tuple[float, float], meta("m", "the middle of the window, east and north of the middle of the file")
    ] = (0.0, 0.0)


class GeneratedMap(_Map, frozen=True, kw_only=True, tag_field="kind", tag="generated"):
    """Hills from a seed, the same on every machine."""

    seed: Annotated[int, meta("-", "which hills", ge=0)] = 0
    hill_m: Annotated[float, meta("m", "approximate distance between hills", ge=10, le=100_000)] = generator.HILL_M
    base_m: Annotated[float, meta("m", "elevation of the valleys; 2 % of the heights are lower", ge=0, le=4000)] = (
        generator.BASE_M
    )
    relief_m: Annotated[
        float, meta("m", "height of hills over valleys; 2 % of the heights are higher", ge=0, le=3000)
    ] = generator.RELIEF_M
    roughness: Annotated[
        float, meta("-", "relative height of hills of half the size; less is smoother", ge=0.2, le=0.9)
    ] = generator.ROUGHNESS


ElevationConfig = JacksboroMap | ElevationFile | GeneratedMap


@dataclass(frozen=True, slots=True, eq=False)
class ElevationMap:
    """Elevations of 2^N x 2^N units: `values[row, col]` in whole metres, row 0 in the south, column 0 in the west."""

    values: NDArray[np.int16]
    unit_m: float
    centre_deg: tuple[float, float] | None = None  # latitude and longitude of the middle, if the source defines it

    @property
    def side(self) -> int:
        """In units."""
        return len(self.values)

    @property
    def side_m(self) -> float:
        return self.side * self.unit_m

    def grid(self) -> Grid:
        """The ground with the units' heights at their centres, as used by the aircraft and MuJoCo."""
        corner_m = (self.unit_m - self.side_m) / 2
        return Grid(self.values, spacing_m=self.unit_m, corner_m=(corner_m, corner_m))


def elevation_map(config: ElevationConfig) -> ElevationMap:
    """The map of a scenario."""
    match config:
        case GeneratedMap():
            values = generator.generate(
                config.side_units,
                config.seed,
                unit_m=config.unit_m,
                hill_m=config.hill_m,
                base_m=config.base_m,
                relief_m=config.relief_m,
                roughness=config.roughness,
            )
            return ElevationMap(values, config.unit_m)
        case JacksboroMap():
            return cut(jacksboro(), config.side_units, config.unit_m, config.centre_m, "world.terrain")
        case ElevationFile():
            where = f"world.terrain.file: {config.file}"
            source = read_elevations(Path(config.file))
            if config.first_row == "north" and config.file.lower().endswith((".npz", ".csv")):
                source = Elevations(source.heights_m[::-1], source.step, source.corner, source.degrees)
            rows, columns = source.heights_m.shape
            side_m = config.side_units * config.unit_m
            if config.fit == "stretch":  # so that the outermost cells end at the map's edge
                source = Elevations(source.heights_m, (side_m / columns, side_m / rows), (0.0, 0.0), False)
            elif config.spacing_m > 0.0:
                source = Elevations(source.heights_m, (config.spacing_m, config.spacing_m), (0.0, 0.0), False)
            centre_m = config.centre_m if config.fit == "window" else (0.0, 0.0)
            return cut(source, config.side_units, config.unit_m, centre_m, where)


def _beside(package: str) -> Path:
    """Folder of a package; importing matplotlib for its data would cost every process a fifth of a second."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ConfigError(f"{package} is not installed, and the Jacksboro elevations come with it")
    return Path(found.origin).parent


def jacksboro() -> Elevations:
    """matplotlib's sample: 344 x 403 points of 3 arc seconds, 236 to 1076 m; its first row lies in the north.

    Its `xmin` and `ymax` are the western and northern edges of the outermost cells. Its `ymin` lies north of `ymax`, by
    as much as it should lie south: with that correction, Jacksboro and Cross Mountain are where the data show them.
    """
    arrays = read_arrays(_beside("matplotlib") / "mpl-data" / "sample_data" / "jacksboro_fault_dem.npz")
    heights = arrays["elevation"][::-1]
    east, north = float(arrays["dx"]), float(arrays["dy"])
    corner = (float(arrays["xmin"]) + east / 2, float(arrays["ymax"]) - (len(heights) - 0.5) * north)
    return Elevations(heights, (east, north), corner, True)


def cut(
    source: Elevations, side: int, unit_m: float, centre_m: tuple[float, float], where: str = "world.terrain"
) -> ElevationMap:
    """A map of a part of the source, with its middle this far east and north of the source's."""
    if source.step is None:
        raise ConfigError(f"{where}: it does not define the distance between its points; expected spacing_m")
    rows, columns = source.heights_m.shape
    step_m, lat_deg = source.step, 0.0
    if source.degrees:
        # The scale of a degree of longitude is that of the map's own middle.
        middle_deg = source.corner[1] + source.step[1] * (rows - 1) / 2
        lat_deg = middle_deg + source.step[1] * centre_m[1] / _step_m(source.step, middle_deg)[1]
        if abs(lat_deg) < 89.0:
            step_m = _step_m(source.step, lat_deg)
    # A source covers half a cell beyond its outermost points: its pixels end there.
    reach_m = (columns * step_m[0] / 2, rows * step_m[1] / 2)
    for offset_m, half_m, direction in zip(centre_m, reach_m, ("east and west", "north and south"), strict=True):
        if abs(offset_m) + side * unit_m / 2 > half_m * (1 + 1e-9):
            raise ConfigError(
                f"{where}: the map extends beyond the data to {direction}: expected side_units * unit_m / 2 "
                f"({side * unit_m / 2:g} m) and centre_m ({offset_m:g} m) within {half_m:.0f} m of the data's middle"
            )
    east = _Axis(columns, step_m[0], side, unit_m, centre_m[0])
    north = _Axis(rows, step_m[1], side, unit_m, centre_m[1])
    known = _filled(source.heights_m[north.first : north.last + 1, east.first : east.last + 1], where)
    heights = north.means(east.means(known.T).T)
    if not (heights.min() >= generator.LOWEST_M and heights.max() <= generator.HIGHEST_M):
        raise ConfigError(
            f"{where}: expected elevations from {generator.LOWEST_M} to {generator.HIGHEST_M} m, "
            f"not {heights.min():.0f} to {heights.max():.0f}"
        )
    lon_deg = source.corner[0] + source.step[0] * ((columns - 1) / 2 + centre_m[0] / step_m[0])
    values = np.floor(heights + 0.5).astype(np.int16)
    return ElevationMap(values, unit_m, (lat_deg, lon_deg) if source.degrees else None)


def _step_m(step_deg: tuple[float, float], lat_deg: float) -> tuple[float, float]:
    """Distance between points on the WGS-84 ellipsoid, to the east and to the north."""
    return span_m(math.radians(lat_deg), math.radians(step_deg[0]), math.radians(step_deg[1]))


class _Axis:
    """Positions of the map's units among the source's points along one axis."""

    def __init__(self, points: int, step_m: float, side: int, unit_m: float, centre_m: float) -> None:
        self._each = max(1, round(unit_m / step_m))  # points in a unit
        fine = (np.arange(side * self._each) + 0.5) / self._each - side / 2
        at = np.clip((fine * unit_m + centre_m) / step_m + (points - 1) / 2, 0.0, points - 1.0)
        below = np.minimum(at.astype(np.int64), points - 2)
        self.first, self.last = int(below[0]), int(below[-1]) + 1
        self._below, self._share = below - self.first, at - below

    def means(self, rows: Vec) -> Vec:
        """One row for each unit."""
        total = np.zeros((len(self._below) // self._each, rows.shape[1]))
        for place in range(self._each):
            below, share = self._below[place :: self._each], self._share[place :: self._each, None]
            total += rows[below] * (1.0 - share)
            total += rows[below + 1] * share
        return total / self._each


def _filled(heights: Vec, where: str) -> Vec:
    """Unknown points get the height of the nearest known one."""
    unknown = ~np.isfinite(heights)
    if not unknown.any():
        return heights
    share = float(unknown.mean())
    if share > MOST_UNKNOWN:
        raise ConfigError(
            f"{where}: {100 * share:.0f} % of the map's points are unknown, expected at most {100 * MOST_UNKNOWN:.0f} %"
        )
    from scipy import ndimage  # slow to import, and few maps have holes

    nearest = ndimage.distance_transform_edt(unknown, return_distances=False, return_indices=True)
    return heights[tuple(nearest)]  # type: ignore[no-any-return]
