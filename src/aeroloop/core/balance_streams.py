"""Streams that prove a flight from its log alone: forces, moments and motion of every step, off by default.

One row is written for each step of the body, also for a step that a message cut; it belongs to the step that ends at
its time. A row of length 0 states from where the next step begins: at the start, after an impact, a restart, or a
change of mass.
"""

from __future__ import annotations

from typing import Annotated

from aeroloop.core.config import Config, note
from aeroloop.core.stream import QUATERNION, RATES, VELOCITY, WIND, Column, Stream, fields

NAME = "balance"
AXES = ("x", "y", "z")
AT = {"start": "at the start of the step", "middle": "in the middle", "end": "at its end"}


class LogTable(Config, frozen=True):
    """What is logged beside the usual streams."""

    balance: Annotated[
        bool, note("forces, moments and motion of every step, for `aeroloop check-physics` (docs/check-physics.md)")
    ] = False


def _axes(name: str, unit: str, meaning: str) -> tuple[Column, ...]:
    suffix = unit.replace(" ", "").replace("/", "_")
    return tuple((f"{name}_{axis}_{suffix}", unit, f"{meaning}, {axis}") for axis in AXES)


def _three(name: str, unit: str, meaning: str) -> tuple[Column, ...]:
    return tuple(column for at, when in AT.items() for column in _axes(f"{name}_{at}", unit, f"{meaning} {when}"))


STEP: tuple[Column, ...] = (
    ("step_s", "s", "length of the step that ends here; 0: from here the next step begins"),
    ("supported", "-", "1 where ground, stand or catapult held the aircraft in this step: its forces are not logged"),
)
ENERGY: tuple[Column, ...] = (
    ("kinetic_J", "J", "kinetic energy; of rotation that relative to inertial space"),
    ("power_W", "W", "power of all forces except gravity, mean over the step"),
)
FORCES: tuple[Column, ...] = (
    ("mass_kg", "kg", "mass"),
    ("x_m", "m", "centre of mass east"),
    ("y_m", "m", "centre of mass north"),
    ("z_m", "m", "centre of mass up"),
    *VELOCITY,
    *QUATERNION,
    *RATES,
    *_axes("spin", "N m s", "angular momentum about the centre of mass, world axes"),
    *_three("force", "N", "force without gravity, body axes"),
    *_three("moment", "N m", "moment about the centre of mass, body axes"),
    *_axes("rate_dot_start", "rad/s2", "angular acceleration of the forces at the start of the step, body axes"),
    *_axes("rate_dot_end", "rad/s2", "the same at its end"),
    *_axes("specific", "m/s2", "specific force in the centre of mass at its end, body axes"),
    *_axes("gravity", "m/s2", "gravity, mean over the step, world axes"),
    *_axes("turn", "rad/s", "the earth's rotation, world axes; 0 where it is not simulated"),
    *WIND,
    ("density_kg_m3", "kg/m3", "density of the air, held over the step as the wind"),
)


def _balance(meaning: str, *columns: Column) -> Stream:
    return Stream(NAME, "plant", 0.0, True, True, meaning, fields(*columns))


BALANCE = _balance("forces, moments and motion of every step (`log.balance`)", *STEP, *FORCES, *ENERGY)
ENERGY_BALANCE = _balance("energy and power of every step (`log.balance`)", *STEP, *ENERGY)
"""Of a mechanism that is no free body."""
