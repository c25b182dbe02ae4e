"""Quantities of the simulated aircraft and its air that change in flight: wind, mass, battery.

A change, planned in `[[changes]]` or made by hand, sets one key at the start of a step, and is one row of the stream
`change`. Which keys there are is offered by the family's row (`core/change_offers.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3

MOST_KEY = 64
"""Characters of a key."""
Key = Annotated[str, Meta(max_length=MOST_KEY)]
Values = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChangeOffer:
    """A quantity that can be set in flight."""

    key: str
    unit: str
    value: Values  # at the start of the flight
    low: float  # of each number
    high: float
    words: str
    axes: tuple[str, ...] = ()  # names of its numbers, if it has several

    def checked(self, value: float | tuple[float, ...]) -> Values:
        """The numbers of a value; ValueError in one sentence."""
        values = value if isinstance(value, tuple) else (value,)
        count = max(1, len(self.axes))
        if len(values) != count:
            expected = f"{count} numbers ({', '.join(self.axes)})" if self.axes else "one number"
            raise ValueError(f"{self.key}: expected {expected}, not {len(values)}")
        for number in values:
            if not (math.isfinite(number) and self.low <= number <= self.high):
                limits = f"{self.low:g} to {self.high:g} {self.unit}".rstrip(" -")
                raise ValueError(f"{self.key}: expected {limits}, not {number:g}")
        return tuple(float(number) for number in values)

    def said(self, values: Values) -> str:
        """Description of the change to these values."""
        numbers = ", ".join(f"{number:g}" for number in values[: max(1, len(self.axes))])
        return f"{self.words}: {numbers} {self.unit}".rstrip(" -")


def steady_wind(wind_W: Vec3) -> ChangeOffer:
    return ChangeOffer("world.wind.steady_W", "m/s", wind_W, -100.0, 100.0, "steady wind", axes=("east", "north", "up"))


def payload(most_kg: float) -> ChangeOffer:
    return ChangeOffer("payload.mass_kg", "kg", (0.0,), 0.0, most_kg, "payload at the centre of mass")


def battery() -> ChangeOffer:
    return ChangeOffer("battery.voltage", "-", (1.0,), 0.1, 1.0, "battery voltage, as a fraction of the nominal one")


class Change(Config, frozen=True):
    """Set one quantity now."""

    change: Annotated[Key, note("which quantity")]
    value: Annotated[float | tuple[float, ...], meta("of the key", "its new value")]
    vehicle: Annotated[int, meta("-", "which of the flight's aircraft, from 0", ge=0, le=15)] = 0

    @property
    def key(self) -> str:
        return self.change


class PlannedChange(Config, frozen=True):
    """A quantity that is set at a simulated time, at every pace and on every rung."""

    key: Annotated[Key, note("which quantity, see docs/simulation.md")]
    at_s: Annotated[float, meta("s", "the first step that begins at or after this time", ge=0, le=86400)]
    value: Annotated[float | tuple[float, ...], meta("of the key", "its new value; of several numbers each")]
    vehicle: Annotated[int, meta("-", "which of the flight's aircraft, from 0", ge=0, le=15)] = 0

    def change(self) -> Change:
        return Change(change=self.key, value=self.value, vehicle=self.vehicle)
