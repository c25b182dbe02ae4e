"""Figures of SLAM's maps: the room with the path, the sensor's range, cross-sections, and views from one point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from aeroloop.analysis.drawing import BLUE, GREEN, GREY, ORANGE, WIDTH_IN, Array, Picture, legend_above, picture, stride
from aeroloop.perception.slam import se3
from aeroloop.perception.slam.keyframes import SlamState
from aeroloop.perception.slam.result import SlamResult
from aeroloop.perception.slam.voxels import VoxelMap
from aeroloop.world.room_layout import Box, Layout

SLICE_M = (0.2, 1.0)  # above the lowest part of the map
MAP_POINTS = 3000  # of one cross-section
VIEW_PX = (520, 300)
VIEWED_M = 2.0  # above the floor: higher walls would hide the room
AZIMUTH_RAD, ELEVATION_RAD = math.radians(-60.0), math.radians(50.0)
SENSOR_POINTS = 1500


def room(result: SlamResult, layout: Layout) -> Picture:
    return picture(
        "slam-room",
        "Room and true path",
        "Walls, block and boxes from above, and the camera's true path; arrows: where it looked, every 5 s.",
        lambda: _room(result, layout),
    )


def _room(result: SlamResult, layout: Layout) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.2), layout="constrained")
    axes = figure.subplots()
    _outlines(axes, layout, SLICE_M[0])
    if result.truth is not None:
        T, t_s = result.truth.T_true, result.t_s[result.truth.frames]
        axes.plot(stride(T[:, 0, 3]), stride(T[:, 1, 3]), color=BLUE, label="true path")
        every = max(1, round(5.0 / max(float(np.median(np.diff(t_s))), 1e-3)))
        for pose in T[::every]:
            ahead = pose[:2, 3] + 0.5 * pose[:2, 2]
            axes.annotate("", ahead, pose[:2, 3], arrowprops={"arrowstyle": "->", "color": BLUE, "lw": 0.8})
    _plane(axes)
    return figure


def sensor_range(result: SlamResult) -> Picture:
    near, far = result.settings.near_m, result.settings.far_m
    camera = result.camera
    wide_deg = math.degrees(2 * math.atan2(camera.width / 2, camera.fx))
    high_deg = math.degrees(2 * math.atan2(camera.height / 2, camera.fy))
    return picture(
        "slam-range",
        "Range of the sensor",
        f"Depth from {near:g} m to {far:g} m is used; field of view {wide_deg:.1f} x {high_deg:.1f} deg. Points: one "
        f"keyframe, from above and from the side.",
        lambda: _sensor_range(result),
    )


def _sensor_range(result: SlamResult) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 2.9), layout="constrained")
    camera, near, far = result.camera, result.settings.near_m, result.settings.far_m
    points = max((keyframe.points_C for keyframe in result.state.keyframes), key=len)
    points = points[:: max(1, -(-len(points) // SENSOR_POINTS))]
    sides = ((0, camera.width / 2 / camera.fx, 1.0, "right (m)"), (1, camera.height / 2 / camera.fy, -1.0, "up (m)"))
    for axes, (axis, tangent, sign, label) in zip(figure.subplots(1, 2), sides, strict=True):
        corners = [(near, near * tangent), (far, far * tangent), (far, -far * tangent), (near, -near * tangent)]
        axes.add_patch(Polygon(corners, facecolor="#dfeaf4", edgecolor=BLUE, label="used"))
        axes.plot(points[:, 2], sign * points[:, axis], ".", color=GREY, markersize=1.2, label="keyframe")
        axes.set(xlabel="forward (m)", ylabel=label, xlim=(0, far * 1.1))
        axes.set_aspect("equal", adjustable="box")
        legend_above(axes)
    return figure


def cross_sections(result: SlamResult, layout: Layout | None) -> Picture:
    low, high = SLICE_M
    truth = {True: "the true surfaces, ", False: "at the true poses, "}[layout is not None] if result.truth else ""
    return picture(
        "slam-cross-sections",
        "Cross-sections of the map",
        f"Between {low:g} m and {high:g} m above the lowest surface: {truth}by odometry alone, and with loops.",
        lambda: _cross_sections(result, layout),
    )


def _cross_sections(result: SlamResult, layout: Layout | None) -> Figure:
    maps = [
        ("odometry", ORANGE, _placed(result, result.odometry, optimised=False)),
        ("with loops", BLUE, _placed(result, result.trajectory, optimised=True)),
    ]
    if layout is None and result.truth is not None:
        maps.insert(0, ("true poses", GREEN, _at_true_poses(result)))
    first = layout is not None
    figure = Figure(figsize=(WIDTH_IN, 2.6), layout="constrained")
    panels = figure.subplots(1, len(maps) + first, sharex=True, sharey=True)
    if layout is not None:
        _outlines(panels[0], layout, SLICE_M[0])
        panels[0].plot([], [], "s", color=GREY, label="truth")
        _plane(panels[0])
    for axes, (label, color, voxels) in zip(panels[first:], maps, strict=True):
        points = voxels.points_W
        above_m = points[:, 2] - _floor_m(points, layout)
        points = points[(above_m > SLICE_M[0]) & (above_m < SLICE_M[1])]
        thinned = points[:: max(1, -(-len(points) // MAP_POINTS))]
        axes.plot(thinned[:, 0], thinned[:, 1], ".", color=color, markersize=1.0, label=label)
        _plane(axes)
    for axes in panels[1:]:
        axes.set(ylabel="")
    return figure


def views(result: SlamResult, layout: Layout | None) -> list[Picture]:
    """The map without and with optimisation, from the same point at the same scale."""
    kinds = (
        ("slam-map-odometry", "Map without optimisation", _placed(result, result.odometry, optimised=False)),
        ("slam-map", "Map with optimisation", _placed(result, result.trajectory, optimised=True)),
    )
    middle, span = _framed(np.concatenate([voxels.points_W for _, _, voxels in kinds]))
    return [
        picture(
            name,
            title,
            f"Voxels below {VIEWED_M:g} m, seen from above at 50 deg from the south-east.",
            lambda voxels=voxels: _view(voxels, layout, middle, span),  # type: ignore[misc]
        )
        for name, title, voxels in kinds
    ]


def _framed(points_W: Array) -> tuple[Array, float]:
    """Middle and largest extent in the view, without outliers."""
    if not len(points_W):
        return np.zeros(2), 1.0
    low, high = np.percentile(_seen(points_W)[:, :2], (0.5, 99.5), axis=0)
    return (low + high) / 2, float(np.max((high - low) / np.array(VIEW_PX))) * max(VIEW_PX)


def _seen(points_W: Array) -> Array:
    """Right, up and towards the viewer, in m."""
    ca, sa, ce, se = (f(a) for a in (AZIMUTH_RAD, ELEVATION_RAD) for f in (math.cos, math.sin))
    towards = np.array([ca * ce, sa * ce, se])
    right = np.array([-sa, ca, 0.0])
    seen: Array = points_W @ np.stack([right, np.cross(towards, right), towards], axis=1)
    return seen


def _view(voxels: VoxelMap, layout: Layout | None, middle: Array, span: float) -> Figure:
    width, height = VIEW_PX
    image: NDArray[np.uint8] = np.full((height, width, 3), 255, dtype=np.uint8)
    keep = voxels.points_W[:, 2] - _floor_m(voxels.points_W, layout) < VIEWED_M
    seen, colours = _seen(voxels.points_W[keep]), voxels.colours[keep]
    scale = 0.94 * max(VIEW_PX) / span
    order = np.argsort(seen[:, 2], kind="stable")  # the nearest is drawn last
    column = np.rint((seen[order, 0] - middle[0]) * scale + width / 2).astype(int)
    row = np.rint(height / 2 - (seen[order, 1] - middle[1]) * scale).astype(int)
    half = max(1, round(scale * voxels.voxel_m / 2))
    for down in range(-half, half + 1):
        for aside in range(-half, half + 1):
            inside = (column + aside >= 0) & (column + aside < width) & (row + down >= 0) & (row + down < height)
            image[row[inside] + down, column[inside] + aside] = colours[order][inside]
    figure = Figure(figsize=(WIDTH_IN, WIDTH_IN * height / width))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.imshow(image, interpolation="nearest", aspect="auto")
    axes.set_axis_off()
    return figure


def map_errors(result: SlamResult, layout: Layout) -> dict[str, float]:
    """Distance of the aligned maps from the true surfaces, in m."""
    numbers = {}
    for name, T, optimised in (("odometry", result.odometry, False), ("optimised", result.trajectory, True)):
        points = _placed(result, T, optimised=optimised).points_W
        off_m = layout.distance_m(points) if len(points) else np.full(1, np.nan)
        numbers[f"map_{name}_median_m"] = float(np.median(off_m))
        numbers[f"map_{name}_p95_m"] = float(np.percentile(off_m, 95))
    return numbers


def _placed(result: SlamResult, T: Array, *, optimised: bool) -> VoxelMap:
    """A map moved onto the truth."""
    voxels = result.map(optimised=optimised)
    return VoxelMap(se3.transformed(result.aligned(T), voxels.points_W), voxels.colours, voxels.voxel_m)


def _at_true_poses(result: SlamResult) -> VoxelMap:
    assert result.truth is not None
    true = dict(zip(result.truth.frames.tolist(), result.truth.T_true, strict=True))
    kept = [k for k in result.state.keyframes if k.frame in true and k.segment == 0]
    return SlamState(keyframes=kept, T_WC=[true[k.frame] for k in kept]).map(result.settings)


def _floor_m(points_W: Array, layout: Layout | None) -> float:
    if layout is not None or not len(points_W):
        return 0.0
    return float(np.percentile(points_W[:, 2], 1))


def _outlines(axes: Any, layout: Layout, above_m: float) -> None:
    """Walls, and everything that is higher than this."""
    for box in layout.walls():
        axes.add_patch(Polygon(_corners(box), color="#444444"))
    for box in layout.boxes:
        if 2 * box.half_m[2] > above_m:
            axes.add_patch(Polygon(_corners(box), facecolor="#bbbbbb", edgecolor="#555555", linewidth=0.8))
    (x, y), (length, width, _) = layout.centre_m, layout.size_m
    axes.set(xlim=(x - length / 2 - 0.3, x + length / 2 + 0.3), ylim=(y - width / 2 - 0.3, y + width / 2 + 0.3))


def _corners(box: Box) -> list[tuple[float, float]]:
    cosine, sine = math.cos(box.yaw_rad), math.sin(box.yaw_rad)
    (x, y, _), (hx, hy, _) = box.centre_W, box.half_m
    return [
        (x + cosine * i * hx - sine * j * hy, y + sine * i * hx + cosine * j * hy)
        for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]


def _plane(axes: Any) -> None:
    axes.set(xlabel="x (m)", ylabel="y (m)")
    axes.set_aspect("equal", adjustable="box")
    legend_above(axes)
