"""Conventions for axes and rotations.

World W is ENU (z up), body B is FLU (x forward, y left, z up). Quaternions are (w, x, y, z) and rotate body vectors
into the world. Euler angles are ZYX: R_WB = Rz(yaw) Ry(pitch) Rx(roll). Only `protocols/` uses other conventions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vec = NDArray[np.float64]
"""Arrays are for linear algebra; in the loop, tuples of three numbers are several times faster."""
Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]  # w, x, y, z

GRAVITY_M_S2 = 9.80665
"""Standard gravity, down along z of W, where no location is given."""


def euler_from_quat(quat_WB: Quat) -> tuple[float, float, float]:
    """Roll, pitch, yaw in rad; pitch saturates at +-pi/2 instead of failing on rounding."""
    w, x, y, z = quat_WB
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x))))
    yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return roll, pitch, yaw


def quat_from_euler(roll: float, pitch: float, yaw: float) -> Quat:
    cr, sr = math.cos(roll / 2), math.sin(roll / 2)
    cp, sp = math.cos(pitch / 2), math.sin(pitch / 2)
    cy, sy = math.cos(yaw / 2), math.sin(yaw / 2)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def rotation_rows(quat_WB: Any) -> tuple[tuple[Any, Any, Any], ...]:
    """R_WB by rows, exact for a unit quaternion; for numbers or symbols."""
    w, x, y, z = quat_WB[0], quat_WB[1], quat_WB[2], quat_WB[3]
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def euler_rates_from_body(roll: float, pitch: float, rate_B: Vec3) -> tuple[float, float, float]:
    """Time derivatives of the ZYX angles from body rates; saturates at the singularity (pitch = +-pi/2)."""
    p, q, r = rate_B
    cos_pitch = math.cos(pitch)
    if abs(cos_pitch) < 1e-6:
        cos_pitch = math.copysign(1e-6, cos_pitch)
    turning = (math.sin(roll) * q + math.cos(roll) * r) / cos_pitch
    return p + math.sin(pitch) * turning, math.cos(roll) * q - math.sin(roll) * r, turning


def body_from_euler_rates(roll: float, pitch: float, roll_rate: float, pitch_rate: float, yaw_rate: float) -> Vec3:
    """Body rates: omega_B = W(roll, pitch) (roll_rate, pitch_rate, yaw_rate)."""
    return (
        roll_rate - math.sin(pitch) * yaw_rate,
        math.cos(roll) * pitch_rate + math.cos(pitch) * math.sin(roll) * yaw_rate,
        -math.sin(roll) * pitch_rate + math.cos(roll) * math.cos(pitch) * yaw_rate,
    )


def frd_from_flu(vec_B: Vec3) -> Vec3:
    """Body axes of autopilots: forward, right, down. Its own inverse."""
    x, y, z = vec_B
    return x, -y, -z


def ned_from_enu(vec_W: Vec3) -> Vec3:
    """World axes of autopilots: north, east, down. Its own inverse."""
    x, y, z = vec_W
    return y, x, -z


def quat_ned_frd_from_enu_flu(quat_WB: Quat) -> Quat:
    """Attitude conversion between ENU/FLU and NED/FRD: half turns about x + y of the world and about x of the body."""
    w, x, y, z = quat_WB
    s = math.sqrt(0.5)
    return s * (w + z), s * (x + y), s * (x - y), s * (w - z)


def quat_product(first: Quat, second: Quat) -> Quat:
    """The rotation `second`, then `first`: quat_AC = quat_product(quat_AB, quat_BC)."""
    a, b, c, d = first
    w, x, y, z = second
    return (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )


def rotated(quat_WB: Quat, vec_B: Vec3) -> Vec3:
    """A body vector in the world's axes."""
    x, y, z = vec_B
    first, second, third = (a * x + b * y + c * z for a, b, c in rotation_rows(quat_WB))
    return first, second, third
