"""Maps of a fixed wing's flight: the terrain, the cells of each plan, channels, reference and flown path (Figure 9)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from aeroloop.analysis.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    REFERENCE_STYLE,
    WIDTH_IN,
    Array,
    Path3,
    Picture,
    picture,
    stride,
    top_and_altitude,
)
from aeroloop.core.wing_signals import PlanStatus
from aeroloop.planning.cells import Cell, Leaves
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.planner import PlannerSettings
from aeroloop.recording.log import Log

MOST_PLANS = 16
"""Pictures of single plans; of more, evenly spread ones."""
NEAR_M = 300.0
"""Around channel and aircraft in a close-up."""
PURPLE = "#6a3d9a"  # cells that are no channel yet: neither the reference's colour nor that of blocked ground
MAP_IN = 5.0
PAIR_IN = 3.2


@dataclass(frozen=True)
class PlanningTerrain:
    """What a flight was planned on."""

    elevation: Elevation
    settings: PlannerSettings
    blocked: NDArray[np.bool_]  # of each cell of the finest level, by row and column


@dataclass(frozen=True)
class Drawn:
    """One plan as reported: its time, its cells, start and end."""

    number: int
    t_s: float
    start_m: tuple[float, float]
    goal_m: tuple[float, float]
    cells: tuple[Cell, ...]
    fine: int

    @property
    def channel(self) -> tuple[Cell, ...]:
        return self.cells[: self.fine]


def plans(log: Log) -> list[Drawn]:
    """Those that found a path."""
    of_plan, *places = (log.column("plan_cell", name) for name in ("plan", "index", "level", "col", "row"))
    cells = np.stack(places, axis=1)
    found = []
    for row in log.rows["plan"]:
        told = dict(zip(log.columns["plan"], row.tolist(), strict=True))
        if told["status"] != PlanStatus.FOUND:
            continue
        mine = cells[of_plan == told["plan"]]
        ordered = mine[np.argsort(mine[:, 0], kind="stable")]
        way = tuple(Cell(*map(int, place)) for place in ordered[:, 1:])
        found.append(
            Drawn(
                int(told["plan"]),
                told["t_s"],
                (told["start_x_m"], told["start_y_m"]),
                (told["goal_x_m"], told["goal_y_m"]),
                way,
                int(told["fine"]),
            )
        )
    return found


def overview(log: Log, ground: PlanningTerrain) -> Picture:
    return picture(
        "map",
        "Flown path on the map",
        "Terrain, blocked cells (red), the channels of all plans, the reference path and the path flown.",
        lambda: _overview(log, ground),
    )


def top_view(log: Log, height_m: float) -> Picture:
    """The flown path from near, where the map is large. `height_m`: the setpoint."""
    t_s, told_s = log.column("truth", "t_s"), log.column("guidance", "t_s")
    flown = np.stack([log.column("truth", name) for name in ("x_m", "y_m", "z_m")], axis=1)
    path = (log.column("guidance", "path_x_m"), log.column("guidance", "path_y_m"), np.full(len(told_s), height_m))
    paths = [
        Path3(told_s, np.stack(path, axis=1), {**REFERENCE_STYLE, "label": "reference"}),
        Path3(t_s, flown, {"color": BLUE, "label": "flown"}),
    ]
    caption = "The path flown and the point of the reference path that it follows; height above mean sea level."
    return picture("top-and-altitude", "Top view, and height over time", caption, lambda: top_and_altitude(paths))


def plan_pictures(log: Log, ground: PlanningTerrain) -> list[Picture]:
    """Figure 9: the map and a close-up at each replanning."""
    all_plans = plans(log)
    shown = (
        all_plans
        if len(all_plans) <= MOST_PLANS
        else [all_plans[i] for i in np.linspace(0, len(all_plans) - 1, MOST_PLANS).astype(int)]
    )
    return [
        picture(
            f"plan-{plan.number}",
            f"Plan {plan.number}, done at {plan.t_s:.1f} s",
            "Cells are fine near the start of the plan and coarse far away. Left: all cells and the path to the goal. "
            "Right: the channel, the reference that was then flown inside it, and what had been flown before.",
            partial(_plan, log, ground, plan, min((p.t_s for p in all_plans if p.t_s > plan.t_s), default=np.inf)),
        )
        for plan in shown
    ]


def _overview(log: Log, ground: PlanningTerrain) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, MAP_IN), layout="constrained")
    axes: Any = figure.subplots()
    shaded = _terrain(axes, ground)
    figure.colorbar(shaded, ax=axes, label="elevation (m)", shrink=0.7)
    cells = {cell for plan in plans(log) for cell in plan.channel}
    _outline(axes, ground, cells, GREEN, 0.8, "channels")
    _paths(axes, log)
    _flown(axes, log, np.inf)
    for plan in plans(log)[-1:]:
        axes.plot(*plan.goal_m, marker="*", color=RED, markersize=10, linestyle="none", label="goal")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def _plan(log: Log, ground: PlanningTerrain, plan: Drawn, next_s: float) -> Figure:
    """`next_s`: time of the next plan. A path is reported when it is first flown, some time after its plan."""
    figure = Figure(figsize=(WIDTH_IN, PAIR_IN), layout="constrained")
    whole, near = figure.subplots(1, 2)
    for axes in (whole, near):
        _terrain(axes, ground)
    leaves = Leaves(ground.elevation.order, ground.settings.resolution, *ground.elevation.subunits_at(*plan.start_m))
    for axes in (whole, near):
        _outline(axes, ground, leaves, GREY, 0.3)
        _outline(axes, ground, plan.cells[plan.fine :], PURPLE, 0.9, "cells to the goal")
        _outline(axes, ground, plan.channel, GREEN, 1.3, "channel")
        _flown(axes, log, plan.t_s)
        _paths(axes, log, plan.t_s, next_s)
        axes.plot(*plan.goal_m, marker="*", color=RED, markersize=8, linestyle="none", label="goal")
    whole.set_title("cells and path", fontsize=9)
    near.set_title("close-up", fontsize=9)
    corners = np.array([ground.elevation.bounds_m(cell) for cell in plan.channel])
    if len(corners):
        (west, south), (east, north) = corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)
        reach_m = max(east - west, north - south) / 2 + NEAR_M  # square, so that both pictures are as large
        near.set_xlim((west + east) / 2 - reach_m, (west + east) / 2 + reach_m)
        near.set_ylim((south + north) / 2 - reach_m, (south + north) / 2 + reach_m)
    near.set(ylabel="")
    figure.legend(*whole.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=7)
    return figure


def _terrain(axes: Any, ground: PlanningTerrain) -> Any:
    half_m = ground.elevation.side_m / 2
    extent = (-half_m, half_m, -half_m, half_m)
    shaded = axes.imshow(ground.elevation.values, origin="lower", extent=extent, cmap="gray_r", alpha=0.65)
    blocked = np.where(ground.blocked, 1.0, np.nan)
    axes.imshow(blocked, origin="lower", extent=extent, cmap="Reds", vmin=0, vmax=1.6, alpha=0.45)
    axes.set(xlabel="x east (m)", ylabel="y north (m)")
    axes.grid(visible=False)
    axes.set_aspect("equal")
    axes.locator_params(nbins=4)
    return shaded


def _outline(
    axes: Any, ground: PlanningTerrain, cells: Iterable[Cell], color: str, width: float, label: str | None = None
) -> None:
    squares = []
    for cell in cells:
        west, south, east, north = ground.elevation.bounds_m(cell)
        squares.append([(west, south), (east, south), (east, north), (west, north), (west, south)])
    axes.add_collection(LineCollection(squares, colors=color, linewidths=width, label=label))


def _paths(axes: Any, log: Log, from_s: float = 0.0, until_s: float = np.inf) -> None:
    """Those whose report started in this time."""
    numbers, *points = (log.column("path", name) for name in ("path", "t_s", "x_m", "y_m"))
    paths = [np.stack(points, axis=1)[numbers == number] for number in np.unique(numbers)]
    for index, path in enumerate(path for path in paths if from_s <= path[0, 0] < until_s):
        x_m, y_m = path[:, 1:].T
        label = "reference" if index == 0 else None
        axes.plot(x_m, y_m, color=ORANGE, linestyle="--", linewidth=0.9, label=label)


def _flown(axes: Any, log: Log, until_s: float) -> None:
    until = log.column("truth", "t_s") <= until_s
    x_m: Array = log.column("truth", "x_m")[until]
    y_m: Array = log.column("truth", "y_m")[until]
    axes.plot(stride(x_m), stride(y_m), color=BLUE, linewidth=1.1, label="flown")
