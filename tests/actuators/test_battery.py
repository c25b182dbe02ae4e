"""The battery against closed forms: Ohm's law, recovery, energy, endurance; and a cell against its published curve."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.actuators.battery import Battery, Cells, cell_voltage
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError

MS = 1_000_000
FLAT = ((0.0, 4.0), (1.0, 4.0))
"""A cell whose voltage does not depend on its charge."""


def cells(**changes: object) -> Cells:
    return Cells(**{"cells": 3, "capacity_Ah": 5.0, "resistance_ohm": 0.05, "curve_V": FLAT, **changes})  # type: ignore[arg-type]


@given(power_W=st.floats(0.0, 700.0), avionics_A=st.floats(0.0, 2.0))
def test_the_terminal_voltage_is_ohms_law_at_the_power_that_is_taken(power_W: float, avionics_A: float) -> None:
    battery = Battery(cells(avionics_A=avionics_A))
    battery.discharge(power_W, MS)
    v, i = battery.voltage_V, battery.current_A
    assert v == pytest.approx(12.0 - 0.05 * i, abs=1e-9)
    assert v * (i - avionics_A) == pytest.approx(power_W, rel=1e-9, abs=1e-9)
    assert v >= 6.0 - 0.05, "of the two voltages with this power the larger one"


def test_a_load_that_follows_the_voltage_divides_it() -> None:
    """A resistor takes V^2/R: with it the battery is a voltage divider."""
    battery = Battery(cells())
    for ohm in (0.06, 0.5, 10.0):
        assert battery.solve(lambda v, ohm=ohm: v * v / ohm) == pytest.approx(12.0 * ohm / (ohm + 0.05), abs=2e-6)  # type: ignore[misc]


def test_more_than_its_greatest_power_it_does_not_give() -> None:
    battery = Battery(cells())
    battery.discharge(1e6, MS)
    assert battery.voltage_V == pytest.approx(6.0) and battery.current_A == pytest.approx(120.0)
    assert battery.energy_J == pytest.approx(6.0 * 120.0 * 1e-3)


def test_the_voltage_recovers_with_its_time_constant() -> None:
    pack = cells(resistance_ohm=0.0, recovery_ohm=0.1, recovery_s=2.0, avionics_A=10.0, capacity_Ah=1000.0)
    battery = Battery(pack)
    for step in range(1, 1001):
        battery.discharge(0.0, 4 * MS)
        t_s = 0.004 * (step - 1)  # the voltage is that at the beginning of the step
        assert battery.voltage_V == pytest.approx(12.0 - 1.0 * -math.expm1(-t_s / 2.0), abs=1e-9)


def test_energy_is_the_integral_of_voltage_and_current() -> None:
    battery, joules, amperes_s = Battery(cells(curve_V=(), recovery_ohm=0.03)), 0.0, 0.0
    for power_W in np.random.default_rng(1).uniform(0.0, 400.0, 5000).tolist():
        battery.discharge(power_W, 4 * MS)
        joules += battery.voltage_V * battery.current_A * 0.004
        amperes_s += battery.current_A * 0.004
    assert battery.energy_J == pytest.approx(joules, rel=1e-12)
    assert battery.used_Ah * 3600.0 == pytest.approx(amperes_s, rel=1e-12)
    assert battery.charge == pytest.approx(1.0 - battery.used_Ah / 5.0, abs=1e-12)


def emptied_s(battery: Battery, power_W: float, step_ms: int) -> float:
    steps = 0
    while battery.charge > 0.0:
        battery.discharge(power_W, step_ms * MS)
        steps += 1
    return steps * step_ms / 1000.0


def test_it_lasts_for_its_charge_over_the_current_at_constant_power() -> None:
    v = 0.5 * (12.0 + math.sqrt(144.0 - 4.0 * 0.05 * 230.0))
    assert emptied_s(Battery(cells(capacity_Ah=0.5)), 230.0, 4) == pytest.approx(0.5 * 3600.0 * v / 230.0, abs=0.005)


def test_with_a_falling_voltage_the_current_rises_and_it_lasts_less_long() -> None:
    """Time to empty at constant power P: the integral of capacity / I over the charge, I = P / V(E(s))."""
    s = (np.arange(20000) + 0.5) / 20000
    e = 3.0 * np.array([cell_voltage(charge) for charge in s])
    v = 0.5 * (e + np.sqrt(e * e - 4.0 * 0.05 * 230.0))
    expected_s = 0.5 * 3600.0 * float(np.mean(v / 230.0))
    assert emptied_s(Battery(cells(capacity_Ah=0.5, curve_V=())), 230.0, 4) == pytest.approx(expected_s, rel=1e-4)


def test_the_cell_is_that_of_chen_and_rincon_mora() -> None:
    """Their eq. 2 at full, half and no charge; below there is no voltage left."""
    assert [cell_voltage(s) for s in (1.0, 0.5, 0.0)] == pytest.approx([4.1029, 3.80336, 2.654], abs=1e-5)
    volts = [cell_voltage(s) for s in np.linspace(-0.05, 1.0, 500)]
    assert all(lower <= higher for lower, higher in pairwise(volts)) and volts[0] == 0.0
    assert cell_voltage(-1e9) == 0.0 and cell_voltage(2.0) == cell_voltage(1.0)


def test_a_curve_of_ones_own_is_linear_between_its_points_and_falls_to_nothing_below() -> None:
    pack = cells(curve_V=((0.0, 3.0), (0.5, 3.6), (1.0, 4.2)), resistance_ohm=0.0)
    volts = [Battery(pack, charge).open_V for charge in (1.0, 0.75, 0.5, 0.25, 0.0, -0.015, -0.03, -1.0)]
    assert volts == pytest.approx([12.6, 11.7, 10.8, 9.9, 9.0, 4.5, 0.0, 0.0])


def test_an_exhausted_battery_gives_nothing() -> None:
    battery = Battery(cells(), -0.1)
    battery.discharge(100.0, MS)
    assert (battery.voltage_V, battery.current_A, battery.energy_J) == (0.0, 0.0, 0.0)
    assert battery.solve(lambda v: 10.0 * v) == 0.0


@pytest.mark.parametrize("curve", [((0.0, 3.0),), ((0.1, 3.0), (1.0, 4.0)), ((0.0, 4.0), (1.0, 3.0))])
def test_a_curve_that_is_none_is_refused(curve: tuple[tuple[float, float], ...]) -> None:
    table = {"cells": 1, "capacity_Ah": 1.0, "resistance_ohm": 0.0, "curve_V": curve}
    with pytest.raises(ConfigError, match="curve_V: expected"):
        convert(table, Cells, "a file")
