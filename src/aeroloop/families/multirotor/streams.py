"""The streams of flights with autopilots: each row is of one vehicle."""

from __future__ import annotations

from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.stream import (
    ACCEL,
    BATCH,
    EVENT,
    FAULT,
    FIELD,
    GYRO,
    QUATERNION,
    RATES,
    REMEMBERED,
    VELOCITY,
    WIND,
    XYZ,
    Stream,
    fields,
)

COUNTERS = (
    ("frames_in", "-", "valid frames received"),
    ("frames_out", "-", "frames sent"),
    ("bytes_in", "B", "bytes received"),
    ("bytes_out", "B", "bytes sent"),
    ("bad_checksums", "-", "frames whose checksum did not match"),
    ("skipped_bytes", "B", "bytes that belonged to no frame"),
    ("unknown", "-", "frames of messages that the dialect lacks"),
    ("other_system", "-", "good frames, but not from the system listened to"),
    ("lost", "-", "gaps in the sender's numbering"),
)
COUNTER_NAMES: tuple[str, ...] = tuple(name for name, _, _ in COUNTERS)
_VEHICLE = ("vehicle", "-", "which of the flight's aircraft, from 0")
MOST_ROTORS = 8
"""Columns of the motor stream; a rotor that is not there has NaN."""


def _flown(
    name: str,
    producer: str,
    rate_hz: float,
    meaning: str,
    *rows: tuple[str, str, str],
    remembered: int = 0,
    optional: bool = False,
) -> Stream:
    """A simulated stream of flights with autopilots."""
    return Stream(
        name,
        producer,
        rate_hz,
        True,
        True,
        meaning,
        fields(_VEHICLE, *rows),
        batch=_batch(rate_hz),
        remembered=remembered,
        optional=optional,
    )


def _measured(name: str, producer: str, rate_hz: float, meaning: str, *rows: tuple[str, str, str]) -> Stream:
    """A stream of flights with autopilots that depends on the machine."""
    return Stream(name, producer, rate_hz, False, True, meaning, fields(_VEHICLE, *rows), batch=_batch(rate_hz))


def _batch(rate_hz: float) -> int:
    return BATCH if rate_hz >= BATCH else 1


