"""True position and attitude of one aircraft at any time, and the error of its estimate.

Truth is logged more often than a controller's values, so it is interpolated to the controller's times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.statistics import Array, rms
from aeroloop.analysis.track import POSITION, QUATERNION, euler_rad
from aeroloop.analysis.vehicle_log import VehicleLog
from aeroloop.core.angles import wrap_pi_half_open

Flags = NDArray[np.bool_]


class TruthLog(VehicleLog):
    """Truth of an aircraft whose `truth` has position and attitude."""

    @cached_property
    def t_s(self) -> Array:
        return self.column("truth", "t_s")

    @cached_property
    def pos_W(self) -> Array:
        return self.columns("truth", POSITION)

    @cached_property
    def quat_WB(self) -> Array:
        """Of the two quaternions of each attitude, select the one near its predecessor, so that they can be
        interpolated."""
        return _without_flips(self.columns("truth", QUATERNION))

    @cached_property
    def attitude_rad(self) -> Array:
        return euler_rad(self.quat_WB)

    def known(self, t_s: Array) -> Flags:
        """Which of these times the truth covers."""
        if not self.t_s.size:
            return np.zeros(len(t_s), dtype=bool)
        return np.asarray((t_s >= self.t_s[0]) & (t_s <= self.t_s[-1]))

    def position_at(self, t_s: Array) -> Array:
        return _interpolated(t_s, self.t_s, self.pos_W)

    def ground_at(self, t_s: Array) -> Array:
        """Height of the ground below it."""
        told_s = self.column("air", "t_s")
        return np.interp(t_s, told_s, self.column("air", "ground_m")) if told_s.size else np.zeros(len(t_s))

    def attitude_at(self, t_s: Array) -> Array:
        """Quaternions; between two samples of truth linear interpolation is sufficient."""
        between = _interpolated(t_s, self.t_s, self.quat_WB)
        return np.asarray(between / np.linalg.norm(between, axis=1, keepdims=True))

    def airborne(self, t_s: Array) -> Flags:
        """The times at which its estimate is valid."""
        return np.ones(len(t_s), dtype=bool)


@dataclass(frozen=True)
class Errors:
    """NaN where there was no setpoint."""

    t_s: Array  # (n,)
    pos_W: Array  # (n, 3) m
    attitude_rad: Array  # (n, 3) roll, pitch, yaw, each within half a turn
    turn_rad: Array  # (n,) all three in one

    def only(self, kept: Flags) -> Errors:
        return Errors(self.t_s[kept], self.pos_W[kept], self.attitude_rad[kept], self.turn_rad[kept])

    @property
    def horizontal_m(self) -> Array:
        return np.asarray(np.linalg.norm(self.pos_W[:, :2], axis=1))

    @property
    def distance_m(self) -> Array:
        return np.asarray(np.linalg.norm(self.pos_W, axis=1))


def estimation(flight: TruthLog) -> Errors:
    """Truth minus estimate."""
    t_s = flight.column("estimate", "t_s")
    kept = flight.known(t_s) & flight.airborne(t_s)
    t_s = t_s[kept]
    true, believed = flight.attitude_at(t_s), flight.columns("estimate", QUATERNION)[kept]
    return Errors(
        t_s,
        flight.position_at(t_s) - flight.columns("estimate", POSITION)[kept],
        wrap_pi_half_open(euler_rad(true) - euler_rad(believed)),
        angle_between_rad(true, believed),
    )


def estimation_metrics(errors: Errors) -> dict[str, float]:
    return {
        "est_pos_rms_m": rms(errors.distance_m),
        "est_horizontal_rms_m": rms(errors.horizontal_m),
        "est_height_rms_m": rms(errors.pos_W[:, 2]),
        "est_roll_rms_deg": math.degrees(rms(errors.attitude_rad[:, 0])),
        "est_pitch_rms_deg": math.degrees(rms(errors.attitude_rad[:, 1])),
        "est_yaw_rms_deg": math.degrees(rms(errors.attitude_rad[:, 2])),
        "est_attitude_rms_deg": math.degrees(rms(errors.turn_rad)),
    }


def angle_between_rad(one: Array, another: Array) -> Array:
    """The single rotation from one attitude to the other."""
    alike = np.abs(np.sum(one * another, axis=1))
    return np.asarray(2 * np.arccos(np.clip(alike, 0, 1)))


def _interpolated(t_s: Array, known_s: Array, values: Array) -> Array:
    """Every column of `values` (n, k) at other times."""
    if not known_s.size:
        return np.full((len(t_s), values.shape[1]), np.nan)
    return np.stack([np.interp(t_s, known_s, column) for column in values.T], axis=1)


def _without_flips(quat: Array) -> Array:
    flips = np.sum(quat[1:] * quat[:-1], axis=1) < 0
    signs = np.concatenate([np.ones(min(len(quat), 1)), np.cumprod(np.where(flips, -1.0, 1.0))])
    return np.asarray(quat * signs[:, None])
