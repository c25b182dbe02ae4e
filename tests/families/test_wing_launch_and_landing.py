"""A fixed wing that begins on the ground or ends there: catapult, take-off and landing on wheels, refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.batch import flights
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, euler_from_quat
from aeroloop.core.signals import NS
from aeroloop.core.tables import made
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.catapult import Catapult, Rail
from aeroloop.flight.inline import KeptRows, fly_inline
from aeroloop.world.flight_model import FlightModel

WHEELS = Path(__file__).resolve().parents[2] / "examples" / "aircraft" / "aerosonde-wheels.toml"
ON_WHEELS = (f'vehicle.airframe="{WHEELS}"', "launch.by=ground")
VALLEY = "mission.start_m=[-2000.0,1000.0]"
CATAPULT = ("launch.by=catapult", "sensors.gnss.start_s=3", VALLEY, "duration_s=30")


class NoRunner:
    """On a rail no equations of motion are needed."""

    def __init__(self) -> None:
        self.inputs, self.outputs = [np.zeros(13), np.zeros(9), np.zeros(1)], [np.zeros(13)]

    def run(self) -> None:
        raise AssertionError

    __call__ = run


def effort(throttle: float) -> SurfaceEffort:
    return SurfaceEffort((0.0, 0.0, 0.0, throttle), saturated=False, rate_limited=False, not_finite=False)


@pytest.mark.parametrize(("length_m", "speed_m_s"), [(12.0, 20.0), (3.0, 15.0)])
def test_a_catapult_ends_at_its_speed_after_twice_its_length_over_it(length_m: float, speed_m_s: float) -> None:
    rail, dt_ns = Rail((1.0, 2.0, 30.0), 0.5, 0.2, length_m, speed_m_s, 0.3), NS // 1000
    world = FlightModel(NoRunner())
    catapult = Catapult(rail, world, world)  # type: ignore[arg-type]
    catapult.step(effort(0.29), dt_ns)
    assert world.state(0).vel_W == (0.0, 0.0, 0.0)
    steps = 0
    while not catapult.airborne:
        catapult.step(effort(1.0), dt_ns)
        steps += 1
    state = world.state(0)
    assert math.hypot(*state.vel_W) == pytest.approx(speed_m_s)
    assert math.dist(state.pos_W, rail.start_W) == pytest.approx(length_m)
    assert steps / 1000 == pytest.approx(2 * length_m / speed_m_s, abs=1.5e-3)
    assert math.hypot(*state.accel_W) == pytest.approx(speed_m_s**2 / (2 * length_m))
    assert math.asin(state.vel_W[2] / speed_m_s) == pytest.approx(0.2)


@pytest.mark.parametrize("airframe", ["aerosonde", "aerosonde-parasitic"])
def test_its_own_board_flies_away_from_a_catapult_and_climbs_on_its_circle(airframe: str) -> None:
    plan = scenario_files.load(
        scenario_files.find("fixedwing-circle"), (*CATAPULT, f"vehicle.airframe={airframe}", "checks=[]")
    )
    flight = fly_inline(plan)
    log = flight.logs[0]
    t_s, airspeed, z_m, roll = (log.column("truth", name) for name in ("t_s", "airspeed_m_s", "z_m", "roll_rad"))
    speed_W = np.hypot.reduce([log.column("truth", f"v{axis}_m_s") for axis in "xyz"])
    assert flight.ended == "completed"
    assert speed_W[0] == 0.0
    assert speed_W[np.flatnonzero(z_m - z_m[0] > 0.999 * 12.0 * math.sin(math.radians(12.0)))[0]] == pytest.approx(
        20.0, rel=0.05
    )
    assert z_m[-1] - z_m[0] > 50.0  # at 3 m/s
    assert airspeed[t_s > 2.0].min() > 14.0
    assert np.abs(roll).max() < math.radians(40.0)
    centre_m = np.array([-2000.0, 1000.0])
    late = t_s > 20.0
    away_m = np.hypot(*(log.column("truth", f"{axis}_m")[late] - centre_m[at] for at, axis in enumerate("xy")))
    assert np.abs(away_m - 150.0).max() < 60.0


def piloted(*overrides: str) -> Any:
    return scenario_files.load(scenario_files.find("fixedwing-px4"), overrides)


@pytest.mark.parametrize(
    ("name", "overrides", "words"),
    [
        ("fixedwing-circle", ("launch.by=ground",), "launch.by: the fixed wing's own board cannot take off"),
        (
            "fixedwing-circle",
            ("launch.by=catapult", VALLEY),
            "sensors.gnss.start_s: the board starts with its first fix.* at least 2.2 s, not 0",
        ),
        (
            "fixedwing-circle",
            (*CATAPULT, "world.start_offset_W=[1,0,0]"),
            "world.start_offset_W: this aircraft starts on its catapult",
        ),
        ("fixedwing-px4", ("launch.by=air",), "launch.by: an external autopilot starts on the ground"),
        ("fixedwing-px4", ("launch.by=ground",), r"launch.by: ground needs wheels; expected \[\[gear\]\]"),
    ],
)
def test_a_start_that_cannot_be_is_refused(name: str, overrides: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plan = scenario_files.load(scenario_files.find(name), overrides)
        made(plan.family.check, plan)


@pytest.mark.parametrize(
    ("setting", "words"),
    [("launch.by=catapult", "launch.by: a batch"), (ON_WHEELS[0], r"vehicle.airframe \(gear\): a batch")],
)
def test_a_batch_begins_in_the_air(setting: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        flights.plan("fixedwing-circle", (setting,))


class Flown:
    """An aircraft on wheels, flown by hand."""

    def __init__(self, *overrides: str) -> None:
        scenario = piloted(*ON_WHEELS, *overrides)
        made(scenario.family.check, scenario)
        self.vehicle: Any = made(scenario.family.vehicle, scenario, 0, KeptRows(scenario).publish(0))

    @property
    def height_m(self) -> float:
        return float(self.vehicle.state.pos_W[2] - self.vehicle.surroundings.ground_m)

    @property
    def speed_m_s(self) -> float:
        return math.hypot(*self.vehicle.state.vel_W)

    def fly(self, elevator: float, throttle: float, seconds: float = 0.02) -> None:
        """Wings level and north."""
        for _ in range(round(seconds / 0.02)):
            state = self.vehicle.state
            roll, _, yaw = euler_from_quat(state.quat_WB)
            rudder = -0.6 * (yaw - math.pi / 2) - 0.2 * state.rate_B[2]
            self.vehicle.command = (-0.8 * roll - 0.1 * state.rate_B[0], elevator, rudder, throttle)
            self.vehicle.advance(self.vehicle.t_ns + NS // 50, exact=False)

    def pitched(self, pitch_rad: float) -> float:
        """Elevator that holds the nose that high."""
        return -0.27 - (pitch_rad + euler_from_quat(self.vehicle.state.quat_WB)[1])


def test_it_stands_takes_off_lands_and_rolls_out() -> None:
    flown = Flown()
    vehicle, start = flown.vehicle, flown.vehicle.state.pos_W
    flown.fly(-0.27, 0.0, 1.0)
    assert vehicle.state.pos_W == start  # held by chocks
    while flown.height_m < 3.0:  # take-off run
        flown.fly(-0.3 if flown.speed_m_s > 15.0 else 0.0, 1.0)
        assert vehicle.t_ns < 15 * NS and not vehicle.ended
        assert abs(vehicle.state.pos_W[0] - start[0]) < 1.0
    run_m = vehicle.state.pos_W[1] - start[1]
    assert 40.0 < run_m < 120.0
    while flown.height_m < 10.0:
        flown.fly(flown.pitched(0.2), 0.85)
    while flown.height_m > 0.5:  # down a gentle path
        flown.fly(flown.pitched(0.06), 0.5)
        assert vehicle.t_ns < 60 * NS and not vehicle.ended
    touched_s = vehicle.t_ns / NS
    while flown.speed_m_s > 6.0:
        flown.fly(0.0, 0.0)
        assert vehicle.t_ns / NS < touched_s + 40.0
    assert not vehicle.ended
    assert flown.height_m < 0.5


def test_without_wheels_the_same_touch_ends_the_flight() -> None:
    """The aircraft of the catapult, with its motor off again at once, comes down in the valley."""
    scenario = piloted()
    vehicle: Any = made(scenario.family.vehicle, scenario, 0, KeptRows(scenario).publish(0))
    level = vehicle.command[:3]
    for throttle, until_s in ((0.5, 1.0), (0.0, 20.0)):
        vehicle.command = (*level, throttle)
        vehicle.advance(round(until_s * NS), exact=False)
    assert vehicle.ended == "crashed"


def test_a_hard_landing_breaks_the_gear() -> None:
    flown = Flown()
    while flown.height_m < 4.0:
        flown.fly(-0.3 if flown.speed_m_s > 15.0 else 0.0, 1.0)
    while not flown.vehicle.ended:
        flown.fly(0.3, 0.0)
        assert flown.vehicle.t_ns < 30 * NS
    assert flown.vehicle.ended == "crashed"
    assert flown.height_m > 0.0  # before the centre of mass reaches the ground


def test_standing_its_springs_carry_its_weight_and_a_restart_puts_it_back() -> None:
    flown, gear = Flown(), airframes.load(str(WHEELS)).gear
    at, ground = flown.vehicle.state, flown.vehicle.surroundings.ground_m
    roll, _, _ = euler_from_quat(at.quat_WB)
    assert abs(roll) < 0.06  # the valley is not quite level
    stiff = sum(wheel.stiffness_N_m for wheel in gear[:3])
    mean_m = airframes.load(str(WHEELS)).body.mass_kg * GRAVITY_M_S2 / stiff
    assert 0.35 - (at.pos_W[2] - ground) == pytest.approx(mean_m, abs=0.004)
    flown.fly(0.0, 1.0, 3.0)
    assert flown.speed_m_s > 5.0
    flown.vehicle.restart()
    assert flown.vehicle.state.pos_W == at.pos_W
    flown.fly(0.0, 0.0, 0.5)
    assert flown.vehicle.state.pos_W == at.pos_W


def test_a_load_added_in_flight_weighs_on_the_wheels() -> None:
    heights = []
    for mass_kg in (0.0, 3.0):
        flown = Flown()
        flown.vehicle.change("payload.mass_kg", (mass_kg,))
        flown.fly(0.0, 0.4, 0.4)  # released
        flown.fly(0.0, 0.0, 0.8)
        assert not flown.vehicle.ended
        heights.append(flown.height_m)
    assert heights[0] - heights[1] == pytest.approx(3.0 * GRAVITY_M_S2 / 11000.0, rel=0.25)


def test_in_the_air_wheels_change_no_bit() -> None:
    ends = []
    for name in ("aerosonde-parasitic", f'"{WHEELS}"'):
        plan = scenario_files.load(
            scenario_files.find("fixedwing-circle"), (f"vehicle.airframe={name}", "duration_s=3", "checks=[]")
        )
        log = fly_inline(plan).logs[0]
        ends.append(log.rows["truth"])
    assert (ends[0] == ends[1]).all()


def test_a_flight_with_a_dead_band_holds_its_height_within_a_little_more(tmp_path: Path) -> None:
    file = tmp_path / "coarse.toml"
    file.write_text('base = "aerosonde"\n[servos]\ndead_band = [0.005, 0.005, 0.005, 0.02]\n')
    sets = ("duration_s=20", "checks=[]", "world.wind.turbulence.w20_m_s=0")
    plan = scenario_files.load(scenario_files.find("fixedwing-circle"), (*sets, f'vehicle.airframe="{file}"'))
    log = fly_inline(plan).logs[0]
    elevators = [set(log.column("effort", "elevator_rad")[-100:])]
    plan = scenario_files.load(scenario_files.find("fixedwing-circle"), sets)
    elevators.append(set(fly_inline(plan).logs[0].column("effort", "elevator_rad")[-100:]))
    assert len(elevators[0]) < len(elevators[1])  # it stands still at times
    assert np.abs(log.column("truth", "z_m")[-100:] - 660.0).max() < 3.0
    with pytest.raises(ConfigError, match=r"vehicle.airframe \(servos.dead_band\): a batch"):
        flights.plan("fixedwing-circle", (f'vehicle.airframe="{file}"',))
