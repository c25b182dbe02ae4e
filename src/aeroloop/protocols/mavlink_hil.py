"""The simulator's end of MAVLink HIL: samples to HIL messages, actuator messages to commands; no I/O.

Inside: SI, ENU, FLU. On the wire: FRD and NED, gauss, hPa, degrees Celsius, degE7, mm, cm/s, centidegrees. How PX4 uses
these messages: docs/px4-hil.md.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from operator import le
from typing import NamedTuple

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.frames import GRAVITY_M_S2, Quat, Vec3, frd_from_flu, ned_from_enu, quat_ned_frd_from_enu_flu
from aeroloop.core.geodesy import wrap_longitude
from aeroloop.core.signals import new_tuple
from aeroloop.protocols.mavlink import Frame, MavlinkOut, Message, key_of

ACCELEROMETER = 0x7
GYRO = 0x38
MAGNETOMETER = 0x1C0
DIFFERENTIAL_PRESSURE = 0x400
BAROMETER = 0x1A00  # absolute pressure, altitude, temperature
"""Bits of `fields_updated`: PX4 uses a group only if every bit of it is set."""

ARMED = 128  # bit of `mode`
LOCKSTEP = 1  # bit of `flags`
COURSE_UNKNOWN = 65535
CHANNELS = 16

GAUSS_PER_T = 1e4
HPA_PER_PA = 1e-2
ZERO_CELSIUS_K = 273.15
SLOWEST_COURSE_M_S = 0.1
"""Below this ground speed a receiver's course is noise, so it is not sent."""

_NONE: Vec3 = (0.0, 0.0, 0.0)
_STOPPED = (0.0,) * CHANNELS
_hil_sensor = dialect.MAVLink_hil_sensor_message
_hil_gps = dialect.MAVLink_hil_gps_message
_pack_sensor = _hil_sensor.unpacker.pack
_SENSOR_KEY, _SENSOR_EXTRA = key_of(_hil_sensor), bytes([_hil_sensor.crc_extra])
UNKNOWN_CELL = 65535
"""Of BATTERY_STATUS: a cell that is not measured."""
_UNKNOWN_CELLS, _MOST_CELL, _NO_TEMPERATURE = (UNKNOWN_CELL,) * 10, UNKNOWN_CELL - 1, 32767
_CONTROLS_AT = 16  # in HIL_ACTUATOR_CONTROLS: after time and flags
_unpack_controls = dialect.MAVLink_hil_controls_message.unpacker.unpack
_unpack_command = dialect.MAVLink_command_long_message.unpacker.unpack
_COMMAND_ID = dialect.MAVLink_command_long_message.id
_COMMAND_FIELDS = dialect.MAVLink_command_long_message.ordered_fieldnames
_ACTUATORS_ID = dialect.MAVLink_hil_actuator_controls_message.id
_CONTROLS_ID = dialect.MAVLink_hil_controls_message.id


def actuators_layout(used: int) -> struct.Struct:
    """Payload of HIL_ACTUATOR_CONTROLS whose first `used` channels are numbers, and the others zero."""
    return struct.Struct(f"<QQ{used}f{4 * (CHANNELS - used)}xB")


_unpack_actuators = actuators_layout(CHANNELS).unpack


class BarometerSample(NamedTuple):
    pressure_Pa: float
    altitude_m: float  # pressure altitude
    temperature_K: float


class HilSample(NamedTuple):
    """One step's new measurements; None where a sensor has no new sample."""

    t_ns: int
    accel_B: Vec3 | None = None  # m/s2, specific force
    rate_B: Vec3 | None = None  # rad/s
    field_B_T: Vec3 | None = None  # tesla
    barometer: BarometerSample | None = None
    diff_pressure_Pa: float | None = None


@dataclass(frozen=True, slots=True)
class HilFix:
    """A GNSS fix."""

    t_ns: int
    lat_deg: float
    lon_deg: float
    alt_m: float  # above mean sea level
    vel_W: Vec3  # m/s
    eph_m: float
    epv_m: float
    satellites: int
    fix_type: int = 3


