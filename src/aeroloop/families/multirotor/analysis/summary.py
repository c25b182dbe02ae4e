"""The part of summary.json specific to multirotors: rates, tracking, load, and a link per vehicle."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from aeroloop.analysis import board, generic
from aeroloop.analysis.autopilot_log import status_texts
from aeroloop.analysis.family import Analysis
from aeroloop.analysis.statistics import PARAMETER_CHANGED, rms
from aeroloop.analysis.track import Track
from aeroloop.control.flight_gains import GAINS
from aeroloop.controllers.pixhawk.parameters import TABLE
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode
from aeroloop.core.parameter_numbers import by_number
from aeroloop.core.signals import Event
from aeroloop.families.multirotor.analysis import mission
from aeroloop.families.multirotor.analysis.errors import tracking
from aeroloop.families.multirotor.analysis.flight import COMMANDS, MODE_CLASSES, Flight, flights
from aeroloop.families.multirotor.analysis.metrics import metrics, tracking_rms
from aeroloop.families.multirotor.analysis.rates import clock, rates
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.recording.log import Log

TABLE_3_5 = ("roll_rms_deg", "pitch_rms_deg", "yaw_rms_deg", "altitude_rms_m")
EVENT_VALUES: Mapping[str, type[IntEnum]] = {Event.MODE_CHANGED.name: FlightMode, Event.FAILSAFE.name: Failsafe}
"""Events whose value is a number in an enumeration."""
PARAMETERS = tuple(by_number({row.name for row in TABLE} | {gain.name for gain in GAINS}))
"""Those of the virtual Pixhawk, in the order of their numbers in the log."""


def details(log: Log, scenario: QuadrotorScenario) -> dict[str, Any]:
    of_vehicles = flights(log, scenario)
    return {
        "timing": generic.step_timing(log),
        "load": scenario.busy_processes,
        "rates_clock": clock(scenario),
        "rates": [rate.row() for rate in rates(log, scenario)],
        "tracking": [row for flight in of_vehicles for row in _tracking(flight, scenario)],
        "board": board.statistics(log, scenario, board.tasks_of(scenario)),
        "links": generic.links(log),
    }


def events(log: Log) -> list[dict[str, Any]]:
    changes = [
        {
            "t_s": t_s,
            "source": "board",
            "vehicle": int(vehicle),
            "event": PARAMETER_CHANGED,
            "value": change_words(*row),
        }
        for t_s, vehicle, *row in log.rows["parameter_change"].tolist()
    ]
    return generic.events(log) + changes + status_texts(log)


def change_words(number: float, old: float, new: float) -> str:
    name = PARAMETERS[int(number)] if 0 <= number < len(PARAMETERS) else f"parameter {number:g}"
    return f"{name} {old:g} -> {new:g}"


def tracks(log: Log) -> list[Track]:
    return generic.tracks(log, {command: f"motor_{i}_ratio" for i, command in enumerate(COMMANDS, 1)})


def _tracking(flight: Flight, scenario: QuadrotorScenario) -> list[dict[str, Any]]:
    """A row for the modes that are flown by hand and one for those that are not; waypoints belong to the latter. A law
    on our board has no modes."""
    wanted = tracking(flight)
    if scenario.flown_by.tells:
        found = tracking_rms(wanted)
        own = {key: found[key] for key in TABLE_3_5}
        return [{"vehicle": flight.number, "modes": "whole flight", **own}]
    waypoint_rms_m = rms(mission.passes(flight, scenario).miss_m)
    rows = []
    for name, modes in MODE_CLASSES.items():
        found = tracking_rms(wanted.only(flight.in_modes(modes, wanted.t_s)))
        rows.append(
            {
                "vehicle": flight.number,
                "modes": name,
                **{key: found[key] for key in TABLE_3_5},
                "waypoint_rms_m": waypoint_rms_m if name == "mission" else float("nan"),
            }
        )
    return rows


ANALYSIS = Analysis[QuadrotorScenario](
    metrics=metrics,
    never=("diverged", "hard_contacts", "autopilot_restarts", "actuators_refused", "overruns", "board_restarts"),
    details=details,
    events=events,
    tracks=tracks,
    command_caption="Commands to the motors, 0 to 1.",
    event_values=EVENT_VALUES,
)
