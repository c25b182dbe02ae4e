"""The planner: from elevations, start and goal to the cells of a path.

Near the vehicle the path is a channel of fine cells, which is smoothed and flown; beyond, it is a coarse route that the
next plan refines. Averages hide narrow ridges, so the mean raises the cost of a coarse leaf but never blocks it: only
fine cells above the threshold are blocked, and never those of the vehicle and of the goal. For the coarse cells' means
a blocked cell counts as `obstacle_m` higher than it is, and their risk may go beyond 1: a thin wall is then visible at
coarse levels.

A coarse route may still turn out to be blocked when the vehicle comes near; the vehicle turns away, the ridge becomes
coarse again, and the old route has its old cost. So the planner raises the cost of cells with every flight over them,
and eventually selects another route.
"""

from __future__ import annotations

import dataclasses
from itertools import takewhile
from typing import Annotated, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.wing_signals import PlanStatus
from aeroloop.planning.cells import SUB, Cell, Leaves, Resolution
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.lifting import forward
from aeroloop.planning.plan import Plan
from aeroloop.planning.search import Entry, Search

__all__ = ["Entry", "Plan", "Planner", "PlannerSettings", "Planning"]

FULL_RISK = 256
COARSE_RISK = 16 * FULL_RISK
"""The maximum risk of a coarse cell."""
HIGHEST = 2**15 - 1
AGAIN = 1024
"""Increase of a cell's factor by each flight over it: four times its length over safe ground."""
MOST_TIMES = 255


class PlannerSettings(Config, frozen=True):
    """Settings of the path search: prefers low ground, and excludes ground that is too high."""

    # Risk grows from 0 at `safe_m` to 1 at `highest_m`. The published weight is unknown; this one is our choice.
    safe_m: Annotated[int, meta("m", "ground up to here adds no cost to the length", ge=-(2**15), le=2**15 - 1)] = 450
    highest_m: Annotated[int, meta("m", "ground from here on has the maximum cost", ge=-(2**15), le=2**15 - 1)] = 600
    blocked_above_m: Annotated[
        int, meta("m", "fine cells whose mean is higher are never flown over", ge=-(2**15), le=2**15 - 1)
    ] = 600
    obstacle_m: Annotated[
        int, meta("m", "height added to a blocked cell in the mean of a coarse one", ge=0, le=10_000)
    ] = 1500
    risk_weight: Annotated[float, meta("-", "additional cost factor of the riskiest ground", ge=0, le=64)] = 1.0
    resolution: Annotated[Resolution, note("division into cells: fine near the aircraft, coarse far away")] = (
        Resolution()
    )
    turn_rule: Annotated[bool, note("exclude reversals and U turns in two cells")] = True
    stitch: Annotated[
        Literal["node", "transient"],
        note(
            '"node": a new path begins at a node of the current one; "transient": a B-spline leads from the current '
            "path to the new one, or as with node where it would be too curved or leave the channel"
        ),
    ] = "node"

    def __post_init__(self) -> None:
        if self.highest_m <= self.safe_m:
            raise ValueError(f"highest_m, {self.highest_m}, must be greater than safe_m, {self.safe_m}")

    def full_grid(self) -> PlannerSettings:
        """Settings with the whole map in fine cells and without the turn rule: decides for certain whether a path
        exists."""
        finest = self.resolution.finest
        everywhere = Resolution(coarsest=finest, finest=finest, radii_units=())
        return msgspec.structs.replace(self, resolution=everywhere, turn_rule=False)

    @property
    def weight_256(self) -> int:
        """The weight in whole 1/256, as used by the search."""
        return round(self.risk_weight * 256)


