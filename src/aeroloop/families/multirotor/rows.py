"""What is logged of a multirotor once a step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aeroloop.actuators.motors import RotorEffort
from aeroloop.core.signals import NS
from aeroloop.core.stream import Publish
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Vehicle

AIR_PERIOD_NS = NS // 50

STREAM_OF: dict[type, str] = {
    ImuSample: "imu",
    MagnetometerSample: "magnetometer",
    BarometerSample: "barometer",
    GnssSample: "gnss",
    AirspeedSample: "airspeed",
    RangefinderSample: "rangefinder",
}


class MultirotorRows(CommonRows):
    def __init__(self, publish: Mapping[str, Publish], rotors: int) -> None:
        super().__init__(publish)
        self._truth, self._command, self._effort, self._air = (
            publish[stream] for stream in ("truth", "command", "effort", "air")
        )
        self._air_ns = 0
        self._absent = (math.nan,) * (MOST_ROTORS - rotors)

    def step(self, vehicle: Vehicle[Any, Any], effort: RotorEffort, samples: list[Sample]) -> None:
        t_ns, around = vehicle.t_ns, vehicle.surroundings
        _, pos_W, quat_WB, vel_W, rate_B, _ = vehicle.state
        t_s, absent = t_ns / NS, self._absent
        self._truth(t_s, *pos_W, *vel_W, *quat_WB, *rate_B)
        self._command(t_s, *vehicle.command, *absent)
        self._effort(t_s, *effort.speed_rad_s, *absent)
        if t_ns >= self._air_ns and around is not None:
            self._air_ns += AIR_PERIOD_NS
            self._air(t_s, *around.air.wind_W, around.air.density_kg_m3, around.ground_m)
        for sample in samples:
            self._publish[STREAM_OF[type(sample)]](t_s, *_values(sample))


def _values(sample: Sample) -> tuple[float, ...]:
    match sample:
        case ImuSample():
            return (*sample.accel_B, *sample.rate_B)
        case MagnetometerSample():
            return sample.field_B_T
        case BarometerSample():
            return sample.pressure_Pa, sample.pressure_altitude_m, sample.temperature_K
        case GnssSample():
            place = sample.lat_deg, sample.lon_deg, sample.alt_m
            return (sample.t_ns / NS, *place, *sample.vel_W, float(sample.fix))
        case AirspeedSample():
            return (sample.pressure_Pa,)
        case RangefinderSample():
            return (sample.range_m if sample.valid else math.nan,)
