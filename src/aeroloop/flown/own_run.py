"""Our own runs as flight records: the estimate, as a flown log has it, and truth where no estimate was logged.

World and body axes become those of autopilots: roll keeps its sign, pitch changes it, heading is counted from north.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aeroloop.analysis.track import QUATERNION, euler_rad
from aeroloop.core.config import read_toml
from aeroloop.core.errors import ConfigError
from aeroloop.core.stream import KEYS
from aeroloop.flown import board_samples
from aeroloop.flown.read import Options
from aeroloop.flown.record import Array, FlightRecord
from aeroloop.flown.rules import Message, Rule, above_start, apply, attitude, scaled
from aeroloop.recording import log as flight_log

SCENARIO = "scenario.toml"
TRUTH = "truth"
ROTORS = 8
ATTITUDE = ("roll", "pitch", "yaw")
_SETPOINTS = tuple(f"{name}_setpoint" for name in ATTITUDE)


def _autopilot_angles(quat_WB: Array) -> Array:
    roll, pitch, yaw = euler_rad(quat_WB).T
    return np.stack([roll, -pitch, np.pi / 2 - yaw], axis=1)


def _body(name: str, stream: str, column: str) -> list[Rule]:
    """Forward-left-up to forward-right-down."""
    signs = (("x", 1.0), ("y", -1.0), ("z", -1.0))
    return [scaled(f"{name}_{axis}", stream, column.format(axis), sign) for axis, sign in signs]


def _world(stream: str) -> list[Rule]:
    return [
        scaled("north", stream, "y_m"),
        scaled("east", stream, "x_m"),
        scaled("down", stream, "z_m", -1.0),
        scaled("vel_north", stream, "vy_m_s"),
        scaled("vel_east", stream, "vx_m_s"),
        scaled("vel_down", stream, "vz_m_s", -1.0),
    ]


RULES: tuple[Rule, ...] = (
    *attitude(ATTITUDE, "estimate", QUATERNION, _autopilot_angles),
    *attitude(ATTITUDE, "truth", QUATERNION, _autopilot_angles),
    scaled(_SETPOINTS[0], "setpoint", "roll_rad"),
    scaled(_SETPOINTS[1], "setpoint", "pitch_rad", -1.0),
    Rule(_SETPOINTS[2], "setpoint", ("yaw_rad",), lambda yaw: math.pi / 2 - yaw),
    scaled("throttle", "setpoint", "thrust_ratio"),
    scaled("height_setpoint", "setpoint", "z_m"),
    *_body("gyro", "imu", "gyro_{}_rad_s"),
    *_body("gyro", "truth", "rate_{}_rad_s"),
    *_body("accel", "imu", "accel_{}_m_s2"),
    *_body("mag", "magnetometer", "field_{}_T"),
    scaled("pressure", "barometer", "pressure_Pa"),
    Rule("height", "barometer", ("altitude_m",), above_start),
    scaled("height", "truth", "z_m"),
    scaled("lat", "gnss", "lat_deg"),
    scaled("lon", "gnss", "lon_deg"),
    scaled("alt", "gnss", "alt_m"),
    Rule("speed", "gnss", ("vx_m_s", "vy_m_s"), np.hypot),
    *_world("estimate"),
    *_world("truth"),
    *(scaled(f"motor_{i}", "command", f"command_{i}") for i in range(1, ROTORS + 1)),
    *(
        Rule(f"pulse_{i}", "command", (f"command_{i}",), lambda command: 1000.0 + 1000.0 * command)
        for i in range(1, ROTORS + 1)
    ),
    scaled("armed", "autopilot_state", "armed"),
    scaled("mode", "autopilot_state", "mode"),
)


def read(path: Path, options: Options) -> FlightRecord:
    """`path`: the flight.mcap of a run, with its scenario beside it or not."""
    record = from_log(flight_log.read(path), path, options.aircraft)
    if not record.signals:
        raise ConfigError(f"{path}: its log holds no flight")
    return record


def from_log(log: flight_log.Log, path: Path, aircraft: int = 0) -> FlightRecord:
    """Of one aircraft; of a fleet, one of its first part."""
    prefix = next((name.removesuffix(TRUTH) for name in log.rows if name == TRUTH or name.endswith(f"/{TRUTH}")), "")
    own = flight_log.part_of(log, prefix)
    messages = {name: _message(own, name, aircraft) for name in {rule.message for rule in RULES} & {*own.rows}}
    used = board_samples.used(own, aircraft, path.parent / SCENARIO)
    found = apply((*board_samples.RULES, *RULES) if used else RULES, {**messages, **used})
    vehicle, parameters = _scenario(path.parent / SCENARIO)
    remarks = [f"Part {prefix.rstrip('/')} of the fleet is read."] if prefix else []
    count = _aircraft(own)
    if count > 1:
        remarks.append(f"Aircraft {aircraft} of {count} is read, counted from 0.")
    if log.truncated:
        remarks.append("The log is truncated.")
    return FlightRecord(
        path.parent if (path.parent / SCENARIO).is_file() else path,
        "Aeroloop run",
        found.signals,
        parameters=parameters,
        vehicle=vehicle,
        firmware="Aeroloop",
        missing=found.missing,
        dropped=found.dropped,
        remarks=remarks,
    )


def _aircraft(log: flight_log.Log) -> int:
    """How many flew, by their truth."""
    columns = log.columns.get(TRUTH, ())
    return len(np.unique(log.rows[TRUTH][:, columns.index(KEYS[1])])) if KEYS[1] in columns else 1


def _message(log: flight_log.Log, stream: str, aircraft: int) -> Message:
    rows, columns = log.rows[stream], log.columns[stream]
    if KEYS[1] in columns:
        rows = rows[rows[:, columns.index(KEYS[1])] == aircraft]
    return Message(rows[:, 0], {column: rows[:, index] for index, column in enumerate(columns)})


def _scenario(path: Path) -> tuple[str, dict[str, float]]:
    """The kind of aircraft that flew and the autopilot's parameters, where the scenario stands beside the log."""
    if not path.is_file():
        return "", {}
    table: Mapping[str, Any] = read_toml(path)
    kind = table.get("vehicle", {}).get("kind", "")
    parameters = table.get("autopilot", {}).get("parameters", {})
    return kind, {name: float(value) for name, value in parameters.items()}
