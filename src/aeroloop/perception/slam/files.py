"""Files of a result: trajectories and loops as text, map as PLY, numbers as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aeroloop.core.errors import ConfigError, not_written
from aeroloop.perception.slam import se3, trajectory_errors
from aeroloop.perception.slam.keyframes import SlamState
from aeroloop.perception.slam.result import FEWEST_TRUE, SlamResult, Truth, is_false
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.tum import read_table, read_trajectory, trajectory_text
from aeroloop.perception.slam.voxels import VoxelMap

ODOMETRY, TRAJECTORY, MAP, SUMMARY = "trajectory_odometry.txt", "trajectory.txt", "map.ply", "summary.json"
LOOPS = "loops.txt"


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigError(f"{folder}: exists already; --out expects a new folder") from None
    except OSError as error:
        raise not_written(folder, error) from None


def write(folder: Path, result: SlamResult, numbers: dict[str, Any]) -> None:
    """Trajectories, loops, map and summary into a folder."""
    texts = {
        ODOMETRY: trajectory_text(result.t_s, result.odometry),
        TRAJECTORY: trajectory_text(result.t_s, result.trajectory),
        LOOPS: loops_text(result.state),
        SUMMARY: json.dumps(numbers, indent=2, allow_nan=False) + "\n",
    }
    files = {name: text.encode() for name, text in texts.items()} | {MAP: ply(result.map())}
    for name, content in files.items():
        try:
            (folder / name).write_bytes(content)
        except OSError as error:
            raise not_written(folder / name, error) from None


@dataclass(frozen=True)
class Recorded:
    """Trajectories and loops of a folder, as another process wrote them."""

    t_s: Array
    odometry: Array  # (n, 4, 4)
    trajectory: Array  # (n, 4, 4)
    loops_s: Array  # (m, 2): times of both keyframes
    loops: Array  # (m, 4, 4): the second's measured pose in the first

    def errors(self, truth: Truth) -> dict[str, float]:
        """ATE and RPE of both trajectories, their ratio, false loops; NaN where the truth has too few poses."""
        own, true = trajectory_errors.nearest(self.t_s, truth.t_s)
        numbers = {}
        for name, T in (("odometry", self.odometry), ("optimised", self.trajectory)):
            enough = len(own) >= FEWEST_TRUE
            relative = trajectory_errors.rpe(self.t_s[own], T[own], truth.T_WC[true]) if enough else None
            numbers[f"ate_{name}_m"] = trajectory_errors.ate_m(T[own], truth.T_WC[true]) if enough else math.nan
            numbers[f"rpe_{name}_m"] = math.nan if relative is None else relative.translation_m
            numbers[f"rpe_{name}_deg"] = math.nan if relative is None else relative.rotation_deg
        drift_m = numbers["ate_odometry_m"]
        numbers["ate_ratio"] = numbers["ate_optimised_m"] / drift_m if drift_m else math.nan
        ends = [trajectory_errors.nearest_index(self.loops_s[:, end], truth.t_s) for end in (0, 1)]
        false = [is_false(Z, truth.T_WC[a], truth.T_WC[b]) for Z, a, b in zip(self.loops, *ends, strict=True)]
        numbers["false_loops"] = float(sum(false))
        return numbers


def read(folder: Path) -> Recorded:
    """ConfigError names the file that is missing or wrong."""
    odometry, optimised = read_trajectory(folder / ODOMETRY), read_trajectory(folder / TRAJECTORY)
    table = read_table(folder / LOOPS, 9, "9 finite numbers, t_a t_b x y z qx qy qz qw")
    loops = se3.from_quaternion(table[:, 2:5], table[:, 5:]) if len(table) else np.zeros((0, 4, 4))
    return Recorded(optimised.t_s, odometry.T_WC, optimised.T_WC, table[:, :2], loops)


def loops_text(state: SlamState) -> str:
    """Accepted loops: times of both keyframes, and the second's measured pose in the first."""
    lines = ["# t_a t_b x y z qx qy qz qw"]
    for edge in state.loops:
        times = (state.keyframes[node].t_s for node in (edge.i, edge.j))
        pose = (*edge.Z_ij[:3, 3], *se3.to_quaternion(edge.Z_ij[None])[0])
        lines.append(" ".join([*(f"{t:.6f}" for t in times), *(f"{value:.7f}" for value in pose)]))
    return "\n".join(lines) + "\n"


def ply(voxels: VoxelMap) -> bytes:
    """Binary PLY: float positions and 8-bit colours."""
    layout = [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1")]
    table = np.zeros(len(voxels.points_W), dtype=layout)
    for axis, name in enumerate("xyz"):
        table[name] = voxels.points_W[:, axis]
    for channel, name in enumerate(("red", "green", "blue")):
        table[name] = voxels.colours[:, channel]
    properties = [f"property {'float' if kind == '<f4' else 'uchar'} {name}" for name, kind in layout]
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(table)}", *properties, "end_header", ""]
    return "\n".join(header).encode() + table.tobytes()
