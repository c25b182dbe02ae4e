"""What the plant of autopilots writes down of one aircraft, tick by tick."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple

from aeroloop.actuators.motors import RotorEffort
from aeroloop.core.signals import NS, Air, Event, RigidState
from aeroloop.exchanges.autopilot_loop import AutopilotLoop, Events, Happening
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.flight.processes.signal_counts import SignalCounts
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.suite import Sample, SensorSet
from aeroloop.sim.fleet import FleetPace

SIGNALS: dict[type, tuple[str, str]] = {
    ImuSample: ("imu", "IMU"),
    MagnetometerSample: ("magnetometer", "magnetometer"),
    BarometerSample: ("barometer", "barometer"),
    GnssSample: ("gnss", "GNSS"),
    AirspeedSample: ("airspeed", "airspeed"),
    RangefinderSample: ("rangefinder", "range finder"),
}
"""Stream of a sample, and its name among LINK_SIGNALS."""

EVENTS = {
    Happening.ANSWERED: Event.AUTOPILOT_ANSWERED,
    Happening.RESTARTED: Event.AUTOPILOT_RESTARTED,
    Happening.LEFT: Event.AUTOPILOT_LEFT,
    Happening.RETURNED: Event.AUTOPILOT_BACK,
    Happening.REFUSED: Event.ACTUATORS_REFUSED,
    Happening.GROUND_CONTACT: Event.GROUND_CONTACT,
    Happening.DIVERGED: Event.DIVERGED,
}
AIR_PERIOD_NS = PACE_PERIOD_NS = NS // 50
COUNTERS_PERIOD_NS = NS


class FlightLog:
    """The observer of one AutopilotLoop."""

    def __init__(
        self,
        vehicle: int,
        aboard: SensorSet,
        actuators_hz: float,
        publish: dict[str, Callable[..., None]],
        pace: FleetPace,
    ) -> None:
        """`actuators_hz` is how often the autopilot should answer; 0 where that is its own affair."""
        self.loop: AutopilotLoop[RotorEffort] | None = None  # whose counters are told
        self._vehicle, self._pace = vehicle, pace
        self._late_s = 0.0
        self._told_ns = self._pace_ns = self._t_ns = 0
        self._answers = 0
        self._publish = publish
        self._truth, self._motors, self._air = publish["rigid_truth"], publish["motors"], publish["air"]
        self._air_ns = 0
        rates = {
            signal: getattr(aboard, stream).rate_hz
            for stream, signal in SIGNALS.values()
            if getattr(aboard, stream) is not None
        }
        self.counts = SignalCounts(vehicle, {**rates, "actuators": actuators_hz}, publish["signal_count"])

    def __call__(
        self,
        state: RigidState,
        effort: RotorEffort,
        controls: tuple[float, ...],
        air: Air,
        samples: list[Sample],
        events: Events,
    ) -> None:
        t_ns = state.t_ns
        t_s, vehicle = t_ns / NS, self._vehicle
        self._truth(t_s, vehicle, *state.pos_W, *state.vel_W, *state.quat_WB, *state.rate_B)
        none = (math.nan,) * (MOST_ROTORS - len(controls))
        self._motors(t_s, vehicle, *controls, *none, *effort.speed_rad_s, *none)
        if t_ns >= self._air_ns:
            self._air_ns += AIR_PERIOD_NS
            ground_m = self.loop.ground_m if self.loop is not None else 0.0
            self._air(t_s, vehicle, *air.wind_W, air.density_kg_m3, ground_m)
        for sample in samples:
            stream, signal = SIGNALS[type(sample)]
            self.counts.count(signal)
            self._publish[stream](t_s, vehicle, *_values(sample))
        self._tell_events(t_s, events)
        self._t_ns = t_ns
        self._count_answers()
        if vehicle == 0 and not self._pace.lockstep:
            self._note_pace(t_s)
        if t_ns >= self._told_ns:
            self._told_ns += COUNTERS_PERIOD_NS
            self.tell()

    def last_words(self) -> None:
        """What happened after the last tick."""
        if self.loop is not None:
            self._tell_events(self._t_ns / NS, self.loop.untold())

    def note_fault(self, row: tuple[float, ...]) -> None:
        """What was switched after the last tick."""
        self._publish["flight_fault"](self._t_ns / NS, self._vehicle, *row)

    def _tell_events(self, t_s: float, events: Events) -> None:
        for happening, value in events:
            self._publish["flight_event"](t_s, self._vehicle, EVENTS[happening], value)

    def tell(self) -> None:
        """The counters as they stand."""
        self.counts.tell(self._t_ns)
        if self.loop is not None:
            self._publish["hil_link"](self._t_ns / NS, self._vehicle, *astuple(self.loop.counters))

    def _count_answers(self) -> None:
        assert self.loop is not None
        while self._answers < self.loop.actuators.accepted:
            self._answers += 1
            self.counts.count("actuators")

    def _note_pace(self, t_s: float) -> None:
        self._late_s = max(self._late_s, self._pace.lateness_s)
        if self._t_ns >= self._pace_ns:
            self._pace_ns += PACE_PERIOD_NS
            self._publish["hil_pace"](t_s, 0, self._late_s, self._pace.missed_deadlines)
            self._late_s = 0.0


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
