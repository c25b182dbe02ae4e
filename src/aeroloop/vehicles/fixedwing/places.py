"""Where a flight starts and where it leads: as the scenario says, or drawn from its seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from aeroloop.errors import ConfigError
from aeroloop.planning.cells import Cell, Resolution
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.lifting import forward
from aeroloop.planning.planner import Planner, PlannerSettings
from aeroloop.vehicles.fixedwing.scenario import FixedWingScenario, Metres2
from aeroloop.world.elevation_map import ElevationConfig, ElevationMap, elevation_map

TRIES = 2000
SPARE_M = 40.0
"""Room that a loiter circle has around it, for turbulence and for the way on and off it."""


@dataclass(frozen=True, slots=True)
class Places:
    start_m: Metres2  # centre of the circle on which the flight begins
    goal_m: Metres2


@lru_cache(maxsize=4)
def ground_of(config: ElevationConfig) -> ElevationMap:
    """The scenario's map; read once, for it may be large."""
    return elevation_map(config)


def planner_of(scenario: FixedWingScenario) -> Planner:
    """The planner that the board of this flight has."""
    ground = ground_of(scenario.world.terrain)
    return Planner(Elevation(ground.values, ground.unit_m), scenario.planner)


def places(scenario: FixedWingScenario) -> Places:
    """The same for every process of a flight, since it follows from the scenario alone."""
    mission = scenario.mission
    if mission.start_m is not None and mission.goal_m is not None:
        return Places(mission.start_m, mission.goal_m)
    # Reachable on the full grid is reachable at all: the board may see less of the map at a time.
    finest = scenario.planner.resolution.finest
    whole = Resolution(coarsest=finest, finest=finest, radii_units=())
    ground = ground_of(scenario.world.terrain)
    settings: PlannerSettings = msgspec.structs.replace(scenario.planner, resolution=whole)
    planner = Planner(Elevation(ground.values, ground.unit_m), settings)
    rooms = roomy_cells(planner, mission.loiter_radius_m + SPARE_M)
    rng = np.random.default_rng([scenario.seed, 6])
    for _ in range(TRIES if rooms else 0):
        start_m, goal_m = (
            given if given is not None else planner.elevation.centre_m(rooms[int(rng.integers(len(rooms)))])
            for given in (mission.start_m, mission.goal_m)
        )
        if math.dist(start_m, goal_m) >= mission.apart_m and planner.plan(start_m, goal_m).found:
            return Places(start_m, goal_m)
    raise ConfigError(
        f"mission: no start and goal were found with a free circle of {mission.loiter_radius_m:g} m around each, "
        f"{mission.apart_m:g} m apart and with a way between them; expected a higher planner.blocked_above_m "
        f"({planner.settings.blocked_above_m} m), a smaller mission.apart_m, or start_m and goal_m"
    )


def blocked_cells(planner: Planner) -> NDArray[np.bool_]:
    """Of each fine cell, by row and column."""
    means = forward(planner.elevation.values).approximations[planner.settings.resolution.finest]
    return np.asarray(means > planner.settings.blocked_above_m)


def roomy_cells(planner: Planner, room_m: float) -> list[Cell]:
    """Fine cells around whose centre nothing is blocked, and nothing off the map, as far as this."""
    level = planner.settings.resolution.finest
    size_m = planner.elevation.size_m(level)
    reach = math.ceil(room_m / size_m - 0.5)
    blocked = blocked_cells(planner)
    side = len(blocked)
    return [
        Cell(level, col, row)
        for row in range(reach, side - reach)
        for col in range(reach, side - reach)
        if not blocked[row - reach : row + reach + 1, col - reach : col + reach + 1].any()
    ]
