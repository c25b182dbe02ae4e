"""The autopilot's end of MAVLink HIL: HIL_SENSOR and HIL_GPS to samples, motor commands to HIL_ACTUATOR_CONTROLS; no
I/O.

The other end, and the types, are in mavlink_hil.py. Inside: SI, ENU, FLU. On the wire: FRD and NED, gauss, hPa, degrees
Celsius, degE7, mm, cm/s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.frames import ned_from_enu
from aeroloop.core.signals import new_tuple
from aeroloop.protocols.mavlink import Frame, MavlinkOut, Message, key_of
from aeroloop.protocols.mavlink_hil import (
    ACCELEROMETER,
    ARMED,
    BAROMETER,
    CHANNELS,
    DIFFERENTIAL_PRESSURE,
    GAUSS_PER_T,
    GYRO,
    HPA_PER_PA,
    LOCKSTEP,
    MAGNETOMETER,
    UNKNOWN_CELL,
    ZERO_CELSIUS_K,
    BarometerSample,
    HilBattery,
    HilFix,
    HilSample,
    actuators_layout,
)

DISARMED_MODE = dialect.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
"""PX4's value of `mode` without the arming bit."""

_SENSOR = dialect.MAVLink_hil_sensor_message
_GPS = dialect.MAVLink_hil_gps_message
_SENSOR_ID, _GPS_ID = _SENSOR.id, _GPS.id
_unpack_sensor = _SENSOR.unpacker.unpack
_unpack_gps = _GPS.unpacker.unpack
_BATTERY = dialect.MAVLink_battery_status_message
_BATTERY_ID, _unpack_battery = _BATTERY.id, _BATTERY.unpacker.unpack
_BATTERY_CELLS = 10
_ACTUATORS = dialect.MAVLink_hil_actuator_controls_message
_ACTUATORS_KEY, _ACTUATORS_EXTRA = key_of(_ACTUATORS), bytes([_ACTUATORS.crc_extra])
_pack_actuators = tuple(actuators_layout(motors).pack for motors in range(CHANNELS + 1))
_isfinite = math.isfinite


@dataclass(slots=True)
class HilInCounters:
    """Received data that could not be used."""

    not_finite: int = 0  # groups of HIL_SENSOR with NaN or infinity; the others of the message are used
    out_of_range: int = 0  # fixes outside the valid range of coordinates
    time_backwards: int = 0  # samples that are not newer than the last
    other_instances: int = 0  # second sensors (`id` is not 0)


