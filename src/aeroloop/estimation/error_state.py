"""State and covariance of the navigation filter: how samples move them, and how parts of them are set anew.

The equations are those of `ekf.py`. Which measurement is believed is decided in `navigation.py`.
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

# Numbers go into an evaluator's memory by these in a third of the time that numpy takes for a tuple.
_pack_imu = struct.Struct("7d").pack_into
_pack_step = struct.Struct("4d").pack_into
_DIAGONAL = ekf.DIAGONAL.tolist()


class Evaluatorlike(Protocol):
    """Fill `inputs`, call, read `outputs`; columns only."""

    inputs: list[Vec]
    outputs: list[Vec]
    run: Callable[[], None]

    def share(self, index: int, array: Vec) -> None:
        """Input `index` is this array from now on."""

    def __call__(self) -> None: ...


Runner = Callable[[ca.Function], Evaluatorlike]
"""Makes functions run, interpreted or compiled."""


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
        # All of them read one state and one covariance, which lie side by side.
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
        self._felt = (0.0, 0.0, 0.0)  # v_I when the covariance was last moved on
        self.changes = 0  # counts whatever changed state or covariance

    # What it says.

    @property
    def finite(self) -> bool:
        return math.isfinite(self._numbers.dot(self._ones))

    def variances(self) -> tuple[float, float, float, float]:
        """Tilt, yaw, horizontal position, height."""
        p, at = self._p, _DIAGONAL
        return p[at[0]] + p[at[1]], p[at[2]], p[at[6]] + p[at[7]], p[at[8]]

    # How samples move it.

    def start(self, aligned: Alignment, yaw_rad: float, rate_B: Vec3) -> None:
        """At rest, as `aligned` says and turned by `yaw_rad`; `rate_B` is the last sample's."""
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
        # Whatever bias the accelerometer has, we have levelled by it: R b = dtheta x g.
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

    def move_covariance(self, dt_s: float) -> None:
        """To now."""
        vx, vy, vz = self.x[ekf.VEL_I].tolist()
        ux, uy, uz = self._felt
        _pack_step(self._step, 0, dt_s, vx - ux, vy - uy, vz - uz)
        self._predict.run()
        self._p[:] = self._predicted
        self._felt = (vx, vy, vz)

    def correct(self, correction: Evaluatorlike, believed: Callable[[float], bool] | None) -> bool:
        """With a measurement that has been filled in; `believed` judges its normalised surprise, squared."""
        correction()
        if believed is not None and not believed(float(correction.outputs[2][0])):
            return False
        self._x[:], self._p[:] = correction.outputs[0].data, correction.outputs[1].data
        self.changes += 1
        return True

    # Setting parts of it anew.

    def loosen(self, stds: Iterable[tuple[slice, float]]) -> None:
        """Blocks of three errors that have grown by so much."""
        P = ekf.unpacked(self.p)
        for block, std in stds:
            P[block, block] += std**2 * np.eye(3)
        self.p[:] = ekf.packed(P)

    def loosen_height(self, std_m: float) -> None:
        """Height and offset of the barometer together are as sure as before, but not where they part."""
        P = ekf.unpacked(self.p)
        P[8, 8] += std_m**2
        P[15, 15] += std_m**2
        P[8, 15] -= std_m**2
        P[15, 8] -= std_m**2
        self.p[:] = ekf.packed(P)
        self.changes += 1

    def turn(self, yaw_rad: float) -> None:
        """About the vertical."""
        w, x, y, z = self.x[ekf.QUAT].tolist()
        c, s = math.cos(yaw_rad / 2), math.sin(yaw_rad / 2)
        self.x[ekf.QUAT] = (c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w)
        self.changes += 1

    def forget(self, variances: Mapping[int, float]) -> None:
        """Errors by their index that are now unlike all others, and as large as this."""
        P = ekf.unpacked(self.p)
        for i, variance in variances.items():
            P[i, :] = P[:, i] = 0.0
            P[i, i] = variance
        self.p[:] = ekf.packed(P)
        self.changes += 1
