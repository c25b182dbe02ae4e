"""Where a flight starts and where it leads: as the scenario says, or drawn from its seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing.scenario import FixedWingScenario, Metres2
from aeroloop.planning.cells import STEPS, Cell, Resolution
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.lifting import forward
from aeroloop.planning.planner import Planner, PlannerSettings
from aeroloop.world.elevation_map import ElevationConfig, ElevationMap, elevation_map

TRIES = 2000
ROUND = 72
"""Points of the first circle that are held against the ground."""
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
    ground = ground_of(scenario.aircraft.world.terrain)
    return Planner(Elevation(ground.values, ground.unit_m), scenario.aircraft.planner)


def places(scenario: FixedWingScenario) -> Places:
    """The same for every process of a flight, since it follows from the scenario alone."""
    mission = scenario.aircraft.mission
    if mission.start_m is not None:
        _check_height(scenario, mission.start_m)
    if mission.start_m is not None and mission.goal_m is not None:
        return Places(mission.start_m, mission.goal_m)
    # Reachable on the full grid is reachable at all: the board may see less of the map at a time.
    finest = scenario.aircraft.planner.resolution.finest
    whole = Resolution(coarsest=finest, finest=finest, radii_units=())
    ground = ground_of(scenario.aircraft.world.terrain)
    settings: PlannerSettings = msgspec.structs.replace(scenario.aircraft.planner, resolution=whole)
    planner = Planner(Elevation(ground.values, ground.unit_m), settings)
    room_m = mission.loiter_radius_m + SPARE_M
    rooms = [
        cell
        for cell in roomy_cells(planner, room_m)
        if math.hypot(*planner.elevation.centre_m(cell)) + room_m < scenario.aircraft.world.reach_m
    ]
    reach = _Reach(planner)
    rng = np.random.default_rng([scenario.seed, 6])
    for _ in range(TRIES if rooms else 0):
        start_m, goal_m = (
            given if given is not None else planner.elevation.centre_m(rooms[int(rng.integers(len(rooms)))])
            for given in (mission.start_m, mission.goal_m)
        )
        ends = (start_m, goal_m) if mission.goal_m is None else (goal_m, start_m)  # the given one first: asked once
        if math.dist(start_m, goal_m) < mission.apart_m or not reach.joined(*ends):
            continue
        if planner.plan(start_m, goal_m).found:
            return Places(start_m, goal_m)
    missing = [place for place in ("start", "goal") if getattr(mission, f"{place}_m") is None]
    wanted, each = (f"{missing[0]} was", "it") if len(missing) == 1 else ("start and goal were", "each")
    raise ConfigError(
        f"mission: no {wanted} found with a free circle of {mission.loiter_radius_m:g} m around {each}, "
        f"{mission.apart_m:g} m apart and with a way between them; expected a higher planner.blocked_above_m "
        f"({planner.settings.blocked_above_m} m), a smaller mission.apart_m, or other places in start_m and goal_m"
    )


def _check_height(scenario: FixedWingScenario, start_m: Metres2) -> None:
    """The first circle leads over the ground, not through it."""
    mission, ground = scenario.aircraft.mission, ground_of(scenario.aircraft.world.terrain).grid()
    angles = np.linspace(0.0, 2 * math.pi, ROUND, endpoint=False)
    circle = start_m + mission.loiter_radius_m * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    highest_m = max(ground.height_m(float(x_m), float(y_m)) for x_m, y_m in circle)
    if highest_m >= mission.height_m:
        raise ConfigError(
            f"mission.start_m: the circle of {mission.loiter_radius_m:g} m around {start_m[0]:g}, {start_m[1]:g} leads "
            f"into ground of {highest_m:.0f} m; expected all of it below mission.height_m ({mission.height_m:g} m)"
        )


class _Reach:
    """Whether free cells lead from one place to another at all: told much sooner than that no way is found."""

    def __init__(self, planner: Planner) -> None:
        self._elevation, self._level = planner.elevation, planner.settings.resolution.finest
        rows, cols = np.nonzero(~blocked_cells(planner))
        self._free = {*zip(cols.tolist(), rows.tolist(), strict=True)}
        self._reached: dict[tuple[int, int], set[tuple[int, int]]] = {}

    def joined(self, one_m: Metres2, other_m: Metres2) -> bool:
        """Where they lie themselves is never blocked."""
        one, other = (self._elevation.cell_at(self._level, *place)[1:] for place in (one_m, other_m))
        reached = self._flooded(one)
        return any(place in reached for place in (other, *_around(other)))

    def _flooded(self, cell: tuple[int, int]) -> set[tuple[int, int]]:
        if cell not in self._reached:
            found, border = {cell}, {cell}
            while border:
                border = {place for at in border for place in _around(at)} & self._free - found
                found |= border
            self._reached[cell] = found
        return self._reached[cell]


def _around(cell: tuple[int, int]) -> list[tuple[int, int]]:
    return [(cell[0] + dx, cell[1] + dy) for dx, dy in STEPS]


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
