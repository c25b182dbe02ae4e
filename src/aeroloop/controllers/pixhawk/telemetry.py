"""Telemetry of the virtual Pixhawk: one table of messages, their default rates and how each is built.

Inside: SI, ENU, FLU. In the messages: NED and FRD, and MAVLink's units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk import px4_modes
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, Status, Sticks
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.core.frames import (
    Quat,
    Vec3,
    euler_from_quat,
    frd_from_flu,
    ned_from_enu,
    quat_from_euler,
    quat_ned_frd_from_enu_flu,
)
from aeroloop.core.signals import NavEstimate, Origin
from aeroloop.protocols.mavlink import Message
from aeroloop.protocols.mavlink_hil import GAUSS_PER_T, HPA_PER_PA, ZERO_CELSIUS_K, BarometerSample, HilFix

Geodesy = Callable[[Origin, Vec3], tuple[float, float, float]]
"""Degrees, degrees and m above mean sea level of a position in the local frame at the origin."""

SOFTWARE_VERSION = (1, 15, 0)
"""The PX4 release whose behaviour this follows; ground stations select their requests by it."""

_U16 = 65535
_RELEASED = 255
_C = dialect
CAPABILITIES = (
    _C.MAV_PROTOCOL_CAPABILITY_MISSION_INT
    | _C.MAV_PROTOCOL_CAPABILITY_COMMAND_INT
    | _C.MAV_PROTOCOL_CAPABILITY_PARAM_ENCODE_BYTEWISE
    | _C.MAV_PROTOCOL_CAPABILITY_MAVLINK2
)


class Readings(NamedTuple):
    """Latest values that the flight logic does not have: measurements and motor commands."""

    accel_B: Vec3 | None = None  # m/s2
    rate_B: Vec3 | None = None  # rad/s
    field_B_T: Vec3 | None = None
    barometer: BarometerSample | None = None
    fix: HilFix | None = None
    motors: tuple[float, ...] = ()  # 0..1
    attitude: tuple[float, float, float, float] | None = None  # setpoint of the inner loop: roll, pitch, yaw, thrust


class View:
    """The aircraft at one time, for all messages; shared values are computed once."""

    def __init__(
        self,
        t_ns: int,
        status: Status,
        readings: Readings,
        geodesy: Geodesy,
        sticks: Sticks | None,
        mission_count: int,
        system: int,
    ) -> None:
        self.t_ns = t_ns
        self.t_us = t_ns // 1000
        self.boot_ms = t_ns // 1_000_000 & 0xFFFFFFFF
        self.status = status
        self.readings = readings
        self.sticks = sticks
        self.mission_count = mission_count
        self.system = system
        self._geodesy = geodesy

    @cached_property
    def attitude(self) -> tuple[Quat, tuple[float, float, float], Vec3] | None:
        """Quaternion and angles from FRD to NED, and body rates."""
        nav = self.status.estimate
        if nav is None or not nav.attitude_ok:
            return None
        quat = quat_ned_frd_from_enu_flu(nav.quat_WB)
        return quat, euler_from_quat(quat), frd_from_flu(nav.rate_B)

    @cached_property
    def heading_deg(self) -> float:
        return 0.0 if self.attitude is None else math.degrees(self.attitude[1][2]) % 360.0

    @cached_property
    def local(self) -> NavEstimate | None:
        """The estimate, once its position and height are valid."""
        nav = self.status.estimate
        return nav if nav is not None and nav.height_ok and nav.position_ok else None

    @cached_property
    def place(self) -> tuple[float, float, float] | None:
        nav, origin = self.local, self.status.origin
        return None if nav is None or origin is None else self._geodesy(origin, nav.pos_W)

    @cached_property
    def home(self) -> tuple[float, float, float] | None:
        home_W, origin = self.status.home_W, self.status.origin
        return None if home_W is None or origin is None else self._geodesy(origin, home_W)

    @cached_property
    def above_home_m(self) -> float:
        if self.place is None or self.home is None:
            return 0.0
        return self.place[2] - self.home[2]


def heartbeat(view: View) -> Message:
    status = view.status
    state = _C.MAV_STATE_ACTIVE if status.armed else _C.MAV_STATE_STANDBY
    if status.failsafe >= Failsafe.POSITION_LOST:
        state = _C.MAV_STATE_EMERGENCY
    elif status.failsafe and status.armed:
        state = _C.MAV_STATE_CRITICAL
    mode = px4_modes.base_mode(status.mode, armed=status.armed)
    return _C.MAVLink_heartbeat_message(
        _C.MAV_TYPE_QUADROTOR, _C.MAV_AUTOPILOT_PX4, mode, px4_modes.custom_mode(status.mode), state, 3
    )


def sys_status(view: View) -> Message:
    status = view.status
    health, nav, battery = status.health, status.estimate, status.battery
    bits = {
        _C.MAV_SYS_STATUS_SENSOR_3D_GYRO: health.imu,
        _C.MAV_SYS_STATUS_SENSOR_3D_ACCEL: health.imu,
        _C.MAV_SYS_STATUS_SENSOR_3D_MAG: health.magnetometer,
        _C.MAV_SYS_STATUS_SENSOR_ABSOLUTE_PRESSURE: health.barometer,
        _C.MAV_SYS_STATUS_SENSOR_GPS: health.gnss,
        _C.MAV_SYS_STATUS_SENSOR_ATTITUDE_STABILIZATION: True,
        _C.MAV_SYS_STATUS_SENSOR_YAW_POSITION: True,
        _C.MAV_SYS_STATUS_SENSOR_Z_ALTITUDE_CONTROL: True,
        _C.MAV_SYS_STATUS_SENSOR_XY_POSITION_CONTROL: True,
        _C.MAV_SYS_STATUS_SENSOR_MOTOR_OUTPUTS: True,
        _C.MAV_SYS_STATUS_AHRS: nav is not None and nav.attitude_ok,
        _C.MAV_SYS_STATUS_SENSOR_BATTERY: status.failsafe not in (Failsafe.BATTERY_LOW, Failsafe.BATTERY_CRITICAL),
        _C.MAV_SYS_STATUS_PREARM_CHECK: status.ready_to_arm,
    }
    present = sum(bits)
    healthy = sum(bit for bit, good in bits.items() if good)
    return _C.MAVLink_sys_status_message(
        present,
        present,
        healthy,
        0,
        _clamp(battery.voltage_V * 1000, 0, _U16),
        _clamp(battery.current_A * 100, -1, 32767),
        _percent(battery.remaining),
        *(0,) * 6,
    )


def battery_status(view: View) -> Message:
    battery = view.status.battery
    charge = {
        Failsafe.BATTERY_LOW: _C.MAV_BATTERY_CHARGE_STATE_LOW,
        Failsafe.BATTERY_CRITICAL: _C.MAV_BATTERY_CHARGE_STATE_CRITICAL,
    }.get(view.status.failsafe, _C.MAV_BATTERY_CHARGE_STATE_OK)
    return _C.MAVLink_battery_status_message(
        0,
        _C.MAV_BATTERY_FUNCTION_ALL,
        _C.MAV_BATTERY_TYPE_LIPO,
        32767,  # temperature unknown
        [_clamp(battery.voltage_V * 1000, 0, _U16 - 1), *(_U16,) * 9],  # the whole pack: its cells are not measured
        _clamp(battery.current_A * 100, -1, 32767),
        _clamp(battery.used_mAh, 0, 2**31 - 1),
        -1,
        _percent(battery.remaining),
        0,
        charge,
    )


def attitude(view: View) -> Message | None:
    if view.attitude is None:
        return None
    _, angles, rates = view.attitude
    return _C.MAVLink_attitude_message(view.boot_ms, *angles, *rates)


def attitude_quaternion(view: View) -> Message | None:
    if view.attitude is None:
        return None
    quat, _, rates = view.attitude
    return _C.MAVLink_attitude_quaternion_message(view.boot_ms, *quat, *rates)


def attitude_target(view: View) -> Message | None:
    setpoint = view.readings.attitude
    if setpoint is None:
        return None
    roll, pitch, yaw, thrust = setpoint
    quat = quat_ned_frd_from_enu_flu(quat_from_euler(roll, pitch, yaw))
    rates_open = (
        _C.ATTITUDE_TARGET_TYPEMASK_BODY_ROLL_RATE_IGNORE
        | _C.ATTITUDE_TARGET_TYPEMASK_BODY_PITCH_RATE_IGNORE
        | _C.ATTITUDE_TARGET_TYPEMASK_BODY_YAW_RATE_IGNORE
    )
    return _C.MAVLink_attitude_target_message(view.boot_ms, rates_open, quat, 0.0, 0.0, 0.0, thrust)


def local_position_ned(view: View) -> Message | None:
    if (nav := view.local) is None:
        return None
    return _C.MAVLink_local_position_ned_message(view.boot_ms, *ned_from_enu(nav.pos_W), *ned_from_enu(nav.vel_W))


def position_target_local_ned(view: View) -> Message | None:
    setpoint = view.status.setpoint
    if setpoint is None:
        return None
    open_fields = _C.POSITION_TARGET_TYPEMASK_YAW_RATE_IGNORE
    if not setpoint.hold_xy:
        open_fields |= 0b011_011_011  # x and y of position, velocity and acceleration
    if not setpoint.hold_z:
        open_fields |= 0b100_100_100
    return _C.MAVLink_position_target_local_ned_message(
        view.boot_ms,
        _C.MAV_FRAME_LOCAL_NED,
        open_fields,
        *ned_from_enu(setpoint.pos_W),
        *ned_from_enu(setpoint.vel_W),
        *ned_from_enu(setpoint.accel_W),
        wrap_pi_half_open(math.pi / 2 - setpoint.yaw_rad),
        0.0,
    )


def global_position_int(view: View) -> Message | None:
    if view.place is None or view.local is None:
        return None
    velocity = (_clamp(v * 100, -32768, 32767) for v in ned_from_enu(view.local.vel_W))
    heading = _U16 if view.attitude is None else round(view.heading_deg * 100) % 36000
    return _C.MAVLink_global_position_int_message(
        view.boot_ms, *_degE7_mm(view.place), _millimetres(view.above_home_m), *velocity, heading
    )


def gps_raw_int(view: View) -> Message | None:
    fix = view.readings.fix
    if fix is None:
        return None
    north, east, _ = ned_from_enu(fix.vel_W)
    speed = math.hypot(north, east)
    course = round(math.degrees(math.atan2(east, north)) * 100) % 36000 if speed >= 0.1 else _U16
    return _C.MAVLink_gps_raw_int_message(
        fix.t_ns // 1000,
        fix.fix_type,
        *_degE7_mm((fix.lat_deg, fix.lon_deg, fix.alt_m)),
        _U16,  # dilutions of precision are unknown; the accuracies below are in m
        _U16,
        _clamp(speed * 100, 0, _U16 - 1),
        course,
        fix.satellites,
        _millimetres(fix.alt_m),
        _clamp(fix.eph_m * 1000, 0, 2**32 - 1),
        _clamp(fix.epv_m * 1000, 0, 2**32 - 1),
    )


def altitude(view: View) -> Message | None:
    if view.local is None or view.place is None:
        return None
    air = view.readings.barometer
    amsl, local = view.place[2], view.local.pos_W[2]
    monotonic = amsl if air is None else air.altitude_m
    unknown = math.nan
    return _C.MAVLink_altitude_message(view.t_us, monotonic, amsl, local, view.above_home_m, unknown, unknown)


def vfr_hud(view: View) -> Message | None:
    if (nav := view.local) is None:
        return None
    motors = view.readings.motors
    throttle = _percent(sum(motors) / len(motors)) if motors else 0
    amsl = nav.pos_W[2] if view.place is None else view.place[2]
    speed = math.hypot(nav.vel_W[0], nav.vel_W[1])
    # No airspeed is measured; zero as in PX4's multicopters.
    return _C.MAVLink_vfr_hud_message(0.0, speed, round(view.heading_deg) % 360, throttle, amsl, nav.vel_W[2])


def extended_sys_state(view: View) -> Message:
    return _C.MAVLink_extended_sys_state_message(_C.MAV_VTOL_STATE_UNDEFINED, view.status.landed)


def home_position(view: View) -> Message | None:
    if view.home is None or view.status.home_W is None:
        return None
    x, y, z = ned_from_enu(view.status.home_W)
    level = (1.0, 0.0, 0.0, 0.0)
    return _C.MAVLink_home_position_message(*_degE7_mm(view.home), x, y, z, level, 0.0, 0.0, 0.0, view.t_us)


def gps_global_origin(view: View) -> Message | None:
    if (origin := view.status.origin) is None:
        return None
    return _C.MAVLink_gps_global_origin_message(*_degE7_mm((origin.lat_deg, origin.lon_deg, origin.alt_m)), view.t_us)


def estimator_status(view: View) -> Message | None:
    if (nav := view.status.estimate) is None:
        return None
    flags = _C.ESTIMATOR_ATTITUDE if nav.attitude_ok else 0
    if nav.position_ok:
        flags |= _C.ESTIMATOR_VELOCITY_HORIZ | _C.ESTIMATOR_POS_HORIZ_REL | _C.ESTIMATOR_POS_HORIZ_ABS
        flags |= _C.ESTIMATOR_PRED_POS_HORIZ_REL | _C.ESTIMATOR_PRED_POS_HORIZ_ABS
    if nav.height_ok:
        flags |= _C.ESTIMATOR_VELOCITY_VERT | _C.ESTIMATOR_POS_VERT_ABS
    ratios = (0.0,) * 6  # innovations are not reported
    return _C.MAVLink_estimator_status_message(view.t_us, flags, *ratios, nav.pos_std_m, nav.height_std_m)


def servo_output_raw(view: View) -> Message:
    pulses_us = [1000 + _clamp(motor * 1000, 0, 1000) for motor in view.readings.motors[:16]]
    pulses_us += [0] * (16 - len(pulses_us))
    return _C.MAVLink_servo_output_raw_message(view.t_us & 0xFFFFFFFF, 0, *pulses_us)


def rc_channels(view: View) -> Message:
    pulses_us = []
    if (sticks := view.sticks) is not None:
        hands = (sticks.roll, sticks.pitch, sticks.thrust * 2 - 1, sticks.yaw)
        pulses_us = [1500 + _clamp(hand * 500, -500, 500) for hand in hands]
    count = len(pulses_us)
    return _C.MAVLink_rc_channels_message(view.boot_ms, count, *pulses_us, *(_U16,) * (18 - count), 255)


def highres_imu(view: View) -> Message | None:
    readings = view.readings
    if readings.accel_B is None or readings.rate_B is None:
        return None
    field: Vec3 = (0.0, 0.0, 0.0)
    pressure = pressure_altitude = celsius = 0.0
    updated = 0x3F
    if readings.field_B_T is not None:
        x, y, z = frd_from_flu(readings.field_B_T)
        field = x * GAUSS_PER_T, y * GAUSS_PER_T, z * GAUSS_PER_T
        updated |= 0x1C0
    if (air := readings.barometer) is not None:
        pressure, pressure_altitude = air.pressure_Pa * HPA_PER_PA, air.altitude_m
        celsius = air.temperature_K - ZERO_CELSIUS_K
        updated |= 0x1A00
    return _C.MAVLink_highres_imu_message(
        view.t_us,
        *frd_from_flu(readings.accel_B),
        *frd_from_flu(readings.rate_B),
        *field,
        pressure,
        0.0,
        pressure_altitude,
        celsius,
        updated,
    )


def mission_current(view: View) -> Message:
    status, count = view.status, view.mission_count
    flying = status.mode is FlightMode.MISSION and status.armed
    if not count:
        state = _C.MISSION_STATE_NO_MISSION
    elif status.mission_finished:
        state = _C.MISSION_STATE_COMPLETE
    elif flying:
        state = _C.MISSION_STATE_ACTIVE
    else:
        started = status.armed and status.mission_reached >= 0
        state = _C.MISSION_STATE_PAUSED if started else _C.MISSION_STATE_NOT_STARTED
    return _C.MAVLink_mission_current_message(max(0, status.mission_current), count, state, 1 if flying else 2)


def system_time(view: View) -> Message:
    """Simulated time since the start; the time of day is unknown."""
    return _C.MAVLink_system_time_message(0, view.boot_ms)


def autopilot_version(view: View) -> Message:
    major, minor, patch = SOFTWARE_VERSION
    version = major << 24 | minor << 16 | patch << 8 | _RELEASED
    nothing = (0,) * 8
    return _C.MAVLink_autopilot_version_message(
        CAPABILITIES, version, version, 0, 0, nothing, nothing, nothing, 0, 0, view.system, (view.system, *(0,) * 17)
    )


@dataclass(frozen=True, slots=True)
class Stream:
    """A message sent at a rate, or on request only (0 Hz)."""

    msg_id: int
    rate_Hz: float
    group: int  # group of the old REQUEST_DATA_STREAM; 0: none
    build: Callable[[View], Message | None]


_STATUS, _POSITION, _EXTRA1, _EXTRA2, _RAW, _RC, _CONTROLLER, _EXTRA3 = 2, 6, 10, 11, 1, 3, 4, 12

STREAMS = (
    Stream(_C.MAVLINK_MSG_ID_HEARTBEAT, 1.0, 0, heartbeat),
    Stream(_C.MAVLINK_MSG_ID_SYS_STATUS, 2.0, _STATUS, sys_status),
    Stream(_C.MAVLINK_MSG_ID_BATTERY_STATUS, 1.0, _STATUS, battery_status),
    Stream(_C.MAVLINK_MSG_ID_EXTENDED_SYS_STATE, 5.0, 0, extended_sys_state),
    Stream(_C.MAVLINK_MSG_ID_ATTITUDE, 20.0, _EXTRA1, attitude),
    Stream(_C.MAVLINK_MSG_ID_ATTITUDE_QUATERNION, 20.0, _EXTRA1, attitude_quaternion),
    Stream(_C.MAVLINK_MSG_ID_ATTITUDE_TARGET, 5.0, _CONTROLLER, attitude_target),
    Stream(_C.MAVLINK_MSG_ID_LOCAL_POSITION_NED, 10.0, _POSITION, local_position_ned),
    Stream(_C.MAVLINK_MSG_ID_POSITION_TARGET_LOCAL_NED, 5.0, _CONTROLLER, position_target_local_ned),
    Stream(_C.MAVLINK_MSG_ID_GLOBAL_POSITION_INT, 10.0, _POSITION, global_position_int),
    Stream(_C.MAVLINK_MSG_ID_GPS_RAW_INT, 5.0, _STATUS, gps_raw_int),
    Stream(_C.MAVLINK_MSG_ID_ALTITUDE, 5.0, _EXTRA3, altitude),
    Stream(_C.MAVLINK_MSG_ID_VFR_HUD, 5.0, _EXTRA2, vfr_hud),
    Stream(_C.MAVLINK_MSG_ID_ESTIMATOR_STATUS, 1.0, _EXTRA3, estimator_status),
    Stream(_C.MAVLINK_MSG_ID_SERVO_OUTPUT_RAW, 2.0, _RC, servo_output_raw),
    Stream(_C.MAVLINK_MSG_ID_RC_CHANNELS, 2.0, _RC, rc_channels),
    Stream(_C.MAVLINK_MSG_ID_MISSION_CURRENT, 2.0, _STATUS, mission_current),
    Stream(_C.MAVLINK_MSG_ID_HOME_POSITION, 0.5, 0, home_position),
    Stream(_C.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN, 0.5, 0, gps_global_origin),
    Stream(_C.MAVLINK_MSG_ID_SYSTEM_TIME, 1.0, _EXTRA3, system_time),
    Stream(_C.MAVLINK_MSG_ID_HIGHRES_IMU, 0.0, _RAW, highres_imu),
    Stream(_C.MAVLINK_MSG_ID_AUTOPILOT_VERSION, 0.0, 0, autopilot_version),
)
BUILDERS = {row.msg_id: row.build for row in STREAMS}


def _clamp(value: float, low: int, high: int) -> int:
    if math.isnan(value):
        return low
    return round(max(low, min(high, value)))


def _percent(ratio: float) -> int:
    return _clamp(ratio * 100, 0, 100)


def _millimetres(value_m: float) -> int:
    return _clamp(value_m * 1000, -(2**31), 2**31 - 1)


def _degE7_mm(place: tuple[float, float, float]) -> tuple[int, int, int]:
    lat, lon, alt = place
    return round(lat * 1e7), round(lon * 1e7), _millimetres(alt)
