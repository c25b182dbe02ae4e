"""State and covariance of the navigation filter: propagation, corrections and resets.

The equations are those of `ekf.py`. `navigation.py` decides which measurements are accepted.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import casadi as ca
import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.estimation import ekf
from aeroloop.estimation.alignment import Alignment
from aeroloop.estimation.config import NavigationConfig

# These write numbers to an evaluator's memory in a third of the time that numpy takes for a tuple.
_pack_imu = struct.Struct("7d").pack_into
_pack_step = struct.Struct("4d").pack_into
_pack_heading = struct.Struct("5d").pack_into
_pack_height = struct.Struct("3d").pack_into
_DIAGONAL = ekf.DIAGONAL.tolist()


class Evaluatorlike(Protocol):
    """Fill `inputs`, call, read `outputs`; columns only."""

    inputs: list[Vec]
    outputs: list[Vec]
    run: Callable[[], None]

    def share(self, index: int, array: Vec) -> None:
        """Use this array as input `index` from now on."""

    def __call__(self) -> None: ...


Runner = Callable[[ca.Function], Evaluatorlike]
"""Makes functions executable, interpreted or compiled."""


class ErrorState:
    def __init__(self, config: NavigationConfig, runner: Runner) -> None:
        self._config = config
        noise = ekf.Noise(
            config.gyro_noise, config.accel_noise, config.gyro_bias_walk, config.accel_bias_walk, config.baro_walk
        )
        self._propagate = runner(ekf.propagate(config.gravity_m_s2))
        self._predict = runner(ekf.predict(noise, config.gravity_m_s2))
        self.heading = runner(ekf.correct_heading())
        self.height = runner(ekf.correct_height())
        self.position = runner(ekf.correct_position())
        self.velocity = runner(ekf.correct_velocity())
        # All of them read the same state and covariance, which are adjacent in memory.
        self._numbers = np.zeros(ekf.STATES + ekf.TRIANGLE)
        self._ones = np.ones_like(self._numbers)
        self.x, self.p = self._numbers[: ekf.STATES], self._numbers[ekf.STATES :]
        self._propagate.share(0, self.x)
        for function in (self._predict, self.heading, self.height, self.position, self.velocity):
            function.share(0, self.x)
            function.share(1, self.p)
        # Copied as bytes, which takes half the time that numpy takes.
        self._x, self._p = self.x.data, self.p.data
        self._propagated, self._predicted = self._propagate.outputs[0].data, self._predict.outputs[0].data
        self._imu = self._propagate.inputs[1].data
        self._step = self._predict.inputs[2].data
        self._field, self._altitude, self._late = (
            array.data for array in (self.heading.inputs[2], *self.height.inputs[2:])
        )
        self._never_late = np.zeros(ekf.LATE).data
        self._felt = (0.0, 0.0, 0.0)  # v_I at the last propagation of the covariance
        self.changes = 0  # counts every change of state or covariance

    # Output.

    @property
    def finite(self) -> bool:
        return math.isfinite(self._numbers.dot(self._ones))

    def variances(self) -> tuple[float, float, float, float]:
        """Tilt, yaw, horizontal position, height."""
        p, at = self._p, _DIAGONAL
        return p[at[0]] + p[at[1]], p[at[2]], p[at[6]] + p[at[7]], p[at[8]]

    # Propagation and corrections.

    def start(self, aligned: Alignment, yaw_rad: float, rate_B: Vec3) -> None:
        """At rest, with the attitude of `aligned` rotated by `yaw_rad`; `rate_B` is the last sample's."""
        config, x = self._config, self.x
        x[:] = 0.0
        x[ekf.QUAT] = aligned.quat_WB
        self.turn(yaw_rad)
        x[ekf.GYRO_BIAS] = aligned.gyro_bias_B
        x[ekf.LAST_RATE] = rate_B
        x[ekf.LAST_FORCE] = (0.0, 0.0, config.gravity_m_s2)
        spread = np.zeros(ekf.ERRORS)
        spread[ekf.D_ANGLE] = (0.005, 0.005, config.heading_std_rad if aligned.heading else math.pi)
        spread[ekf.D_VEL] = spread[ekf.D_POS] = 0.1
        spread[ekf.D_GYRO] = math.hypot(config.gyro_noise / math.sqrt(aligned.duration_s), 10 * config.gyro_bias_walk)
        spread[ekf.D_BARO] = config.baro_std_m
        # The levelling used the accelerometer with its bias: R b = dtheta x g.
        tilted = np.zeros((ekf.ERRORS, 3))
        R = np.array(ekf.rotation(ca.DM(x[ekf.QUAT])))
        tilted[0], tilted[1] = -R[1] / config.gravity_m_s2, R[0] / config.gravity_m_s2
        tilted[ekf.D_ACCEL] = np.eye(3)
        self.p[:] = ekf.packed(np.diag(spread**2) + config.accel_bias_std**2 * tilted @ tilted.T)
        self._felt = (0.0, 0.0, 0.0)
        self.changes += 1

    def imu(self, dt_s: float, rate_B: Vec3, accel_B: Vec3) -> None:
        _pack_imu(self._imu, 0, dt_s, *rate_B, *accel_B)
        self._propagate.run()
        self._x[:] = self._propagated
        self.changes += 1

    def measure_heading(self, field_B_T: Vec3, azimuth_rad: float, variance: float) -> None:
        """Fill in the inputs of the `heading` correction."""
        _pack_heading(self._field, 0, *field_B_T, azimuth_rad, variance)

    def measure_altitude(self, altitude_m: float, variance: float) -> None:
        """Fill in the inputs of the `height` correction: the barometer's present altitude."""
        _pack_height(self._altitude, 0, altitude_m, variance, 1.0)
        self._late[:] = self._never_late

    def move_covariance(self, dt_s: float) -> None:
        """Propagate the covariance to now."""
        vx, vy, vz = self.x[ekf.VEL_I].tolist()
        ux, uy, uz = self._felt
        _pack_step(self._step, 0, dt_s, vx - ux, vy - uy, vz - uz)
        self._predict.run()
        self._p[:] = self._predicted
        self._felt = (vx, vy, vz)

    def correct(self, correction: Evaluatorlike, believed: Callable[[float], bool] | None) -> bool:
        """Apply a measurement that has been filled in; `believed` decides by its normalised squared innovation."""
        correction.run()
        if believed is not None and not believed(float(correction.outputs[2][0])):
            return False
        self._x[:], self._p[:] = correction.outputs[0].data, correction.outputs[1].data
        self.changes += 1
        return True

    # Resets.

    def loosen(self, stds: Iterable[tuple[slice, float]]) -> None:
        """Increase blocks of three errors by this variance."""
        P = ekf.unpacked(self.p)
        for block, std in stds:
            P[block, block] += std**2 * np.eye(3)
        self.p[:] = ekf.packed(P)

    def loosen_height(self, std_m: float) -> None:
        """Keep the variance of the sum of height and barometer offset, but increase that of their difference."""
        P = ekf.unpacked(self.p)
        P[8, 8] += std_m**2
        P[15, 15] += std_m**2
        P[8, 15] -= std_m**2
        P[15, 8] -= std_m**2
        self.p[:] = ekf.packed(P)
        self.changes += 1

    def turn(self, yaw_rad: float) -> None:
        """Rotate about the vertical."""
        w, x, y, z = self.x[ekf.QUAT].tolist()
        c, s = math.cos(yaw_rad / 2), math.sin(yaw_rad / 2)
        self.x[ekf.QUAT] = (c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w)
        self.changes += 1

    def forget(self, variances: Mapping[int, float]) -> None:
        """Remove the correlations of these errors and set their variance."""
        P = ekf.unpacked(self.p)
        for i, variance in variances.items():
            P[i, :] = P[:, i] = 0.0
            P[i, i] = variance
        self.p[:] = ekf.packed(P)
        self.changes += 1
