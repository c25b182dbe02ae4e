"""Sensor values for a board once per control period: the IMU's mean over the period, the latest of the other
sensors."""

from __future__ import annotations

from collections.abc import Iterable

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS
from aeroloop.core.wing_signals import WingSensors
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.suite import Sample


class Readings:
    """Samples delivered since the board last got values."""

    def __init__(self, first: Iterable[Sample] = ()) -> None:
        self._gyro: list[Vec3] = []
        self._accel: list[Vec3] = []
        self._mean_gyro_B: Vec3 = (0.0, 0.0, 0.0)
        self._mean_accel_B: Vec3 = (0.0, 0.0, 0.0)
        self._field_B: Vec3 = (0.0, 0.0, 0.0)
        self._static_Pa = self._dynamic_Pa = 0.0
        self._fix: GnssSample | None = None
        self._fresh = False
        self.add(first)

    def add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            match sample:
                case ImuSample():
                    self._gyro.append(sample.rate_B)
                    self._accel.append(sample.accel_B)
                case MagnetometerSample():
                    self._field_B = sample.field_B_T
                case BarometerSample():
                    self._static_Pa = sample.pressure_Pa
                case AirspeedSample():
                    self._dynamic_Pa = sample.pressure_Pa
                case GnssSample() if sample.fix:
                    self._fix, self._fresh = sample, True

    def take(self, cycle: int, t_ns: int) -> WingSensors:
        """The values to send to the board; without a new sample the IMU repeats its last."""
        if self._gyro:
            self._mean_gyro_B, self._mean_accel_B = _mean(self._gyro), _mean(self._accel)
            self._gyro.clear()
            self._accel.clear()
        fresh, self._fresh = self._fresh, False
        fix = self._fix
        place = (fix.lat_deg, fix.lon_deg, fix.alt_m, fix.vel_W) if fix else (0.0, 0.0, 0.0, (0.0, 0.0, 0.0))
        return WingSensors(
            cycle,
            t_ns * 1000 // NS,
            self._mean_gyro_B,
            self._mean_accel_B,
            self._field_B,
            self._static_Pa,
            self._dynamic_Pa,
            fresh,
            *place,
        )


def _mean(rows: list[Vec3]) -> Vec3:
    count = len(rows)
    return (
        sum(row[0] for row in rows) / count,
        sum(row[1] for row in rows) / count,
        sum(row[2] for row in rows) / count,
    )
