"""A stream: name, fields with units, rate, and the process that writes it. Each family lists its own.

The first column of a row is the simulated time; in a stream of an aircraft the second is the aircraft's number, from 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

Column = tuple[str, str, str]
"""Name, unit and meaning."""
Publish = Callable[..., None]
"""Accepts the columns of a row as arguments."""

BATCH = 16
"""Records per message of a fast stream that no process waits for."""
REMEMBERED = 64
"""Number of rows of events and faults sent to a client that connects late: few datagrams, since its queue is short."""


@dataclass(frozen=True)
class Field:
    name: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Stream:
    name: str
    producer: str  # the process that writes it; `streams.writes` names the writer for an external board
    rate_hz: float  # nominal; 0: irregular
    simulated: bool  # depends only on scenario and seed, so it is part of the log hash
    logged: bool
    meaning: str
    fields: tuple[Field, ...]
    batch: int = 1  # records per message: a board's loop waits for its own, fast streams are sent in batches
    reported: bool = False  # a board with its own firmware sends it over its link, and the plant writes it
    remembered: int = 0  # number of the newest rows sent to a client that connects late
    rings: bool = False  # a reader may wait for its next record
    optional: bool = False  # without rows it is not part of the log hash: older logs do not have it

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @cached_property
    def packing(self) -> struct.Struct:
        return struct.Struct(f"<{len(self.fields)}d")

    def json_schema(self) -> dict[str, object]:
        properties = {
            f.name: {"type": ["number", "null"], "description": f"{f.meaning} [{f.unit}]"} for f in self.fields
        }
        return {"title": self.name, "description": self.meaning, "type": "object", "properties": properties}


@dataclass(frozen=True)
class Track:
    """A stream of positions: columns of east, north and height; a height without a column is a key of the scenario."""

    stream: str
    east: str = "x_m"
    north: str = "y_m"
    height: str = "z_m"


TRUTH, SETPOINT = Track("truth"), Track("setpoint")

TIME: Column = ("t_s", "s", "simulated time")
VEHICLE: Column = ("vehicle", "-", "which of the flight's aircraft, from 0")
KEYS = (TIME[0], VEHICLE[0])
"""Names of the columns for time and aircraft."""


def timed(*columns: Column) -> tuple[Field, ...]:
    """Fields of a stream that belongs to no aircraft."""
    return tuple(Field(*column) for column in (TIME, *columns))


def fields(*columns: Column) -> tuple[Field, ...]:
    """Fields of a stream of an aircraft."""
    return timed(VEHICLE, *columns)


def numbered(publish: Mapping[str, Publish], vehicle: int) -> dict[str, Publish]:
    """Adds the aircraft's number to the rows of one aircraft."""
    return {name: _numbered(send, vehicle) for name, send in publish.items()}


def _numbered(send: Publish, vehicle: int) -> Publish:
    return lambda t_s, *values: send(t_s, vehicle, *values)


VELOCITY = (("vx_m_s", "m/s", "velocity east"), ("vy_m_s", "m/s", "velocity north"), ("vz_m_s", "m/s", "velocity up"))
QUATERNION = tuple((name, "-", "attitude quaternion") for name in ("qw", "qx", "qy", "qz"))
RATES = (
    ("rate_x_rad_s", "rad/s", "body rate about forward"),
    ("rate_y_rad_s", "rad/s", "body rate about left"),
    ("rate_z_rad_s", "rad/s", "body rate about up"),
)
ACCEL = (
    ("accel_x_m_s2", "m/s2", "specific force forward"),
    ("accel_y_m_s2", "m/s2", "specific force left"),
    ("accel_z_m_s2", "m/s2", "specific force up"),
)
GYRO = (
    ("gyro_x_rad_s", "rad/s", "rate about forward"),
    ("gyro_y_rad_s", "rad/s", "rate about left"),
    ("gyro_z_rad_s", "rad/s", "rate about up"),
)
FIELD = (
    ("field_x_T", "T", "magnetic field forward"),
    ("field_y_T", "T", "magnetic field left"),
    ("field_z_T", "T", "magnetic field up"),
)
WIND = (
    ("wind_x_m_s", "m/s", "wind to the east"),
    ("wind_y_m_s", "m/s", "wind to the north"),
    ("wind_z_m_s", "m/s", "wind upwards"),
)
XYZ = (("x_m", "m", "position east"), ("y_m", "m", "position north"), ("z_m", "m", "position up"))
