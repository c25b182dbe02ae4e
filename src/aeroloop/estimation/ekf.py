"""The equations of an error-state Kalman filter as CasADi functions: state and covariance in, the same out.

True is nominal plus error; the attitude's error is a small rotation in the world, R_true = (I + [dtheta]x) R, so that
its third element is the error of the yaw at any attitude:

    dtheta' = -R dbg,   dv' = -[R f]x dtheta - R dba,   dp' = dv,   dbg' = dba' = dh' = noise

A measurement may be late by `tau`. The state at that time follows from the present one and from the inertial integrals
in between (v_I, p_I: never corrected, so that their differences are what the IMU measured), and so does the error:

    dv_then = dv + [A]x dtheta + tau R dba,              A = integral of R f
    dp_then = dp - tau dv_then + [D]x dtheta + tau^2/2 R dba,   D = its integral

neglecting the rotation by an error of the gyroscope bias within tau.

Matrices are passed as columns, the covariance as its lower triangle, so it is symmetric by construction. Each function
is built once for all flights of a process. Solà, "Quaternion kinematics for the error-state Kalman filter"
(arXiv:1711.02508), with global angular errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.core.frames import GRAVITY_M_S2, Vec, rotation_rows

# Nominal state.
QUAT, VEL, POS = slice(0, 4), slice(4, 7), slice(7, 10)
GYRO_BIAS, ACCEL_BIAS, BARO = slice(10, 13), slice(13, 16), 16
VEL_I, POS_I = slice(17, 20), slice(20, 23)
LAST_RATE, LAST_FORCE = slice(23, 26), slice(26, 29)  # of the previous sample: rate_B as measured, specific force in W
STATES = 29

# Error.
D_ANGLE, D_VEL, D_POS, D_GYRO, D_ACCEL, D_BARO = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), slice(12, 15), 15
ERRORS = 16

_ROWS, _COLUMNS = np.tril_indices(ERRORS)
TRIANGLE = len(_ROWS)
DIAGONAL = np.flatnonzero(_ROWS == _COLUMNS)
"""Positions of the variances in the triangle."""
_IN_COLUMNS = (_ROWS + ERRORS * _COLUMNS).tolist()
"""Positions of the triangle's elements in the matrix, column by column."""
_IN_TRIANGLE = [max(i, j) * (max(i, j) + 1) // 2 + min(i, j) for j in range(ERRORS) for i in range(ERRORS)]
"""Positions of the matrix's elements in the triangle."""

LATE = 7  # tau, change of v_I since then, change of p_I since then beyond tau v_I


def packed(P: Vec) -> Vec:
    triangle: Vec = P[_ROWS, _COLUMNS]
    return triangle


def unpacked(triangle: Vec) -> Vec:
    P = np.zeros((ERRORS, ERRORS))
    P[_ROWS, _COLUMNS] = triangle
    P[_COLUMNS, _ROWS] = triangle
    return P


@dataclass(frozen=True, slots=True)
class Noise:
    """Densities, per square root of Hz or of a second."""

    gyro: float
    accel: float
    gyro_bias: float
    accel_bias: float
    baro: float


@cache
def propagate(gravity_m_s2: float) -> ca.Function:
    """One IMU sample (dt, rate_B, accel_B): the trapezoid of rate and of specific force in the world."""
    x, imu = ca.SX.sym("x", STATES), ca.SX.sym("imu", 7)
    dt, rate, accel = imu[0], imu[1:4], imu[4:7]
    quat = _product(x[QUAT], _exponential((0.5 * (x[LAST_RATE] + rate) - x[GYRO_BIAS]) * dt))
    quat = quat / ca.norm_2(quat)
    force = rotation(quat) @ (accel - x[ACCEL_BIAS])
    dv = (0.5 * (x[LAST_FORCE] + force) - ca.vertcat(0, 0, gravity_m_s2)) * dt
    pos = x[POS] + dt * (x[VEL] + 0.5 * dv)
    pos_i = x[POS_I] + dt * (x[VEL_I] + 0.5 * dv)
    after = ca.vertcat(quat, x[VEL] + dv, pos, x[10:17], x[VEL_I] + dv, pos_i, rate, force)
    return ca.Function("nav_propagate", [x, imu], [after], ["x", "imu"], ["x_after"])


def motion(x: ca.SX) -> ca.SX:
    """Position, velocity, attitude and bias-free rate of a state, as input of a control law."""
    return ca.vertcat(x[POS], x[VEL], x[QUAT], x[LAST_RATE] - x[GYRO_BIAS])


@cache
def predict(noise: Noise, gravity_m_s2: float) -> ca.Function:
    """Propagates the covariance by `dt` in which v_I changed by `dv_I`."""
    x, p, step = ca.SX.sym("x", STATES), ca.SX.sym("p", TRIANGLE), ca.SX.sym("step", 4)
    dt, felt = step[0], step[1:4] + ca.vertcat(0, 0, gravity_m_s2) * step[0]
    R, one = rotation(x[QUAT]), ca.SX.eye(3)
    F = ca.SX.eye(ERRORS)
    F[D_ANGLE, D_GYRO] = -R * dt
    F[D_VEL, D_ANGLE] = -_cross(felt)
    F[D_VEL, D_ACCEL] = -R * dt
    F[D_POS, D_VEL] = one * dt
    sizes = (noise.gyro, noise.accel, 0.0, noise.gyro_bias, noise.accel_bias)
    Q = dt * ca.diag(ca.vertcat(*(size**2 for size in sizes for _ in range(3)), noise.baro**2))
    P = F @ _symmetric(p) @ F.T + Q
    return ca.Function("nav_predict", [x, p, step], [triangle(P)], ["x", "p", "step"], ["p_after"])


@cache
def correct_position() -> ca.Function:
    """East and north as they were `late`: z = (east, north, variance)."""
    return _late_correction("nav_position", 2, 3, lambda then, z: (z[:2] - then.pos[:2], then.H_pos[:2, :], z[[2, 2]]))


@cache
def correct_velocity() -> ca.Function:
    """Velocity as it was `late`: z = (east, north, up, variance of each)."""
    return _late_correction("nav_velocity", 3, 6, lambda then, z: (z[:3] - then.vel, then.H_vel, z[3:6]))


@cache
def correct_height() -> ca.Function:
    """Height as it was `late`: z = (up, variance, 1 where the barometer's offset is in it, else 0)."""

    def height(then: _Then, z: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        H = ca.SX(then.H_pos[2, :])
        H[0, D_BARO] = z[2]
        return z[0] - then.pos[2] - z[2] * then.x[BARO], H, z[1]

    return _late_correction("nav_height", 1, 3, height)


@cache
def correct_heading() -> ca.Function:
    """Yaw from the field: z = (field_B, azimuth that it should have, variance).

    It corrects only the yaw and what is correlated with it: a field disturbed by motors must not tilt the estimate.
    """
    x, p, z = ca.SX.sym("x", STATES), ca.SX.sym("p", TRIANGLE), ca.SX.sym("z", 5)
    field = rotation(x[QUAT]) @ z[:3]
    c, s = ca.cos(z[3]), ca.sin(z[3])
    off = ca.atan2(s * field[0] - c * field[1], c * field[0] + s * field[1])
    H = ca.SX(1, ERRORS)
    H[0, 2] = 1
    return _correction("nav_heading", [x, p, z], ["x", "p", "z"], off, H, z[4])


@dataclass(frozen=True, slots=True)
class _Then:
    """The state at the time of a measurement, and the relation of its errors to the present ones."""

    x: ca.SX  # now
    vel: ca.SX
    pos: ca.SX
    H_vel: ca.SX
    H_pos: ca.SX


_Measured = Callable[[_Then, ca.SX], tuple[ca.SX, ca.SX, ca.SX]]
"""From the state at that time and the measured numbers: the innovation, its Jacobian, and the variances."""


def _late_correction(name: str, dimension: int, numbers: int, measured: _Measured) -> ca.Function:
    x, p = ca.SX.sym("x", STATES), ca.SX.sym("p", TRIANGLE)
    z, late = ca.SX.sym("z", numbers), ca.SX.sym("late", LATE)
    tau, dv, dp = late[0], late[1:4], late[4:7]
    vel = x[VEL] - dv
    pos = x[POS] - tau * vel - dp
    # The accelerometer measures motion and gravity; its exact value matters little here.
    up = ca.vertcat(0, 0, GRAVITY_M_S2)
    R, one = rotation(x[QUAT]), ca.SX.eye(3)
    H_vel, H_pos = ca.SX(3, ERRORS), ca.SX(3, ERRORS)
    H_vel[:, D_VEL] = one
    H_vel[:, D_ANGLE] = _cross(dv + tau * up)
    H_vel[:, D_ACCEL] = tau * R
    H_pos[:, D_POS] = one
    H_pos[:, D_VEL] = -tau * one
    H_pos[:, D_ANGLE] = _cross(dp + tau**2 / 2 * up) - tau * H_vel[:, D_ANGLE]
    H_pos[:, D_ACCEL] = -(tau**2) / 2 * R
    off, H, variance = measured(_Then(x, vel, pos, H_vel, H_pos), z)
    assert off.shape == (dimension, 1)
    return _correction(name, [x, p, z, late], ["x", "p", "z", "late"], off, H, variance)


def _correction(name: str, inputs: list[ca.SX], names: list[str], off: ca.SX, H: ca.SX, variance: ca.SX) -> ca.Function:
    """Returns the corrected state and covariance, and the innovation: its normalised square, then itself."""
    x, p = inputs[0], inputs[1]
    P = _symmetric(p)
    PHt = P @ H.T
    S_inv = ca.inv(H @ PHt + ca.diag(variance))
    K = PHt @ S_inv
    error = K @ off
    quat = _product(_exponential(error[D_ANGLE]), x[QUAT])
    after = ca.vertcat(quat / ca.norm_2(quat), x[4:17] + error[3:], x[17:])
    surprise = ca.vertcat(off.T @ S_inv @ off, off)
    outputs = [after, triangle(P - K @ PHt.T), surprise]
    return ca.Function(name, inputs, [ca.densify(o) for o in outputs], names, ["x_after", "p_after", "surprise"])


def _symmetric(triangle: ca.SX) -> ca.SX:
    return ca.reshape(triangle[_IN_TRIANGLE], ERRORS, ERRORS)


def triangle(P: ca.SX) -> ca.SX:
    return ca.densify(ca.vec(P)[_IN_COLUMNS])


def _cross(v: ca.SX) -> ca.SX:
    return ca.skew(v)


def _product(a: ca.SX, b: ca.SX) -> ca.SX:
    return ca.vertcat(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def _exponential(angle: ca.SX) -> ca.SX:
    """The quaternion of a rotation vector.

    Below 1e-15 rad sin(size / 2) / size is 1/2 in double and in single precision alike, so the size stays there: at
    rest it would be 0/0. The square, 1e-30, is a normal number in both; what a float's square loses lies below it.
    """
    size = ca.sqrt(ca.fmax(ca.dot(angle, angle), 1e-30))
    return ca.vertcat(ca.cos(size / 2), ca.sin(size / 2) / size * angle)


def rotation(q: Any) -> Any:
    """The matrix of a quaternion, symbolic or of numbers."""
    return ca.vertcat(*(ca.horzcat(*row) for row in rotation_rows(q)))