@dataclass(frozen=True, slots=True)
class HilBattery:
    """What a battery monitor reports."""

    voltage_V: float
    current_A: float
    used_Ah: float
    energy_J: float
    remaining: float  # state of charge, 0 to 1


@dataclass(frozen=True, slots=True)
class HilRange:
    """Measurement of a downward range finder."""

    t_ns: int
    range_m: float
    valid: bool
    min_m: float
    max_m: float


@dataclass(frozen=True, slots=True)
class HilTruth:
    """Ground truth, for PX4's log in SITL."""

    t_ns: int
    quat_WB: Quat
    rate_B: Vec3  # rad/s
    lat_deg: float
    lon_deg: float
    alt_m: float
    vel_W: Vec3  # m/s
    accel_B: Vec3  # m/s2, coordinate acceleration: zero at rest
    indicated_airspeed_m_s: float
    true_airspeed_m_s: float


class Actuators(NamedTuple):
    """The autopilot's command: motors 0..1, surfaces -1..1."""

    time_usec: int
    controls: tuple[float, ...]  # CHANNELS values
    armed: bool
    lockstep: bool
    axes: bool  # from HIL_CONTROLS: roll, pitch, yaw, throttle and four auxiliaries, then zeros, instead of motors
    held: bool = False  # the controls were not plausible: the last plausible command is held


def hil_sensor(sample: HilSample) -> Message:
    """HIL_SENSOR with the groups that have a new sample; the fields of others are zero."""
    return _hil_sensor(*_sensor_fields(sample))


def _sensor_fields(sample: HilSample) -> tuple[float, ...]:
    t_ns, accel_B, rate_B, field_B_T, air, diff_pressure_Pa = sample
    updated = 0
    xacc = yacc = zacc = p = q = r = mx = my = mz = 0.0
    pressure = altitude = temperature = dynamic = 0.0
    if accel_B is not None:
        updated |= ACCELEROMETER
        xacc, y, z = accel_B
        yacc, zacc = -y, -z  # as `frd_from_flu`; computed here because it runs in every tick
    if rate_B is not None:
        updated |= GYRO
        p, y, z = rate_B
        q, r = -y, -z
    if field_B_T is not None:
        updated |= MAGNETOMETER
        x, y, z = frd_from_flu(field_B_T)
        mx, my, mz = x * GAUSS_PER_T, y * GAUSS_PER_T, z * GAUSS_PER_T
    if air is not None:
        updated |= BAROMETER
        pressure = air.pressure_Pa * HPA_PER_PA
        altitude = air.altitude_m
        temperature = air.temperature_K - ZERO_CELSIUS_K
    if diff_pressure_Pa is not None:
        updated |= DIFFERENTIAL_PRESSURE
        dynamic = diff_pressure_Pa * HPA_PER_PA
    if not math.isfinite(xacc + yacc + zacc + p + q + r + mx + my + mz + pressure + altitude + temperature + dynamic):
        raise ValueError(f"HIL_SENSOR: a sensor sample is not finite: {sample}")
    time_usec = t_ns // 1000
    return time_usec, xacc, yacc, zacc, p, q, r, mx, my, mz, pressure, dynamic, altitude, temperature, updated, 0


class HilOut(MavlinkOut):
    """A sender that needs no message object for HIL_SENSOR, which is sent in every tick."""

    def sensor(self, sample: HilSample) -> bytes:
        return self._framed(_pack_sensor(*_sensor_fields(sample)), _SENSOR_KEY, _SENSOR_EXTRA)


def hil_gps(fix: HilFix) -> Message:
    lat, lon, alt = _place(fix.lat_deg, fix.lon_deg, fix.alt_m, "HIL_GPS")
    north, east, down = ned_from_enu(fix.vel_W)
    speed = math.hypot(north, east)
    if not math.isfinite(speed + down + fix.eph_m + fix.epv_m):
        raise ValueError(f"HIL_GPS: the fix is not finite: {fix}")
    course = COURSE_UNKNOWN
    if speed >= SLOWEST_COURSE_M_S:
        course = round(math.degrees(math.atan2(east, north)) * 100) % 36000
    return _hil_gps(
        fix.t_ns // 1000,
        fix.fix_type,
        lat,
        lon,
        alt,
        _u16(fix.eph_m * 100),
        _u16(fix.epv_m * 100),
        _u16(speed * 100),
        _i16(north * 100),
        _i16(east * 100),
        _i16(down * 100),
        course,
        max(0, min(255, fix.satellites)),
    )


