"""The ground of a wing's batch: heights and blocked cells as tables, and where a flight is in them."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from aeroloop.core.frames import Vec3
from aeroloop.families.fixedwing.planning_map import ground_of, planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.start_and_goal import blocked_cells

REACH_POINTS = 64
"""Points of the map to each side of the flight's middle that a batch has; beyond them the height is constant."""


class BatchTerrain:
    """About a point of W; positions are relative to it."""

    def __init__(self, scenario: FixedWingScenario, centre_W: Vec3) -> None:
        grid = ground_of(scenario.aircraft.world.terrain).grid()
        self._spacing_m = grid.spacing_m
        first = []
        for along_m, corner_m, count in zip(centre_W, grid.corner_m, grid.heights_m.shape[::-1], strict=False):
            middle = round((along_m - corner_m) / grid.spacing_m)
            first.append(min(max(middle - REACH_POINTS, 0), max(count - 2 * REACH_POINTS, 0)))
        (east, north), size = first, 2 * REACH_POINTS
        heights = grid.heights_m[north : north + size, east : east + size] - centre_W[2]
        self.heights = tuple(heights.ravel().tolist())
        self._cells = heights.shape[1] - 1, heights.shape[0] - 1
        self._corner_m = [
            corner_m + index * grid.spacing_m - along_m
            for corner_m, index, along_m in zip(grid.corner_m, first, centre_W, strict=False)
        ]
        width = heights.shape[1]
        self.corners = (0, 1, width, width + 1)

        planner = planner_of(scenario)
        level = planner.settings.resolution.finest
        blocked = np.pad(blocked_cells(planner), 1)  # none beyond the map
        self.blocked = tuple(blocked.astype(float).ravel().tolist())
        self._cell_m, self._side = planner.elevation.size_m(level), len(blocked)
        half_m = planner.elevation.side_m / 2
        self._edge_m = [-half_m - self._cell_m - along_m for along_m in centre_W[:2]]

    def place(self, pos: Any) -> tuple[Any, Any]:
        """The first corner's place in `heights`, and where the position is in its cell (2,), from 0 to 1."""
        index, part = [], []
        for axis in range(2):
            along = ca.fmin(ca.fmax((pos[axis] - self._corner_m[axis]) / self._spacing_m, 0), self._cells[axis])
            cell = ca.fmin(ca.floor(along), self._cells[axis] - 1)
            index.append(cell)
            part.append(along - cell)
        return index[0] + self.corners[2] * index[1], ca.vertcat(*part)

    def height_m(self, corners: Any, part: Any) -> Any:
        """As `world.terrain.Grid`: two triangles, divided from south-west to north-east."""
        (here, east, north, both), (u, v) = ca.vertsplit(corners), ca.vertsplit(part)
        below = here + u * (east - here) + v * (both - east)
        above = here + v * (north - here) + u * (both - north)
        return ca.if_else(u >= v, below, above)

    def cell(self, pos: Any) -> Any:
        """The place in `blocked`."""
        col, row = (
            ca.fmin(ca.fmax(ca.floor((pos[axis] - self._edge_m[axis]) / self._cell_m), 0), self._side - 1)
            for axis in range(2)
        )
        return col + self._side * row
