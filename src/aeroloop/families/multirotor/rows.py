"""What is logged of a multirotor once a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from aeroloop.actuators.motors import RotorEffort
from aeroloop.core.signals import NS, Event
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample
from aeroloop.sim.exchange import Row
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


class MultirotorRows:
    """Of aircraft number `number`."""

    def __init__(self, publish: Mapping[str, Callable[..., None]], number: int) -> None:
        self._publish, self._number = publish, number
        self._truth, self._motors, self._air = publish["rigid_truth"], publish["motors"], publish["air"]
        self._air_ns = 0

    def step(self, vehicle: Vehicle[Any, Any], effort: RotorEffort, samples: list[Sample]) -> None:
        t_ns, state, around = vehicle.t_ns, vehicle.state, vehicle.surroundings
        t_s, number, controls = t_ns / NS, self._number, vehicle.command
        self._truth(t_s, number, *state.pos_W, *state.vel_W, *state.quat_WB, *state.rate_B)
        none = (math.nan,) * (MOST_ROTORS - len(controls))
        self._motors(t_s, number, *controls, *none, *effort.speed_rad_s, *none)
        if t_ns >= self._air_ns and around is not None:
            self._air_ns += AIR_PERIOD_NS
            self._air(t_s, number, *around.air.wind_W, around.air.density_kg_m3, around.ground_m)
        for sample in samples:
            self._publish[STREAM_OF[type(sample)]](t_s, number, *_values(sample))

    def event(self, t_ns: int, event: Event, value: float) -> None:
        self._publish["flight_event"](t_ns / NS, self._number, event, value)

    def fault(self, t_ns: int, row: Row) -> None:
        self._publish["flight_fault"](t_ns / NS, self._number, *row)

    def pace(self, t_ns: int, lateness_s: float, missed: int) -> None:
        self._publish["hil_pace"](t_ns / NS, self._number, lateness_s, missed)


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
