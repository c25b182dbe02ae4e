"""Log rows of sensor samples, by `core/sensor_streams.py`."""

from __future__ import annotations

import math

from aeroloop.core.signals import NS
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample
from aeroloop.sensors.tachometer import TachometerSample

STREAM_OF: dict[type, str] = {
    ImuSample: "imu",
    MagnetometerSample: "magnetometer",
    BarometerSample: "barometer",
    GnssSample: "gnss",
    AirspeedSample: "airspeed",
    RangefinderSample: "rangefinder",
    TachometerSample: "tachometer",
}


def row_of(sample: Sample) -> tuple[str, tuple[float, ...]]:
    """Its stream, and the values after the time."""
    values: tuple[float, ...]
    match sample:
        case ImuSample():
            values = (*sample.accel_B, *sample.rate_B)
        case MagnetometerSample():
            values = sample.field_B_T
        case BarometerSample():
            values = sample.pressure_Pa, sample.pressure_altitude_m, sample.temperature_K
        case GnssSample():
            place = sample.lat_deg, sample.lon_deg, sample.alt_m
            values = (sample.t_ns / NS, *place, *sample.vel_W, float(sample.fix))
        case AirspeedSample():
            values = (sample.pressure_Pa,)
        case RangefinderSample():
            values = (sample.range_m if sample.valid else math.nan,)
        case TachometerSample():
            values = sample.speed_rad_s
    return STREAM_OF[type(sample)], values
