"""Numbers of a fixed wing's flight with an external autopilot, from its log alone; of several the worst one's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aeroloop.analysis import generic
from aeroloop.analysis.autopilot_log import AutopilotLog, autopilot_metrics, status_texts
from aeroloop.analysis.family import Analysis
from aeroloop.analysis.power import LESS_IS_WORSE as LESS_POWER
from aeroloop.analysis.power import power_metrics
from aeroloop.analysis.statistics import count, largest, mean
from aeroloop.analysis.track import Track
from aeroloop.analysis.truth_log import Flags, estimation, estimation_metrics
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode
from aeroloop.core.signals import Event
from aeroloop.families.fixedwing.analysis.summary import COMMANDS, SURFACE_FIELDS
from aeroloop.families.fixedwing.scenario import PilotedWingScenario
from aeroloop.recording.log import Log

AIRBORNE_M = 5.0
"""Height above the catapult from which it flies."""
LESS_IS_WORSE = ("airborne_s", "climb_m", "airspeed_min_m_s", "clearance_min_m", *LESS_POWER)
"""Of everything else more is worse."""
HELD_S = 20.0
"""The last seconds of a flight: how well it holds its height there."""


class WingFlight(AutopilotLog):
    def airborne(self, t_s: Any) -> Flags:
        """From the first time well above the catapult on."""
        high = self.t_s[self.pos_W[:, 2] - self.pos_W[:1, 2] >= AIRBORNE_M] if self.t_s.size else self.t_s
        return np.asarray(t_s >= high[0]) if high.size else np.zeros(len(t_s), dtype=bool)


def metrics(log: Log, scenario: PilotedWingScenario) -> dict[str, float]:
    each = [_flown(WingFlight(log, number)) for number in range(scenario.aircraft.count)]
    worst = {
        name: float(
            np.min([own[name] for own in each]) if name in LESS_IS_WORSE else np.max([own[name] for own in each])
        )
        for name in each[0]
    }
    several = {f"v{number}_{name}": value for number, own in enumerate(each) for name, value in own.items()}
    return {**generic.metrics(log, scenario), **worst, **(several if len(each) > 1 else {})}


def _flown(flight: WingFlight) -> dict[str, float]:
    t_s, z_m = flight.t_s, flight.pos_W[:, 2]
    flying = flight.airborne(t_s)
    held = flying & (t_s >= (t_s[-1] if t_s.size else 0.0) - HELD_S)
    airspeed_m_s, ground_m = (flight.column("truth", name)[flying] for name in ("airspeed_m_s", "ground_m"))
    roll, pitch = (np.abs(flight.attitude_rad[flying, axis]) for axis in (0, 1))
    return {
        "airborne_s": float(t_s[flying][-1] - t_s[flying][0]) if flying.any() else 0.0,
        "climb_m": largest(z_m - z_m[:1]),
        "held_height_mean_m": mean(z_m[held] - z_m[:1]),
        "held_height_range_m": largest(z_m[held]) + largest(-z_m[held]),
        "airspeed_min_m_s": -largest(-airspeed_m_s),
        "airspeed_max_m_s": largest(airspeed_m_s),
        "clearance_min_m": -largest(ground_m - z_m[flying]),
        "roll_max_deg": math.degrees(largest(roll)),
        "pitch_max_deg": math.degrees(largest(pitch)),
        "saturated_steps": count(flight.column("effort", "saturated")),
        **estimation_metrics(estimation(flight)),
        **autopilot_metrics(flight),
        **power_metrics(flight),
    }


def events(log: Log) -> list[dict[str, Any]]:
    return generic.events(log) + status_texts(log)


def tracks(log: Log) -> list[Track]:
    return generic.tracks(log, dict(zip(SURFACE_FIELDS, COMMANDS, strict=True)))


ANALYSIS = Analysis[PilotedWingScenario](
    metrics=metrics,
    never=("diverged", "ground_contacts", "autopilot_restarts", "actuators_refused"),
    events=events,
    tracks=tracks,
    command_caption="Surfaces in rad and throttle, 0 to 1, that the autopilot's channels command.",
    event_values={Event.MODE_CHANGED.name: FlightMode, Event.FAILSAFE.name: Failsafe},
)
