"""What ArduPilot's messages mean, in the formats of its years: the rules of .bin and .log, and who wrote the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.flown.quantities import CHANNELS, DEGREE, M_GAUSS
from aeroloop.flown.record import Array, FlightRecord
from aeroloop.flown.rules import Message, Rule, apply, scaled

TIMES: tuple[tuple[str, float], ...] = (("TimeUS", 1e-6), ("T", 1e-3), ("TimeMS", 1e-3))
"""Columns of the board's time, with their unit in s, the first that a message has: before 3.3 GPS.TimeMS is the
receiver's time, and its `T` the board's."""
INSTANCE = "I"
"""Column with the number of the sensor, in messages that have several: the first one's rows are read."""
INSTANCES = {"XKF1": "C", "NKF1": "C"}
"""The same, where it is called otherwise: cores of the estimator."""
ARMED_EVENT, DISARMED_EVENT = 10, 11  # EV.Id
VEHICLES = {
    "Copter": "multirotor",
    "Plane": "fixedwing",
    "Rover": "rover",
    "Sub": "submarine",
    "Blimp": "airship",
    "Tracker": "antenna tracker",
}
NOT_FLYING = ("rover", "submarine", "antenna tracker")
_FIRMWARE = re.compile(rf"^\s*(?:Ardu|APM:?)?({'|'.join(VEHICLES)})\s+V?\d", re.IGNORECASE)
_OURS = re.compile(r"^Aeroloop .*\((\w+)\)$")
MOST_PARAMETERS = 20_000


def _throttle(values: Array) -> Array:
    """Copter writes 0 to 1, plane per cent."""
    return values / 100.0 if np.nanmax(values, initial=0.0) > 2.0 else values


def _fixed(own: Array, latitude: Array, longitude: Array) -> Array:
    """Without a fix both are 0."""
    return np.where((latitude == 0.0) & (longitude == 0.0), np.nan, own)


def _place(message: str) -> list[Rule]:
    return [
        Rule("lat", message, ("Lat", "Lng"), lambda lat, lon: _fixed(lat, lat, lon)),
        Rule("lon", message, ("Lat", "Lng"), lambda lat, lon: _fixed(lon, lat, lon)),
        Rule("alt", message, ("Alt", "Lat", "Lng"), _fixed),
    ]


def _channels(name: str, message: str) -> Iterable[Rule]:
    return (
        scaled(f"{name}_{number}", message, f"{column}{number}")
        for number in range(1, CHANNELS + 1)
        for column in ("C", "Ch", "Chan")
    )


def _event(number: Array) -> Array:
    return np.select([number == ARMED_EVENT, number == DISARMED_EVENT], [1.0, 0.0], np.nan)


RULES: tuple[Rule, ...] = (
    *(scaled(name.lower(), "ATT", name, DEGREE) for name in ("Roll", "Pitch", "Yaw")),
    *(
        scaled(f"{name.lower()}_setpoint", "ATT", column, DEGREE)
        for name, columns in (
            ("Roll", ("DesRoll", "RollIn")),
            ("Pitch", ("DesPitch", "PitchIn")),
            ("Yaw", ("DesYaw", "NavYaw")),
        )
        for column in columns
    ),
    scaled("roll_rate_setpoint", "RATE", "RDes", DEGREE),
    scaled("pitch_rate_setpoint", "RATE", "PDes", DEGREE),
    scaled("yaw_rate_setpoint", "RATE", "YDes", DEGREE),
    Rule("throttle", "CTUN", ("ThO",), _throttle),
    scaled("throttle", "CTUN", "ThrOut", 1e-3),
    scaled("height_setpoint", "CTUN", "DAlt"),
    *(scaled(f"gyro_{axis.lower()}", "IMU", f"Gyr{axis}") for axis in "XYZ"),
    *(scaled(f"accel_{axis.lower()}", "IMU", f"Acc{axis}") for axis in "XYZ"),
    *(scaled(f"mag_{axis.lower()}", "MAG", f"Mag{axis}", M_GAUSS) for axis in "XYZ"),
    scaled("pressure", "BARO", "Press"),
    scaled("height", "BARO", "Alt"),
    scaled("height", "CTUN", "BarAlt"),
    scaled("height", "CTUN", "BAlt"),
    *_place("GPS"),
    *_place("POS"),
    Rule("speed", "GPS", ("Spd", "Lat", "Lng"), _fixed),
    *(
        scaled(name, message, column)
        for message in ("XKF1", "NKF1", "EKF1")
        for name, column in (
            *(("north", "PN"), ("east", "PE"), ("down", "PD")),
            *(("vel_north", "VN"), ("vel_east", "VE"), ("vel_down", "VD")),
        )
    ),
    *_channels("pulse", "RCOU"),
    *_channels("stick", "RCIN"),
    scaled("armed", "ARM", "ArmState"),
    Rule("armed", "EV", ("Id",), _event),
    scaled("mode", "MODE", "ModeNum"),
    scaled("mode", "MODE", "Mode"),
)
WANTED: frozenset[str] = frozenset(rule.message for rule in RULES)
COLUMNS: Mapping[str, frozenset[str]] = {
    message: frozenset(
        {
            *(column for rule in RULES if rule.message == message for column in rule.columns),
            *(name for name, _ in TIMES),
            INSTANCES.get(message, INSTANCE),
        }
    )
    for message in WANTED
}
"""What is read of each message; all else stays in the file."""


