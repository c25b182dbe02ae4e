"""The standard signals of a flight record: one table of names, units and how each is interpolated and shown.

Axes are those of autopilots: body forward-right-down, world north-east-down, yaw clockwise from north. Units are SI;
latitude and longitude are degrees, pulses microseconds. What a page shows (degrees, mGauss) is `shown`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

CHANNELS = 16
"""Pulses, motors and sticks that a record has at most."""

DEGREE = math.pi / 180.0
M_GAUSS = 1e-7  # T

Group = Literal[
    "attitude",
    "setpoint",
    "gyro",
    "accelerometer",
    "magnetometer",
    "height",
    "position",
    "estimate",
    "pulse",
    "stick",
    "state",
]


@dataclass(frozen=True)
class Quantity:
    name: str
    unit: str
    group: Group
    meaning: str
    held: bool = False  # stands until the next row: not interpolated
    turn: float = 0.0  # a full turn in its unit, of an angle that wraps; unwrapped before it is interpolated
    shown_unit: str = ""  # on pages and in tables; empty: the same
    shown: float = 1.0  # shown value of one unit
    setpoint: str = ""  # the signal that commands it: the trivial model
    still: float = 0.0  # standard deviation below which a correlation of it says nothing

    @property
    def display_unit(self) -> str:
        return self.shown_unit or self.unit


def _angle(name: str, meaning: str, group: Group = "attitude", turn: float = 0.0) -> Quantity:
    setpoint = f"{name}_setpoint" if group == "attitude" else ""
    return Quantity(
        name, "rad", group, meaning, turn=turn, shown_unit="deg", shown=1 / DEGREE, setpoint=setpoint, still=DEGREE
    )


def _body(name: str, unit: str, group: Group, meaning: str, **more: object) -> tuple[Quantity, ...]:
    axes = ("forward", "right", "down")
    return tuple(
        Quantity(f"{name}_{axis}", unit, group, f"{meaning} {words}", **more)  # type: ignore[arg-type]
        for axis, words in zip("xyz", axes, strict=True)
    )


def _channels(name: str, unit: str, group: Group, meaning: str) -> tuple[Quantity, ...]:
    return tuple(Quantity(f"{name}_{i}", unit, group, f"{meaning} {i}", held=True) for i in range(1, CHANNELS + 1))


_RATES = ("roll_rate_setpoint", "pitch_rate_setpoint", "yaw_rate_setpoint")

ALL: tuple[Quantity, ...] = (
    _angle("roll", "roll, right side down"),
    _angle("pitch", "pitch, nose up"),
    _angle("yaw", "heading, clockwise from north", turn=math.tau),
    _angle("roll_setpoint", "setpoint of roll", "setpoint"),
    _angle("pitch_setpoint", "setpoint of pitch", "setpoint"),
    _angle("yaw_setpoint", "setpoint of yaw", "setpoint", turn=math.tau),
    *(
        Quantity(name, "rad/s", "setpoint", f"setpoint of gyro {axis}")
        for name, axis in zip(_RATES, "xyz", strict=True)
    ),
    Quantity("throttle", "-", "pulse", "collective throttle, 0 to 1"),
    Quantity("height_setpoint", "m", "setpoint", "setpoint of height"),
    *(
        Quantity(f"gyro_{axis}", "rad/s", "gyro", f"rate about {words}", setpoint=setpoint)
        for axis, words, setpoint in zip("xyz", ("forward", "right", "down"), _RATES, strict=True)
    ),
    *_body("accel", "m/s2", "accelerometer", "specific force"),
    *_body("mag", "T", "magnetometer", "magnetic field", shown_unit="mGauss", shown=1 / M_GAUSS),
    Quantity("pressure", "Pa", "height", "static pressure"),
    Quantity("height", "m", "height", "barometric height above take-off", setpoint="height_setpoint"),
    Quantity("lat", "deg", "position", "latitude of the satellite receiver"),
    Quantity("lon", "deg", "position", "longitude of the satellite receiver", turn=360.0),
    Quantity("alt", "m", "position", "height above mean sea level of the satellite receiver"),
    Quantity("speed", "m/s", "position", "speed over ground of the satellite receiver"),
    Quantity("north", "m", "estimate", "estimated position north of the origin"),
    Quantity("east", "m", "estimate", "estimated position east of the origin"),
    Quantity("down", "m", "estimate", "estimated position below the origin"),
    Quantity("vel_north", "m/s", "estimate", "estimated velocity north"),
    Quantity("vel_east", "m/s", "estimate", "estimated velocity east"),
    Quantity("vel_down", "m/s", "estimate", "estimated velocity down"),
    *_channels("pulse", "us", "pulse", "output pulse of channel"),
    *_channels("motor", "-", "pulse", "command, 0 to 1, to motor"),
    *_channels("stick", "us", "stick", "receiver pulse of channel"),
    Quantity("armed", "-", "state", "1 while the motors may turn", held=True),
    Quantity("mode", "-", "state", "number of the flight mode, of the autopilot that wrote the log", held=True),
)
BY_NAME: dict[str, Quantity] = {quantity.name: quantity for quantity in ALL}
PUBLISHED: dict[str, float] = {
    "roll": 0.8556, "pitch": 0.8786, "yaw": 0.8483,
    "accel_x": 0.8437, "accel_y": 0.8483, "accel_z": 0.8112,
    "gyro_x": 0.8290, "gyro_y": 0.8243, "gyro_z": 0.8428,
    "mag_x": 0.9475, "mag_y": 0.9425, "mag_z": 0.8392,
    "pressure": 0.9490, "height": 0.9582, "lon": 0.9926, "lat": 0.9919,
}  # fmt: skip
"""The sixteen correlations of the Pixhawk paper, by the names of this table."""
