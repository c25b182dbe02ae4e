"""Offboard setpoints over MAVLink: SET_POSITION_TARGET_LOCAL_NED, SET_POSITION_TARGET_GLOBAL_INT, SET_ATTITUDE_TARGET.

Frames and masks are as in PX4: LOCAL_NED accepts all fields, BODY_NED velocities and accelerations along the heading; a
field whose bit is set in `type_mask`, or that is NaN, is ignored.
"""

from __future__ import annotations

import math

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.limits import REACH_M, place_problem, refused
from aeroloop.controllers.pixhawk.mission_geodesy import local_from_geodetic
from aeroloop.controllers.pixhawk.types import AttitudeTarget, PathTarget, Refusal
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.core.frames import Quat, Vec3, frd_from_flu
from aeroloop.core.frames import ned_from_enu as enu_from_ned
from aeroloop.core.frames import quat_ned_frd_from_enu_flu as quat_enu_flu_from_ned_frd
from aeroloop.core.signals import Origin
from aeroloop.protocols.mavlink import Message

_M = dialect
_NAN3: Vec3 = (math.nan, math.nan, math.nan)
_FORCE = _M.POSITION_TARGET_TYPEMASK_FORCE_SET
_RELATIVE = (_M.MAV_FRAME_GLOBAL_RELATIVE_ALT, _M.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT)
_GLOBAL = (_M.MAV_FRAME_GLOBAL, _M.MAV_FRAME_GLOBAL_INT)
_THRUST_BODY = 32  # bit of SET_ATTITUDE_TARGET that newer dialects have
_LEAST_NORM = 0.9
"""Minimum norm of a quaternion: zeros are not an attitude."""

Target = PathTarget | AttitudeTarget | Refusal
KINDS = ("SET_POSITION_TARGET_LOCAL_NED", "SET_POSITION_TARGET_GLOBAL_INT", "SET_ATTITUDE_TARGET")


def target_from(message: Message, origin: Origin | None, home_W: Vec3 | None) -> Target:
    kind = message.get_type()
    if kind == "SET_ATTITUDE_TARGET":
        return _from_attitude(message)
    if message.type_mask & _FORCE:
        return Refusal("Offboard force setpoints are not supported", temporary=False)
    return _from_local(message) if kind == KINDS[0] else _from_global(message, origin, home_W)


def _from_local(m: Message) -> Target:
    pos, vel, accel = (_given(m, first, names) for first, names in ((0, "x y z"), (3, "vx vy vz"), (6, "afx afy afz")))
    yaw_rad, yaw_rate_rad_s = _heading(m)
    if m.coordinate_frame == _M.MAV_FRAME_LOCAL_NED:
        return PathTarget(enu_from_ned(pos), enu_from_ned(vel), enu_from_ned(accel), yaw_rad, yaw_rate_rad_s)
    if m.coordinate_frame == _M.MAV_FRAME_BODY_NED:
        return PathTarget(_NAN3, frd_from_flu(vel), frd_from_flu(accel), yaw_rad, yaw_rate_rad_s, body=True)
    return Refusal(f"Offboard: frame {m.coordinate_frame} is not supported", temporary=False)


def _from_global(m: Message, origin: Origin | None, home_W: Vec3 | None) -> Target:
    if origin is None or home_W is None:
        return Refusal("No position: wait for satellites")
    if m.coordinate_frame not in (*_GLOBAL, *_RELATIVE):
        return Refusal(f"Offboard: frame {m.coordinate_frame} is not supported", temporary=False)
    east = north = up = math.nan
    if not m.type_mask & 3:
        lat_deg, lon_deg = m.lat_int / 1e7, m.lon_int / 1e7
        if outside := place_problem(lat_deg, lon_deg, 0.0):
            return refused(outside)
        east, north = local_from_geodetic(origin, lat_deg, lon_deg)
        if math.hypot(east - home_W[0], north - home_W[1]) > REACH_M:
            return Refusal(f"Target is over {REACH_M / 1000:g} km from home", temporary=False)
    if not m.type_mask & 4 and math.isfinite(m.alt):
        up = m.alt + home_W[2] if m.coordinate_frame in _RELATIVE else m.alt - origin.alt_m
    vel, accel = _given(m, 3, "vx vy vz"), _given(m, 6, "afx afy afz")
    return PathTarget((east, north, up), enu_from_ned(vel), enu_from_ned(accel), *_heading(m))


def _from_attitude(m: Message) -> Target:
    if m.type_mask & _M.ATTITUDE_TARGET_TYPEMASK_THROTTLE_IGNORE or not math.isfinite(m.thrust):
        return Refusal("Offboard attitude needs a thrust", temporary=False)
    if m.type_mask & _THRUST_BODY:
        return Refusal("Offboard 3D thrust is not supported", temporary=False)
    rates = m.body_roll_rate, m.body_pitch_rate, m.body_yaw_rate
    rate_B = frd_from_flu(tuple(0.0 if m.type_mask & 1 << bit else rate for bit, rate in enumerate(rates)))  # type: ignore[arg-type]
    if not all(map(math.isfinite, rate_B)):
        return Refusal("Offboard body rates are not finite", temporary=False)
    if m.type_mask & _M.ATTITUDE_TARGET_TYPEMASK_ATTITUDE_IGNORE:
        return AttitudeTarget(None, rate_B, m.thrust)
    norm = math.hypot(*m.q)
    if not _LEAST_NORM < norm < 1.0 / _LEAST_NORM:
        return Refusal("Offboard attitude is no unit quaternion", temporary=False)
    w, x, y, z = (value / norm for value in m.q)
    quat: Quat = (w, x, y, z)
    return AttitudeTarget(quat_enu_flu_from_ned_frd(quat), rate_B, m.thrust)


def _given(m: Message, first: int, names: str) -> Vec3:
    """Three fields, each of which the mask may exclude."""
    values = [
        value if not m.type_mask & 1 << first + place and math.isfinite(value) else math.nan
        for place, value in enumerate(getattr(m, name) for name in names.split())
    ]
    return values[0], values[1], values[2]


def _heading(m: Message) -> tuple[float, float]:
    """Yaw and yaw rate, counter-clockwise; NaN: not given."""
    yaw, rate = math.nan, math.nan
    if not m.type_mask & _M.POSITION_TARGET_TYPEMASK_YAW_IGNORE and math.isfinite(m.yaw):
        yaw = wrap_pi_half_open(math.pi / 2 - m.yaw)
    if not m.type_mask & _M.POSITION_TARGET_TYPEMASK_YAW_RATE_IGNORE and math.isfinite(m.yaw_rate):
        rate = -m.yaw_rate
    return yaw, rate