def hil_state_quaternion(truth: HilTruth, *, hitl: bool) -> Message:
    """Raises in HITL, where PX4 would use it as its own attitude and position."""
    if hitl:
        raise ValueError("HIL_STATE_QUATERNION overwrites PX4's estimate in HITL: send it in SITL only.")
    lat, lon, alt = _place(truth.lat_deg, truth.lon_deg, truth.alt_m, "HIL_STATE_QUATERNION")
    rest = (
        *truth.quat_WB,
        *truth.rate_B,
        *truth.vel_W,
        *truth.accel_B,
        truth.indicated_airspeed_m_s,
        truth.true_airspeed_m_s,
    )
    if not math.isfinite(sum(rest)):
        raise ValueError(f"HIL_STATE_QUATERNION: the state is not finite: {truth}")
    return dialect.MAVLink_hil_state_quaternion_message(
        truth.t_ns // 1000,
        quat_ned_frd_from_enu_flu(truth.quat_WB),
        *frd_from_flu(truth.rate_B),
        lat,
        lon,
        alt,
        *(_i16(v * 100) for v in ned_from_enu(truth.vel_W)),
        _u16(truth.indicated_airspeed_m_s * 100),
        _u16(truth.true_airspeed_m_s * 100),
        *(_i16(a / GRAVITY_M_S2 * 1000) for a in frd_from_flu(truth.accel_B)),
    )


def distance_sensor(measured: HilRange) -> Message:
    """DISTANCE_SENSOR that points down; its quality tells whether there was an echo."""
    if not math.isfinite(measured.range_m):
        raise ValueError(f"DISTANCE_SENSOR: the range is not finite: {measured}")
    return dialect.MAVLink_distance_sensor_message(
        measured.t_ns // 1_000_000 & 0xFFFFFFFF,
        _u16(measured.min_m * 100),
        _u16(measured.max_m * 100),
        _u16(measured.range_m * 100),
        dialect.MAV_DISTANCE_SENSOR_LASER,
        0,
        dialect.MAV_SENSOR_ROTATION_PITCH_270,
        255,  # variance: unknown
        signal_quality=100 if measured.valid else 1,  # 1 is "invalid", 0 "unknown"
    )


