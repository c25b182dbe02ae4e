"""The faults of an aircraft with a set of sensors and a link that lockstep waits for."""

from __future__ import annotations

from aeroloop.core.fault_offers import SENSORS, Offer, of_links, of_sensor
from aeroloop.sensors.suite import SensorSet


def of_sensors_and_lines(fitted: SensorSet, *, lines: bool) -> tuple[Offer, ...]:
    sensors = (name for name in SENSORS if getattr(fitted, name, None) is not None)
    of_sensors = tuple(offer for name in sensors for offer in of_sensor(name))
    # In lockstep, time waits for every message, so none may be lost or late, unless it waits by the baton.
    return (*of_sensors, *of_links()) if lines else of_sensors