@dataclass
class Contents:
    """What a reader found in a log, whether it was binary or text."""

    columns: dict[str, dict[str, Array]] = field(default_factory=dict)  # of each wanted message
    parameters: dict[str, float] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)  # of MSG
    rows: int = 0  # of all messages
    remarks: list[str] = field(default_factory=list)


def as_record(path: Path, of_format: str, contents: Contents) -> FlightRecord:
    """ConfigError where nothing in it can be compared."""
    if not contents.rows:
        raise ConfigError(f"{path}: not a DataFlash log of ArduPilot, it holds no message that a FMT row describes")
    firmware, vehicle = _written_by(contents.texts)
    if vehicle in NOT_FLYING:
        raise ConfigError(f"{path}: the log of a {vehicle} ({firmware}); expected that of an aircraft")
    untimed = [name for name, columns in contents.columns.items() if _time_s(columns) is None]
    if "ATT" in untimed or "ATT" not in contents.columns:
        why = f"has no column {' or '.join(name for name, _ in TIMES)}" if "ATT" in untimed else "is not in it"
        raise ConfigError(f"{path}: no attitude can be read: message ATT {why}; log with LOG_BITMASK bit 0 or 1 set")
    messages = {name: message for name, of in contents.columns.items() if (message := _message(name, of)) is not None}
    found = apply(RULES, messages)
    for each in found.dropped:
        if each.source == "ATT" and each.rows > each.of // 2:
            raise ConfigError(
                f"{path}: the time of ATT runs back: {each.rows} of {each.of} rows are not later than those before"
            )
    return FlightRecord(
        path,
        of_format,
        found.signals,
        parameters=contents.parameters,
        vehicle=vehicle,
        firmware=firmware,
        missing=found.missing,
        dropped=found.dropped,
        remarks=contents.remarks,
    )


def _written_by(texts: Iterable[str]) -> tuple[str, str]:
    for text in texts:
        match = _FIRMWARE.match(text)
        if match:
            return text.strip(), VEHICLES[match.group(1).capitalize()]
        ours = _OURS.match(text)
        if ours:
            return text, ours.group(1)
    return "", ""


def _time_s(columns: Mapping[str, Array]) -> Array | None:
    for name, unit_s in TIMES:
        if name in columns:
            return columns[name] * unit_s
    return None


def _message(name: str, columns: Mapping[str, Array]) -> Message | None:
    t_s = _time_s(columns)
    if t_s is None or not len(t_s):
        return None
    instance = columns.get(INSTANCES.get(name, INSTANCE))
    if instance is None:
        return Message(t_s, columns)
    first = instance == np.min(instance)
    return Message(t_s[first], {column: values[first] for column, values in columns.items()})
