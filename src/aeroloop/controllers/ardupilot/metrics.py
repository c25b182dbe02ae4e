"""Numbers of a flight with ArduPilot, besides its family's; of several vehicles the worst."""

from __future__ import annotations

import math

import numpy as np

from aeroloop.analysis.statistics import Array
from aeroloop.analysis.vehicle_log import VehicleLog
from aeroloop.controllers.ardupilot.tables import ArdupilotScenario
from aeroloop.core.signals import Event
from aeroloop.core.text_rows import text_of
from aeroloop.recording.log import Log

USES_GPS = "is using GPS"
"""Ends the text with which its estimator says so: `EKF3 IMU0 is using GPS`."""


def metrics(scenario: ArdupilotScenario, log: Log) -> dict[str, float]:
    """`gps_in_use_s`: when its estimator first used GPS. `takeoff_height_error_m`: height above the start, less that of
    the pilot's last take-off command, when the pilot sends the next command but `arm`. NaN where it is not known."""
    vehicles = [VehicleLog(log, number) for number in range(scenario.aircraft.count)]
    return {
        "gps_in_use_s": _worst([_gps_in_use_s(vehicle) for vehicle in vehicles]),
        "takeoff_height_error_m": _worst([_height_error_m(scenario, vehicle) for vehicle in vehicles]),
    }


def _worst(values: list[float]) -> float:
    """NaN of one vehicle is NaN of all."""
    return float(np.max(values))


def _gps_in_use_s(vehicle: VehicleLog) -> float:
    rows = vehicle.rows("status_text").tolist()
    times_s = [t_s for t_s, _, _, *text in rows if text_of(text).endswith(USES_GPS)]
    return min(times_s, default=math.nan)


def _height_error_m(scenario: ArdupilotScenario, vehicle: VehicleLog) -> float:
    commands = scenario.controller.pilot.commands
    flown = [index for index, command in enumerate(commands) if command.do == "takeoff" and command.value]
    t_s, height_m = vehicle.column("truth", "t_s"), vehicle.column("truth", "z_m")
    if not flown or not t_s.size:
        return math.nan
    after = [number for number, command in enumerate(commands) if number > flown[-1] and command.do != "arm"]
    next_s = _sent_s(vehicle, after[0]) if after else np.empty(0)
    if not next_s.size:
        return math.nan
    at = max(0, int(np.searchsorted(t_s, next_s[0])) - 1)
    return abs(float(height_m[at] - height_m[0]) - commands[flown[-1]].value)


def _sent_s(vehicle: VehicleLog, number: int) -> Array:
    """When the pilot's command of this number was first sent."""
    code, value = vehicle.column("board_event", "code"), vehicle.column("board_event", "value")
    return np.asarray(vehicle.column("board_event", "t_s")[(code == Event.COMMAND_SENT) & (value == number)])
