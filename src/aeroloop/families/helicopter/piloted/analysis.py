"""Numbers of a helicopter's flight with an external autopilot; of several the worst one's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aeroloop.analysis import generic
from aeroloop.analysis.autopilot_log import AutopilotLog, autopilot_metrics, status_texts
from aeroloop.analysis.family import Analysis
from aeroloop.analysis.statistics import count, largest
from aeroloop.analysis.track import Track
from aeroloop.analysis.truth_log import Flags, estimation, estimation_metrics
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode
from aeroloop.core.signals import Event
from aeroloop.families.helicopter import airframe
from aeroloop.families.helicopter.analysis import COMMANDS
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.recording.log import Log

AIRBORNE_M = 1.0
"""Height above its place on the ground from which it flies."""
LESS_IS_WORSE = ("airborne_s", "climb_m", "rotor_speed_low_pct")
PITCHES = {name: words for name, words in COMMANDS.items() if name != "throttle"}


class HelicopterFlight(AutopilotLog):
    def airborne(self, t_s: Any) -> Flags:
        """From the first time above its place on."""
        high = self.t_s[self.pos_W[:, 2] - self.pos_W[:1, 2] >= AIRBORNE_M] if self.t_s.size else self.t_s
        return np.asarray(t_s >= high[0]) if high.size else np.zeros(len(t_s), dtype=bool)


def metrics(log: Log, scenario: HelicopterScenario) -> dict[str, float]:
    speed_rad_s = airframe.load(scenario.aircraft.vehicle.airframe).head.speed_rad_s
    each = [_flown(HelicopterFlight(log, number), speed_rad_s) for number in range(scenario.aircraft.count)]
    worst = {
        name: float((np.min if name in LESS_IS_WORSE else np.max)([own[name] for own in each])) for name in each[0]
    }
    several = {f"v{number}_{name}": value for number, own in enumerate(each) for name, value in own.items()}
    return {**generic.metrics(log, scenario), **worst, **(several if len(each) > 1 else {})}


def _flown(flight: HelicopterFlight, speed_rad_s: float) -> dict[str, float]:
    t_s, z_m = flight.t_s, flight.pos_W[:, 2]
    flying = flight.airborne(t_s)
    roll, pitch = (np.abs(flight.attitude_rad[flying, axis]) for axis in (0, 1))
    slow_pct = 100.0 * flight.column("effort", "rotor_rad_s")[flying] / speed_rad_s
    return {
        "airborne_s": float(t_s[flying][-1] - t_s[flying][0]) if flying.any() else 0.0,
        "climb_m": largest(z_m - z_m[:1]),
        "roll_max_deg": math.degrees(largest(roll)),
        "pitch_max_deg": math.degrees(largest(pitch)),
        "rotor_speed_low_pct": float(np.min(slow_pct)) if slow_pct.size else math.nan,
        "saturated_steps": count(flight.column("effort", "saturated")),
        **estimation_metrics(estimation(flight)),
        **autopilot_metrics(flight),
    }


def events(log: Log) -> list[dict[str, Any]]:
    return generic.events(log) + status_texts(log)


def tracks(log: Log) -> list[Track]:
    return generic.tracks(log, {**PITCHES, "rotor_speed": "rotor speed"})


ANALYSIS = Analysis[HelicopterScenario](
    metrics=metrics,
    never=("diverged", "autopilot_restarts", "actuators_refused"),
    events=events,
    tracks=tracks,
    command_caption="Pitches in rad, and the setpoint of the rotor speed, that the autopilot's channels command.",
    event_values={Event.MODE_CHANGED.name: FlightMode, Event.FAILSAFE.name: Failsafe},
)
