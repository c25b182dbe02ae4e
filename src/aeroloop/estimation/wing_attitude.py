"""ESTI_Atti: attitude and gyroscope bias of a fixed wing, by a complementary filter with fixed gains.

The gyroscope propagates the attitude; two slow corrections bound its error:

- Up. The accelerometer measures gravity and the aircraft's own acceleration, a_B ~ rate x v_B with the velocity through
  the air v_B = V (cos alpha, 0, -sin alpha). Minus that, it points up. Gusts disturb this, so its gain is small. The
  navigation compares the same force with the velocities of the fixes, and the remainder in its `accel_error` is a tilt:
  its gain is larger, while there are fixes.
- North. The magnetic field's azimuth corrects only the rotation about the vertical.

Mahony, Hamel, Pflimlin: Nonlinear complementary filters on the special orthogonal group. IEEE TAC 53 (5), 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.estimation.ekf import rotation
from aeroloop.estimation.wing import (
    ACCEL_ERROR,
    AIRSPEED,
    ATTITUDE,
    GYRO_BIAS,
    NAVIGATION,
    QUAT,
    Lift,
)


@dataclass(frozen=True, slots=True)
class AttitudeGains:
    up_per_s: float = 0.02  # tilt by the accelerometer alone
    fixes_per_s: float = 0.15  # tilt by the fixes
    north_per_s: float = 0.1  # heading by the magnetometer
    bias_per_s2: float = 0.002  # bias by all of them
    bias_most_rad_s: float = 0.05
    trust_m_s2: float = 3.0  # a specific force farther than this from gravity is not used for up


def esti_atti(lift: Lift, period_s: float, gains: AttitudeGains | None = None) -> ca.Function:
    """(state, navigation, gyro_B, accel_B, mag_B, azimuth) -> state.

    `state` as wing.ATTITUDE, `navigation` is the other estimator's state of the previous cycle. The rates and forces
    are means over the period just past. `mag_B` may have any unit; `azimuth` is where it points on level ground, in rad
    from east to the left.
    """
    gains = gains or AttitudeGains()
    state, nav = ca.SX.sym("state", len(ATTITUDE)), ca.SX.sym("navigation", len(NAVIGATION))
    gyro, accel, mag = (ca.SX.sym(name, 3) for name in ("gyro_B", "accel_B", "mag_B"))
    azimuth = ca.SX.sym("azimuth")
    rate = gyro - state[GYRO_BIAS]
    R = rotation(state[QUAT])
    up_B = R[2, :].T

    felt_up = accel - ca.cross(rate, _velocity(nav[AIRSPEED], accel[2], lift))
    size = ca.sqrt(ca.sumsqr(felt_up) + 1e-6)
    trust = ca.fmax(0, 1 - ca.fabs(size - GRAVITY_M_S2) / gains.trust_m_s2)
    by_force = trust * ca.cross(felt_up / size, up_B)
    error_W = nav[ACCEL_ERROR]
    by_fixes = R.T @ ca.vertcat(error_W[1], -error_W[0], 0) / GRAVITY_M_S2
    field_W = R @ mag
    c, s = ca.cos(azimuth), ca.sin(azimuth)
    by_north = ca.atan2(s * field_W[0] - c * field_W[1], c * field_W[0] + s * field_W[1] + 1e-12) * up_B

    correction = gains.up_per_s * by_force + gains.fixes_per_s * by_fixes + gains.north_per_s * by_north
    learned = gains.bias_per_s2 * (0.2 * by_force + by_fixes + by_north)
    most = gains.bias_most_rad_s
    bias = ca.fmin(ca.fmax(state[GYRO_BIAS] - period_s * learned, -most), most)
    quat = _turned(state[QUAT], (rate + correction) * period_s)
    after = ca.vertcat(quat / ca.sqrt(ca.sumsqr(quat)), bias, gyro - bias)
    names = ["state", "navigation", "gyro_B", "accel_B", "mag_B", "azimuth"]
    return ca.Function("esti_atti", [state, nav, gyro, accel, mag, azimuth], [after], names, ["state_next"])


def _velocity(airspeed: Any, force_up: Any, lift: Lift) -> Any:
    """Airspeed vector in the body; sea-level density is accurate enough for the angle of attack."""
    alpha = lift.alpha(force_up, 0.5 * 1.2 * airspeed**2)
    return airspeed * ca.vertcat(ca.cos(alpha), 0, -ca.sin(alpha))


def _turned(quat: Any, angle: Any) -> Any:
    """Rotated by a body rotation vector of less than half a radian, by the series: avoids the root of a number near
    zero."""
    size2 = ca.sumsqr(angle)
    w, v = 1 - size2 / 8, angle * (0.5 - size2 / 48)
    return ca.vertcat(quat[0] * w - ca.dot(quat[1:4], v), quat[0] * v + w * quat[1:4] + ca.cross(quat[1:4], v))
