"""A suite of sensors in a motionless aircraft, and its samples."""

from __future__ import annotations

from typing import Any

from failing_sensors import FailingSuite
from sensor_scenes import AIR, PLACE, seconds, state

from aeroloop.core.faults import PlannedFault
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample, SensorSet
from aeroloop.sensors.tachometer import TachometerSample

KIND: dict[str, type] = {
    "imu": ImuSample,
    "magnetometer": MagnetometerSample,
    "barometer": BarometerSample,
    "gnss": GnssSample,
    "airspeed": AirspeedSample,
    "rangefinder": RangefinderSample,
    "tachometer": TachometerSample,
}
HOVER = state(pos_W=(0.0, 0.0, 5.0))


def fly(sensors: SensorSet, duration_s: float, *, seed: int = 1, faults: tuple[PlannedFault, ...] = ()) -> list[Sample]:
    """Hover, going from instant to instant."""
    suite = FailingSuite(sensors, Streams(seed), faults)
    heard: list[Sample] = []
    while suite.next_ns < seconds(duration_s):
        heard += suite.sample(HOVER._replace(t_ns=suite.next_ns), AIR, PLACE)
    return heard


def of(samples: list[Sample], name: str) -> list[Any]:
    return [sample for sample in samples if isinstance(sample, KIND[name])]
