"""ESTI_Nav: position, velocity, airspeed and wind of a fixed wing, with fixed gains.

Between fixes the accelerometer propagates position and velocity. A fix has a known latency, so it is compared with the
position at its time; the velocity innovation also corrects `accel_error`, the false part of the measured acceleration:
a tilt of the attitude or a bias. The barometer corrects the height and the fixes correct the barometer. Without fixes
the velocity follows airspeed, heading and the last wind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.estimation.ekf import rotation
from aeroloop.estimation.wing import (
    ACCEL,
    ACCEL_ERROR,
    AIRSPEED,
    ATTITUDE,
    BARO_OFFSET,
    NAVIGATION,
    POS,
    QUAT,
    RATE,
    SINCE_FIX,
    VEL,
    WIND,
    Lift,
    air,
)


@dataclass(frozen=True, slots=True)
class NavigationGains:
    fix_age_s: float = 0.15  # from the time of a fix to the cycle that receives it
    fix_position: float = 0.2  # fraction of an innovation, per fix
    fix_velocity: float = 0.3
    fix_accel_per_s: float = 0.2
    fix_baro: float = 0.01
    baro_height: float = 0.05  # per cycle
    wind_time_s: float = 5.0
    airspeed_share: float = 0.5  # weight of a new sample
    lost_s: float = 1.0  # time without a fix after which dead reckoning begins
    lean_per_s: float = 0.5  # then towards airspeed, heading and wind
    surprise_m: float = 20.0  # larger innovations are limited
    surprise_m_s: float = 4.0


def esti_nav(
    lift: Lift,
    period_s: float,
    gains: NavigationGains | None = None,
    air: Callable[[Any], tuple[Any, Any]] = air,
) -> ca.Function:
    """(state, attitude, accel_B, pressures, fix) -> (estimate, state).

    `state` as wing.NAVIGATION, `attitude` as wing.ATTITUDE and of this cycle, `pressures` static and dynamic in Pa,
    `fix` is 1 or 0 for fresh or not, then pos_W and vel_W. `estimate` as wing.ESTIMATE. `air` gives height and density
    of a static pressure; heights and pressures may have another origin than zero, all of them the same.
    """
    gains = gains or NavigationGains()
    state, attitude = ca.SX.sym("state", len(NAVIGATION)), ca.SX.sym("attitude", len(ATTITUDE))
    accel, pressures, fix = ca.SX.sym("accel_B", 3), ca.SX.sym("pressures", 2), ca.SX.sym("fix", 7)
    fresh = fix[0] > 0.5
    R = rotation(attitude[QUAT])

    accel_W = R @ accel - ca.vertcat(0, 0, GRAVITY_M_S2) - state[ACCEL_ERROR]
    smooth = state[ACCEL] + ca.fmin(1, 1.5 * period_s / gains.fix_age_s) * (accel_W - state[ACCEL])
    vel = state[VEL] + period_s * accel_W
    pos = state[POS] + period_s * (state[VEL] + 0.5 * period_s * accel_W)

    age = gains.fix_age_s
    off_pos = _cut(fix[1:4] - (pos - age * vel + 0.5 * age**2 * smooth), gains.surprise_m)
    off_vel = _cut(fix[4:7] - (vel - age * smooth), gains.surprise_m_s)
    height, density = air(pressures[0])
    off_height = _cut(height + state[BARO_OFFSET] - pos[2], gains.surprise_m)

    since = ca.if_else(fresh, 0, ca.fmin(state[SINCE_FIX] + period_s, 1000.0))
    lost = since > gains.lost_s
    alpha = lift.alpha(accel[2], pressures[1])
    measured = ca.sqrt(2 * ca.fmax(pressures[1], 0) / density) / ca.cos(alpha)
    airspeed = state[AIRSPEED] + gains.airspeed_share * (measured - state[AIRSPEED])
    through_W = airspeed * (R @ ca.vertcat(ca.cos(alpha), 0, -ca.sin(alpha)))[:2]
    wind = state[WIND] + ca.if_else(lost, 0, period_s / gains.wind_time_s) * (vel[:2] - through_W - state[WIND])
    lean = ca.if_else(lost, period_s * gains.lean_per_s, 0) * (through_W + wind - vel[:2])

    pos = pos + ca.if_else(fresh, gains.fix_position * ca.vertcat(off_pos[:2], 0), 0)
    pos = pos + ca.vertcat(0, 0, gains.baro_height * off_height)
    vel = vel + ca.if_else(fresh, gains.fix_velocity * off_vel, 0) + ca.vertcat(lean, 0)
    accel_error = state[ACCEL_ERROR] - ca.if_else(fresh, gains.fix_accel_per_s * off_vel, 0)
    accel_error = accel_error * ca.if_else(lost, 1 - period_s, 1)
    offset = state[BARO_OFFSET] + ca.if_else(fresh, gains.fix_baro * off_pos[2], 0)

    after = ca.vertcat(pos, vel, accel_error, smooth, offset, wind, airspeed, since)
    ground = ca.sqrt(ca.sumsqr(vel[:2]) + 1e-6)
    course = ca.atan2(vel[1], vel[0] + 1e-9)
    estimate = ca.vertcat(pos, vel, *_angles(R), attitude[RATE], airspeed, course, ground)
    names = ["state", "attitude", "accel_B", "pressures", "fix"]
    return ca.Function(
        "esti_nav", [state, attitude, accel, pressures, fix], [estimate, after], names, ["estimate", "state_next"]
    )


def _angles(R: Any) -> tuple[Any, Any, Any]:
    """Roll, pitch, yaw (ZYX)."""
    pitch = -ca.asin(ca.fmin(ca.fmax(R[2, 0], -1), 1))
    return ca.atan2(R[2, 1], R[2, 2]), pitch, ca.atan2(R[1, 0], R[0, 0])


def _cut(value: Any, most: float) -> Any:
    return ca.fmin(ca.fmax(value, -most), most)
