"""The report's sections of a multirotor flight: remarks, the thesis' tables, and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.common_sections import value_words
from aeroloop.analysis.page import number
from aeroloop.analysis.rates_section import rates_section
from aeroloop.analysis.section import Block, Column, Figures, Note, Section, Table, Text, bold
from aeroloop.analysis.words import TRACKING_NUMBERS, first_few, load_words, times
from aeroloop.controllers.pixhawk.seam import Failsafe
from aeroloop.core.signals import Event
from aeroloop.families.multirotor.analysis.flight import Flight, flights
from aeroloop.families.multirotor.analysis.plots import flight_pictures, vehicle_pictures
from aeroloop.families.multirotor.analysis.rates import clock_words
from aeroloop.families.multirotor.analysis.summary import EVENT_VALUES
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.recording.log import Log

VEHICLE_NUMBERS = {
    "flown_s": "flown (s)",
    "airborne_s": "in the air (s)",
    "height_max_m": "greatest height (m)",
    "pos_rms_m": "position, RMS (m)",
    "yaw_rms_deg": "yaw, RMS (deg)",
    "waypoint_rms_m": "waypoints, RMS (m)",
    "est_pos_rms_m": "estimated position, RMS (m)",
    "touchdown_speed_max_m_s": "touchdown (m/s)",
    "battery_used_pct": "battery used (%)",
}
"""What the report says of each of several vehicles."""
TRACKING_NOTE = (
    "Truth minus the autopilot's setpoint, in the air. Manual: flown with sticks (manual, altitude, position). "
    "Mission: flown by the autopilot (takeoff, hold, mission, return). Waypoint: distance of the closest approach to "
    "each waypoint, in their order. A dash: not flown, no setpoint, or not known from outside."
)


def sections(scenario: QuadrotorScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    aircraft = flights(log, scenario.aircraft.vehicle.count)
    several = len(aircraft) > 1
    return [
        Section("verdict", "", _remarks(aircraft, summary)),
        _rates(scenario, summary, several=several),
        Section("tracking", "Table 3.5: RMS tracking", [_tracking(summary, several=several), Note(TRACKING_NOTE)]),
        *([Section("vehicles", "Vehicles", [_vehicles(aircraft, summary)])] if several else ()),
        Section("figures", "Flight", [Figures(flight_pictures(log, scenario))]),
        *((_of_vehicle(flight) for flight in aircraft) if several else ()),
    ]


def _remarks(aircraft: list[Flight], summary: Mapping[str, Any]) -> list[Block]:
    metrics = summary["metrics"]
    restarts, actuators, orders = (
        metrics[name] for name in ("autopilot_restarts", "actuators_refused", "orders_refused")
    )
    remarks: list[Block] = []
    if not any(flight.has_autopilot for flight in aircraft):
        remarks.append(
            Text("The autopilot is external: its setpoints, estimates and modes are not known from outside.")
        )
    failsafes = _failsafes(summary)
    if failsafes:
        remarks.append(Text(bold("Failsafes:") + f" {first_few(failsafes)}."))
    if restarts:
        remarks.append(Text(bold("Restarts:") + f" the autopilot restarted in flight {times(restarts)}."))
    if actuators:
        why = "of the autopilot's actuator messages held no numbers or were far out of range"
        remarks.append(Text(bold("Refused:") + f" {number(actuators)} {why}."))
    if orders:
        remarks.append(Text(bold("Commands:") + f" {number(orders)} of the pilot's commands were given up."))
    return remarks


def _failsafes(summary: Mapping[str, Any]) -> list[str]:
    return [
        f"{number(event['t_s'])} s ({value_words(event, EVENT_VALUES)})"
        for event in summary["events"]
        if event["event"] == Event.FAILSAFE.name and event["value"] != Failsafe.NONE
    ]


def _rates(scenario: QuadrotorScenario, summary: Mapping[str, Any], *, several: bool) -> Section:
    load = bold(load_words(summary["load"])) + (" as background load." if summary["load"] else " background load.")
    rates = [(rate, [rate]) for rate in summary["rates"]]
    return rates_section("Flown " + load + f" {clock_words(scenario)}", rates, several=several)


def _tracking(summary: Mapping[str, Any], *, several: bool) -> Table:
    columns = [Column("Modes", "name"), *(Column(title.capitalize()) for title in TRACKING_NUMBERS.values())]
    rows = [
        (
            row["modes"] + (f", vehicle {row['vehicle']}" if several else ""),
            *("–" if row[key] is None else number(row[key]) for key in TRACKING_NUMBERS),
        )
        for row in summary["tracking"]
    ]
    return Table(columns, rows)


def _vehicles(aircraft: list[Flight], summary: Mapping[str, Any]) -> Table:
    rows = [
        (title, *(number(summary["metrics"][f"v{flight.number}_{key}"]) for flight in aircraft))
        for key, title in VEHICLE_NUMBERS.items()
    ]
    return Table((Column("", "name"), *(Column(f"Vehicle {flight.number}") for flight in aircraft)), rows)


def _of_vehicle(flight: Flight) -> Section:
    return Section(f"vehicle-{flight.number}", f"Vehicle {flight.number}", [Figures(vehicle_pictures(flight))])
