"""A landing in pictures: the workspace from above, and the aircraft over the pad at some heights, seen from the side.

The views are drawn from the log's truth; the aircraft is a cross with its rotors' reach, not its real shape.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from aeroloop.analysis.drawing import BLUE, GREY, ORANGE, WIDTH_IN, Picture, legend_above, picture
from aeroloop.analysis.landing_metrics import Touchdown, pad_height_m, path, vehicle_of
from aeroloop.core.companion import Pad
from aeroloop.core.frames import Vec, rotation_rows
from aeroloop.core.scenario import Scenario
from aeroloop.perception.pad import BOARD_M, MARKERS
from aeroloop.recording.log import Log

HEIGHTS_M = (5.0, 2.0, 1.0, 0.4)
ARM_M = 0.28
AZIMUTH_RAD, ELEVATION_RAD = math.radians(35.0), math.radians(25.0)
RING = 12
"""Corners of a rotor's disc."""


def pictures(scenario: Scenario, log: Log, touched: Touchdown | None) -> list[Picture]:
    truth = path(scenario, log)
    found = [
        picture(
            "landing-workspace",
            "Workspace",
            "The flight from above: its true path, and the pad at the touchdown or at the end.",
            lambda: _workspace(scenario, truth, touched),
        )
    ]
    moments = _moments(scenario, truth, touched)
    if moments:
        found.append(
            picture(
                "landing-views",
                "The landing in pictures",
                "Drawn from the true pose, each to its own scale: the aircraft as a cross, its place on the ground.",
                lambda: _views(scenario, log, moments),
            )
        )
    return found


def _workspace(scenario: Scenario, truth: Vec, touched: Touchdown | None) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(truth[::25, 1], truth[::25, 2], color=BLUE, linewidth=1.0, label="path")
    axes.plot(*truth[0, 1:3], "o", color=GREY, markersize=4, label="start")
    if scenario.pad is not None:
        end_s = float(truth[-1, 0]) if touched is None else touched.t_s
        axes.add_patch(Polygon(_board(scenario.pad, end_s, 0.0)[:, :2], color=ORANGE, label="pad"))
    axes.set(xlabel="east (m)", ylabel="north (m)")
    axes.set_aspect("equal", adjustable="datalim")
    legend_above(axes)
    return figure


def _moments(scenario: Scenario, truth: Vec, touched: Touchdown | None) -> list[float]:
    """Times at which it last sank through some heights, and the touchdown."""
    if touched is None:
        return []
    before = truth[truth[:, 0] <= touched.t_s]
    height_m = before[:, 3] - pad_height_m(scenario)
    above = [np.flatnonzero(height_m > limit_m) for limit_m in HEIGHTS_M]
    return [*(float(before[index[-1], 0]) for index in above if len(index)), touched.t_s]


def _views(scenario: Scenario, log: Log, moments: list[float]) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 2.0), layout="constrained")
    rows, column = log.rows["truth"], log.columns["truth"].index
    own = rows[rows[:, column("vehicle")] == vehicle_of(scenario)]
    ground_m = pad_height_m(scenario)
    for axes, t_s in zip(figure.subplots(1, len(moments), squeeze=False)[0], moments, strict=True):
        row = own[min(int(np.searchsorted(own[:, 0], t_s)), len(own) - 1)]
        pos_W = row[[column(name) for name in ("x_m", "y_m", "z_m")]]
        quat = tuple(row[[column(name) for name in ("qw", "qx", "qy", "qz")]].tolist())
        _view(axes, scenario, t_s, pos_W, np.array(rotation_rows(quat)), ground_m)
        axes.set_title(f"{pos_W[2] - ground_m:.2f} m", fontsize=8)
    return figure


def _view(axes: Any, scenario: Scenario, t_s: float, pos_W: Vec, R_WB: Vec, ground_m: float) -> None:
    assert scenario.pad is not None
    for corners, colour in _marked_board(scenario.pad, t_s, ground_m):
        axes.add_patch(Polygon(seen(corners), facecolor=colour, edgecolor=GREY, linewidth=0.5))
    below = np.array([pos_W, [pos_W[0], pos_W[1], ground_m]])
    axes.plot(*seen(below).T, color=GREY, linewidth=0.6, linestyle=":")
    turns = np.linspace(0.0, 2.0 * math.pi, RING, endpoint=False)
    for angle in (0.25, 0.75, 1.25, 1.75):
        end_B = ARM_M * np.array([math.cos(angle * math.pi), math.sin(angle * math.pi), 0.0])
        axes.plot(*seen(pos_W + np.array([np.zeros(3), end_B]) @ R_WB.T).T, color=BLUE, linewidth=1.4)
        disc_B = end_B + 0.5 * ARM_M * np.stack([np.cos(turns), np.sin(turns), np.zeros(RING)], axis=1)
        axes.add_patch(Polygon(seen(pos_W + disc_B @ R_WB.T), facecolor=BLUE, alpha=0.3))
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    axes.axis("off")


def seen(points_W: Vec) -> Vec:
    """Right and up in the view, in m."""
    ca, sa, ce, se = (f(a) for a in (AZIMUTH_RAD, ELEVATION_RAD) for f in (math.cos, math.sin))
    right, up = np.array([-sa, ca, 0.0]), np.array([-ca * se, -sa * se, ce])
    drawn: Vec = points_W @ np.stack([right, up], axis=1)
    return drawn


def _marked_board(pad: Pad, t_s: float, z_m: float) -> list[tuple[Vec, str]]:
    """The board, then its markers."""
    found = [(_board(pad, t_s, z_m), "white")]
    for marker in MARKERS:
        found.append((_board(pad, t_s, z_m, marker.centre_P, marker.side_m), "#222222"))
    return found


def _board(
    pad: Pad, t_s: float, z_m: float, centre_P: tuple[float, float] = (0.0, 0.0), side_m: float = BOARD_M
) -> Vec:
    """(4, 3): a square of the pad in the world."""
    x, y, yaw = pad.at(t_s)
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    flat = pad.scale * (np.array(centre_P) + signs * side_m / 2.0)
    turn = np.array([(math.cos(yaw), math.sin(yaw)), (-math.sin(yaw), math.cos(yaw))])
    return np.column_stack([flat @ turn + (x, y), np.full(4, z_m)])
