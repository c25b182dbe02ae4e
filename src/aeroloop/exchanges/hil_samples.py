"""Converts sensor samples and the true state of an aircraft to MAVLink HIL samples."""

from __future__ import annotations

import math
from collections.abc import Iterable

from aeroloop.core.signals import Air, Place, RigidState, new_tuple
from aeroloop.protocols import mavlink_hil as hil
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.scene import body_from_world, times
from aeroloop.sensors.suite import Sample

SEA_LEVEL_KG_M3 = 1.225


def gathered(
    t_ns: int, samples: Iterable[Sample], without_imu: bool = False
) -> tuple[hil.HilSample | None, list[hil.HilFix], list[hil.HilRange]]:
    """The samples delivered at one time: one HIL_SENSOR, normally only with a new IMU sample, plus GNSS fixes and
    ranges."""
    accel_B = rate_B = field_B_T = barometer = diff_pressure_Pa = None
    fixes: list[hil.HilFix] = []
    ranges: list[hil.HilRange] = []
    for sample in samples:
        match sample:
            case ImuSample():
                accel_B, rate_B = sample.accel_B, sample.rate_B
            case MagnetometerSample():
                field_B_T = sample.field_B_T
            case BarometerSample():
                barometer = hil.BarometerSample(sample.pressure_Pa, sample.pressure_altitude_m, sample.temperature_K)
            case AirspeedSample():
                diff_pressure_Pa = sample.pressure_Pa
            case GnssSample():
                fixes.append(_fix(sample))
            case RangefinderSample():
                ranges.append(hil.HilRange(sample.t_ns, sample.range_m, sample.valid, sample.min_m, sample.max_m))
    if rate_B is None and not without_imu:
        return None, fixes, ranges
    sample_fields = (t_ns, accel_B, rate_B, field_B_T, barometer, diff_pressure_Pa)
    return new_tuple(hil.HilSample, sample_fields), fixes, ranges


def true_state(state: RigidState, air: Air, place: Place) -> hil.HilTruth:
    """Ground truth, for an autopilot's log."""
    (vx, vy, vz), (wx, wy, wz) = state.vel_W, air.wind_W
    true_m_s = math.hypot(vx - wx, vy - wy, vz - wz)
    return hil.HilTruth(
        state.t_ns,
        state.quat_WB,
        state.rate_B,
        place.lat_deg,
        place.lon_deg,
        place.alt_m,
        state.vel_W,
        times(body_from_world(state.quat_WB), *state.accel_W),
        true_m_s * math.sqrt(air.density_kg_m3 / SEA_LEVEL_KG_M3),
        true_m_s,
    )


def _fix(sample: GnssSample) -> hil.HilFix:
    return hil.HilFix(
        sample.t_ns,
        sample.lat_deg,
        sample.lon_deg,
        sample.alt_m,
        sample.vel_W,
        sample.eph_m,
        sample.epv_m,
        sample.satellites,
        3 if sample.fix else 0,
    )
