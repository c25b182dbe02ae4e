"""A battery of lithium-polymer cells: open-circuit voltage over charge, internal resistance, and a slower recovery.

    V = E(s) - R I - v        v' = (R1 I - v) / T1        s' = -I / capacity

E is the open-circuit voltage of all cells in series, s the state of charge from 1 to 0, v the voltage of one pair of a
resistor R1 and a capacitor T1/R1 (Thevenin's model). Without a curve of its own a cell has that of Chen and
Rincon-Mora, "Accurate electrical battery model capable of predicting runtime and I-V performance", IEEE Trans. Energy
Conversion 21 (2006), eq. 2, measured on a polymer cell of 0.85 Ah:

    E = -1.031 exp(-35 s) + 3.685 + 0.2156 s - 0.1178 s^2 + 0.3201 s^3

Motors and avionics take a power P and a current I_a. The terminal voltage is then the larger root of
V = E - v - R (P / V + I_a); more than (E - v - R I_a)^2 / 4R no battery can deliver. Pure: no I/O, no clock.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from aeroloop.core.config import Config, meta
from aeroloop.core.signals import NS

SECONDS_PER_HOUR = 3600.0
EMPTY_AT = -0.03
"""State of charge at which a cell with a curve of its own has no voltage left: below 0 it falls linearly to 0."""
CLOSE_V = 1e-6
"""Accuracy of the voltage of loads that depend on it."""
MOST_TRIES = 40


class Cells(Config, frozen=True):
    """A battery, all of whose cells are in series, and what else it supplies."""

    cells: Annotated[int, meta("-", "cells in series", ge=1, le=100)]
    capacity_Ah: Annotated[float, meta("Ah", "charge of the full battery", gt=0, le=10000)]
    resistance_ohm: Annotated[float, meta("ohm", "internal resistance, with leads and connectors", ge=0, le=10)]
    recovery_ohm: Annotated[
        float, meta("ohm", "further resistance, which acts with the lag `recovery_s`", ge=0, le=10)
    ] = 0.0
    recovery_s: Annotated[float, meta("s", "time constant of the recovery after a load", gt=0, le=10000)] = 30.0
    avionics_A: Annotated[float, meta("A", "current of everything but the motors", ge=0, le=1000)] = 0.0
    curve_V: Annotated[
        tuple[tuple[Annotated[float, Meta(ge=0, le=1)], Annotated[float, Meta(gt=0, le=10)]], ...],
        meta(
            "-, V",
            "state of charge and open-circuit voltage of a cell, rising, between them linear; left out: "
            "Chen and Rincon-Mora's",
        ),
    ] = ()

    def __post_init__(self) -> None:
        charges, volts = [s for s, _ in self.curve_V], [v for _, v in self.curve_V]
        if self.curve_V and (charges[0] != 0.0 or charges[-1] != 1.0):
            raise ValueError("curve_V: expected the first state of charge to be 0 and the last 1")
        if sorted(set(charges)) != charges or sorted(volts) != volts:
            raise ValueError("curve_V: expected states of charge that rise, and voltages that do not fall")


def cell_voltage(charge: float) -> float:
    """Open-circuit voltage of Chen and Rincon-Mora's cell; 0 below a charge of about -0.036, where it has none left."""
    s = min(charge, 1.0)
    if s < -0.1:
        return 0.0
    return max(0.0, -1.031 * math.exp(-35.0 * s) + 3.685 + (0.2156 + (-0.1178 + 0.3201 * s) * s) * s)


def curve(cells: Cells) -> Callable[[float], float]:
    """Open-circuit voltage of the battery over its state of charge."""
    count, points = cells.cells, cells.curve_V
    if not points:
        return lambda charge: count * cell_voltage(charge)
    table = ((EMPTY_AT, 0.0), *points)
    charges = [s for s, _ in table]

    def voltage(charge: float) -> float:
        if charge <= EMPTY_AT:
            return 0.0
        upper = min(bisect_right(charges, charge), len(table) - 1)
        (s0, v0), (s1, v1) = table[upper - 1], table[upper]
        return count * (v0 + (v1 - v0) * (min(charge, s1) - s0) / (s1 - s0))

    return voltage


class Battery:
    """State of a battery in flight. The current is held over each step."""

    def __init__(self, cells: Cells, charge: float = 1.0) -> None:
        """`charge`: at the start, from 0 to 1."""
        self._cells, self._start, self._curve = cells, charge, curve(cells)
        self.factor = 1.0
        """On the open-circuit voltage: 1, less with a fault."""
        self.reset()

    def reset(self) -> None:
        """The state at the start of the flight."""
        self.used_Ah = self.energy_J = self._recovering_V = 0.0
        self.current_A = 0.0
        self.voltage_V = self.open_V

    @property
    def charge(self) -> float:
        """State of charge; slightly below 0 in a battery that is emptied to the last."""
        return self._start - self.used_Ah / self._cells.capacity_Ah

    @property
    def open_V(self) -> float:
        """Open-circuit voltage."""
        return self.factor * self._curve(self.charge)

    @property
    def row(self) -> tuple[float, ...]:
        """Columns `core.power_streams.PACK`."""
        return self.voltage_V, self.current_A, self.used_Ah, self.energy_J, self.charge, self.open_V

    @property
    def _inner_V(self) -> float:
        """Voltage behind the internal resistance."""
        return max(0.0, self.open_V - self._recovering_V)

    def loaded_V(self, power_W: float) -> float:
        """Terminal voltage with motors that take this power; with more than there is, that of the greatest power."""
        inner, ohm = self._inner_V, self._cells.resistance_ohm
        half = 0.5 * max(0.0, inner - ohm * self._cells.avionics_A)
        return half + math.sqrt(max(0.0, half * half - ohm * power_W))

    def solve(self, power_W: Callable[[float], float]) -> float:
        """Terminal voltage V with motors that take the power power_W(V), which does not fall with V.

        loaded_V(power_W(V)) - V falls with V, so there is one root: the secant method, kept within a bracket.
        """
        low, high = 0.0, self._inner_V
        v = min(max(self.voltage_V, low), high)
        before: tuple[float, float] | None = None
        for _ in range(MOST_TRIES):
            miss = self.loaded_V(power_W(v)) - v
            if abs(miss) < CLOSE_V:
                break
            low, high = (v, high) if miss > 0.0 else (low, v)
            slope = (miss - before[1]) / (v - before[0]) if before is not None else -1.0
            before = v, miss
            v = v - miss / slope if slope < 0.0 else low
            if not low < v < high:
                v = 0.5 * (low + high)
            if high - low < CLOSE_V:
                break
        return v

    def discharge(self, power_W: float, dt_ns: int) -> None:
        """Motors take this power over dt: voltage and current of the step, then the charge at its end."""
        cells, dt_s = self._cells, dt_ns / NS
        inner = self._inner_V
        v = self.loaded_V(power_W)
        ohm = cells.resistance_ohm
        power = min(power_W, (inner - ohm * cells.avionics_A) ** 2 / (4.0 * ohm)) if ohm > 0.0 else power_W
        # An exhausted battery delivers nothing; the avionics stop too.
        self.current_A = power / v + cells.avionics_A if v > 0.0 else 0.0
        self.voltage_V = v
        self.used_Ah += self.current_A * dt_s / SECONDS_PER_HOUR
        self.energy_J += v * self.current_A * dt_s
        if cells.recovery_ohm:
            way = -math.expm1(-dt_s / cells.recovery_s)
            self._recovering_V += way * (cells.recovery_ohm * self.current_A - self._recovering_V)
