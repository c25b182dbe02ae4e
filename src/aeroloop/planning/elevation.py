"""The planner's map: a square of elevations, and the position of each cell in the world.

The origin of W is the map's centre; row 0 is the south and column 0 the west edge.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from aeroloop.core.errors import ConfigError
from aeroloop.planning.cells import MOST_ORDER, SUB, Cell


class Elevation:
    """`values[row, col]`: elevations in whole metres, one for each unit of `unit_m` by `unit_m`."""

    def __init__(self, values: npt.ArrayLike, unit_m: float) -> None:
        given = np.asarray(values)
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise ConfigError(f"the elevation map must be square, not {' x '.join(map(str, given.shape)) or 'empty'}")
        side = int(given.shape[0])
        if side & (side - 1) or not 1 <= side <= 2**MOST_ORDER:
            raise ConfigError(
                f"the elevation map has {side} units a side; expected a power of two, at most {2**MOST_ORDER}"
            )
        if not np.issubdtype(given.dtype, np.integer):
            raise ConfigError(f"the elevation map must hold whole metres, not {given.dtype}")
        limits = np.iinfo(np.int16)
        if given.min() < limits.min or given.max() > limits.max:
            raise ConfigError(
                f"the elevation map ranges from {given.min()} to {given.max()} m; "
                f"expected no less than {limits.min} and no more than {limits.max}"
            )
        if not (math.isfinite(unit_m) and unit_m > 0):
            raise ConfigError(f"a unit of the elevation map must be longer than 0 m, not {unit_m}")
        self.values: npt.NDArray[np.int32] = given.astype(np.int32)
        self.values.setflags(write=False)
        self.unit_m = float(unit_m)
        self.side: int = side
        self.order = side.bit_length() - 1

    @property
    def side_m(self) -> float:
        return self.side * self.unit_m

    def units_at(self, x_m: float, y_m: float) -> tuple[float, float]:
        """Unit coordinates, from the south-west corner."""
        return x_m / self.unit_m + self.side / 2, y_m / self.unit_m + self.side / 2

    def subunits_at(self, x_m: float, y_m: float) -> tuple[int, int]:
        """Unit coordinates in whole 1/16, which the planner uses."""
        ux, uy = self.units_at(x_m, y_m)
        return math.floor(ux * SUB), math.floor(uy * SUB)

    def inside(self, x_m: float, y_m: float) -> bool:
        if not (math.isfinite(x_m) and math.isfinite(y_m)):
            return False
        return all(0 <= part < self.side * SUB for part in self.subunits_at(x_m, y_m))

    def cell_at(self, level: int, x_m: float, y_m: float) -> Cell:
        if not self.inside(x_m, y_m):
            raise ValueError(f"({x_m:.1f}, {y_m:.1f}) m lies outside the map, which reaches {self.side_m / 2:.1f} m")
        x, y = self.subunits_at(x_m, y_m)
        side = SUB << (self.order - level)
        return Cell(level, x // side, y // side)

    def size_m(self, level: int) -> float:
        """Side of a cell."""
        return self.side_m / (1 << level)

    def centre_m(self, cell: Cell) -> tuple[float, float]:
        size_m, half_m = self.size_m(cell.level), self.side_m / 2
        return (cell.col + 0.5) * size_m - half_m, (cell.row + 0.5) * size_m - half_m

    def bounds_m(self, cell: Cell) -> tuple[float, float, float, float]:
        """West, south, east and north edge."""
        size_m, half_m = self.size_m(cell.level), self.side_m / 2
        west_m, south_m = cell.col * size_m - half_m, cell.row * size_m - half_m
        return west_m, south_m, west_m + size_m, south_m + size_m
