"""A multirotor on its battery: hover at constant power to the end, energy of the log, faults and changes of the
voltage, and flights without one."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aeroloop
from aeroloop.actuators import power as powers
from aeroloop.actuators.battery import cell_voltage
from aeroloop.actuators.electric_motor import Shaft
from aeroloop.analysis import power_section
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import Switch
from aeroloop.core.power_streams import PACK
from aeroloop.families.multirotor import batch, build, checks
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.recording.log import read

HOVER = 0.69
COLUMNS = tuple(name for name, _, _ in PACK)
IRIS = "battery.pack=iris"
IN_THE_STAND = "world.stand.until_s=3600"
SPEED_ESC = """
cells = 3
capacity_Ah = 0.1
resistance_ohm = 0.02
avionics_A = 0.5
[motor]
speed_constant_rpm_V = 1000.0
resistance_ohm = 0.08
idle_A = 0.5
max_A = 20.0
torque_to_thrust_m = 0.0167
esc = "speed"
"""


def scenario(*changes: str) -> Any:
    still = ("world.wind.steady_W=[0.0, 0.0, 0.0]", "world.wind.turbulence.w20_m_s=0.0", 'sensors.preset="ideal"')
    return scenario_files.load(scenario_files.find("quad-air"), (*still, *changes))


class Flown:
    """A vehicle with a command held, and its rows."""

    def __init__(self, *changes: str, command: float = HOVER, compiled: bool = True) -> None:
        self.rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)

        rows = self.rows

        class Kept(dict[str, Any]):
            def __missing__(self, stream: str) -> Any:
                return lambda *row: rows[stream].append(row)

        self.vehicle = build.vehicle(scenario(*changes), 0, Kept(), compiled=compiled)
        self.vehicle.command = (command,) * 4

    def run(self, seconds: float) -> Flown:
        self.vehicle.advance(self.vehicle.t_ns + round(seconds * 1e9), exact=True)
        return self

    def power(self, name: str) -> Any:
        return np.array([row[1 + COLUMNS.index(name)] for row in self.rows["power"]])

    @property
    def speed(self) -> float:
        return self.rows["effort"][-1][1]


def test_hover_at_constant_power_lasts_as_long_as_its_charge(tmp_path: Path) -> None:
    """Until the charge is used: the integral of capacity / I, with I = P / V + I_a and V = E - R I. The speed is held,
    so the power is constant."""
    (tmp_path / "pack.toml").write_text(SPEED_ESC)
    hover = Flown(IN_THE_STAND, f"battery.pack={tmp_path / 'pack.toml'}")
    while not hover.rows["power"] or hover.power("charge")[-1] > 0.2:
        hover.run(0.5)
    current, volts = hover.power("current_A"), hover.power("voltage_V")
    watts = (current - 0.5) * volts
    steady = np.array([row[0] for row in hover.rows["power"]]) > 0.3
    assert np.ptp(watts[steady]) < 1e-3 * watts[-1], "the power is constant"
    assert current[-1] > 1.08 * current[steady][0], "and the current rises while the voltage falls"
    p = float(watts[-1])
    first = int(np.argmax(steady))
    s0, s1 = hover.power("charge")[first], hover.power("charge")[-1]
    charges = s1 + (s0 - s1) * (np.arange(5000) + 0.5) / 5000
    e = 3.0 * np.array([cell_voltage(s) for s in charges]) - 0.02 * 0.5
    v = 0.5 * (e + np.sqrt(e * e - 4.0 * 0.02 * p))
    expected_s = (s0 - s1) * 0.1 * 3600.0 * float(np.mean(1.0 / (p / v + 0.5)))
    flown_s = hover.rows["power"][-1][0] - hover.rows["power"][first][0]
    assert flown_s == pytest.approx(expected_s, rel=1e-3)


def test_it_ends_where_the_charge_ends() -> None:
    hover = Flown(IN_THE_STAND, IRIS, "battery.capacity_Ah=0.03").run(9.0)
    charge, speeds = hover.power("charge"), [row[1] for row in hover.rows["effort"]]
    assert -0.05 < charge[-1] < 0.0 and hover.speed < 100.0
    assert max(speeds) > 700.0 and all(map(math.isfinite, speeds)), "the motors stop, smoothly"


def test_energy_is_the_integral_of_the_logged_voltage_and_current() -> None:
    flown = Flown(IRIS, "world.stand.until_s=0.5", command=0.75).run(2.0)
    joules = np.sum(flown.power("voltage_V") * flown.power("current_A") * 0.004)
    assert len(flown.rows["power"]) == 500 and flown.power("energy_J")[-1] == pytest.approx(joules, rel=1e-9)


def test_both_worlds_fly_on_the_battery() -> None:
    compiled, stepped = (
        Flown(IRIS, "world.stand.until_s=0.5", command=0.75, compiled=compiled).run(1.5) for compiled in (True, False)
    )
    assert compiled.vehicle.state.vel_W[2] == pytest.approx(stepped.vehicle.state.vel_W[2], abs=1e-9)
    assert compiled.vehicle.state.vel_W[2] > 1.0
    assert compiled.power("energy_J")[-1] == pytest.approx(stepped.power("energy_J")[-1], rel=1e-9)


def test_a_sag_of_the_battery_lowers_its_voltage_and_with_it_the_speed() -> None:
    flown = Flown(IN_THE_STAND, IRIS, command=1.0).run(0.8)
    before_V, before = flown.power("open_V")[-1], flown.speed
    before_terminals_V = flown.power("voltage_V")[-1]
    sag = Switch(target="battery", kind="sag", on=True, value=0.2)
    flown.vehicle.switch(sag)
    flown.run(0.8)
    assert flown.power("open_V")[-1] == pytest.approx(0.8 * before_V, rel=1e-3)
    file = powers.chosen(powers.BatteryTable(pack="iris"), None)
    assert file is not None and file.motor is not None
    density = flown.rows["air"][-1][4]
    shaft = Shaft.of(file.motor, 0.0167 * 5.84e-6 * density / 1.225)
    full, low = (shaft.steady_rad_s(volts) for volts in (before_terminals_V, flown.power("voltage_V")[-1]))
    assert before == pytest.approx(full, rel=1e-3) and flown.speed == pytest.approx(low, rel=1e-3)
    assert flown.speed < 0.83 * before
    flown.vehicle.change("battery.voltage", (0.9,))
    assert flown.vehicle.command == (1.0,) * 4
    flown.run(0.1)
    assert flown.power("open_V")[-1] == pytest.approx(0.72 * before_V, rel=1e-3), "both multiply"
    flown.vehicle.switch(Switch(target="battery", kind="sag", on=False))
    flown.vehicle.change("battery.voltage", (1.0,))
    flown.run(0.8)
    assert flown.speed == pytest.approx(before, rel=0.01)


def test_without_a_battery_the_flight_is_what_it_was() -> None:
    plain = Flown("world.stand.until_s=0.2").run(1.0)
    none = Flown("world.stand.until_s=0.2", "battery.pack=none").run(1.0)
    assert plain.rows["truth"] == none.rows["truth"] and not plain.rows["power"] and not none.rows["power"]
    assert plain.rows["truth"] != Flown("world.stand.until_s=0.2", IRIS).run(1.0).rows["truth"]


def test_a_motor_that_is_stuck_keeps_its_duty() -> None:
    flown = Flown(IN_THE_STAND, IRIS).run(0.8)
    before, duty = flown.speed, flown.rows["power"][-1][1 + len(PACK) + MOST_ROTORS]
    flown.vehicle.switch(Switch(target="rotor", kind="stuck", on=True, channel="rotor1"))
    flown.vehicle.command = (0.3,) * 4
    flown.run(0.5)
    assert flown.rows["power"][-1][1 + len(PACK) + MOST_ROTORS] == pytest.approx(duty, rel=1e-3)
    assert before < flown.speed < 1.03 * before, "the others take less, so that the voltage rises"
    assert flown.rows["effort"][-1][2] < 0.6 * before


def test_a_drive_with_a_law_of_the_rotors_has_the_same_limits() -> None:
    spread = "motors.spread.gain=[1.0, 1.0, 1.0, 0.9]"
    flown = Flown(IN_THE_STAND, IRIS, spread, command=1.0).run(0.8)
    plain = Flown(IN_THE_STAND, IRIS, command=1.0).run(0.8)
    assert flown.speed == pytest.approx(plain.speed, rel=0.01)
    assert flown.power("current_A")[-1] < plain.power("current_A")[-1]


def test_a_restart_recharges_it() -> None:
    with aeroloop.bench("quad-hover", set={"battery.pack": "iris"}, period_s=0.02) as bench:
        bench.reset()
        for _ in range(20):
            bench.step([0.5] * 4)
        assert bench._craft is not None and bench._craft.vehicle.battery is not None
        battery = bench._craft.vehicle.battery
        before_Ah, before_V = battery.used_Ah, battery.voltage_V
        bench._craft.vehicle.restart()
        bench.step([0.0] * 4)
        assert battery.used_Ah < 0.1 * before_Ah and battery.voltage_V > before_V


def test_what_does_not_fit_is_refused_by_its_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"battery\.pack: the airframe's file has no \[battery\]"):
        checks.check(scenario("battery.charge=0.5"))
    with pytest.raises(
        ConfigError, match=r"battery\.pack: unknown pack 'irs', expected a \.toml file or one of: aerosonde, iris"
    ):
        checks.check(scenario("battery.pack=irs"))
    with pytest.raises(ConfigError, match="battery: at the start its motors reach"):
        checks.check(scenario(IRIS, "battery.resistance_ohm=0.5"))
    (tmp_path / "pack.toml").write_text(SPEED_ESC.partition("[motor]")[0])
    with pytest.raises(ConfigError, match=r"battery\.pack: a multirotor's battery needs the table \[motor\]"):
        checks.check(scenario(f"battery.pack={tmp_path / 'pack.toml'}"))
    with pytest.raises(ConfigError, match="battery: a batch of a multirotor flies without it"):
        batch.check(scenario(IRIS))


def test_the_numbers_of_the_table_replace_those_of_the_file() -> None:
    table = powers.BatteryTable(pack="iris", capacity_Ah=2.0, resistance_ohm=0.1)
    found = powers.chosen(table, None)
    assert found is not None and (found.capacity_Ah, found.resistance_ohm, found.cells) == (2.0, 0.1, 3)
    assert powers.chosen(None, None) is None and powers.chosen(None, found) is found
    assert powers.chosen(powers.BatteryTable(pack="none"), found) is None


def test_the_virtual_pixhawk_reads_the_battery_monitor() -> None:
    """With less charge than it flies with it refuses to arm; its own model of a battery would be full."""
    low = {"battery.pack": "iris", "battery.charge": 0.15, "duration_s": 7.0}
    run = aeroloop.fly("quad-hover", set=low)
    assert run.metrics["armed_s"] == 0.0 and run.metrics["battery_charge_end"] == pytest.approx(0.15, abs=1e-3)
    assert run.log["autopilot_state"]["battery"][-1] == pytest.approx(0.14, abs=0.011)
    rows, metrics = run.log["power"], run.metrics
    joules = float(np.sum(rows["voltage_V"] * rows["current_A"] * 0.004))
    assert (
        metrics["energy_J"] == pytest.approx(joules, rel=1e-9) and metrics["energy_Wh"] * 3600.0 == metrics["energy_J"]
    )
    assert metrics["battery_used_Ah"] == rows["used_Ah"][-1] and metrics["current_max_A"] == rows["current_A"].max()
    assert metrics["battery_voltage_min_V"] == rows["voltage_V"].min()
    (section,) = power_section.sections(aeroloop.scenario("quad-hover", set=low).plan, read(run.folder / "flight.mcap"))  # type: ignore[arg-type]
    assert [figure.name for figure in section.blocks[1].pictures] == ["power-battery", "power-motors"]  # type: ignore[union-attr]


AERO = ("vehicle.airframe=iris-aero", IRIS)


def shaft_W(speed: float, climb_m_s: float) -> float:
    """Power of a rotor of `iris-aero` on the included battery, in climb: thrust from blade elements and momentum
    theory, one quadratic for the induced velocity; then T (c + kappa n) and the profile power of hover."""
    radius, solidity, slope, kappa, k, lever, rho = 0.128, 0.12, 5.7, 1.15, 5.84e-6, 0.0167, 1.225
    area, tip = math.pi * radius**2, radius * speed
    static_N = k * speed**2
    hover_m_s = math.sqrt(static_N / (2 * rho * area))
    part = rho * solidity * slope * area * tip / 4  # dT/d(c + n)
    still_N = static_N + part * hover_m_s  # blade elements without any flow
    # 2 rho A n (c + n) = still - part (c + n)
    b, c = 2 * rho * area * climb_m_s + part, still_N - part * climb_m_s
    induced = (-b + math.sqrt(b * b + 8 * rho * area * c)) / (4 * rho * area)
    thrust_N = 2 * rho * area * induced * (climb_m_s + induced)
    profile_W = static_N * (lever * speed - kappa * hover_m_s)
    return thrust_N * (climb_m_s + kappa * induced) + profile_W


@pytest.mark.parametrize("compiled", [True, False])
def test_climb_takes_the_current_of_its_power(compiled: bool) -> None:
    flown = Flown(*AERO, "world.stand.until_s=0.5", command=0.95, compiled=compiled).run(2.0)
    density = flown.rows["air"][-1][4]
    climb_m_s, speed = flown.rows["truth"][-1][6], flown.speed
    assert climb_m_s > 3.0
    volt_s = 60.0 / (math.tau * 1000.0)
    expected_A = density / 1.225 * shaft_W(speed, climb_m_s) / speed / volt_s + 0.5
    hovering_A = density / 1.225 * 0.0167 * 5.84e-6 * speed**2 / volt_s + 0.5
    taken_A = flown.rows["power"][-1][1 + len(COLUMNS)]
    assert taken_A == pytest.approx(expected_A, rel=2e-3)
    assert taken_A < 0.9 * hovering_A  # at equal speed: climb takes thrust away


def test_rotors_at_rest_in_still_air_take_the_current_of_their_density(tmp_path: Path) -> None:
    pack = tmp_path / "pack.toml"
    pack.write_text(SPEED_ESC)
    held = Flown("vehicle.airframe=iris-aero", f'battery.pack="{pack}"', IN_THE_STAND).run(1.0)
    speed = held.speed
    assert held.rows["power"][-1][1 + len(COLUMNS)] == pytest.approx(
        held.rows["air"][-1][4] / 1.225 * 0.0167 * 5.84e-6 * speed**2 * math.tau * 1000.0 / 60.0 + 0.5, rel=1e-6
    )


def test_a_battery_whose_torque_is_less_than_the_induced_power_is_refused(tmp_path: Path) -> None:
    pack = tmp_path / "pack.toml"
    pack.write_text(SPEED_ESC.replace("0.0167", "0.005"))
    with pytest.raises(ConfigError, match=r"^battery\.motor\.torque_to_thrust_m: in hover the induced power"):
        build.vehicle(scenario("vehicle.airframe=iris-aero", f'battery.pack="{pack}"'), 0, defaultdict(lambda: print))
