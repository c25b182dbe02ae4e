"""The planner's map of a flight: the terrain, with every fine cell blocked that is too high for the flight.

The planner blocks fine cells by their mean, and a mean hides a peak. So each fine cell that contains ground above
`mission.height_m - mission.clearance_m` is raised to its highest point before planner and firmware get the map. All
other cells keep their heights, and with them their costs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.planner import Planner, PlannerSettings
from aeroloop.world.elevation_map import ElevationConfig, ElevationMap, elevation_map

Heights = NDArray[np.integer]


@lru_cache(maxsize=4)
def ground_of(config: ElevationConfig) -> ElevationMap:
    """The scenario's map; read once, since it may be large."""
    return elevation_map(config)


def ceiling_m(tables: FixedWingTables) -> float:
    """The highest ground that may be flown over."""
    return tables.mission.height_m - tables.mission.clearance_m


def planning_map(tables: FixedWingTables) -> Elevation:
    """The ground as known to planner and firmware of a flight."""
    return raised_map(tables.world.terrain, tables.planner, ceiling_m(tables))


def raised_map(terrain: ElevationConfig, settings: PlannerSettings, highest_m: float) -> Elevation:
    """The same of a terrain, for flights over ground of at most `highest_m`."""
    return _planning_map(terrain, settings.resolution.finest, highest_m, settings.blocked_above_m)


def planner_of(scenario: FixedWingScenario) -> Planner:
    """The planner that the board of this flight has."""
    return Planner(planning_map(scenario.aircraft), scenario.aircraft.planner)


@lru_cache(maxsize=4)
def _planning_map(terrain: ElevationConfig, finest: int, highest_m: float, blocked_above_m: int) -> Elevation:
    ground = ground_of(terrain)
    plain = Elevation(ground.values, ground.unit_m)
    if finest > plain.order:
        return plain  # the planner refuses cells finer than the map
    units = plain.side >> finest
    top = highest_in_cells(plain.values, units)
    raised = np.repeat(np.repeat(np.maximum(top, blocked_above_m + 1), units, axis=0), units, axis=1)
    hit = np.repeat(np.repeat(top > highest_m, units, axis=0), units, axis=1)
    return Elevation(np.where(hit, raised, plain.values), ground.unit_m)


def highest_in_cells(values: Heights, units: int) -> NDArray[np.int32]:
    """The highest ground of each square of so many units, rounded up.

    The ground between the units' centres is two triangles per square, divided from south-west to north-east
    (`world.terrain.Grid`). Its highest point in a unit is its centre, or the middle of an edge, or a corner.
    """
    twice = 2 * np.pad(values.astype(np.int32), 1, mode="edge")
    centre = twice[1:-1, 1:-1]
    west, east, south, north = twice[1:-1, :-2], twice[1:-1, 2:], twice[:-2, 1:-1], twice[2:, 1:-1]
    south_west, north_east = twice[:-2, :-2], twice[2:, 2:]
    top = centre.copy()
    for one, other in (
        *((centre, beside) for beside in (west, east, south, north, south_west, north_east)),
        (south, east),  # the corner in the south-east lies on the diagonal between these two
        (west, north),
    ):
        np.maximum(top, (one + other) // 2, out=top)
    side = len(values) // units
    of_cells = top.reshape(side, units, side, units).max(axis=(1, 3))
    return np.asarray(-(-of_cells // 2), dtype=np.int32)
