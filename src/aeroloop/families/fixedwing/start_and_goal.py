"""Start and goal of a flight: from the scenario, or drawn from its seed; checked against the ground."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing.planning_map import ceiling_m, ground_of, planning_map, raised_map
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables, Metres2
from aeroloop.planning.cells import STEPS, Cell, Resolution
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.lifting import forward
from aeroloop.planning.planner import Planner, PlannerSettings
from aeroloop.world.elevation_map import ElevationConfig

TRIES = 2000
ROUND = 72
"""Points of the first circle that are checked against the ground."""
SPARE_M = 40.0
"""Margin around a loiter circle, for turbulence and for its entry and exit."""


@dataclass(frozen=True, slots=True)
class StartAndGoal:
    start_m: Metres2  # centre of the first circle
    goal_m: Metres2


def places(scenario: FixedWingScenario) -> StartAndGoal:
    """The same for every process of a flight, since it depends on the scenario alone."""
    return _places(scenario.aircraft, scenario.seed)


@lru_cache(maxsize=8)
def _places(tables: FixedWingTables, seed: int) -> StartAndGoal:
    mission, world = tables.mission, tables.world
    # A path on the full grid means that one exists: the board may know less of the map at a time.
    settings = _full_grid(tables.planner)
    planner = Planner(planning_map(tables), settings)
    room_m = mission.loiter_radius_m + SPARE_M
    if mission.start_m is not None:
        _check_start(tables, mission.start_m)
    if mission.goal_m is not None:
        _check_goal(tables, planner, mission.goal_m)
    if mission.start_m is not None and mission.goal_m is not None:
        if not _connected(world.terrain, tables.planner, ceiling_m(tables), mission.start_m, mission.goal_m):
            raise ConfigError(
                f"mission.goal_m: no path leads from the start to {mission.goal_m[0]:g}, {mission.goal_m[1]:g} over "
                f"ground below {ceiling_m(tables):g} m; expected a goal that can be reached at this height"
            )
        return StartAndGoal(mission.start_m, mission.goal_m)
    reach = _Reach(planner)
    # Drawn among cells with a low mean, then checked against the highest ground in them: a seed keeps its positions.
    ground = ground_of(world.terrain)
    rooms = [
        cell
        for cell in roomy_cells(Planner(Elevation(ground.values, ground.unit_m), settings), room_m)
        if math.hypot(*planner.elevation.centre_m(cell)) + room_m < world.reach_m
    ]
    rng = np.random.default_rng([seed, 6])
    for _ in range(TRIES if rooms else 0):
        start_m, goal_m = (
            given if given is not None else planner.elevation.centre_m(rooms[int(rng.integers(len(rooms)))])
            for given in (mission.start_m, mission.goal_m)
        )
        # The given one first, so that it is checked once.
        ends = (start_m, goal_m) if mission.goal_m is None else (goal_m, start_m)
        if math.dist(start_m, goal_m) < mission.apart_m or not reach.joined(*ends):
            continue
        drawn = (place for place, given in zip(ends, (mission.start_m, mission.goal_m), strict=True) if given is None)
        if any(blocked_around(planner, place, room_m) for place in drawn):
            continue
        if planner.plan(start_m, goal_m).found:
            return StartAndGoal(start_m, goal_m)
    missing = [place for place in ("start", "goal") if getattr(mission, f"{place}_m") is None]
    wanted, each = (f"{missing[0]} was", "it") if len(missing) == 1 else ("start and goal were", "each")
    raise ConfigError(
        f"mission: no {wanted} found with a free circle of {mission.loiter_radius_m:g} m around {each}, "
        f"{mission.apart_m:g} m apart and with a path between them; expected a higher planner.blocked_above_m "
        f"({planner.settings.blocked_above_m} m), a smaller mission.apart_m, or other positions in start_m and goal_m"
    )


@lru_cache(maxsize=8)
def _connected(
    terrain: ElevationConfig, settings: PlannerSettings, highest_m: float, start_m: Metres2, goal_m: Metres2
) -> bool:
    """Searched once by what it depends on: flights of a campaign differ in wind, mass and seed."""
    planner = Planner(raised_map(terrain, settings, highest_m), _full_grid(settings))
    return _Reach(planner).joined(goal_m, start_m) and planner.plan(start_m, goal_m).found


def _full_grid(settings: PlannerSettings) -> PlannerSettings:
    finest = settings.resolution.finest
    return msgspec.structs.replace(settings, resolution=Resolution(coarsest=finest, finest=finest, radii_units=()))


def _check_start(tables: FixedWingTables, start_m: Metres2) -> None:
    """The flight begins on this circle: check its clearance over the ground."""
    mission, ground = tables.mission, ground_of(tables.world.terrain).grid()
    angles = np.linspace(0.0, 2 * math.pi, ROUND, endpoint=False)
    circle = start_m + mission.loiter_radius_m * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    highest_m = max(ground.height_m(float(x_m), float(y_m)) for x_m, y_m in circle)
    if highest_m > ceiling_m(tables):
        raise ConfigError(
            f"mission.start_m: the circle of {mission.loiter_radius_m:g} m around {start_m[0]:g}, {start_m[1]:g} leads "
            f"over ground of {highest_m:.0f} m; expected {_expected(tables)}"
        )


def _check_goal(tables: FixedWingTables, planner: Planner, goal_m: Metres2) -> None:
    """The board can only join and fly a circle with free cells."""
    radius_m = tables.mission.loiter_radius_m
    blocked = blocked_around(planner, goal_m, radius_m)
    if blocked:
        highest_m = max(planner.value(cell) for cell in blocked)
        raise ConfigError(
            f"mission.goal_m: the circle of {radius_m:g} m around {goal_m[0]:g}, {goal_m[1]:g} leads over blocked "
            f"cells, with ground of up to {highest_m} m; expected {_expected(tables)}"
        )


def _expected(tables: FixedWingTables) -> str:
    mission = tables.mission
    return (
        f"ground below {min(ceiling_m(tables), tables.planner.blocked_above_m):g} m there "
        f"(mission.height_m {mission.height_m:g} m, mission.clearance_m {mission.clearance_m:g} m, "
        f"planner.blocked_above_m {tables.planner.blocked_above_m} m)"
    )


def blocked_around(planner: Planner, centre_m: Metres2, room_m: float) -> list[Cell]:
    """The blocked fine cells in the square of this size around a point; cells off the map are not included."""
    level, elevation = planner.settings.resolution.finest, planner.elevation
    size_m, half_m, side = elevation.size_m(level), elevation.side_m / 2, 1 << level
    first, last = (
        [min(max(math.floor((axis_m + part + half_m) / size_m), 0), side - 1) for axis_m in centre_m]
        for part in (-room_m, room_m)
    )
    cells = (Cell(level, col, row) for row in range(first[1], last[1] + 1) for col in range(first[0], last[0] + 1))
    return [cell for cell in cells if planner.blocked(cell)]


class _Reach:
    """Whether free cells connect two positions at all: much faster than a failed path search."""

    def __init__(self, planner: Planner) -> None:
        self._elevation, self._level = planner.elevation, planner.settings.resolution.finest
        rows, cols = np.nonzero(~blocked_cells(planner))
        self._free = {*zip(cols.tolist(), rows.tolist(), strict=True)}
        self._reached: dict[tuple[int, int], set[tuple[int, int]]] = {}

    def joined(self, one_m: Metres2, other_m: Metres2) -> bool:
        """Their own cells are never blocked."""
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
    """For each fine cell, by row and column."""
    means = forward(planner.elevation.values).approximations[planner.settings.resolution.finest]
    return np.asarray(means > planner.settings.blocked_above_m)


def roomy_cells(planner: Planner, room_m: float) -> list[Cell]:
    """Fine cells with no blocked cell, and no edge of the map, within this distance of their centre."""
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
