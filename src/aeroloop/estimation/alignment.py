"""Initial alignment: attitude and gyroscope bias of an aircraft at rest.

Gravity gives roll and pitch, the magnetic field the yaw, and the mean of the gyroscope is its bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3, quat_from_euler
from aeroloop.core.signals import NS
from aeroloop.estimation.config import NavigationConfig

NORTH_RAD = math.pi / 2
"""Azimuth of north, counted from east to the left as yaw is."""


@dataclass(frozen=True, slots=True)
class Alignment:
    quat_WB: Quat  # yaw with magnetic north used as north
    gyro_bias_B: Vec3  # rad/s
    duration_s: float
    heading: bool  # False: no magnetic field was measured; the yaw is 0
    baro_m: float | None  # mean pressure altitude


class RestDetector:
    """Collects samples until a whole window of them was at rest; any other sample restarts it."""

    def __init__(self, config: NavigationConfig) -> None:
        self._config = config
        self._window_ns = round(config.align_s * NS)
        self._begin(0)
        self.begun = False

    def _begin(self, t_ns: int) -> None:
        self._since_ns, self.begun = t_ns, True
        self._imu: list[tuple[float, ...]] = []
        self._field: list[Vec3] = []
        self._baro: list[float] = []

    def magnetometer(self, field_B_T: Vec3) -> None:
        self._field.append(field_B_T)

    def barometer(self, altitude_m: float) -> None:
        self._baro.append(altitude_m)

    def imu(self, t_ns: int, rate_B: Vec3, accel_B: Vec3) -> Alignment | None:
        if not self.begun:
            self._since_ns, self.begun = t_ns, True
        self._imu.append((*rate_B, *accel_B))
        if t_ns - self._since_ns < self._window_ns:
            return None
        samples = np.array(self._imu)
        mean, std = samples.mean(axis=0), samples.std(axis=0)
        if not self._at_rest(mean, std):
            self._begin(t_ns)
            return None
        return self._aligned(mean, (t_ns - self._since_ns) / NS)

    def _at_rest(self, mean: Vec, std: Vec) -> bool:
        config = self._config
        return bool(
            np.abs(mean[:3]).max() < config.still_rate_rad_s
            and std[:3].max() < config.still_rate_std_rad_s
            and abs(np.linalg.norm(mean[3:]) - config.gravity_m_s2) < config.still_accel_m_s2
            and std[3:].max() < config.still_accel_std_m_s2
        )

    def _aligned(self, mean: Vec, duration_s: float) -> Alignment:
        p, q, r, fx, fy, fz = mean.tolist()
        roll, pitch = math.atan2(fy, fz), math.atan2(-fx, math.hypot(fy, fz))
        yaw = 0.0
        if self._field:
            bx, by, bz = np.mean(self._field, axis=0).tolist()
            # The field rotated level, but not yet to the north.
            across = math.cos(roll) * by - math.sin(roll) * bz
            along = math.cos(pitch) * bx + math.sin(pitch) * (math.sin(roll) * by + math.cos(roll) * bz)
            yaw = NORTH_RAD - math.atan2(across, along)
        baro_m = float(np.mean(self._baro)) if self._baro else None
        return Alignment(quat_from_euler(roll, pitch, yaw), (p, q, r), duration_s, bool(self._field), baro_m)
