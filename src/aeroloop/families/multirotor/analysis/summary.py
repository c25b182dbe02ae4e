"""What summary.json says of a multirotor flight and of no other: rates, tracking, load, and a link a vehicle."""

from __future__ import annotations

from typing import Any

from aeroloop.analysis import timing
from aeroloop.analysis.statistics import FAULT_SWITCHED, PARAMETER_CHANGED, event_name, largest, rms
from aeroloop.core.fault_offers import words as fault_words
from aeroloop.families.multirotor.analysis import mission
from aeroloop.families.multirotor.analysis.errors import tracking
from aeroloop.families.multirotor.analysis.flight import MODE_CLASSES, Flight, flights
from aeroloop.families.multirotor.analysis.metrics import tracking_rms
from aeroloop.families.multirotor.analysis.rates import clock, rates
from aeroloop.families.multirotor.analysis.words import change_words
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.multirotor.streams import COUNTER_NAMES
from aeroloop.recording.log import Log

LINKS = {"plant": "hil_link", "autopilot": "pixhawk_link"}
SOURCES = {"plant": "flight_event", "autopilot": "autopilot_event"}
TABLE_3_5 = ("roll_rms_deg", "pitch_rms_deg", "yaw_rms_deg", "altitude_rms_m")


def details(log: Log, scenario: QuadrotorScenario) -> dict[str, Any]:
    of_vehicles = flights(log, scenario.aircraft.vehicle.count)
    lateness_s = log.column("hil_pace", "lateness_s")
    missed = log.column("hil_pace", "missed")
    return {
        "timing": {
            "step_lateness_s": timing.statistics(lateness_s),
            "missed_deadlines": int(largest(missed)) if missed.size else None,
        },
        "load": scenario.busy_processes,
        "rates_clock": clock(scenario),
        "rates": [rate.row() for rate in rates(log, scenario)],
        "tracking": [row for flight in of_vehicles for row in _tracking(flight, scenario)],
        "links": {
            f"vehicle_{flight.number}_at_{end}": _counters(flight, stream)
            for flight in of_vehicles
            for end, stream in LINKS.items()
        },
    }


def events(log: Log) -> list[dict[str, Any]]:
    happened = [
        {"t_s": t_s, "source": source, "vehicle": int(vehicle), "event": event_name(code), "value": value}
        for source, stream in SOURCES.items()
        for t_s, vehicle, code, value in log.rows[stream].tolist()
    ]
    faults = [
        {"t_s": t_s, "source": "plant", "vehicle": int(vehicle), "event": FAULT_SWITCHED, "value": fault_words(row)}
        for t_s, vehicle, *row in log.rows["flight_fault"].tolist()
    ]
    changes = [
        {
            "t_s": t_s,
            "source": "autopilot",
            "vehicle": int(vehicle),
            "event": PARAMETER_CHANGED,
            "value": change_words(*row),
        }
        for t_s, vehicle, *row in log.rows["parameter_change"].tolist()
    ]
    return happened + faults + changes


def _tracking(flight: Flight, scenario: QuadrotorScenario) -> list[dict[str, Any]]:
    """A row for the modes that are flown by hand and one for those that are not; waypoints belong to the latter."""
    wanted = tracking(flight)
    waypoint_rms_m = rms(mission.passes(flight, scenario.controller.pilot).miss_m)
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


def _counters(flight: Flight, stream: str) -> dict[str, int] | None:
    rows = flight.rows(stream)
    names = COUNTER_NAMES
    return dict(zip(names, (int(n) for n in rows[-1, 2:]), strict=True)) if len(rows) else None
