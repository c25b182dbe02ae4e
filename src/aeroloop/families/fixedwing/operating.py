"""What an operator may change in flight: the table of parameters, and the checks that the board makes.

The same rules in Python (rung mil) and C (`firmware/wing/operator.c`, from the numbers that `images.py` writes). A goal
is checked as at load time: on the map with room for its circle, no blocked cell under the circle, and joined to the
aircraft's position by free cells.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.core.operator import Console, ParameterSpec
from aeroloop.core.wing_signals import ANSWER_WORDS, BoardParameter, UserAnswer
from aeroloop.families.fixedwing.law import PATH_GAINS, ROLL_MOST_RAD
from aeroloop.families.fixedwing.planning_map import planning_map
from aeroloop.families.fixedwing.scenario import MOST_BANK_RAD, FixedWingScenario, FixedWingTables, Metres2
from aeroloop.families.fixedwing.start_and_goal import blocked_cells
from aeroloop.planning.cells import STEPS
from aeroloop.planning.planner import Planner

MOST_REGIONS = 254
SLOWER, FASTER = 0.9, 1.1
"""Limits of the airspeed, as fractions of the mission's: the inner loops are designed for that one."""
HIGHER_M = 300.0
LARGER = 3.0
"""Largest loiter radius, as a multiple of the mission's."""
ROLL_LEAST_RAD = math.radians(15.0)

Regions = NDArray[np.uint8]
"""For each fine cell, by row and column: 0 blocked, else the number of the area of free cells that it belongs to."""


def console(scenario: FixedWingScenario) -> Console:
    """In the order of `BoardParameter`."""
    mission, gains = scenario.aircraft.mission, PATH_GAINS
    speed, height, radius = mission.airspeed_m_s, mission.height_m, mission.loiter_radius_m
    least_m = tightest_m(SLOWER * speed)

    def gain(name: str, unit: str, default: float, meaning: str) -> ParameterSpec:
        return ParameterSpec(name, unit, default, default / 4, default * 4, f"path following: {meaning}")

    return Console(
        (
            ParameterSpec("airspeed_m_s", "m/s", speed, SLOWER * speed, FASTER * speed, "airspeed setpoint"),
            ParameterSpec("height_m", "m", height, height, height + HIGHER_M, "height setpoint above mean sea level"),
            ParameterSpec(
                "loiter_radius_m", "m", radius, min(least_m, radius), LARGER * radius, "radius of the next circles"
            ),
            ParameterSpec(
                "roll_limit_rad", "rad", ROLL_MOST_RAD, ROLL_LEAST_RAD, MOST_BANK_RAD, "path following: largest roll"
            ),
            gain("ks_1_s", "1/s", gains.ks, "gain along the path"),
            gain("kw_1_s", "1/s", gains.kw, "gain of the course error"),
            gain("kz_1_s", "1/s", gains.kz, "gain of the turn rate error"),
            gain("kd_1_m", "1/m", gains.kd_1_m, "how steeply it approaches the path"),
        ),
        tuple(ANSWER_WORDS[answer] for answer in UserAnswer),
        UserAnswer.NO_ANSWER,
    )


def tightest_m(airspeed_m_s: float) -> float:
    """The radius of a circle at 30 degrees of bank."""
    return airspeed_m_s**2 / (GRAVITY_M_S2 * math.tan(MOST_BANK_RAD))


def regions_of(planner: Planner) -> Regions:
    """Areas of free cells that are joined by edges; the largest is 1. Those beyond the 254th count as blocked."""
    labels, count = ndimage.label(~blocked_cells(planner))
    sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    number = np.zeros(count + 1, dtype=np.uint8)
    for rank, label in enumerate(np.argsort(-sizes, kind="stable")[:MOST_REGIONS]):
        number[label + 1] = rank + 1
    return np.asarray(number[labels], dtype=np.uint8)


class GoalCheck:
    """Whether a goal, or a circle, can be flown."""

    def __init__(self, regions: Regions, side_m: float, reach_m: float) -> None:
        self._regions, self._side_m, self._reach_m = regions, side_m, reach_m
        self._cells = len(regions)

    def refused(self, goal_m: Metres2, radius_m: float, here_m: Metres2) -> UserAnswer:
        half_m = self._side_m / 2 - radius_m
        on_map = all(abs(part_m) <= half_m for part_m in goal_m)
        if not on_map or math.hypot(*goal_m) >= self._reach_m:
            return UserAnswer.GOAL_OFF_MAP
        if not self.free(goal_m, radius_m):
            return UserAnswer.GOAL_BLOCKED
        col, row = map(self._cell, here_m)
        around = ((col, row), *((col + dx, row + dy) for dx, dy in STEPS))
        there = self._region(*map(self._cell, goal_m))
        if all(self._region(*cell) != there for cell in around):
            return UserAnswer.GOAL_UNREACHABLE
        return UserAnswer.ACCEPTED

    def free(self, centre_m: Metres2, room_m: float) -> bool:
        """Whether no blocked cell lies in the square around a point; cells off the map are blocked."""
        (west, east), (south, north) = (
            (self._cell(part_m - room_m), self._cell(part_m + room_m)) for part_m in centre_m
        )
        return all(self._region(col, row) for row in range(south, north + 1) for col in range(west, east + 1))

    def _cell(self, along_m: float) -> int:
        return math.floor((along_m + self._side_m / 2) / (self._side_m / self._cells))

    def _region(self, col: int, row: int) -> int:
        inside = 0 <= col < self._cells and 0 <= row < self._cells
        return int(self._regions[row, col]) if inside else 0


def goal_check(scenario: FixedWingScenario) -> GoalCheck:
    return _goal_check(scenario.aircraft)


def regions(scenario: FixedWingScenario) -> Regions:
    return _regions(scenario.aircraft)


@lru_cache(maxsize=4)
def _regions(tables: FixedWingTables) -> Regions:
    return regions_of(Planner(planning_map(tables), tables.planner))


@lru_cache(maxsize=4)
def _goal_check(tables: FixedWingTables) -> GoalCheck:
    terrain = tables.world.terrain
    return GoalCheck(_regions(tables), terrain.side_units * terrain.unit_m, tables.world.reach_m)


class Parameters:
    """The board's parameters: their values in flight."""

    def __init__(self, console: Console) -> None:
        self._specs = console.parameters
        self.values = [spec.default for spec in console.parameters]

    def __getitem__(self, parameter: BoardParameter) -> float:
        return self.values[parameter]

    def refused(self, parameter: int, value: float) -> UserAnswer:
        if not 0 <= parameter < len(self.values):
            return UserAnswer.UNKNOWN
        spec = self._specs[parameter]
        if (
            not float(np.float32(spec.low)) <= value <= float(np.float32(spec.high))
        ):  # values travel in single precision
            return UserAnswer.OUTSIDE_LIMITS
        after = [*self.values]
        after[parameter] = value
        if parameter in (BoardParameter.AIRSPEED, BoardParameter.LOITER_RADIUS):
            tightest = tightest_m(after[BoardParameter.AIRSPEED])
            if after[BoardParameter.LOITER_RADIUS] < tightest:
                return UserAnswer.CIRCLE_TOO_TIGHT
        return UserAnswer.ACCEPTED
