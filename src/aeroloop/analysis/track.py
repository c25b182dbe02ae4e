"""The way of one aircraft through a flight, whatever flew: what runs are compared by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.recording.log import Log

Array = NDArray[np.float64]

POSITION = ("x_m", "y_m", "z_m")
ATTITUDE = ("roll", "pitch", "yaw")
ANGLES = tuple(f"{angle}_rad" for angle in ATTITUDE)


@dataclass(frozen=True)
class Track:
    name: str  # of the aircraft; empty where there is one only
    t_s: Array  # (n,)
    pos_W: Array  # (n, 3) m
    attitude_rad: Array  # (n, 3) roll, pitch, yaw
    wanted_t_s: Array  # (k,)
    wanted_W: Array  # (k, 3) m, where it should have been
    command_t_s: Array  # (m,)
    command: Array  # (m, number of commands)
    commands: tuple[str, ...]  # what each command is called, with its unit: thrust_right_N


def positions(log: Log, stream: str) -> Array:
    return np.stack([log.column(stream, axis) for axis in POSITION], axis=1)


def angles(log: Log, stream: str) -> Array:
    return np.stack([log.column(stream, angle) for angle in ANGLES], axis=1)
