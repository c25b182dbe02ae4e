"""Motors on a battery against their equations: steady speeds, top speed, current, limits, and commands that are no
numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.actuators.electric_motor import ElectricMotor, Shaft
from aeroloop.actuators.motors import Motor, Motors
from aeroloop.actuators.power import FOLDER, BatteryFile, Power
from aeroloop.core import parameter_files

MS = 1_000_000
STEP = 4 * MS
MOTOR = Motor(speed_max_rad_s=1100.0, speed_idle_rad_s=100.0, lag_up_s=0.0125, lag_down_s=0.025)
FREE = msgspec.structs.replace(MOTOR, speed_max_rad_s=2200.0, speed_idle_rad_s=0.0)
DENSITY = 1.225
FILE, _ = parameter_files.load("iris", FOLDER, BatteryFile)
TORQUE = 0.0167 * 5.84e-6
HOVER = 793.0


@dataclass(frozen=True)
class Rotors:
    count: int = 4
    thrust_Ns2: float = 5.84e-6
    torque_to_thrust_m: float = 0.06
    inertia_kgm2: float = 2.74e-5
    density_kg_m3: float = DENSITY


class Rig:
    """Four motors on a bench."""

    def __init__(self, charge: float = 1.0, of_motor: dict[str, Any] | None = None, **of_pack: Any) -> None:
        assert FILE.motor is not None
        electric = msgspec.structs.replace(FILE.motor, **(of_motor or {}))
        self.power = Power(msgspec.structs.replace(FILE, **of_pack), electric, MOTOR, Rotors(), charge)
        self.motors = Motors(FREE, 4)

    def run(self, asked: float | tuple[float, ...], seconds: float, density: float = DENSITY) -> None:
        speeds = asked if isinstance(asked, tuple) else (asked,) * 4
        for _ in range(round(seconds * 1e9 / STEP)):
            reached = self.power.reached(self.motors.speed_rad_s, speeds, STEP, density)
            self.power.drew(self.motors.step_speeds(reached, STEP), STEP)

    @property
    def speed(self) -> float:
        return self.motors.speed_rad_s[0]


@given(speed=st.floats(0.1, 3000.0))
def test_voltage_and_speed_are_inverses(speed: float) -> None:
    assert FILE.motor is not None
    shaft = Shaft.of(FILE.motor, TORQUE)
    assert shaft.steady_rad_s(shaft.steady_V(speed)) == pytest.approx(speed, rel=1e-9)


def test_a_motor_without_load_turns_at_kv_times_the_voltage_behind_its_resistance() -> None:
    motor = ElectricMotor(speed_constant_rpm_V=1000.0, resistance_ohm=0.1, idle_A=1.0, max_A=20.0)
    free = Shaft.of(motor, 0.0)
    assert free.steady_rad_s(10.1) == pytest.approx(10_000 * math.tau / 60)
    assert free.current_A(500.0) == 1.0
    assert free.steady_rad_s(0.05) == 0.0, "it does not overcome its own friction"


@pytest.mark.parametrize("charge", [1.0, 0.5, 0.2, 0.05])
def test_the_top_speed_is_that_of_the_motor_equation_under_load(charge: float) -> None:
    """At full duty V = W/KV + R (c W^2/Kt + I0) with V = E - R_b (4 I + I_a), solved here by bisection for W."""
    rig = Rig(charge, recovery_ohm=0.0, capacity_Ah=1e4)
    rig.run(1e4, 1.0)
    open_V = rig.power.battery.open_V
    per_V = 60.0 / (math.tau * 1000.0)

    def left_V(w: float) -> float:
        amperes = TORQUE * w * w / per_V + 0.5
        return open_V - 0.02 * (4.0 * amperes + 0.5) - per_V * w - 0.08 * amperes

    low, high = 0.0, 2000.0
    for _ in range(60):
        low, high = (0.5 * (low + high), high) if left_V(0.5 * (low + high)) > 0.0 else (low, 0.5 * (low + high))
    assert rig.speed == pytest.approx(min(low, 1100.0), rel=1e-5)
    assert rig.power.duty[0] == pytest.approx(1.0, abs=1e-4)
    assert rig.power.top_rad_s() == pytest.approx(rig.speed, rel=1e-4)


def test_the_lower_the_charge_the_lower_the_top_speed() -> None:
    tops = [Rig(charge).power.top_rad_s() for charge in (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05)]
    assert tops == sorted(tops, reverse=True) and tops[0] < 1100.0 and HOVER < tops[-1] < tops[0] - 90.0


def test_currents_are_those_of_the_torque_and_the_duty() -> None:
    rig = Rig(of_motor={"esc": "speed"})
    rig.run(HOVER, 0.5)
    shaft_A = TORQUE * HOVER**2 * 1000.0 * math.tau / 60.0 + 0.5
    battery, duty = rig.power.battery, rig.power.duty[0]
    assert rig.power.motor_A == pytest.approx([shaft_A] * 4, rel=1e-6)
    assert duty * battery.voltage_V == pytest.approx(HOVER * 60.0 / (math.tau * 1000.0) + 0.08 * shaft_A, rel=1e-6)
    assert battery.current_A == pytest.approx(4.0 * duty * shaft_A + 0.5, rel=1e-6)
    rig.run(HOVER, 0.5, density=0.9)
    assert rig.power.motor_A[0] - 0.5 == pytest.approx(0.9 / DENSITY * (shaft_A - 0.5), rel=1e-6)


def test_the_torque_of_the_air_takes_the_place_of_that_by_density() -> None:
    """Of each rotor; one that the air drives takes the current of idling."""
    rig = Rig(of_motor={"esc": "speed"})
    rig.power.air_torque = lambda speeds, dt_ns: (TORQUE, 0.8 * TORQUE, 0.0, -TORQUE)
    rig.run(HOVER, 0.5, density=0.9)
    shaft_A = TORQUE * HOVER**2 * 1000.0 * math.tau / 60.0
    assert rig.power.motor_A == pytest.approx([shaft_A + 0.5, 0.8 * shaft_A + 0.5, 0.5, 0.5], rel=1e-6)


def test_an_esc_that_sets_the_duty_follows_the_voltage_and_one_that_holds_the_speed_does_not() -> None:
    speeds = {}
    for esc in ("duty", "speed"):
        for charge in (1.0, 0.1):
            rig = Rig(charge, {"esc": esc})
            rig.run(HOVER, 0.4)
            speeds[esc, charge] = rig.speed
    assert speeds["speed", 1.0] == pytest.approx(HOVER) == speeds["speed", 0.1]
    assert speeds["duty", 0.1] < 0.93 * speeds["duty", 1.0]


def test_an_esc_that_holds_the_speed_lets_it_go_when_the_voltage_falls() -> None:
    rig = Rig(of_motor={"esc": "speed"})
    rig.run(1050.0, 0.8)
    assert rig.speed == pytest.approx(1050.0, rel=1e-6)
    rig.power.supply(0.75)
    rig.run(1050.0, 0.8)
    assert FILE.motor is not None
    volts = rig.power.battery.voltage_V
    assert rig.speed == pytest.approx(Shaft.of(FILE.motor, TORQUE).steady_rad_s(volts), rel=1e-4)
    assert rig.speed < 900.0 and rig.power.duty[0] == pytest.approx(1.0, abs=1e-4)


def test_at_its_own_voltage_an_esc_gives_the_airframes_speeds() -> None:
    assert FILE.motor is not None
    full_V = Shaft.of(FILE.motor, TORQUE).steady_V(1100.0)
    for speed in (200.0, 600.0, 1000.0):
        rig = Rig(curve_V=((0.0, full_V / 3), (1.0, full_V / 3)), resistance_ohm=0.0, recovery_ohm=0.0)
        rig.run(speed, 0.5)
        assert rig.speed == pytest.approx(speed, rel=1e-9)
        assert rig.power.setpoint_for(0, rig.speed) == pytest.approx(speed, rel=1e-9)


def test_a_motor_spins_up_with_what_the_voltage_and_the_esc_leave() -> None:
    free, held = Rig(), Rig(of_motor={"max_A": 8.0})
    for rig, most_A in ((free, 20.0), (held, 8.0)):
        rig.run(300.0, 0.3)
        for _ in range(60):
            rig.run(900.0, 0.004)
            assert rig.power.motor_A[0] <= 1.03 * most_A
            assert rig.power.duty[0] <= 1.0 + 1e-6
    assert held.speed < free.speed


def test_the_esc_has_its_own_lag() -> None:
    """Slower than the motor by far, it alone is seen; the duty ESC at its own voltage is linear in speed."""
    rig = Rig(of_motor={"esc": "speed", "esc_lag_s": 0.5})
    rig.run(600.0, 5.0)
    rig.run(800.0, 0.5)
    assert rig.speed == pytest.approx(800.0 - 200.0 * math.exp(-1.0 + 0.0125 / 0.5), abs=1.0)


def test_a_stopped_motor_takes_no_current_and_commands_that_are_no_numbers_stop_it() -> None:
    rig = Rig()
    rig.run(HOVER, 0.3)
    rig.run((math.nan, -1.0, math.inf, HOVER), 0.5)
    power = rig.power
    assert power.motor_A[:3] == [0.0, 0.0, 0.0] and power.motor_A[3] > 5.0
    assert all(map(math.isfinite, (*power.battery.row, *power.motor_A, *power.duty, *rig.motors.speed_rad_s)))
    rig.run(HOVER, 0.4, density=math.nan)
    assert rig.speed > 0.9 * HOVER, "air of no known density is that of before"


def test_an_empty_battery_lets_the_motors_stop_smoothly() -> None:
    rig = Rig(0.02, capacity_Ah=0.02)
    speeds = []
    for _ in range(400):
        rig.run(HOVER, 0.02)
        speeds.append(rig.speed)
    assert speeds[-1] == pytest.approx(0.0, abs=1.0) and rig.power.battery.voltage_V < 2.0
    assert max(abs(b - a) for a, b in pairwise(speeds[20:])) < 100.0


def test_a_lower_supply_lowers_the_open_circuit_voltage() -> None:
    rig = Rig()
    rig.run(HOVER, 0.2)
    before = rig.power.battery.open_V
    rig.power.supply(0.8)
    assert rig.power.battery.open_V == pytest.approx(0.8 * before)
    rig.run(1e4, 0.4)
    low = rig.speed
    rig.power.supply(1.0)
    rig.run(1e4, 0.4)
    assert low == pytest.approx(0.85 * rig.speed, rel=0.05)
