"""Common part of the fixed wing's two estimators: layout of states and estimate, and initial values.

Each layout is a tuple of (name, unit) in order; the board's C and the plots are written against it. The gains are
fixed: there is no covariance, so that single precision is enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from aeroloop.core.frames import GRAVITY_M_S2, Vec3, quat_from_euler

Layout = tuple[tuple[str, str], ...]


def _xyz(name: str, unit: str) -> Layout:
    return tuple((f"{name}_{axis}", unit) for axis in "xyz")


ATTITUDE: Layout = (
    ("qw", "-"),
    ("qx", "-"),
    ("qy", "-"),
    ("qz", "-"),
    *_xyz("gyro_bias", "rad/s"),
    *_xyz("rate", "rad/s"),
)
"""State of the attitude estimator; the rate is the gyroscope's minus its bias."""
QUAT, GYRO_BIAS, RATE = slice(0, 4), slice(4, 7), slice(7, 10)

NAVIGATION: Layout = (
    *_xyz("pos", "m"),
    *_xyz("vel", "m/s"),
    *_xyz("accel_error", "m/s2"),
    *_xyz("accel", "m/s2"),
    ("baro_offset", "m"),
    ("wind_x", "m/s"),
    ("wind_y", "m/s"),
    ("airspeed", "m/s"),
    ("since_fix", "s"),
)
"""State of the navigation. `accel_error` is the false acceleration caused by errors of accelerometer and attitude;
`accel` is smoothed over the latency of a fix."""
POS, VEL, ACCEL_ERROR, ACCEL = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12)
BARO_OFFSET, WIND, AIRSPEED, SINCE_FIX = 12, slice(13, 15), 15, 16

ESTIMATE: Layout = (
    *_xyz("pos", "m"),
    *_xyz("vel", "m/s"),
    ("roll", "rad"),
    ("pitch", "rad"),
    ("yaw", "rad"),
    *_xyz("rate", "rad/s"),
    ("airspeed", "m/s"),
    ("course", "rad"),
    ("ground_speed", "m/s"),
)
"""Input of control and path following: ENU and FLU, so that pitch is positive with the nose down."""

STANDARD_PA, STANDARD_K, LAPSE_K_M, AIR_J_KG_K = 101_325.0, 288.15, 0.0065, 287.05287
EXPONENT = AIR_J_KG_K * LAPSE_K_M / GRAVITY_M_S2


@dataclass(frozen=True, slots=True)
class Lift:
    """Angle of attack from the measured specific force: alpha = zero_rad + slope f_z / dynamic pressure, f_z upwards in
    the body."""

    zero_rad: float
    slope_kg_m2: float  # m / (S CL_alpha)

    def alpha(self, force_up: Any, dynamic_Pa: Any) -> Any:
        """Of specific force (m/s2) and dynamic pressure."""
        raw = self.zero_rad + self.slope_kg_m2 * force_up / ca.fmax(dynamic_Pa, 50.0)
        return ca.fmin(ca.fmax(raw, -0.1), 0.3)


def air(static_Pa: Any) -> tuple[Any, Any]:
    """Height (m) and density (kg/m3) at which the standard atmosphere has this pressure."""
    ratio = (ca.fmax(static_Pa, 1000.0) / STANDARD_PA) ** EXPONENT
    return STANDARD_K / LAPSE_K_M * (1 - ratio), static_Pa / (AIR_J_KG_K * STANDARD_K * ratio)


def pressure_height_m(static_Pa: float) -> float:
    """The same height as a plain number."""
    return STANDARD_K / LAPSE_K_M * (1.0 - float((static_Pa / STANDARD_PA) ** EXPONENT))


def initial(
    pos_W: Vec3,
    vel_W: Vec3,
    static_Pa: float,
    *,
    roll_rad: float = 0.0,
    pitch_rad: float = 0.0,
    airspeed_m_s: float | None = None,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Both states in the air, from one fix and one pressure: the heading is the ground track."""
    course = math.atan2(vel_W[1], vel_W[0])
    speed = math.hypot(vel_W[0], vel_W[1]) if airspeed_m_s is None else airspeed_m_s
    attitude = (*quat_from_euler(roll_rad, pitch_rad, course), *(0.0,) * 6)
    wind = vel_W[0] - speed * math.cos(course), vel_W[1] - speed * math.sin(course)
    offset_m = pos_W[2] - pressure_height_m(static_Pa)
    return attitude, (*pos_W, *vel_W, *(0.0,) * 6, offset_m, *wind, speed, 0.0)
