"""The report's section of a flight with ArduPilot: which sensors are whose, and what crossed the link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.section import Note, Section, Text
from aeroloop.controllers.ardupilot.tables import ArdupilotScenario
from aeroloop.recording.log import Log

OWN_SENSORS = (
    "ArduPilot got gyroscope and accelerometer from the simulated IMU, with its errors, and position, velocity, "
    "attitude and airspeed as truth. Its magnetometer, barometer, GPS and airspeed sensor are its own models of that "
    "truth (SIM_* parameters); those of the scenario did not reach it."
)


def sections(scenario: ArdupilotScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    imu = scenario.aircraft.aboard.imu
    assert imu is not None
    own = scenario.controller.ardupilot
    answered = f"It was answered {imu.rate_hz:g} times a simulated second; its loop rate is {own.own_rate_hz:g} Hz."
    return [Section("ardupilot", "ArduPilot", [Text(OWN_SENSORS), Note(answered)])]
