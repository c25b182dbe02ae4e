"""A fixed wing on its battery: the current against the model's own propeller, the voltage it gets, and the charge."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import pytest

import aeroloop
from aeroloop.actuators import power as powers
from aeroloop.actuators.battery import Cells
from aeroloop.actuators.propeller_power import PropellerPower, motor_current_A
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import airframe, batch, powered
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.models import fixedwing

PERIOD_S = 0.05
STEP = 4_000_000
FLAT = Cells(cells=12, capacity_Ah=16.0, resistance_ohm=0.05, curve_V=((0.0, 3.7), (1.0, 3.7)))


@pytest.fixture(scope="module")
def aerosonde() -> Airframe:
    return airframe.load("aerosonde")


@pytest.fixture(scope="module")
def shaft_Nm(aerosonde: Airframe) -> Callable[..., float]:
    """Torque of the model's propeller."""
    speed, throttle, density = ca.SX.sym("speed"), ca.SX.sym("throttle"), ca.SX.sym("density")
    _, shaft = fixedwing._propeller(speed, throttle, density, aerosonde.propulsion)
    of = ca.Function("shaft", [speed, throttle, density], [shaft])
    return lambda *given: float(of(*given))


@pytest.mark.parametrize("throttle", [0.3, 0.6, 1.0])
@pytest.mark.parametrize("airspeed", [5.0, 20.0, 30.0])
def test_the_motor_takes_the_current_of_the_propellers_torque(
    aerosonde: Airframe, shaft_Nm: Callable[..., float], throttle: float, airspeed: float
) -> None:
    """K (I - i0) = Q, where the propeller turns."""
    motor = aerosonde.propulsion
    torque = shaft_Nm(airspeed, throttle, 1.1)
    current = motor_current_A(motor, throttle * motor.voltage_V, airspeed, 1.1)
    expected_A = torque * motor.speed_constant_rpm_V * math.tau / 60.0 + motor.idle_A
    assert current == pytest.approx(max(0.0, expected_A), rel=1e-6, abs=1e-6)


def test_it_gets_the_batterys_voltage_under_its_load(aerosonde: Airframe) -> None:
    motor, power = aerosonde.propulsion, PropellerPower(FLAT, aerosonde.propulsion, 1.0)
    given = power.given(0.8, 20.0, 1.1, STEP)
    battery = power.battery
    assert given == pytest.approx(0.8 * battery.voltage_V / motor.voltage_V, rel=1e-6)
    assert battery.voltage_V == pytest.approx(44.4 - 0.05 * battery.current_A, rel=1e-6)
    assert battery.current_A == pytest.approx(0.8 * power.motor_A, rel=1e-6)
    assert power.motor_A == pytest.approx(motor_current_A(motor, given * motor.voltage_V, 20.0, 1.1), rel=1e-6)


def test_a_stopped_motor_takes_nothing_and_what_is_no_number_stays_one(aerosonde: Airframe) -> None:
    power = PropellerPower(FLAT, aerosonde.propulsion, 1.0)
    assert power.given(0.0, 25.0, 1.1, STEP) == 0.0 and power.battery.current_A == 0.0
    assert math.isnan(power.given(math.nan, 25.0, 1.1, STEP)) and math.isfinite(power.battery.used_Ah)
    assert power.given(0.5, math.nan, 1.1, STEP) == 0.5 and math.isfinite(power.battery.voltage_V)


def flown(**more: Any) -> aeroloop.Bench:
    bench = aeroloop.bench("fixedwing-loiter", set=more, period_s=PERIOD_S)
    bench.reset()
    return bench


def test_a_sag_and_an_empty_battery_take_energy_from_the_aircraft() -> None:
    """Height and speed together, as the height of its energy."""

    def after_s(seconds: float, **more: Any) -> tuple[float, Any]:
        with flown(**more) as bench:
            for _ in range(round(seconds / PERIOD_S)):
                state = bench.step()
            assert bench._craft is not None
            height_m = state.truth.pos_W[2] + 0.5 * math.hypot(*state.truth.vel_W) ** 2 / 9.8
            return height_m, bench._craft.vehicle.battery

    fresh = {"battery.pack": "aerosonde"}
    sag = [{"target": "battery", "kind": "sag", "value": 0.3, "from_s": 0.1}]
    height_m, battery = after_s(2.0, **fresh)
    sagged, low = after_s(2.0, **fresh, faults=sag)
    nothing, empty = after_s(2.0, **fresh, **{"battery.capacity_Ah": 0.001})
    assert low.open_V == pytest.approx(0.7 * battery.open_V, rel=1e-3) and empty.charge < 0.0
    assert height_m - 1.0 > max(sagged, nothing)
    assert after_s(0.1)[1] is None


def test_what_does_not_fit_is_refused_by_its_key() -> None:
    def tables(*changes: str) -> Any:
        return scenario_files.load(scenario_files.find("fixedwing-loiter"), changes)

    with pytest.raises(ConfigError, match=r"battery\.pack: it has a table \[motor\]"):
        powered.check(tables("battery.pack=iris").aircraft)
    with pytest.raises(ConfigError, match=r"battery: a batch of the fixed wing flies without it"):
        batch.plan(tables("battery.pack=aerosonde"))
    assert powered.file_of(tables().aircraft, airframe.load("aerosonde")) is None
    assert powers.names() == ["aerosonde", "iris"]
