"""The track of one aircraft through a flight, for comparisons of any runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

POSITION = ("x_m", "y_m", "z_m")
QUATERNION = ("qw", "qx", "qy", "qz")
ATTITUDE = ("roll", "pitch", "yaw")
ANGLES = tuple(f"{angle}_rad" for angle in ATTITUDE)


@dataclass(frozen=True)
class Track:
    name: str  # of the aircraft; empty if there is only one
    t_s: Array  # (n,)
    pos_W: Array  # (n, 3) m
    attitude_rad: Array  # (n, 3) roll, pitch, yaw
    reference_t_s: Array  # (k,)
    reference_W: Array  # (k, 3) m, reference position
    command_t_s: Array  # (m,)
    command: Array  # (m, number of commands)
    commands: tuple[str, ...]  # label of each command, with its unit: thrust_right_N


def euler_rad(quat_WB: Array) -> Array:
    """(n, 3) roll, pitch, yaw: `frames.euler_from_quat` for a whole column."""
    w, x, y, z = quat_WB.T
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.stack([roll, pitch, yaw], axis=1)
