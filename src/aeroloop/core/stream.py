"""What a stream is: a name, its fields with units, its rate, and who writes it. Each family lists its own."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

BATCH = 16
"""Records that travel together, of a fast stream that nobody waits for."""
REMEMBERED = 64
"""Rows of events and faults that a late watcher is told: few datagrams, since its queue is short."""


@dataclass(frozen=True)
class Field:
    name: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Stream:
    name: str
    producer: str  # the process that writes it; `streams.writes` says who does for a board outside
    rate_hz: float  # nominal; 0 when it comes as it comes
    simulated: bool  # a function of scenario and seed alone, so part of the log hash
    logged: bool
    meaning: str
    fields: tuple[Field, ...]
    batch: int = 1  # how many records travel together: a board's loop waits for its own, high rates need not
    told: bool = False  # a board with firmware of its own tells it over its link, and then the plant writes it
    remembered: int = 0  # who begins to watch late is told so many of the newest rows
    rings: bool = False  # a reader may wait for its next record
    optional: bool = False  # without rows it counts for nothing in the log's hash: logs of before lack it

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


def fields(*rows: tuple[str, str, str]) -> tuple[Field, ...]:
    return tuple(Field(*row) for row in (("t_s", "s", "simulated time"), *rows))


EVENT = (("code", "-", "number of the event in signals.Event"), ("value", "-", "its value, as signals.Event says"))
FAULT = (
    ("target", "-", "number of what fails in faults.TARGETS"),
    ("kind", "-", "number of how it fails in faults.KINDS"),
    ("on", "-", "1 from now on, 0 no longer"),
    ("channel", "-", "number of the sensor's channel, from 0"),
    ("value_x", "of the kind", "how much; of three axes the first"),
    ("value_y", "of the kind", "of three axes the second, otherwise 0"),
    ("value_z", "of the kind", "of three axes the third, otherwise 0"),
)
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