class Planner:
    """Holds the map; every plan uses it."""

    def __init__(self, elevation: Elevation, settings: PlannerSettings) -> None:
        finest = settings.resolution.finest
        if finest > elevation.order:
            raise ConfigError(
                f"cells of level {finest} are finer than the map's units: {elevation.side} a side allow level "
                f"{elevation.order} at most"
            )
        self.elevation = elevation
        self.settings = settings
        approximations = forward(elevation.values).approximations
        fine = approximations[finest]
        raised = np.where(fine > settings.blocked_above_m, np.minimum(fine + settings.obstacle_m, HIGHEST), fine)
        self._values = (*forward(raised).approximations[:finest], fine)
        reach = settings.highest_m - settings.safe_m
        self._factors: list[npt.NDArray[np.int64]] = []
        for level, values in enumerate(self._values):
            most = FULL_RISK if level == finest else COARSE_RISK
            risk = np.clip((values.astype(np.int64) - settings.safe_m) * FULL_RISK // reach, 0, most)
            self._factors.append(FULL_RISK + (settings.weight_256 * risk >> 8))
        self._times: list[npt.NDArray[np.uint8]] = []

    def value(self, cell: Cell) -> int:
        """The approximation coefficient: the mean elevation, rounded down, with obstacles raised in coarse cells."""
        return int(self._values[cell.level][cell.row, cell.col])

    def factor(self, cell: Cell) -> int:
        """Cost of entering this cell for each 1/16 unit of length: 256 where it is safe."""
        factor = int(self._factors[cell.level][cell.row, cell.col])
        if self._times:
            factor += AGAIN * (int(self._times[cell.level][cell.row, cell.col]) >> (len(self._times) - 1 - cell.level))
        return factor

    def factors(self, level: int) -> npt.NDArray[np.int64]:
        """The factors of all cells of a level, `[row, col]`, without flown cells."""
        return self._factors[level]

    def flown(self, cell: Cell) -> None:
        """This fine cell was flown over (again)."""
        finest = self.settings.resolution.finest
        if not self._times:
            self._times = [np.zeros((1 << level, 1 << level), np.uint8) for level in range(finest + 1)]
        for level, times in enumerate(self._times):
            shift = finest - level
            place = cell.row >> shift, cell.col >> shift
            times[place] = min(int(times[place]) + 1, MOST_TIMES)

    def forget(self) -> None:
        """Forget all flown cells, for a new goal."""
        self._times = []

    def blocked(self, cell: Cell) -> bool:
        return cell.level == self.settings.resolution.finest and self.value(cell) > self.settings.blocked_above_m

    def plan(self, start_m: tuple[float, float], goal_m: tuple[float, float], entry: Entry | None = None) -> Plan:
        """Plan in one call."""
        planning = self.begin(start_m, goal_m, entry)
        while not planning.step():
            pass
        return planning.plan

    def begin(self, start_m: tuple[float, float], goal_m: tuple[float, float], entry: Entry | None = None) -> Planning:
        """Start a plan to be made in pieces; with `entry` from a path that is being flown, else with free direction."""
        if not self.elevation.inside(*start_m):
            return Planning(None, Plan(PlanStatus.START_OUTSIDE, entry=entry))
        if not self.elevation.inside(*goal_m):
            return Planning(None, Plan(PlanStatus.GOAL_OUTSIDE, entry=entry))
        return self._begin(self.elevation.subunits_at(*start_m), self.elevation.subunits_at(*goal_m), entry)

    def _begin(self, start: tuple[int, int], goal: tuple[int, int], entry: Entry | None) -> Planning:
        finest = self.settings.resolution.finest
        leaves = Leaves(self.elevation.order, self.settings.resolution, *start)
        side = SUB << (self.elevation.order - finest)
        fine_start, fine_goal = (Cell(finest, x // side, y // side) for x, y in (start, goal))
        first, last = (leaves.leaf_at(cell.col, cell.row) for cell in (fine_start, fine_goal))
        plan = Plan(
            PlanStatus.UNREACHABLE,
            leaves=len(leaves),
            start_blocked=self.blocked(fine_start),
            goal_blocked=self.blocked(fine_goal),
            entry=entry,
        )
        ground = _SearchMap(self, {first, last})
        return Planning(Search(leaves, ground, first, last, entry, turn_rule=self.settings.turn_rule), plan)


class _SearchMap:
    """Map queries of the search; some cells are open regardless of their elevation."""

    def __init__(self, planner: Planner, always_open: set[Cell]) -> None:
        self._planner = planner
        self._open = always_open

    def factor(self, leaf: Cell) -> int | None:
        if leaf not in self._open and self._planner.blocked(leaf):
            return None
        return self._planner.factor(leaf)


class Planning:
    """A plan in progress: `step` does one bounded piece and returns whether it was the last; then `plan` is
    available."""

    def __init__(self, search: Search | None, plan: Plan) -> None:
        self._search = search
        self._plan = plan

    @property
    def done(self) -> bool:
        return self._search is None or self._search.done

    @property
    def pieces(self) -> int:
        return self._search.pieces if self._search else 0

    @property
    def plan(self) -> Plan:
        if not self.done:
            raise ValueError("the plan is not finished: step() has not returned true yet")
        return self._plan

    def step(self) -> bool:
        if self._search is None or self._search.done:
            return True
        if self._search.step():
            self._plan = self._finished(self._search)
        return self.done

    def _finished(self, search: Search) -> Plan:
        made = dataclasses.replace(self._plan, expanded=search.expanded, pieces=search.pieces)
        if not search.found:
            return made
        cells = search.way()
        fine = tuple(takewhile(lambda cell: cell.level == search.leaves.finest, cells))
        return dataclasses.replace(
            made,
            status=PlanStatus.FOUND,
            cells=cells,
            fine=fine,
            reaches_goal=len(fine) == len(cells),
            cost=search.cost,
        )
