"""Figures of a SLAM run over time: paths, errors, inliers, times, keyframe graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.drawing import (
    BLUE,
    COLORS,
    GREEN,
    GREY,
    ORANGE,
    RED,
    WIDTH_IN,
    Array,
    Picture,
    envelope,
    legend_above,
    picture,
    single,
    stride,
)
from aeroloop.perception.slam import se3
from aeroloop.perception.slam.keyframes import PARTS
from aeroloop.perception.slam.result import SlamResult
from aeroloop.perception.slam.trajectory_errors import position_errors_m


def paths(result: SlamResult) -> Picture:
    caption = (
        "Position in the plane; every path aligned with ground truth." if result.truth else "Position in the plane."
    )
    return picture("slam-paths", "Paths", caption, lambda: _paths(result))


def _paths(result: SlamResult) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.2), layout="constrained")
    axes = figure.subplots()
    if result.truth is not None:
        _path(axes, result.truth.T_true[:, :3, 3], "ground truth", GREY, 2.4)
    _path(axes, _placed(result, result.odometry), "odometry", ORANGE, 1.0)
    _path(axes, _placed(result, result.trajectory), "with loops", BLUE, 1.2)
    _plane(axes)
    return figure


def error_over_time(result: SlamResult) -> Picture | None:
    if result.truth is None:
        return None
    return picture(
        "slam-error",
        "Error of position",
        "Distance from ground truth after alignment; grey lines: frames that closed a loop.",
        lambda: _error_over_time(result),
    )


def _error_over_time(result: SlamResult) -> Figure:
    assert result.truth is not None
    figure, axes = single()
    t_s = _since_start(result)[result.truth.frames]
    for t, frame in zip(_since_start(result), result.state.frames, strict=True):
        if frame.loops:
            axes.axvline(t, color="#dddddd", linewidth=0.8)
    for label, T, color in (("odometry", result.odometry, ORANGE), ("with loops", result.trajectory, BLUE)):
        errors_cm = 100 * position_errors_m(T[result.truth.frames], result.truth.T_true)
        axes.plot(*envelope(t_s, errors_cm), color=color, label=label)
    axes.set(xlabel="time (s)", ylabel="error (cm)")
    legend_above(axes)
    return figure


def inliers(result: SlamResult) -> Picture:
    return picture(
        "slam-inliers",
        "Inliers",
        "Matches that agree with the motion since the last keyframe; red: lost frames.",
        lambda: _inliers(result),
    )


def _inliers(result: SlamResult) -> Figure:
    figure, axes = single()
    t_s = _since_start(result)
    values = np.array([frame.inliers for frame in result.state.frames], dtype=float)
    axes.plot(*envelope(t_s[1:], values[1:]), color=BLUE, label="inliers")
    lost = np.array([frame.lost for frame in result.state.frames])
    if lost.any():
        axes.plot(t_s[lost], values[lost], ".", color=RED, label="lost")
    axes.axhline(result.settings.min_inliers, color=GREY, linestyle="--", linewidth=1.0, label="limit")
    axes.set(xlabel="time (s)", ylabel="inliers")
    legend_above(axes)
    return figure


def times(result: SlamResult) -> Picture:
    return picture(
        "slam-times",
        "Time of a frame",
        "CPU time of one thread, by part, mean over ten frames.",
        lambda: _times(result),
    )


def _times(result: SlamResult) -> Figure:
    figure, axes = single()
    t_s = _since_start(result)
    parts = [np.array([frame.ms[part] for frame in result.state.frames]) for part in PARTS]
    size = min(10, len(t_s))
    smooth = [np.convolve(values, np.ones(size) / size, mode="same") for values in parts]
    axes.stackplot(stride(t_s), [stride(values) for values in smooth], labels=PARTS, colors=COLORS)
    axes.set(xlabel="time (s)", ylabel="time of a frame (ms)")
    legend_above(axes)
    return figure


def graph(result: SlamResult) -> Picture:
    return picture(
        "slam-graph", "Keyframe graph", "Keyframes in the order of arrival, and accepted loops.", lambda: _graph(result)
    )


def _graph(result: SlamResult) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.0), layout="constrained")
    axes = figure.subplots()
    move = result.aligned(result.trajectory)
    nodes = se3.transformed(move, np.array([T[:3, 3] for T in result.state.T_WC]))
    for number, edge in enumerate(result.state.loops):
        ends = nodes[[edge.i, edge.j]]
        axes.plot(ends[:, 0], ends[:, 1], color=GREEN, linewidth=1.6, zorder=3, label="" if number else "loop")
    axes.plot(nodes[:, 0], nodes[:, 1], "-o", color=BLUE, markersize=2.5, linewidth=0.8, label="keyframe")
    _plane(axes)
    return figure


def _since_start(result: SlamResult) -> Array:
    since: Array = result.t_s - result.t_s[0]
    return since


def _placed(result: SlamResult, T: Array) -> Array:
    return se3.transformed(result.aligned(T), T[:, :3, 3])


def _path(axes: Any, pos: Array, label: str, color: str, width: float) -> None:
    axes.plot(stride(pos[:, 0]), stride(pos[:, 1]), color=color, linewidth=width, label=label)


def _plane(axes: Any) -> None:
    axes.set(xlabel="x (m)", ylabel="y (m)")
    axes.set_aspect("equal", adjustable="datalim")
    legend_above(axes)
