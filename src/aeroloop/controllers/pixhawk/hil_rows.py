"""Log rows of a MAVLink HIL link at the plant: events, message counts and link counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from time import monotonic_ns

from aeroloop.core.signals import NS, Event
from aeroloop.core.stream import Publish
from aeroloop.exchanges.signal_counts import SignalCounts
from aeroloop.protocols.mavlink import MavlinkCounters
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample, SensorSet

SIGNALS: dict[type, tuple[str, str]] = {
    ImuSample: ("imu", "IMU"),
    MagnetometerSample: ("magnetometer", "magnetometer"),
    BarometerSample: ("barometer", "barometer"),
    GnssSample: ("gnss", "GNSS"),
    AirspeedSample: ("airspeed", "airspeed"),
    RangefinderSample: ("rangefinder", "range finder"),
}
"""Sensor of a sample, and its name among LINK_SIGNALS."""
COUNTERS_PERIOD_NS = NS


class HilRows:
    def __init__(self, publish: Mapping[str, Publish], aboard: SensorSet, actuators_hz: float) -> None:
        """`actuators_hz` is the expected rate of the autopilot's answers; 0: not defined."""
        self._publish = publish
        self._answers = self._told_ns = 0
        rates = {
            signal: getattr(aboard, sensor).rate_hz
            for sensor, signal in SIGNALS.values()
            if getattr(aboard, sensor) is not None
        }
        self._counts = SignalCounts({**rates, "actuators": actuators_hz}, publish["signal_count"])
        self._actuators = self._counts["actuators"]
        self._sampled = {kind: self._counts[signal] for kind, (_, signal) in SIGNALS.items() if signal in rates}

    def event(self, t_ns: int, event: Event, value: float) -> None:
        self._publish["event"](t_ns / NS, event, value)

    def exchanged(self, t_ns: int, samples: list[Sample], accepted: int, counters: MavlinkCounters) -> None:
        now_ns = monotonic_ns()
        if answers := accepted - self._answers:
            self._actuators.crossed(now_ns, answers)
            self._answers = accepted
        for sample in samples:
            if count := self._sampled.get(type(sample)):  # none for what stays aboard, as rotor speeds
                count.crossed(now_ns)
        if t_ns >= self._told_ns:
            self._told_ns += COUNTERS_PERIOD_NS
            self.finish(t_ns, counters)

    def finish(self, t_ns: int, counters: MavlinkCounters) -> None:
        """Log the counters."""
        self._counts.publish(t_ns)
        self._publish["link"](t_ns / NS, *astuple(counters))
