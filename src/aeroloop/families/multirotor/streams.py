"""The streams of flights with autopilots: each row is of one vehicle."""

from __future__ import annotations

from dataclasses import replace

from aeroloop.core.common_streams import common
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.stream import ACCEL, BATCH, FIELD, GYRO, QUATERNION, REMEMBERED, VELOCITY, Column, Stream, fields

_COUNTERS: tuple[Column, ...] = (
    ("skipped_bytes", "B", "bytes that belonged to no frame"),
    ("unknown", "-", "frames of messages that the dialect lacks"),
    ("other_system", "-", "good frames, but not from the system listened to"),
    ("lost", "-", "gaps in the sender's numbering"),
)
_COUNTED: tuple[Column, ...] = (
    ("signal", "-", "number of the signal in signals.LINK_SIGNALS"),
    ("set_hz", "Hz", "the rate that it should have; 0 when it comes as it comes"),
    ("count", "-", "messages or samples so far"),
    ("wall_s", "s", "wall time of the newest one since the first"),
)
MOST_ROTORS = 8
"""Columns of command and effort; a rotor that is not there has NaN."""


def _flown(
    name: str,
    producer: str,
    rate_hz: float,
    meaning: str,
    *columns: Column,
    remembered: int = 0,
    optional: bool = False,
) -> Stream:
    return Stream(
        name, producer, rate_hz, True, True, meaning, fields(*columns), remembered=remembered, optional=optional
    )


def _counted(name: str, producer: str, meaning: str) -> Stream:
    return Stream(name, producer, 1.0, False, True, meaning, fields(*_COUNTED))


def _batched(stream: Stream) -> Stream:
    """Nobody waits for the fast ones."""
    return replace(stream, batch=BATCH) if stream.rate_hz >= BATCH else stream


_STREAMS: tuple[Stream, ...] = (
    common("truth", rate_hz=250.0),
    common(
        "command",
        *((f"command_{i}", "-", f"command to motor {i}, 0 to 1") for i in range(1, MOST_ROTORS + 1)),
        rate_hz=250.0,
        meaning="what the autopilot commands",
    ),
    common(
        "effort",
        *((f"speed_{i}_rad_s", "rad/s", f"speed of rotor {i}") for i in range(1, MOST_ROTORS + 1)),
        rate_hz=250.0,
        meaning="how fast the rotors turn",
    ),
    common(
        "air",
        ("ground_m", "m", "height of the ground below it, above home's"),
        rate_hz=50.0,
        meaning="the air and the ground where the aircraft is",
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
    common("event"),
    common("fault"),
    common(
        "estimate",
        *QUATERNION,
        ("tilt_std_rad", "rad", "how sure it is of roll and pitch"),
        ("yaw_std_rad", "rad", "how sure it is of yaw"),
        ("pos_std_m", "m", "how sure it is of its place"),
        ("height_std_m", "m", "how sure it is of its height"),
        producer="board",
        rate_hz=50.0,
        meaning="where the virtual Pixhawk believes that it is, in the plant's frame",
    ),
    common(
        "setpoint",
        *VELOCITY,
        ("roll_rad", "rad", "roll asked of the attitude loop"),
        ("pitch_rad", "rad", "pitch asked of the attitude loop"),
        ("yaw_rad", "rad", "yaw asked of the attitude loop"),
        ("thrust_ratio", "-", "collective thrust, 0 to 1"),
        producer="board",
        rate_hz=50.0,
        meaning="what the virtual Pixhawk wants, in the plant's frame; NaN where it wants nothing",
    ),
    _flown(
        "autopilot_state",
        "board",
        10.0,
        "what the virtual Pixhawk is doing",
        ("mode", "-", "number of the mode in controllers.pixhawk.seam.FlightMode"),
        ("armed", "-", "1 while the motors may turn"),
        ("landed", "-", "number in controllers.pixhawk.seam.Landed"),
        ("failsafe", "-", "number in controllers.pixhawk.seam.Failsafe"),
        ("battery", "-", "charge left, 0 to 1"),
        ("mission_current", "-", "item of the mission that is flown"),
    ),
    common("board_event", producer="board", meaning="what happened on the virtual Pixhawk"),
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
    _counted("signal_count", "plant", "how often a signal crossed the link so far"),
    _counted("telemetry_count", "board", "how often the virtual Pixhawk sent or took a signal so far"),
    common("pace"),
    common("link", *_COUNTERS, meaning="counters of a MAVLink HIL link at the plant"),
    common("board_link", *_COUNTERS, producer="board", meaning="counters of a MAVLink HIL link at the virtual Pixhawk"),
)
STREAMS: tuple[Stream, ...] = (*map(_batched, _STREAMS), *ROUTER_STREAMS)
