"""Telemetry of an aircraft on one of our boards: MAVLink messages from the flight's streams.

Position, velocity and attitude are from the estimate if the family logs one, otherwise from the truth. Inside: SI, ENU,
FLU. In the messages: NED and FRD, and MAVLink's units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core import geodesy
from aeroloop.core.frames import (
    Quat,
    Vec3,
    euler_from_quat,
    frd_from_flu,
    ned_from_enu,
    quat_from_euler,
    quat_ned_frd_from_enu_flu,
)
from aeroloop.core.signals import Origin
from aeroloop.protocols.mavlink import Message

Row = Mapping[str, float]
_D = dialect
_U16 = 65535
FLYING = _D.MAV_MODE_FLAG_SAFETY_ARMED | _D.MAV_MODE_FLAG_AUTO_ENABLED | _D.MAV_MODE_FLAG_HIL_ENABLED
"""These boards fly from the first period on, by their own law, in a simulation."""
XYZ, VELOCITY = ("x_m", "y_m", "z_m"), ("vx_m_s", "vy_m_s", "vz_m_s")
QUATERNION, ANGLES = ("qw", "qx", "qy", "qz"), ("roll_rad", "pitch_rad", "yaw_rad")
RATES = ("rate_x_rad_s", "rate_y_rad_s", "rate_z_rad_s")


@dataclass(frozen=True, slots=True)
class Aircraft:
    """Constant properties of the aircraft."""

    system: int
    mavlink_type: int
    origin: Origin | None  # of W; None if the family has no location on the earth


@dataclass(frozen=True, slots=True)
class View:
    """The newest row of each stream; streams without rows are missing."""

    aircraft: Aircraft
    rows: Mapping[str, Row]
    ground_m: float = 0.0  # z of the ground at the start of the flight

    def _of(self, names: tuple[str, ...]) -> tuple[float, ...] | None:
        """From the estimate if it has them, else from the truth."""
        for stream in ("estimate", "truth"):
            row = self.rows.get(stream, {})
            values = tuple(row.get(name, math.nan) for name in names)
            if all(map(math.isfinite, values)):
                return values
        return None

    @property
    def boot_ms(self) -> int:
        return round(max((row["t_s"] for row in self.rows.values()), default=0.0) * 1000) & 0xFFFFFFFF

    @property
    def pos_W(self) -> Vec3 | None:
        return _vec3(self._of(XYZ))

    @property
    def vel_W(self) -> Vec3:
        return _vec3(self._of(VELOCITY)) or (0.0, 0.0, 0.0)

    @property
    def attitude(self) -> Quat | None:
        """From FRD to NED. The angles of an estimate have priority over the true quaternion."""
        estimate = self.rows.get("estimate", {})
        if "qw" not in estimate and all(math.isfinite(estimate.get(name, math.nan)) for name in ANGLES):
            roll, pitch, yaw = (estimate[name] for name in ANGLES)
            return quat_ned_frd_from_enu_flu(quat_from_euler(roll, pitch, yaw))
        quat = self._of(QUATERNION)
        return None if quat is None else quat_ned_frd_from_enu_flu((quat[0], quat[1], quat[2], quat[3]))

    @property
    def heading_deg(self) -> float:
        return 0.0 if self.attitude is None else math.degrees(euler_from_quat(self.attitude)[2]) % 360.0

    @property
    def place(self) -> tuple[float, float, float] | None:
        """Degrees, and metres above mean sea level."""
        if self.pos_W is None or self.aircraft.origin is None:
            return None
        return geodesy.geodetic(self.aircraft.origin, self.pos_W)

    def value(self, stream: str, name: str) -> float | None:
        found = self.rows.get(stream, {}).get(name, math.nan)
        return found if math.isfinite(found) else None


def heartbeat(view: View) -> Message:
    kind, autopilot = view.aircraft.mavlink_type, _D.MAV_AUTOPILOT_GENERIC
    state = _D.MAV_STATE_ACTIVE if view.rows else _D.MAV_STATE_STANDBY
    return _D.MAVLink_heartbeat_message(kind, autopilot, FLYING if view.rows else 0, 0, state, 3)


def sys_status(view: View) -> Message:
    """There is no battery, and no sensor reports its health; the processor load is reported by firmware only."""
    load = view.value("cpu", "use_pct") or 0.0
    errors = view.value("link", "bad_checksums") or 0.0
    return _D.MAVLink_sys_status_message(
        0, 0, 0, _within(load * 10, 0, 1000), _U16, -1, -1, 0, _within(errors, 0, _U16), 0, 0, 0, 0
    )


def attitude(view: View) -> Message | None:
    quat = view.attitude
    rates = _vec3(view._of(RATES)) or (0.0, 0.0, 0.0)
    if quat is None:
        return None
    return _D.MAVLink_attitude_message(view.boot_ms, *euler_from_quat(quat), *frd_from_flu(rates))


def local_position_ned(view: View) -> Message | None:
    if view.pos_W is None:
        return None
    return _D.MAVLink_local_position_ned_message(view.boot_ms, *ned_from_enu(view.pos_W), *ned_from_enu(view.vel_W))


def global_position_int(view: View) -> Message | None:
    if view.place is None or view.pos_W is None:
        return None
    lat_deg, lon_deg, alt_m = view.place
    height_mm = round((view.pos_W[2] - view.ground_m) * 1000)
    speeds = (_within(speed * 100, -32768, 32767) for speed in ned_from_enu(view.vel_W))
    heading = round(view.heading_deg * 100) % 36000
    return _D.MAVLink_global_position_int_message(
        view.boot_ms, round(lat_deg * 1e7), round(lon_deg * 1e7), round(alt_m * 1000), height_mm, *speeds, heading
    )


def vfr_hud(view: View) -> Message | None:
    if view.pos_W is None:
        return None
    east, north, up = view.vel_W
    over_ground = math.hypot(east, north)
    airspeed = view.value("estimate", "airspeed_m_s") or view.value("truth", "airspeed_m_s")
    altitude = view.place[2] if view.place is not None else view.pos_W[2]
    throttle = _within((view.value("command", "throttle") or 0.0) * 100, 0, 100)
    return _D.MAVLink_vfr_hud_message(
        over_ground if airspeed is None else airspeed,
        over_ground,
        round(view.heading_deg) % 360,
        throttle,
        altitude,
        up,
    )


def gps_global_origin(view: View) -> Message | None:
    if (origin := view.aircraft.origin) is None:
        return None
    place = round(origin.lat_deg * 1e7), round(origin.lon_deg * 1e7), round(origin.alt_m * 1000)
    return _D.MAVLink_gps_global_origin_message(*place, view.boot_ms * 1000)


def autopilot_version(view: View) -> Message:
    """No capabilities that a ground station could use."""
    nothing, system = (0,) * 8, view.aircraft.system
    return _D.MAVLink_autopilot_version_message(
        _D.MAV_PROTOCOL_CAPABILITY_MAVLINK2, 0, 0, 0, 0, nothing, nothing, nothing, 0, 0, system, (system, *(0,) * 17)
    )


@dataclass(frozen=True, slots=True)
class ScheduledMessage:
    """A message sent at a rate, or on request only (0 Hz)."""

    msg_id: int
    rate_Hz: float
    group: int  # group of the old REQUEST_DATA_STREAM; 0: none
    build: Callable[[View], Message | None]


_STATUS, _POSITION, _EXTRA1, _EXTRA2 = 2, 6, 10, 11
SCHEDULED_MESSAGES = (
    ScheduledMessage(_D.MAVLINK_MSG_ID_HEARTBEAT, 1.0, 0, heartbeat),
    ScheduledMessage(_D.MAVLINK_MSG_ID_SYS_STATUS, 1.0, _STATUS, sys_status),
    ScheduledMessage(_D.MAVLINK_MSG_ID_ATTITUDE, 20.0, _EXTRA1, attitude),
    ScheduledMessage(_D.MAVLINK_MSG_ID_LOCAL_POSITION_NED, 10.0, _POSITION, local_position_ned),
    ScheduledMessage(_D.MAVLINK_MSG_ID_GLOBAL_POSITION_INT, 10.0, _POSITION, global_position_int),
    ScheduledMessage(_D.MAVLINK_MSG_ID_VFR_HUD, 5.0, _EXTRA2, vfr_hud),
    ScheduledMessage(_D.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN, 0.0, 0, gps_global_origin),
    ScheduledMessage(_D.MAVLINK_MSG_ID_AUTOPILOT_VERSION, 0.0, 0, autopilot_version),
)
BUILDERS = {scheduled.msg_id: scheduled.build for scheduled in SCHEDULED_MESSAGES}


def _vec3(values: tuple[float, ...] | None) -> Vec3 | None:
    return None if values is None else (values[0], values[1], values[2])


def _within(value: float, low: int, high: int) -> int:
    return max(low, min(high, round(value)))
