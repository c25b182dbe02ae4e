"""The report's sections of a multirotor flight: remarks, the thesis' tables, and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.common_sections import switched, value_words
from aeroloop.analysis.labels import TRACKING_NUMBERS, first_few, load_words, times
from aeroloop.analysis.page import number
from aeroloop.analysis.rates_section import rates_section
from aeroloop.analysis.section import Block, Column, Figures, Note, Section, Table, Text, bold, flight_sections
from aeroloop.controllers.pixhawk.types import Failsafe
from aeroloop.core.signals import Event
from aeroloop.families.multirotor.analysis import claims
from aeroloop.families.multirotor.analysis.flight import Flight, flights
from aeroloop.families.multirotor.analysis.metrics import HARD_M_S
from aeroloop.families.multirotor.analysis.plots import flight_pictures, vehicle_pictures
from aeroloop.families.multirotor.analysis.rates import clock_words
from aeroloop.families.multirotor.analysis.rotor_pictures import rotor_section
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
"""The metrics in the report of each of several vehicles."""
TRACKING_NOTE = (
    "Truth minus the autopilot's setpoint, in the air. Manual: flown with sticks (manual, altitude, position). "
    "Mission: flown by the autopilot (takeoff, hold, mission, return, offboard). Waypoint: distance of the closest "
    "approach to each waypoint, in their order. A dash: not flown, no setpoint, or not known for an external autopilot."
)


def sections(scenario: QuadrotorScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    aircraft = flights(log, scenario)
    several = len(aircraft) > 1
    return [
        Section("verdict", "", _remarks(aircraft, scenario, summary)),
        *flight_sections(flight_pictures(log, scenario)),
        *((_of_vehicle(flight) for flight in aircraft) if several else ()),
        *([Section("vehicles", "Vehicles", [_vehicles(aircraft, summary)])] if several else ()),
        *(section for flight in aircraft for section in rotor_section(flight, scenario)),
        *claims.sections(scenario, log, summary),
        *_tables(scenario, summary, several=several),
    ]


def _tables(scenario: QuadrotorScenario, summary: Mapping[str, Any], *, several: bool) -> list[Section]:
    """The thesis' tables of an autopilot over MAVLink; of a law on our board how well it tracked."""
    tracking = _tracking(summary, several=several)
    if scenario.flown_by.tells:
        return [Section("tracking", "RMS tracking error", [tracking, Note("Truth minus setpoint, in the air.")])]
    return [
        _rates(scenario, summary, several=several),
        Section("tracking", "RMS tracking error (table 3.5 of the thesis)", [tracking, Note(TRACKING_NOTE)]),
    ]


def _remarks(aircraft: list[Flight], scenario: QuadrotorScenario, summary: Mapping[str, Any]) -> list[Block]:
    metrics = summary["metrics"]
    restarts, actuators, orders, targets = (
        metrics.get(name, 0.0)
        for name in ("autopilot_restarts", "actuators_refused", "commands_refused", "landing_targets_refused")
    )
    remarks: list[Block] = []
    if not (scenario.flown_by.tells or any(flight.has_autopilot for flight in aircraft)):
        remarks.append(Text("The autopilot is external: its setpoints, estimates and modes are not known."))
    failsafes = _failsafes(summary)
    if failsafes:
        remarks.append(Text(bold("Failsafes:") + f" {first_few(failsafes)}."))
    remarks += [Text(bold("Motor failure:") + f" {words}.") for words in _rotors_lost(summary)]
    if hard := _hard_contact(summary):
        remarks.append(Text(bold("Hard contact:") + f" {hard}."))
    if restarts:
        remarks.append(Text(bold("Restarts:") + f" the autopilot restarted in flight {times(restarts)}."))
    if actuators:
        why = "actuator messages of the autopilot contained NaN or were far out of range"
        remarks.append(Text(bold("Refused:") + f" {number(actuators)} {why}."))
    if orders:
        remarks.append(Text(bold("Commands:") + f" {number(orders)} commands of the pilot were abandoned."))
    if targets:
        why = "landing targets of the companion were refused; a status text has the first reason"
        remarks.append(Text(bold("Landing targets:") + f" {number(targets)} {why}."))
    return remarks


def _rotors_lost(summary: Mapping[str, Any]) -> list[str]:
    """What the autopilot noticed itself."""
    lost = [event for event in summary["events"] if event["event"] == Event.ROTOR_LOST.name]
    return [f"rotor {event['value']:.0f}; the autopilot flew without it from {event['t_s']:.2f} s on" for event in lost]


def _hard_contact(summary: Mapping[str, Any]) -> str:
    """The first ground contact that is not a landing, and the fault before it."""
    contacts = [event for event in summary["events"] if event["event"] == Event.GROUND_CONTACT.name]
    hard = next((event for event in contacts if abs(event["value"]) > HARD_M_S), None)
    if hard is None:
        return ""
    before = [
        fault for fault in switched(summary) if fault["t_s"] <= hard["t_s"] and fault["vehicle"] == hard["vehicle"]
    ]
    after = f", {hard['t_s'] - before[-1]['t_s']:.1f} s after {before[-1]['value']!r}" if before else ""
    return f"at {abs(hard['value']):.1f} m/s at {hard['t_s']:.1f} s{after}"


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
    shown = [key for key in TRACKING_NUMBERS if key in summary["tracking"][0]]
    columns = [Column("Modes", "name"), *(Column(TRACKING_NUMBERS[key].capitalize()) for key in shown)]
    rows = [
        (
            row["modes"] + (f", vehicle {row['vehicle']}" if several else ""),
            *("–" if row[key] is None else number(row[key]) for key in shown),
        )
        for row in summary["tracking"]
    ]
    return Table(columns, rows)


def _vehicles(aircraft: list[Flight], summary: Mapping[str, Any]) -> Table:
    rows = [
        (title, *(number(summary["metrics"][f"v{flight.number}_{key}"]) for flight in aircraft))
        for key, title in VEHICLE_NUMBERS.items()
        if key in summary["metrics"]
    ]
    return Table((Column("", "name"), *(Column(f"Vehicle {flight.number}") for flight in aircraft)), rows)


def _of_vehicle(flight: Flight) -> Section:
    return Section(f"vehicle-{flight.number}", f"Vehicle {flight.number}", [Figures(vehicle_pictures(flight))])
