"""The report of a multirotor flight: verdict, the thesis' tables, and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aeroloop.analysis import page
from aeroloop.analysis.page import Section, number
from aeroloop.analysis.words import TRACKING_NUMBERS, load_words
from aeroloop.controllers.pixhawk.seam import Failsafe, FlightMode
from aeroloop.core.signals import Event
from aeroloop.families.multirotor.analysis.flight import Flight, flights
from aeroloop.families.multirotor.analysis.plots import flight_pictures, vehicle_pictures
from aeroloop.families.multirotor.analysis.rates import clock_words
from aeroloop.families.multirotor.analysis.words import VEHICLE_NUMBERS
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.multirotor.streams import COUNTER_NAMES
from aeroloop.recording.log import Log

TEMPLATES = Path(__file__).parent
VALUES = {Event.MODE_CHANGED.name: FlightMode, Event.FAILSAFE.name: Failsafe}
"""Events whose value is a number in an enumeration."""


def render(scenario: QuadrotorScenario, log: Log, summary: Mapping[str, Any]) -> str:
    """The page as text; equal input gives equal text. `summary` is what summary.json holds."""
    verdict_class, verdict = page.verdict(summary["exit_code"])
    aircraft = flights(log, scenario.aircraft.vehicle.count)
    several = len(aircraft) > 1
    named = [{**event, "value": _value(event)} for event in summary["events"]]
    return page.render(
        "report.html.j2",
        TEMPLATES,
        scenario=scenario,
        several=several,
        summary={**summary, "events": named},
        verdict=verdict,
        verdict_class=verdict_class,
        outside=not any(flight.has_autopilot for flight in aircraft),
        failsafes=[
            f"{number(event['t_s'])} s ({event['value']})"
            for event in named
            if event["event"] == Event.FAILSAFE.name and event["value"] != Failsafe.NONE.name.lower()
        ],
        clock=clock_words(scenario),
        load=load_words(summary["load"]),
        tracking_numbers=TRACKING_NUMBERS,
        vehicle_numbers=VEHICLE_NUMBERS,
        timing={name: row for name, row in summary["timing"].items() if isinstance(row, dict)},
        counters=COUNTER_NAMES,
        pictures=flight_pictures(log, scenario),
        vehicles=[flight.number for flight in aircraft] if several else [],
        sections=[_of_vehicle(flight) for flight in aircraft] if several else [],
    )


def _of_vehicle(flight: Flight) -> Section:
    return Section(f"vehicle-{flight.number}", f"Vehicle {flight.number}", vehicle_pictures(flight))


def _value(event: Mapping[str, Any]) -> Any:
    """The value's name where it has one."""
    kind = VALUES.get(event["event"])
    known = kind is not None and event["value"] in [member.value for member in kind]
    return kind(int(event["value"])).name.lower().replace("_", " ") if kind and known else event["value"]
