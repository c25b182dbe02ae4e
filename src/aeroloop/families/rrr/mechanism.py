"""Drawing of the robot at five poses of its path, with the places of the platform that are singular.

Type 1: a leg is stretched or folded; at a given angle of the platform these are circles about each base joint, moved by
the platform's joint. Type 2: the determinant of the links to the platform is 0. Both depend on the platform's angle;
drawn is the path's mean angle.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from aeroloop.analysis.drawing import BLUE, GREEN, GREY, ORANGE, RED, WIDTH_IN, Array, Picture, picture
from aeroloop.families.rrr.kinematics import LEAST_DET, LEAST_LEG, inverse, legs
from aeroloop.families.rrr.reference import START_S, Wanted
from aeroloop.families.rrr.robot import LEG_ANGLES_RAD, LEGS, Robot
from aeroloop.families.rrr.scenario import RobotScenario

POSES, PATH_POINTS, GRID = 5, 121, 241
TYPE_1, TYPE_2 = "#6a3d9a", RED


def mechanism(scenario: RobotScenario) -> Picture:
    poses = path(scenario)
    angle_rad = float(np.mean(poses[:-1, 2]))
    caption = (
        f"The robot at {POSES} poses of its path, from above. Singularities are those at the path's mean angle of "
        f"{abs(math.degrees(angle_rad)):.1f} deg; shaded is where a pose is refused (a leg below {LEAST_LEG:g}, or a "
        f"determinant below {LEAST_DET:g})."
    )
    return picture("mechanism", "Mechanism", caption, lambda: _drawn(scenario.aircraft.robot, poses, angle_rad))


def path(scenario: RobotScenario) -> Array:
    """(PATH_POINTS, 3) One round of the path."""
    wanted = Wanted(scenario.aircraft.robot, scenario.aircraft.reference)
    times_s = START_S + scenario.aircraft.reference.period_s * np.linspace(0.0, 1.0, PATH_POINTS)
    return np.array([wanted.at(float(t_s))[0][:3] for t_s in times_s])


def _drawn(robot: Robot, poses: Array, angle_rad: float) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 5.2), layout="constrained")
    axes: Any = figure.subplots()
    _singular(axes, robot, angle_rad)
    corners = _corners(robot)
    chosen = poses[np.linspace(0, len(poses) - 1, POSES + 1).astype(int)[:-1]]
    for number, pose in enumerate(chosen):
        _robot(axes, corners(pose), alpha=1.0 if number == 0 else 0.35)
    axes.plot(1e3 * poses[:, 0], 1e3 * poses[:, 1], color=ORANGE, linewidth=1.6, zorder=5)
    axes.plot(*(1e3 * chosen[:, :2].T), "o", color=ORANGE, markersize=3, zorder=5)
    most = 1e3 * (robot.base_m + 0.6 * robot.proximal_m)
    axes.set(xlabel="x (mm)", ylabel="y (mm)", xlim=(-most, most), ylim=(-most, most))
    axes.set_aspect("equal", adjustable="box")
    shown = (
        Line2D([], [], color=BLUE, linewidth=2.2, label="driven links"),
        Line2D([], [], color=GREY, linewidth=1.6, label="links to platform"),
        Line2D([], [], color=GREEN, linewidth=1.6, label="platform"),
        Line2D([], [], color=ORANGE, linewidth=1.6, label="path"),
        Line2D([], [], color=TYPE_1, linewidth=1.2, label="singular, type 1"),
        Line2D([], [], color=TYPE_2, linewidth=1.2, linestyle="--", label="singular, type 2"),
    )
    figure.legend(handles=shown, loc="outside upper center", ncols=3, handlelength=1.8)
    return figure


def _corners(robot: Robot) -> ca.Function:
    """pose -> elbows and joints of the platform (m), a row for each leg."""
    pose = ca.SX.sym("pose", 3)
    at = legs(robot, pose)
    return ca.Function("rrr_corners", [pose], [ca.horzcat(*_base(robot), at.elbows, at.joints)])


def _base(robot: Robot) -> tuple[Any, Any]:
    return tuple(ca.DM([robot.base_m * of(angle) for angle in LEG_ANGLES_RAD]) for of in (math.cos, math.sin))  # type: ignore[return-value]


def _robot(axes: Any, corners: Any, *, alpha: float) -> None:
    base, elbows, joints = np.split(1e3 * np.array(corners), 3, axis=1)
    for start, elbow, joint in zip(base, elbows, joints, strict=True):
        axes.plot(*zip(start, elbow, strict=True), color=BLUE, linewidth=2.2, alpha=alpha, zorder=3)
        axes.plot(*zip(elbow, joint, strict=True), color=GREY, linewidth=1.6, alpha=alpha, zorder=3)
    axes.fill(*joints.T, facecolor=GREEN, edgecolor=GREEN, alpha=0.25 * alpha, zorder=2)
    axes.plot(*np.vstack([joints, joints[:1]]).T, color=GREEN, linewidth=1.6, alpha=alpha, zorder=4)
    axes.plot(*elbows.T, "o", color=BLUE, markersize=3.0, alpha=alpha, zorder=4)
    axes.plot(*base.T, "s", color="#333333", markersize=6.0, zorder=4)


def _singular(axes: Any, robot: Robot, angle_rad: float) -> None:
    most = robot.base_m + 0.6 * robot.proximal_m
    side = np.linspace(-most, most, GRID)
    x, y = np.meshgrid(side, side)
    poses = np.vstack([x.ravel(), y.ravel(), np.full(x.size, angle_rad)])
    guards = np.array(inverse(robot).map(x.size)(poses)[2])
    leg, det = guards[:LEGS].min(axis=0).reshape(x.shape), guards[LEGS].reshape(x.shape)
    reached = np.isfinite(leg) & np.isfinite(det)
    margin = np.where(reached, np.minimum(leg / LEAST_LEG, det / LEAST_DET), np.nan)
    axes.contourf(1e3 * x, 1e3 * y, margin, levels=(-1e3, 1.0), colors=["#efe4ee"], zorder=0)
    if np.nanmin(np.where(reached, det, np.nan)) < 0.0:
        axes.contour(
            1e3 * x,
            1e3 * y,
            np.where(reached, det, np.nan),
            levels=(0.0,),
            colors=[TYPE_2],
            linestyles="--",
            linewidths=1.2,
            zorder=1,
        )
    for circle in _circles(robot, angle_rad):
        point = {"marker": "o", "markersize": 3.0} if np.ptp(circle, axis=1).max() == 0.0 else {}
        axes.plot(*(1e3 * circle), color=TYPE_1, linewidth=1.2, zorder=1, **point)


def _circles(robot: Robot, angle_rad: float) -> list[Array]:
    """Where the centre of the platform is when a leg is stretched, or folded (a point, if its links are equally long);
    only where the other legs reach."""
    turned = np.linspace(0.0, math.tau, 721)
    found = []
    long_m, short_m = robot.proximal_m + robot.distal_m, abs(robot.proximal_m - robot.distal_m)
    centres = np.array(
        [
            robot.base_m * np.array([math.cos(g), math.sin(g)])
            - robot.platform_m * np.array([math.cos(g + angle_rad), math.sin(g + angle_rad)])
            for g in LEG_ANGLES_RAD
        ]
    )
    for number, centre in enumerate(centres):
        others = np.delete(centres, number, axis=0)
        for radius in (long_m, short_m):
            points = centre[:, None] + radius * np.array([np.cos(turned), np.sin(turned)])
            away = np.linalg.norm(points[None] - others[:, :, None], axis=1)
            reached = (away <= long_m * (1 + 1e-9)) & (away >= short_m * (1 - 1e-9))
            found.append(np.where(reached.all(axis=0), points, np.nan))
    return found
