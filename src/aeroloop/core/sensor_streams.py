"""Streams of the sensors and of the estimate computed from them, the same for every aircraft that has them."""

from __future__ import annotations

from aeroloop.core.stream import ACCEL, BATCH, FIELD, GYRO, QUATERNION, VELOCITY, Column, Stream, fields

GROUND: Column = ("ground_m", "m", "height of the ground below it, above home's")
"""Column of `air` for aircraft over terrain."""
ESTIMATE: tuple[Column, ...] = (
    *QUATERNION,
    ("tilt_std_rad", "rad", "standard deviation of roll and pitch"),
    ("yaw_std_rad", "rad", "standard deviation of yaw"),
    ("pos_std_m", "m", "standard deviation of horizontal position"),
    ("height_std_m", "m", "standard deviation of height"),
)
"""Columns of `estimate`, from the navigation filter."""


def _sensor(name: str, rate_hz: float, meaning: str, *columns: Column) -> Stream:
    batch = BATCH if rate_hz >= BATCH else 1  # no process waits for the fast streams
    return Stream(name, "plant", rate_hz, True, True, meaning, fields(*columns), batch=batch)


SENSOR_STREAMS: tuple[Stream, ...] = (
    _sensor("imu", 250.0, "a sample of the IMU, as sent", *ACCEL, *GYRO),
    _sensor("magnetometer", 50.0, "a sample of the magnetometer, as sent", *FIELD),
    _sensor(
        "barometer",
        50.0,
        "a sample of the barometer, as sent",
        ("pressure_Pa", "Pa", "static pressure"),
        ("altitude_m", "m", "pressure altitude"),
        ("temperature_K", "K", "temperature"),
    ),
    _sensor(
        "gnss",
        5.0,
        "a fix of the satellite receiver, as sent",
        ("measured_s", "s", "simulated time at which it was measured"),
        ("lat_deg", "deg", "latitude"),
        ("lon_deg", "deg", "longitude"),
        ("alt_m", "m", "height above mean sea level"),
        *VELOCITY,
        ("fix", "-", "1 with a fix"),
    ),
    _sensor("airspeed", 50.0, "a sample of the pitot tube, as sent", ("pressure_Pa", "Pa", "dynamic pressure")),
    _sensor("rangefinder", 50.0, "a sample of the range finder, as sent", ("distance_m", "m", "to the ground")),
)