def battery_status(battery: HilBattery) -> Message:
    """BATTERY_STATUS of the whole battery; more than 65 V are spread over several of its cells."""
    millivolts = max(0.0, battery.voltage_V * 1000)
    parts = min(len(_UNKNOWN_CELLS), 1 + int(millivolts // _MOST_CELL))
    cells = [min(_MOST_CELL, round(millivolts / parts))] * parts
    return dialect.MAVLink_battery_status_message(
        0,
        dialect.MAV_BATTERY_FUNCTION_ALL,
        dialect.MAV_BATTERY_TYPE_LIPO,
        _NO_TEMPERATURE,
        [*cells, *_UNKNOWN_CELLS[parts:]],
        min(32767, max(0, round(battery.current_A * 100))),
        min(2**31 - 1, max(0, round(battery.used_Ah * 1000))),
        min(2**31 - 1, max(0, round(battery.energy_J / 100))),
        min(100, max(0, math.floor(battery.remaining * 100))),
    )


def truth_interval_us(frame: Frame) -> float | None:
    """Requested interval of HIL_STATE_QUATERNION, 0 or less for never; None if this is another message."""
    if frame.msg_id != _COMMAND_ID:
        return None
    command = dict(zip(_COMMAND_FIELDS, _unpack_command(frame.payload), strict=True))
    if command["command"] != dialect.MAV_CMD_SET_MESSAGE_INTERVAL:
        return None
    if command["param1"] != dialect.MAVLink_hil_state_quaternion_message.id:
        return None
    return float(command["param2"])


def is_ardupilot(frame: Frame) -> bool:
    """Whether this is the heartbeat of an ArduPilot."""
    if frame.msg_id != dialect.MAVLINK_MSG_ID_HEARTBEAT:
        return False
    try:
        return bool(frame.message().autopilot == dialect.MAV_AUTOPILOT_ARDUPILOTMEGA)
    except dialect.MAVError:
        return False


def heartbeat() -> Message:
    """Heartbeat of a simulator; a HITL board expects it once a second."""
    return dialect.MAVLink_heartbeat_message(
        dialect.MAV_TYPE_GENERIC, dialect.MAV_AUTOPILOT_INVALID, 0, 0, dialect.MAV_STATE_ACTIVE, 3
    )


def _place(lat_deg: float, lon_deg: float, alt_m: float, message: str) -> tuple[int, int, int]:
    """degE7, degE7, mm."""
    if not (-90.0 <= lat_deg <= 90.0 and math.isfinite(lon_deg) and abs(alt_m) < 2e6):
        raise ValueError(f"{message}: {lat_deg} deg, {lon_deg} deg, {alt_m} m is not a position on or near the earth.")
    return round(lat_deg * 1e7), round(wrap_longitude(lon_deg) * 1e7), round(alt_m * 1e3)


def _u16(value: float) -> int:
    return max(0, min(65535, round(value)))


def _i16(value: float) -> int:
    return max(-32768, min(32767, round(value)))


class ActuatorEnd:
    """Reads actuator messages and keeps the last plausible one."""

    SLACK = 1e-6
    """Above 1: rounding of a sender's single precision is no fault."""

    def __init__(self, motor_channels: frozenset[int] = frozenset()) -> None:
        """Motor channels, counted from 0, range from 0 to 1; all others from -1 to 1."""
        self.latest: Actuators | None = None
        self.accepted = 0
        self.refused = 0
        self._lows = tuple(-self.SLACK if i in motor_channels else -1 - self.SLACK for i in range(CHANNELS))
        self._high = 1 + self.SLACK
        # Motors normally are the first channels, and the others zero: those are compared as bytes, not as numbers.
        motors = len(motor_channels)
        used = motors if motors and motor_channels == frozenset(range(motors)) else CHANNELS
        self._unpack_used = actuators_layout(used).unpack
        self._unused, self._unused_bytes = (0.0,) * (CHANNELS - used), bytes(4 * (CHANNELS - used))
        self._unused_at = slice(_CONTROLS_AT + 4 * used, _CONTROLS_AT + 4 * CHANNELS)
        self._axis_lows = tuple(-self.SLACK if i == 3 else -1 - self.SLACK for i in range(CHANNELS))

    def accept(self, frame: Frame) -> Actuators | None:
        """The frame's command; None if it carries none.

        If its controls are not finite or out of range the last command is held, but its time still answers a sample, or
        lockstep would wait for ever, and a disarm still applies.
        """
        unused: tuple[float, ...] = ()  # zeros of the channels that were not unpacked
        if frame.msg_id == _ACTUATORS_ID:
            payload = frame.payload
            if payload[self._unused_at] == self._unused_bytes:
                fields, unused = self._unpack_used(payload), self._unused
            else:
                fields = _unpack_actuators(payload)
            time_usec, flags, mode = fields[0], fields[1], fields[-1]
            controls, lows, axes = fields[2:-1], self._lows, False
        elif frame.msg_id == _CONTROLS_ID:
            time_usec, *channels, mode, _ = _unpack_controls(frame.payload)
            controls, lows, axes, flags = (*channels, *(0.0,) * 8), self._axis_lows, True, 0
        else:
            return None
        armed, lockstep = mode & ARMED != 0, flags & LOCKSTEP != 0
        # The first comparison also catches NaN, which the second would miss; zeros need none.
        if not (all(map(le, lows, controls)) and max(controls) <= self._high):
            self.refused += 1
            if self.latest is None or not armed:
                self.latest = Actuators(time_usec, _STOPPED, armed, lockstep, axes, held=True)
            return self.latest._replace(time_usec=time_usec, armed=armed, lockstep=lockstep, held=True)
        self.accepted += 1
        self.latest = new_tuple(Actuators, (time_usec, controls + unused, armed, lockstep, axes, False))
        return self.latest
