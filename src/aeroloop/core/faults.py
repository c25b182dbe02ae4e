"""Faults that are switched on and off in flight: what can fail, and how. One order is one `Switch`."""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple, get_args

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3

SensorTarget = Literal["state", "imu", "magnetometer", "barometer", "gnss", "airspeed", "rangefinder"]
LineTarget = Literal["to_plant", "to_board"]
SensorKind = Literal["silent", "frozen", "bias", "noise"]
LineKind = Literal["delay_s", "jitter_s", "loss", "corrupt", "duplicate", "reorder", "baud"]

SENSOR_TARGETS: tuple[str, ...] = get_args(SensorTarget)
LINE_TARGETS: tuple[str, ...] = get_args(LineTarget)
SENSOR_KINDS: tuple[str, ...] = get_args(SensorKind)
LINE_KINDS: tuple[str, ...] = get_args(LineKind)

TARGETS: tuple[str, ...] = (*SENSOR_TARGETS, *LINE_TARGETS)
KINDS: tuple[str, ...] = (*SENSOR_KINDS, *LINE_KINDS)
"""Their places are their numbers in the log: append, never insert."""

ADDING = ("bias", "noise")
"""The faults of a sensor that have a channel and a value."""
LARGEST = 1e4
"""No sensor is wrong by more than this, whatever its unit: what is sent of it must still fit its message."""


class Switch(Config, frozen=True):
    """One fault, on or off from now on."""

    target: Annotated[SensorTarget | LineTarget, note("a sensor, or one direction of the link to the board")]
    kind: Annotated[SensorKind | LineKind, note("how it fails")]
    on: Annotated[bool, note("whether it fails from now on, or no longer")]
    vehicle: Annotated[int, meta("-", "which of the flight's aircraft, from 0", ge=0, le=15)] = 0
    channel: Annotated[str, note("for `bias` and `noise`: which channel of the sensor; empty for its first")] = ""
    value: Annotated[float | Vec3, meta("of the kind", "how much, for all axes or each; of no use when off")] = 0.0

    def __post_init__(self) -> None:
        sensor, fault = self.target in SENSOR_TARGETS, f"{self.target}: {self.kind}"
        kinds = SENSOR_KINDS if sensor else LINE_KINDS
        if self.kind not in kinds:
            raise ValueError(f"{self.target}: cannot have {self.kind}, expected one of: {', '.join(kinds)}")
        if self.channel and self.kind not in ADDING:
            raise ValueError(f"{fault}: concerns the whole, so it has no channel")
        if not all(math.isfinite(value) for value in self.values):
            raise ValueError(f"{fault}: expected a finite value, not {self.value}")
        if not self.on:
            return
        if not sensor and len(self.values) != 1:
            raise ValueError(f"{fault}: expected one number, not {self.value}")
        if self.kind in ADDING:
            if not any(self.values):
                raise ValueError(f"{fault}: expected a value other than zero")
            if max(map(abs, self.values)) > LARGEST or (self.kind == "noise" and min(self.values) < 0):
                lowest = "0" if self.kind == "noise" else f"{-LARGEST:g}"
                raise ValueError(f"{fault}: expected {lowest} to {LARGEST:g}, not {self.value}")

    @property
    def values(self) -> tuple[float, ...]:
        return self.value if isinstance(self.value, tuple) else (self.value,)


class Switched(NamedTuple):
    """What came of a switch."""

    channel: int = 0  # number of the sensor's channel
    values: tuple[float, ...] = ()  # for each axis
