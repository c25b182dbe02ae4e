"""Motor failure detection from the IMU: MAVLink HIL carries no motor speeds.

The expected accelerations follow from the commands,

    w' = J^-1 (sum of r_i x T_i - w x J w),   f_z = sum of T_i / m.

The low-passed difference between expected and measured accelerations is compared with the contribution of each rotor. A
rotor has failed when its contribution explains most of the difference, in its direction, for some time. On the ground
contact forces act, and f_z has no deficit. Slow model errors are estimated and subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aeroloop.actuators.motors import Motor, Motors
from aeroloop.control.allocation import effects
from aeroloop.control.cascade import Frame
from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import NS

SMOOTHING_S = 0.008
LEARNING_S = 1.0
MOST_MISSING = 0.6
"""Fraction of its contribution: with this much missing it counts as failed."""
LEFT_OVER = 0.35
"""Fraction of its contribution that may be missing in other directions."""
LIFT_MISSING = 0.4
"""Fraction of its lift; noisier than the resulting rotation."""
LEAST_RAD_S2 = 15.0
"""A contribution below this is within the noise."""
PERSISTS_S = 0.016


class RotorWatch:
    def __init__(self, frame: Frame, motor: Motor, period_s: float) -> None:
        self._motors = Motors(motor, len(frame.rotor_spin))
        self._period_s, self._period_ns = period_s, round(period_s * NS)
        self._inertia = np.array(frame.inertia_kgm2)
        per_rotor = effects(frame.rotor_pos_B_m, frame.rotor_spin, frame.torque_to_thrust_m, frame.rotor_shares)
        against = np.array((frame.mass_kg, *frame.inertia_kgm2))
        # (n, 4) f_z (m/s2), then w' (rad/s2), over squared speed
        self._per_speed = (frame.thrust_Ns2 * per_rotor / against[:, None]).T
        self._smooth = 1.0 - math.exp(-period_s / SMOOTHING_S)
        self._learn = period_s / LEARNING_S
        self._rate_B: Vec | None = None
        self._missing, self._usual = np.zeros(4), np.zeros(4)
        self._parts = np.zeros_like(self._per_speed)
        self._suspect, self._since_s = -1, 0.0

    def forget(self) -> None:
        """Reset on the ground."""
        self._rate_B = None
        self._missing[:] = self._usual[:] = 0.0
        self._motors.reset((0.0,) * len(self._per_speed))

    def step(self, rate_B: Vec3, accel_B: Vec3, command: Sequence[float]) -> int | None:
        """After each IMU sample, with the commands before it; returns the failed rotor."""
        speeds = np.array(self._motors.step(command, self._period_ns).speed_rad_s)
        rate, before = np.array(rate_B), self._rate_B
        self._rate_B = rate
        if before is None:
            return None
        parts = self._per_speed * (speeds * speeds)[:, None]
        gyroscopic = np.cross(rate, self._inertia * rate) / self._inertia
        felt = np.array((accel_B[2], *((rate - before) / self._period_s + gyroscopic)))
        self._missing += self._smooth * (parts.sum(axis=0) - felt - self._missing)
        self._parts += self._smooth * (parts - self._parts)
        suspect = self._failed_rotor(self._missing - self._usual)
        if suspect < 0:
            self._usual += self._learn * (self._missing - self._usual)
        if suspect != self._suspect:
            self._suspect, self._since_s = suspect, 0.0
        self._since_s += self._period_s
        return suspect if suspect >= 0 and self._since_s >= PERSISTS_S - self._period_s / 2 else None

    def _failed_rotor(self, missing: Vec) -> int:
        """The rotor whose contribution matches the difference; -1: none."""
        lift, turns = self._parts[:, 0], self._parts[:, 1:]
        sizes = np.linalg.norm(turns, axis=1)
        gone = turns @ missing[1:] / np.maximum(sizes, 1e-9) ** 2
        left = np.linalg.norm(missing[1:] - gone[:, None] * turns, axis=1)
        dead = (sizes > LEAST_RAD_S2) & (gone > MOST_MISSING) & (left < LEFT_OVER * sizes)
        dead &= missing[0] > LIFT_MISSING * lift
        return int(np.argmin(np.where(dead, left / np.maximum(sizes, 1e-9), np.inf))) if dead.any() else -1
