"""The path of a fixed wing, from the store: its newest plan with all cells, and the paths reported.

Rows come from a board, so each is checked: NaN, and cells outside the map, are ignored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.wing_signals import PlanStatus
from aeroloop.dashboard.store import Rows, Store
from aeroloop.families.fixedwing.page_labels import MOST_NUMBER, status_of
from aeroloop.families.fixedwing.planning_map import planning_map
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.start_and_goal import blocked_cells
from aeroloop.planning.cells import Cell, Leaves
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.planner import Planner, PlannerSettings

Place = tuple[float, float]
Boxes = NDArray[np.float64]
"""One row a cell: west, south, east and north edge in m."""

MOST_PATHS = 12
MOST_POINTS = 400
"""Of one path."""
MOST_LEAVES = 20_000
MOST_CELLS = 4096
MOST_SHOWN = 512
"""Cells along a side of the picture of blocked ones."""
SAME_M = 1e6
"""Farther out than this nothing is drawn."""


@dataclass(frozen=True, eq=False)
class PlanningMap:
    """What a flight plans on."""

    elevation: Elevation
    settings: PlannerSettings
    blocked: NDArray[np.bool_]  # fine cells, row 0 in the south; of very many, blocks that hold a blocked one

    @property
    def corners_m(self) -> list[Place]:
        half_m = self.elevation.side_m / 2
        return [(-half_m, -half_m), (half_m, half_m)]

    def leaves_m(self, start_m: Place) -> Boxes:
        """All cells of the map, for a plan that starts there."""
        if not self.elevation.inside(*start_m):
            return np.empty((0, 4))
        leaves = Leaves(self.elevation.order, self.settings.resolution, *self.elevation.subunits_at(*start_m))
        return self.boxes_m(tuple(leaves)) if len(leaves) <= MOST_LEAVES else np.empty((0, 4))

    def boxes_m(self, cells: tuple[Cell, ...]) -> Boxes:
        return np.array([self.elevation.bounds_m(cell) for cell in cells], dtype=float).reshape(-1, 4)


def page_map(scenario: FixedWingScenario) -> PlanningMap:
    return _page_map(scenario.aircraft)


@lru_cache(maxsize=2)
def _page_map(tables: FixedWingTables) -> PlanningMap:
    settings, heights = tables.planner, planning_map(tables)
    blocked = blocked_cells(Planner(heights, settings))
    each = max(1, len(blocked) // MOST_SHOWN)
    side = len(blocked) // each
    shown = np.asarray(blocked.reshape(side, each, side, each).any(axis=(1, 3)))
    return PlanningMap(heights, settings, shown)


@dataclass(frozen=True)
class PlanRow:
    """Result of one search; NaN for values that the board did not report."""

    number: int
    t_s: float
    status: PlanStatus
    took_s: float
    start_m: Place
    goal_m: Place
    leaves: float
    expanded: float
    work_s: float
    cells: float
    fine: int
    reaches_goal: bool


@dataclass(frozen=True)
class Path:
    number: int
    kind: int
    points_m: list[Place]


def plans(store: Store, most: int = 8) -> list[PlanRow]:
    """The newest, oldest of them first."""
    names = store.names("plan")
    found = []
    for row in store.rows("plan")[-most:].tolist():
        told = dict(zip(names, row, strict=True))
        status = status_of(told["status"])
        if status is None or not 0 <= told["plan"] < MOST_NUMBER:
            continue
        found.append(
            PlanRow(
                int(told["plan"]),
                told["t_s"],
                status,
                told["t_s"] - told["began_s"],
                (told["start_x_m"], told["start_y_m"]),
                (told["goal_x_m"], told["goal_y_m"]),
                told["leaves"],
                told["expanded"],
                told["work_s"],
                told["cells"],
                int(told["fine"]) if 0 <= told["fine"] <= MOST_CELLS else 0,
                told["reaches_goal"] == 1.0,
            )
        )
    return found


def newest_found(known: list[PlanRow]) -> tuple[PlanRow | None, PlanRow | None]:
    """The newest of the plans that found a path, and the one before it."""
    newest, before, *_ = [*(plan for plan in reversed(known) if plan.status == PlanStatus.FOUND), None, None]
    return newest, before


def cells(store: Store, number: int, order: int) -> dict[int, Cell]:
    """The cells of one plan by their index on the path, as far as received."""
    rows = store.columns("plan_cell", "plan", "index", "level", "col", "row")
    mine = rows[rows[:, 0] == number][:MOST_CELLS]
    return {
        int(index): Cell(int(level), int(col), int(row))
        for index, level, col, row in mine[np.isfinite(mine).all(axis=1), 1:].tolist()
        if 0 <= level <= order and 0 <= col < 2.0**level and 0 <= row < 2.0**level and index >= 0
    }


def channel(store: Store, plan: PlanRow, order: int) -> tuple[Cell, ...]:
    return tuple(cell for index, cell in cells(store, plan.number, order).items() if index < plan.fine)


def paths(store: Store) -> list[Path]:
    """The newest, in the order of their reports."""
    rows = store.columns("path", "path", "kind", "s_m", "x_m", "y_m")
    rows = rows[np.isfinite(rows).all(axis=1) & (np.abs(rows[:, 3:]) < SAME_M).all(axis=1)]
    numbers = np.unique(rows[:, 0])[-MOST_PATHS:]
    return [_path(rows[rows[:, 0] == number]) for number in numbers]


def _path(rows: Rows) -> Path:
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    step = math.ceil(len(rows) / MOST_POINTS)
    kept = rows[::-step][::-1] if step > 1 else rows
    return Path(int(rows[0, 0]), int(rows[0, 1]), [(x, y) for x, y in np.round(kept[:, 3:], 1).tolist()])


def goal_m(store: Store) -> Place | None:
    known = plans(store, 1)
    goal = known[-1].goal_m if known else None
    return goal if goal is not None and all(abs(part) < SAME_M for part in goal) else None
