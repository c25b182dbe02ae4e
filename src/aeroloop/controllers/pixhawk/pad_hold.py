"""A stiffer hold over a landing target, added to the position loop as an acceleration.

The position loop alone, with PX4's gains, lets turbulence of 1.5 m/s rms move a hovering quadrotor of 1.5 kg by 0.2 m
rms: enough for navigation, too much for a pad. Over the pad this adds a PID of the position,

    a = K_POS e + K_INT ∫ e dt + K_VEL (v_setpoint - v),

with e from the estimate to the target. The error is that to the target itself, not to the trajectory, which follows a
target that drifts with the local frame late. The error is limited, so that a jump of the target is no jerk, and the
integral is that of a limited acceleration: it cannot wind up.
"""

from __future__ import annotations

import math

XY = tuple[float, float]

K_POS, K_INT, K_VEL = 10.0, 8.0, 3.0  # 1/s2, 1/s3, 1/s
NEAR_M = 0.3
"""A trajectory farther from the target is still on its way, and larger errors count as this."""
INTEGRAL_M_S2 = 2.0


def limited(vector: XY, most: float) -> XY:
    length = math.hypot(*vector)
    scale = min(1.0, most / length) if length > 0.0 else 1.0
    return vector[0] * scale, vector[1] * scale


def push(error_m: XY, vel_error_m_s: XY, integral_m_s2: XY, dt_s: float) -> tuple[XY, XY]:
    """The acceleration (m/s2), and the integral after this step; errors are setpoint minus estimate."""
    x, y = limited(error_m, NEAR_M)
    integral = limited((integral_m_s2[0] + K_INT * x * dt_s, integral_m_s2[1] + K_INT * y * dt_s), INTEGRAL_M_S2)
    accel = (
        K_POS * x + K_VEL * vel_error_m_s[0] + integral[0],
        K_POS * y + K_VEL * vel_error_m_s[1] + integral[1],
    )
    return accel, integral
