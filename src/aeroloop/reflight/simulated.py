"""What a rollout made of a drive, as a flight record: the same signals, units and axes as the log's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from aeroloop.analysis.track import euler_rad
from aeroloop.core.frames import Vec, rotation_rows
from aeroloop.families.multirotor.step_function import Columns
from aeroloop.flown.record import FlightRecord, Signal
from aeroloop.reflight.flown_motion import FlownMotion
from aeroloop.reflight.rollout import STEP_S

SOURCE = "simulated"


AXES = {"x": (0, 1.0), "y": (1, -1.0), "z": (2, -1.0)}
"""Forward-left-up to forward-right-down."""


def signals(rows: Vec, motion: FlownMotion, rotors: int, names: Sequence[str]) -> dict[str, Signal]:
    """`rows` of `Rollout`; each is the state at the end of its step."""
    t_s = motion.t_s[: len(rows)] + STEP_S
    columns = _columns(rows, rotors, motion.height_m)
    return {name: Signal(name, t_s, np.ascontiguousarray(columns[name]()), SOURCE) for name in names}


def record(rows: Vec, motion: FlownMotion, rotors: int, names: Sequence[str], path: Path) -> FlightRecord:
    return FlightRecord(path, "replayed", signals(rows, motion, rotors, names), vehicle="multirotor")


def _columns(rows: Vec, rotors: int, height_m: float) -> dict[str, Callable[[], Vec]]:
    """By name; each is computed when it is asked for."""
    at = Columns(rotors)
    angles = cache(lambda: euler_rad(rows[:, 3:7]))

    def column(index: int, sign: float = 1.0) -> Callable[[], Vec]:
        return lambda: sign * rows[:, index]

    def field(axis: int, sign: float) -> Callable[[], Vec]:
        def of_axis() -> Vec:
            R_WB, field_W = rotation_rows(rows[:, 3:7].T), rows[:, at.field_W_T : at.field_W_T + 3].T
            return np.asarray(sign * sum(R_WB[j][axis] * field_W[j] for j in range(3)))

        return of_axis

    return {
        "roll": lambda: angles()[:, 0],
        "pitch": lambda: -angles()[:, 1],
        "yaw": lambda: np.unwrap(math.pi / 2 - angles()[:, 2]),
        **{f"gyro_{axis}": column(10 + i, sign) for axis, (i, sign) in AXES.items()},
        **{f"accel_{axis}": column(at.force_B + i, sign) for axis, (i, sign) in AXES.items()},
        **{f"mag_{axis}": field(i, sign) for axis, (i, sign) in AXES.items()},
        "lat": column(at.lat_deg),
        "lon": column(at.lat_deg + 1),
        "alt": column(at.alt_m),
        "pressure": column(at.pressure_Pa),
        "height": lambda: height_m + rows[:, 2] - rows[0, 2],
        "north": column(1),
        "east": column(0),
        "down": column(2, -1.0),
        "vel_north": column(8),
        "vel_east": column(7),
        "vel_down": column(9, -1.0),
        **{f"motor_{i + 1}": column(at.count + i) for i in range(rotors)},
    }