STREAMS: tuple[Stream, ...] = (
    _flown(
        "rigid_truth", "plant", 250.0, "state of a rigid aircraft in the world", *XYZ, *VELOCITY, *QUATERNION, *RATES
    ),
    _flown(
        "motors",
        "plant",
        250.0,
        "what the autopilot commands, and how fast the rotors turn",
        *((f"command_{i}", "-", f"command to motor {i}, 0 to 1") for i in range(1, MOST_ROTORS + 1)),
        *((f"speed_{i}_rad_s", "rad/s", f"speed of rotor {i}") for i in range(1, MOST_ROTORS + 1)),
    ),
    _flown(
        "air",
        "plant",
        50.0,
        "the air and the ground where the aircraft is",
        *WIND,
        ("density_kg_m3", "kg/m3", "density"),
        ("ground_m", "m", "height of the ground below it, above home's"),
    ),
    _flown("imu", "plant", 250.0, "a sample of the IMU, as sent", *ACCEL, *GYRO),
    _flown("magnetometer", "plant", 50.0, "a sample of the magnetometer, as sent", *FIELD),
    _flown(
        "barometer",
        "plant",
        50.0,
        "a sample of the barometer, as sent",
        ("pressure_Pa", "Pa", "static pressure"),
        ("altitude_m", "m", "pressure altitude"),
        ("temperature_K", "K", "temperature"),
    ),
    _flown(
        "gnss",
        "plant",
        5.0,
        "a fix of the satellite receiver, as sent",
        ("measured_s", "s", "simulated time at which it was measured"),
        ("lat_deg", "deg", "latitude"),
        ("lon_deg", "deg", "longitude"),
        ("alt_m", "m", "height above mean sea level"),
        *VELOCITY,
        ("fix", "-", "1 with a fix"),
    ),
    _flown("airspeed", "plant", 50.0, "a sample of the pitot tube, as sent", ("pressure_Pa", "Pa", "dynamic pressure")),
    _flown("rangefinder", "plant", 50.0, "a sample of the range finder, as sent", ("distance_m", "m", "to the ground")),
    _flown("flight_event", "plant", 0.0, "what happened at the plant", *EVENT, remembered=REMEMBERED),
    _flown(
        "flight_fault",
        "plant",
        0.0,
        "a fault that was switched in flight",
        *FAULT,
        remembered=REMEMBERED,
        optional=True,
    ),
    _flown(
        "nav_estimate",
        "board",
        50.0,
        "where the virtual Pixhawk believes that it is, in the plant's frame",
        *XYZ,
        *VELOCITY,
        *QUATERNION,
        ("tilt_std_rad", "rad", "how sure it is of roll and pitch"),
        ("yaw_std_rad", "rad", "how sure it is of yaw"),
        ("pos_std_m", "m", "how sure it is of its place"),
        ("height_std_m", "m", "how sure it is of its height"),
    ),
    _flown(
        "nav_setpoint",
        "board",
        50.0,
        "what the virtual Pixhawk wants, in the plant's frame; NaN where it wants nothing",
        *XYZ,
        *VELOCITY,
        ("roll_rad", "rad", "roll asked of the attitude loop"),
        ("pitch_rad", "rad", "pitch asked of the attitude loop"),
        ("yaw_rad", "rad", "yaw asked of the attitude loop"),
        ("thrust_ratio", "-", "collective thrust, 0 to 1"),
    ),
    _flown(
        "autopilot_state",
        "board",
        10.0,
        "what the virtual Pixhawk is doing",
        ("mode", "-", "number of the mode in boards.pixhawk.seam.FlightMode"),
        ("armed", "-", "1 while the motors may turn"),
        ("landed", "-", "number in boards.pixhawk.seam.Landed"),
        ("failsafe", "-", "number in boards.pixhawk.seam.Failsafe"),
        ("battery", "-", "charge left, 0 to 1"),
        ("mission_current", "-", "item of the mission that is flown"),
    ),
    _flown("autopilot_event", "board", 0.0, "what happened on the virtual Pixhawk", *EVENT, remembered=REMEMBERED),
    _flown(
        "parameter_change",
        "board",
        0.0,
        "a parameter of the virtual Pixhawk that was changed in flight",
        ("parameter", "-", "its number among the names of docs/parameters.md in alphabetical order"),
        ("old", "-", "value before"),
        ("new", "-", "value now"),
        remembered=REMEMBERED,
        optional=True,
    ),
    _measured(
        "signal_count",
        "plant",
        1.0,
        "how often a signal crossed the link so far",
        ("signal", "-", "number of the signal in signals.LINK_SIGNALS"),
        ("set_hz", "Hz", "the rate that it should have; 0 when it comes as it comes"),
        ("count", "-", "messages or samples so far"),
        ("wall_s", "s", "wall time of the newest one since the first"),
    ),
    _measured(
        "telemetry_count",
        "board",
        1.0,
        "how often the virtual Pixhawk sent or took a signal so far",
        ("signal", "-", "number of the signal in signals.LINK_SIGNALS"),
        ("set_hz", "Hz", "the rate that it should have; 0 when it comes as it comes"),
        ("count", "-", "messages or samples so far"),
        ("wall_s", "s", "wall time of the newest one since the first"),
    ),
    _measured(
        "hil_pace",
        "plant",
        50.0,
        "how well the plant keeps time",
        ("lateness_s", "s", "largest wall time from a step's deadline to its start since the row before"),
        ("missed", "-", "deadlines missed so far"),
    ),
    _measured("hil_link", "plant", 1.0, "counters of a MAVLink HIL link at the plant", *COUNTERS),
    _measured("pixhawk_link", "board", 1.0, "counters of a MAVLink HIL link at the virtual Pixhawk", *COUNTERS),
    *ROUTER_STREAMS,
)