class SensorEnd:
    """Reads the simulator's measurements. The time of HIL_SENSOR is the autopilot's clock, so it must not go back."""

    def __init__(self) -> None:
        self.counters = HilInCounters()
        self._last_us = -1

    def restart(self) -> None:
        """A new simulation: its clock may restart."""
        self._last_us = -1

    def sample(self, frame: Frame) -> HilSample | None:
        """The groups of a HIL_SENSOR that are completely marked as new, and finite; None if it is no HIL_SENSOR or too
        old."""
        if frame.msg_id != _SENSOR_ID:
            return None
        time_us, ax, ay, az, p, q, r, mx, my, mz, pressure, dynamic, altitude, celsius, updated, instance = (
            _unpack_sensor(frame.payload)
        )
        if instance:
            self.counters.other_instances += 1
            return None
        if time_us <= self._last_us:
            self.counters.time_backwards += 1
            return None
        self._last_us = time_us
        accel = rate = field = barometer = diff_pressure = None
        bad = 0
        # Sums of single precision do not overflow: they are finite if every number is.
        if updated & ACCELEROMETER == ACCELEROMETER:
            if _isfinite(ax + ay + az):
                accel = ax, -ay, -az
            else:
                bad += 1
        if updated & GYRO == GYRO:
            if _isfinite(p + q + r):
                rate = p, -q, -r
            else:
                bad += 1
        if updated & MAGNETOMETER == MAGNETOMETER:
            if _isfinite(mx + my + mz):
                field = mx / GAUSS_PER_T, -my / GAUSS_PER_T, -mz / GAUSS_PER_T
            else:
                bad += 1
        if updated & BAROMETER == BAROMETER:
            if _isfinite(pressure + altitude + celsius):
                barometer = BarometerSample(pressure / HPA_PER_PA, altitude, celsius + ZERO_CELSIUS_K)
            else:
                bad += 1
        if updated & DIFFERENTIAL_PRESSURE == DIFFERENTIAL_PRESSURE:
            if _isfinite(dynamic):
                diff_pressure = dynamic / HPA_PER_PA
            else:
                bad += 1
        if bad:
            self.counters.not_finite += bad
        return new_tuple(HilSample, (time_us * 1000, accel, rate, field, barometer, diff_pressure))

    def fix(self, frame: Frame) -> HilFix | None:
        """A HIL_GPS as a fix, also from a receiver without one (`fix_type` below 2); None if it is no HIL_GPS."""
        if frame.msg_id != _GPS_ID:
            return None
        time_us, lat, lon, alt, eph, epv, _, north, east, down, _, fix_type, satellites, instance, _ = _unpack_gps(
            frame.payload
        )
        if instance:
            self.counters.other_instances += 1
            return None
        if abs(lat) > 900_000_000 or abs(lon) > 1_800_000_000:
            self.counters.out_of_range += 1
            return None
        vel_W = ned_from_enu((north / 100, east / 100, down / 100))
        return HilFix(
            time_us * 1000, lat / 1e7, lon / 1e7, alt / 1e3, vel_W, eph / 100, epv / 100, satellites, fix_type
        )

    def battery(self, frame: Frame) -> HilBattery | None:
        """A BATTERY_STATUS of the first battery that measures voltage, current and charge; None if it is none."""
        if frame.msg_id != _BATTERY_ID:
            return None
        used_mAh, energy_hJ, _, *cells = _unpack_battery(frame.payload)[: 3 + _BATTERY_CELLS]
        current_cA, number, _, _, remaining = _unpack_battery(frame.payload)[3 + _BATTERY_CELLS : 8 + _BATTERY_CELLS]
        measured = [cell for cell in cells if cell != UNKNOWN_CELL]
        if number or not measured or min(current_cA, used_mAh, remaining) < 0:
            return None
        return HilBattery(sum(measured) / 1e3, current_cA / 100, used_mAh / 1e3, energy_hJ * 100.0, remaining / 100)


def greeting() -> tuple[Message, Message]:
    """PX4's first messages after it has found a simulator. PX4 then requests ground truth; this autopilot does not."""
    beat = dialect.MAVLink_heartbeat_message(
        dialect.MAV_TYPE_QUADROTOR, dialect.MAV_AUTOPILOT_PX4, DISARMED_MODE, 0, dialect.MAV_STATE_STANDBY, 3
    )
    truth = dialect.MAVLINK_MSG_ID_HIL_STATE_QUATERNION
    never = -1.0
    wish = dialect.MAVLink_command_long_message(
        0, 0, dialect.MAV_CMD_SET_MESSAGE_INTERVAL, 0, truth, never, *(0.0,) * 5
    )
    return wish, beat


class ActuatorsOut(MavlinkOut):
    """A sender that needs no message object for HIL_ACTUATOR_CONTROLS, which is sent in every tick."""

    def actuators(self, t_ns: int, motors: Sequence[float], *, armed: bool, lockstep: bool = True) -> bytes:
        """The answer to the HIL_SENSOR of that time. Motors 0..1; zero if not armed."""
        mode = DISARMED_MODE
        if not armed:
            motors = ()
        else:
            mode |= ARMED
            for command in motors:
                if not -1.0 <= command <= 1.0:  # also rejects NaN
                    raise ValueError(f"HIL_ACTUATOR_CONTROLS: {tuple(motors)}: expected finite numbers from -1 to 1.")
        flags = LOCKSTEP if lockstep else 0
        payload = _pack_actuators[len(motors)](t_ns // 1000, flags, *motors, mode)
        return self._framed(payload, _ACTUATORS_KEY, _ACTUATORS_EXTRA)
