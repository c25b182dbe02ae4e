"""Numbers of SLAM in flight, held against the true path and the true room: errors of path, loops and map."""

from __future__ import annotations

import math

import numpy as np

from aeroloop.cameras.pinhole import BodyPose, between, camera_pose
from aeroloop.core.camera import fitted
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.perception.slam import se3
from aeroloop.perception.slam.files import Recorded
from aeroloop.perception.slam.result import FEWEST_TRUE, Truth
from aeroloop.perception.slam.trajectory_errors import alignment
from aeroloop.recording.log import Log

POSE = ("x_m", "y_m", "z_m", "qw", "qx", "qy", "qz")
NAMES = (
    "ate_m",
    "ate_odometry_m",
    "ate_ratio",
    "rpe_m",
    "slam_loops",
    "false_loops",
    "slam_lost_pct",
    "slam_hz",
    "map_median_m",
    "map_points",
)


def metrics(scenario: Scenario, log: Log) -> dict[str, float]:
    """NaN where a flight has none; nothing without SLAM."""
    if scenario.slam is None:
        return {}
    numbers = dict.fromkeys(NAMES, math.nan)
    rows, column = log.rows["slam"], log.columns["slam"].index
    if len(rows):
        work_s = float(rows[:, column("work_s")].mean())
        numbers["slam_hz"] = 1.0 / work_s if work_s > 0.0 else math.inf
        numbers["slam_lost_pct"] = 100.0 * float(rows[:, column("lost")].mean())
    t_s = log.rows["slam_path"][:, 0]
    if len(t_s) < FEWEST_TRUE:
        return numbers
    found, true = recorded(log), Truth(t_s, true_poses(scenario, log, t_s))
    errors = found.errors(true)
    numbers["ate_m"], numbers["ate_odometry_m"] = errors["ate_optimised_m"], errors["ate_odometry_m"]
    numbers["ate_ratio"], numbers["rpe_m"] = errors["ate_ratio"], errors["rpe_optimised_m"]
    numbers["slam_loops"], numbers["false_loops"] = float(len(found.loops)), errors["false_loops"]
    placed = se3.transformed(
        alignment(found.trajectory[:, :3, 3], true.T_WC[:, :3, 3]), voxel_map(log, optimised=True)[0]
    )
    numbers["map_points"] = float(len(placed))
    room = value_at(scenario, "world.room")
    if room is not None and len(placed):
        numbers["map_median_m"] = float(np.median(room.layout.distance_m(placed)))
    return numbers


def recorded(log: Log) -> Recorded:
    """What SLAM knew at the end."""
    rows, column = log.rows["slam_loop"], log.columns["slam_loop"].index
    return Recorded(
        t_s=log.rows["slam_path"][:, 0],
        odometry=_poses(log, "slam_path", "odometry_"),
        trajectory=_poses(log, "slam_path"),
        loops_s=rows[:, [column("from_s"), column("t_s")]],
        loops=_poses(log, "slam_loop"),
    )


def voxel_map(log: Log, *, optimised: bool) -> tuple[Vec, Vec]:
    """Points in the map's frame, and their colours."""
    rows, column = log.rows["slam_map"], log.columns["slam_map"].index
    own = rows[rows[:, column("odometry")] == (not optimised)]
    return own[:, [column(name) for name in POSE[:3]]], own[:, [column(name) for name in ("red", "green", "blue")]]


def _poses(log: Log, stream: str, prefix: str = "") -> Vec:
    """(n, 4, 4)."""
    rows, column = log.rows[stream], log.columns[stream].index
    values = rows[:, [column(f"{prefix}{name}") for name in POSE]]
    if not len(values):
        return np.zeros((0, 4, 4))
    return se3.from_quaternion(values[:, :3], values[:, [4, 5, 6, 3]])


def true_poses(scenario: Scenario, log: Log, t_s: Vec) -> Vec:
    """(n, 4, 4): the camera at these times."""
    watched = scenario.watched_camera
    assert watched is not None
    model = fitted(scenario.cameras[watched])
    rows, column = log.rows["truth"], log.columns["truth"].index
    own = rows[rows[:, column("vehicle")] == model.vehicle][:, [column("t_s"), *map(column, POSE)]]
    after = np.clip(np.searchsorted(own[:, 0], t_s), 1, len(own) - 1)
    found = []
    for time_s, index in zip(t_s.tolist(), after.tolist(), strict=True):
        camera = camera_pose(between(_body(own[index - 1]), _body(own[index]), time_s), model)
        found.append(se3.compose(camera.R_WC, camera.pos_W))
    return np.array(found)


def _body(row: Vec) -> BodyPose:
    t_s, x, y, z, *quat = (float(value) for value in row)
    w, i, j, k = quat
    return BodyPose(t_s, (x, y, z), (w, i, j, k))
