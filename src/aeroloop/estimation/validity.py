"""Rejects samples that no sensor can produce, before they reach the filter."""

from __future__ import annotations

import math

from aeroloop.core.frames import Vec3

RATE_MAX_RAD_S = 100.0
ACCEL_MAX_M_S2 = 500.0
FIELD_MAX_T = 2e-3
ALT_MIN_M, ALT_MAX_M = -2_000.0, 50_000.0
SPEED_MAX_M_S = 1_000.0


def imu(rate_B: Vec3, accel_B: Vec3) -> bool:
    p, q, r = rate_B
    fx, fy, fz = accel_B
    # A comparison with NaN is false.
    return p * p + q * q + r * r < RATE_MAX_RAD_S**2 and fx * fx + fy * fy + fz * fz < ACCEL_MAX_M_S2**2


def field(strength_T: float) -> bool:
    return 0.0 < strength_T < FIELD_MAX_T


def altitude(alt_m: float) -> bool:
    return ALT_MIN_M < alt_m < ALT_MAX_M


def fix(lat_deg: float, lon_deg: float, alt_m: float, vel_W: Vec3, eph_m: float, epv_m: float) -> bool:
    on_earth = -90.0 <= lat_deg <= 90.0 and -180.0 <= lon_deg <= 360.0 and altitude(alt_m)
    return on_earth and math.hypot(*vel_W) < SPEED_MAX_M_S and eph_m >= 0.0 and epv_m >= 0.0
