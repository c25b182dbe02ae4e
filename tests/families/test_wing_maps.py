"""The report of a fixed wing's flight: what its maps show, and where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from log_rows import rows_of
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from stream_tables import FIXED_WING

from aeroloop.analysis.board_section import board_pictures
from aeroloop.analysis.drawing import BLUE, GREEN, GREY, ORANGE
from aeroloop.core.scenario_files import of_table
from aeroloop.core.wing_signals import WING_TASKS, PlanStatus
from aeroloop.families.fixedwing.analysis import maps
from aeroloop.families.fixedwing.analysis.maps import PlanningTerrain, plan_pictures, plans
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingTables
from aeroloop.families.fixedwing.start_and_goal import blocked_cells
from aeroloop.families.fixedwing.streams import STREAMS
from aeroloop.planning.cells import Cell, Leaves
from aeroloop.recording.log import Log

rows = rows_of(FIXED_WING)
START_M, GOAL_M = (-3225.0, 2025.0), (3000.0, -3900.0)
WAY = (Cell(6, 10, 45), Cell(6, 11, 45), Cell(6, 11, 44), Cell(5, 6, 22), Cell(4, 3, 10))
FINE = 3
T_S = np.arange(0.0, 40.0, 0.5)
EAST_M, NORTH_M = -3300.0 + 20.0 * T_S, 2000.0 - 5.0 * T_S
DONE_S = 12.0


@pytest.fixture(scope="module")
def log() -> Log:
    level, col, row = np.array(WAY).T
    order = np.array([4, 0, 2, 1, 3])  # as they came; their index says where they belong
    ends = {"start_x_m": START_M[0], "start_y_m": START_M[1], "goal_x_m": GOAL_M[0], "goal_y_m": GOAL_M[1]}
    told = {
        "truth": rows("truth", T_S, x_m=EAST_M, y_m=NORTH_M),
        "plan": rows(
            "plan",
            [DONE_S, 20.0],
            plan=[7, 8],
            status=[PlanStatus.FOUND, PlanStatus.UNREACHABLE],
            fine=FINE,
            **ends,
        ),
        "plan_cell": rows(
            "plan_cell",
            [DONE_S] * 5,
            plan=7,
            index=order,
            level=level[order],
            col=col[order],
            row=row[order],
        ),
        "path": rows("path", [1.0, 1.0, 30.0, 30.0], path=[0, 0, 1, 1], x_m=[0, 10, 20, 30], y_m=[5, 6, 7, 8]),
        "cpu": rows("cpu", [1.0, 2.0], use_pct=[3.0, 100.0], switches_per_s=[340.0, 350.0]),
        "task": rows("task", [1.0] * len(WING_TASKS), task=range(len(WING_TASKS)), exec_s=1e-4, share_pct=7.0),
    }
    log = Log.empty(STREAMS)
    return replace(log, rows={**log.rows, **told})


@pytest.fixture(scope="module")
def ground() -> PlanningTerrain:
    scenario = of_table({"name": "test", "vehicle": {"kind": "fixedwing"}}, "test")
    assert isinstance(scenario.aircraft, FixedWingTables)
    planner = planner_of(scenario)
    return PlanningTerrain(planner.elevation, planner.settings, blocked_cells(planner))


def shown_at(image: Any, x_m: float, y_m: float) -> Any:
    """What a reader sees at a place of the map."""
    pixels = image.get_array()
    west, east, south, north = image.get_extent()
    col = int((x_m - west) / (east - west) * pixels.shape[1])
    row = int((y_m - south) / (north - south) * pixels.shape[0])
    return pixels[row if image.origin == "lower" else pixels.shape[0] - 1 - row, col]


def squares(axes: Any, color: str) -> set[tuple[float, ...]]:
    """West, south, east and north of every square of a colour."""
    return {
        (*outline.min(axis=0), *outline.max(axis=0))
        for collection in axes.collections
        if len(collection.get_segments()) and same_color(collection.get_colors()[0], color)
        for outline in map(np.asarray, collection.get_segments())
    }


def line(axes: Any, color: str) -> np.ndarray:
    return np.concatenate([each.get_xydata() for each in axes.lines if same_color(each.get_color(), color)])


def figures(log: Log, ground: PlanningTerrain) -> list[Figure]:
    (plan,) = plans(log)
    return [maps._overview(log, ground), maps._plan(log, ground, plan, np.inf)]


def test_terrain_and_blocked_cells_lie_where_they_are(log: Log, ground: PlanningTerrain) -> None:
    for figure in figures(log, ground):
        heights, blocked = figure.axes[0].images
        for x_m, y_m in ((-3000.0, 4000.0), (4575.0, -1725.0), (-2000.0, -2000.0), (600.0, 3300.0)):
            cell = ground.elevation.cell_at(6, x_m, y_m)
            assert shown_at(heights, x_m, y_m) == ground.elevation.values[ground.elevation.cell_at(7, x_m, y_m)[:0:-1]]
            assert (not np.ma.is_masked(shown_at(blocked, x_m, y_m))) == bool(ground.blocked[cell.row, cell.col])


def test_a_plan_shows_its_cells_its_channel_and_what_was_flown_until_then(log: Log, ground: PlanningTerrain) -> None:
    (plan,) = plans(log)
    assert plan.cells == WAY
    for axes in maps._plan(log, ground, plan, np.inf).axes:
        leaves = Leaves(7, ground.settings.resolution, *ground.elevation.subunits_at(*START_M))
        assert squares(axes, GREY) == {ground.elevation.bounds_m(cell) for cell in leaves}
        assert squares(axes, GREEN) == {ground.elevation.bounds_m(cell) for cell in WAY[:FINE]}
        assert squares(axes, maps.PURPLE) == {ground.elevation.bounds_m(cell) for cell in WAY[FINE:]}
        until = T_S <= DONE_S
        assert np.array_equal(line(axes, BLUE), np.stack([EAST_M[until], NORTH_M[until]], axis=1))
        assert np.array_equal(line(axes, ORANGE), [[20, 7], [30, 8]]), "the plan's own path, told after it"
    close_up = maps._plan(log, ground, plan, np.inf).axes[1]
    for cell in WAY[:FINE]:
        west, south, east, north = ground.elevation.bounds_m(cell)
        assert close_up.get_xlim()[0] < west < east < close_up.get_xlim()[1]
        assert close_up.get_ylim()[0] < south < north < close_up.get_ylim()[1]


def test_the_overview_shows_all_of_the_flight(log: Log, ground: PlanningTerrain) -> None:
    axes = maps._overview(log, ground).axes[0]
    assert squares(axes, GREEN) == {ground.elevation.bounds_m(cell) for cell in WAY[:FINE]}
    assert np.array_equal(line(axes, BLUE), np.stack([EAST_M, NORTH_M], axis=1))
    assert len(line(axes, ORANGE)) == 4


def test_there_is_a_picture_for_every_plan_that_found_a_way_and_for_the_processor(
    log: Log, ground: PlanningTerrain
) -> None:
    assert [picture.name for picture in plan_pictures(log, ground)] == ["plan-7"]
    drawn = board_pictures(log, WING_TASKS)
    assert [picture.name for picture in drawn] == ["cpu-use", "context-switches", "task-times", "task-shares"]
    assert all(task.name in drawn[-1].svg for task in WING_TASKS)
