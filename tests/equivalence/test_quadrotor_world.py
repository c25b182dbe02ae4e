"""The multirotor in MuJoCo and its design model are two descriptions of one aircraft: they must agree, and stand.

Both integrate with RK4 at 2 ms. The world holds drag and gyroscopic torque over a step, as in its middle, which is
right to second order: 5 s of tumbling in wind leave 0.3 mm and 0.2 mrad between the two for the IRIS, 2 mm and 4 mrad
for the nimbler hexarotor, and a quarter of that at half the step. One percent of mass or thrust, five of reaction
torque or rotor drag and twenty of rotor inertia leave more than ten times the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec.structs import replace
from quad_pilot import Pilot

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import Air, RigidState
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.models import integrate, quadrotor
from aeroloop.world.rigid import Rigid

NAMES = ["iris", "hexarotor"]
MS = 1_000_000
STEP_NS = 2 * MS
TOLERANCE = {"iris": 5e-4, "hexarotor": 5e-3}  # m, rad
GRAVITY = 9.80665
LEVEL = (1.0, 0.0, 0.0, 0.0)


def air(wind_W: Vec3 = (0.0, 0.0, 0.0), density: float = 1.225) -> Air:
    return Air(wind_W, 101325.0, 288.15, density)


def stopped(a: Airframe) -> RotorEffort:
    return spinning(a, [0.0] * a.rotors.count)


def spinning(a: Airframe, speed: list[float], spin_up: list[float] | None = None) -> RotorEffort:
    return RotorEffort(tuple(speed), tuple(spin_up or [0.0] * a.rotors.count), False, False)


def without_air(a: Airframe) -> Airframe:
    rotors = replace(a.rotors, thrust_Ns2=1e-30, drag_Ns2_m=0.0)
    return replace(a, rotors=rotors, body=replace(a.body, drag_area_m2=(0.0, 0.0, 0.0)))


def turned_apart(quat: Vec, other: Vec) -> float:
    """Angle in rad between two attitudes."""
    other = other / np.linalg.norm(other)
    return float(4 * math.asin(min(1.0, np.linalg.norm(quat - math.copysign(1.0, quat @ other) * other) / 2)))


@dataclass
class Apart:
    pos_m: float = 0.0
    angle_rad: float = 0.0
    accel_m_s2: float = 0.0

    @property
    def worst(self) -> float:
        return max(self.pos_m, self.angle_rad)


def tumble_both(modelled: Airframe, flown: Airframe, seed: int, step_ns: int = STEP_NS, seconds: int = 5) -> Apart:
    """Largest differences over a flight from a random state with random speeds, changed every 20 ms."""
    rng = np.random.default_rng(seed)
    p, n = modelled.flight, modelled.rotors.count
    quat = rng.normal(size=4)
    state = np.concatenate([[0.0, 0.0, 200.0], quat / np.linalg.norm(quat), rng.normal(0, 3, 3), rng.normal(0, 2, 3)])
    start = state.tolist()
    world = airframe.world(flown, step_ns / 1e9)
    world.reset(tuple(start[:3]), tuple(start[3:7]), vel_W=tuple(start[7:10]), rate_B=tuple(start[10:]))
    step, hover = integrate.rk4(quadrotor.dynamics(p)), quadrotor.hover_speeds_rad_s(p)
    wind, apart = (3.0, -4.0, 1.0), Apart()
    around = air(wind, 1.1)
    for k in range(seconds * 1000 * MS // step_ns):
        if k % (20 * MS // step_ns) == 0:
            speed, spin_up = hover * rng.uniform(0.75, 1.05) + rng.normal(0, 6, n), rng.normal(0, 500, n)
            effort = spinning(flown, speed.tolist(), spin_up.tolist())
            u = np.concatenate([speed, spin_up, wind, [1.1, 9.8]])
        world.step(effort, around, 9.8, step_ns)
        before, state = state, np.array(step(state, u, step_ns / 1e9)).ravel()
        truth, accel = world.state(0), (state[7:10] - before[7:10]) / (step_ns / 1e9)
        apart.pos_m = max(apart.pos_m, float(np.max(np.abs(truth.pos_W - state[:3]))))
        apart.angle_rad = max(apart.angle_rad, turned_apart(np.array(truth.quat_WB), state[3:7]))
        apart.accel_m_s2 = max(apart.accel_m_s2, float(np.max(np.abs(truth.accel_W - accel))))
    return apart


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3))])
def test_world_flies_like_the_design_model(name: str, seed: int) -> None:
    a = airframe.load(name)
    apart = tumble_both(a, a, seed)
    assert apart.worst < TOLERANCE[name]
    assert apart.accel_m_s2 < 10 * TOLERANCE[name]


@pytest.mark.parametrize("name", NAMES)
def test_half_the_step_leaves_a_quarter_of_the_difference(name: str) -> None:
    a = airframe.load(name)
    whole, half = tumble_both(a, a, 0), tumble_both(a, a, 0, STEP_NS // 2)
    assert half.worst == pytest.approx(whole.worst / 4, rel=0.2)


ALTERED: dict[str, Callable[[Airframe], Airframe]] = {
    "mass": lambda a: replace(a, body=replace(a.body, mass_kg=1.01 * a.body.mass_kg)),
    "body drag": lambda a: replace(a, body=replace(a.body, drag_area_m2=(0.0, 0.0, 0.0))),
    "thrust": lambda a: replace(a, rotors=replace(a.rotors, thrust_Ns2=1.01 * a.rotors.thrust_Ns2)),
    "reaction": lambda a: replace(a, rotors=replace(a.rotors, torque_to_thrust_m=1.05 * a.rotors.torque_to_thrust_m)),
    "rotor inertia": lambda a: replace(a, rotors=replace(a.rotors, inertia_kgm2=1.2 * a.rotors.inertia_kgm2)),
    "rotor drag": lambda a: replace(a, rotors=replace(a.rotors, drag_Ns2_m=1.05 * a.rotors.drag_Ns2_m)),
    "direction": lambda a: replace(a, rotors=replace(a.rotors, spin=tuple(-s for s in a.rotors.spin))),
}


@pytest.mark.parametrize("what", ALTERED)
def test_the_comparison_can_tell_two_aircraft_apart(what: str) -> None:
    a = airframe.load("iris")
    assert tumble_both(a, ALTERED[what](a), 0).worst > 10 * TOLERANCE["iris"]


@pytest.mark.parametrize("name", NAMES)
def test_free_tumble_keeps_momentum_and_energy(name: str) -> None:
    """The world's own invariants: gyroscopic torque moves momentum between rotors and body, and does no work."""
    a, rng = without_air(airframe.load(name)), np.random.default_rng(1)
    speed = rng.uniform(0, 1000, a.rotors.count)
    world, effort = airframe.world(a, 0.002), spinning(a, speed.tolist())
    world.reset((0.0, 0.0, 500.0), LEVEL, vel_W=(1.0, 2.0, 3.0), rate_B=(3.0, -2.0, 1.0))
    momentum, energy = invariants(a, world.state(0), speed)
    for _ in range(2500):
        world.step(effort, air(), GRAVITY, STEP_NS)
    after, energy_after = invariants(a, world.state(0), speed)
    assert after == pytest.approx(momentum, abs=2e-4 * float(np.linalg.norm(momentum)))
    assert energy_after == pytest.approx(energy, rel=1e-6)
    assert world.state(0).accel_W == pytest.approx((0.0, 0.0, -GRAVITY), abs=1e-9)


def invariants(a: Airframe, truth: RigidState, speed: Vec) -> tuple[Vec, float]:
    inertia, rate_B = np.array(a.body.inertia_kgm2), np.array(truth.rate_B)
    own = np.array([0.0, 0.0, a.rotors.inertia_kgm2 * (np.array(a.rotors.spin) @ speed)])
    w, v = truth.quat_WB[0], np.array(truth.quat_WB[1:])
    momentum_B = inertia * rate_B + own
    momentum_W = momentum_B + 2 * np.cross(v, np.cross(v, momentum_B) + w * momentum_B)
    turning = 0.5 * inertia @ rate_B**2
    vel_W = np.array(truth.vel_W)
    return momentum_W, turning + a.body.mass_kg * (0.5 * vel_W @ vel_W + GRAVITY * truth.pos_W[2])


def test_faster_clockwise_rotors_turn_the_aircraft_counter_clockwise() -> None:
    a = airframe.load("iris")
    hover = float(quadrotor.hover_speeds_rad_s(a.flight)[0])
    world = airframe.world(a, 0.002)
    world.reset((0.0, 0.0, 10.0), LEVEL)
    for _ in range(50):
        world.step(spinning(a, [hover - 20, hover - 20, hover + 20, hover + 20]), air(), GRAVITY, STEP_NS)
    assert world.state(0).rate_B[2] > 0.05


@pytest.mark.parametrize("name", NAMES)
def test_stands_still_on_the_ground(name: str) -> None:
    """From the first moment, so that an accelerometer reads +g; and in a breeze with idling rotors."""
    a = airframe.load(name)
    world = airframe.world(a, 0.002)
    first = world.state(0)
    assert first.accel_W == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
    assert first.pos_W == pytest.approx((0.0, 0.0, a.rest_height_m), abs=5e-4)
    for _ in range(5000):
        world.step(stopped(a), air(), GRAVITY, STEP_NS)
    rested = world.state(0)
    assert rested.pos_W == pytest.approx(first.pos_W, abs=1e-9)
    assert rested.quat_WB == pytest.approx(LEVEL, abs=1e-9)
    assert math.hypot(*rested.vel_W, *rested.rate_B, *rested.accel_W) < 1e-6
    idle = spinning(a, [100.0] * a.rotors.count)
    for _ in range(5000):
        world.step(idle, air((4.0, 3.0, 0.0)), GRAVITY, STEP_NS)
    blown = world.state(0)
    assert world.touching
    assert blown.pos_W == pytest.approx(first.pos_W, abs=2e-3)
    assert math.hypot(*blown.accel_W) < 1e-3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("height_m", [0.5, 20.0])
def test_falls_onto_its_feet_and_stays_above_the_ground(name: str, height_m: float) -> None:
    a = airframe.load(name)
    world = airframe.world(a, 0.002)
    world.reset((0.0, 0.0, a.rest_height_m + height_m), LEVEL)
    lowest, rebound, touched, gained = height_m, 0.0, False, 0.0
    for _ in range(4000):
        world.step(stopped(a), air(), GRAVITY, STEP_NS)
        above = world.state(0).pos_W[2] - a.rest_height_m
        touched = touched or world.touching
        gained += world.state(0).accel_W[2] * STEP_NS / 1e9
        lowest, rebound = min(lowest, above), max(rebound, above) if touched else 0.0
    assert touched
    assert gained == pytest.approx(world.state(0).vel_W[2], abs=1e-9)  # an accelerometer misses nothing of the impact
    assert lowest > -0.05 * height_m**0.5  # the ground is soft: deeper in a crash, never through
    assert rebound < 0.1 * height_m
    assert math.hypot(*world.state(0).vel_W, *world.state(0).accel_W) < 1e-3
    assert world.state(0).pos_W[2] == pytest.approx(a.rest_height_m, abs=1e-3)


def test_lies_on_its_back_above_the_ground() -> None:
    a = airframe.load("iris")
    world = airframe.world(a, 0.002)
    world.reset((0.0, 0.0, 0.5), (0.0, 1.0, 0.0, 0.0))
    for _ in range(2000):
        world.step(stopped(a), air(), GRAVITY, STEP_NS)
    assert world.state(0).pos_W[2] == pytest.approx(0.043, abs=2e-3)  # hubs 0.023 m up, 0.02 m thick
    assert math.hypot(*world.state(0).vel_W) < 1e-6


def test_falls_at_terminal_velocity_and_drifts_with_the_wind() -> None:
    a = airframe.load("iris")
    world = airframe.world(a, 0.004)
    world.reset((0.0, 0.0, 3000.0), LEVEL)
    for _ in range(15_000):
        world.step(stopped(a), air((5.0, -2.0, 0.0)), GRAVITY, 2 * STEP_NS)
    falling = math.sqrt(2 * 1.5 * GRAVITY / (1.225 * 0.05))
    assert world.state(0).vel_W == pytest.approx((5.0, -2.0, -falling), abs=5e-3)


def test_a_step_may_be_cut_in_two() -> None:
    a = airframe.load("iris")
    effort, ends = spinning(a, [800.0, 780.0, 790.0, 805.0]), []
    for cut_ns in (0, 700_000):
        world = airframe.world(a, 0.002)
        world.reset((0.0, 0.0, 50.0), LEVEL, vel_W=(5.0, 0.0, 0.0), rate_B=(1.0, -1.0, 0.5))
        for part_ns in (cut_ns, STEP_NS - cut_ns):
            if part_ns:
                world.step(effort, air(), GRAVITY, part_ns)
        ends.append(world.state(0))
    assert ends[0].pos_W == pytest.approx(ends[1].pos_W, abs=1e-8)
    assert ends[0].vel_W == pytest.approx(ends[1].vel_W, abs=1e-5)
    assert ends[0].rate_B == pytest.approx(ends[1].rate_B, abs=1e-5)


def test_a_state_that_is_no_number_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings into a file where it stands
    a = airframe.load("iris")
    world = airframe.world(a, 0.002)
    world.reset((0.0, 0.0, 50.0), LEVEL, rate_B=(math.nan, 0.0, 0.0))
    for _ in range(5):
        world.step(stopped(a), air(), GRAVITY, STEP_NS)
    assert not math.isfinite(world.state(0).rate_B[0])
    assert not math.isfinite(world.state(0).quat_WB[0])


def fly(
    world: Rigid[RotorEffort], motors: Motors, pilot: Pilot, goal_W: Vec3, around: Air, seconds: float
) -> list[float]:
    """Heights on the way, m."""
    heights, steps = [], pilot.period_ns // STEP_NS
    for k in range(round(seconds * 1e9) // STEP_NS):
        if k % steps == 0:
            wanted = pilot.speeds(world.state(0), goal_W)
        world.step(motors.step_speeds(wanted, STEP_NS), around, GRAVITY, STEP_NS)
        heights.append(world.state(0).pos_W[2])
    return heights


@pytest.mark.parametrize("name", NAMES)
def test_takes_off_hovers_and_lands_from_its_file_alone(name: str) -> None:
    a = airframe.load(name)
    world, motors, pilot = airframe.world(a, 0.002), Motors(a.motors, a.rotors.count), Pilot(a)
    fly(world, motors, pilot, (1.0, -1.0, 3.0), air(), 10.0)
    hovering = world.state(0)
    assert not world.touching
    assert hovering.pos_W == pytest.approx((1.0, -1.0, 3.0), abs=0.02)
    assert math.hypot(*hovering.vel_W, *hovering.rate_B) < 0.02
    assert motors.speed_rad_s == pytest.approx(quadrotor.hover_speeds_rad_s(a.flight), rel=0.01)
    fly(world, motors, pilot, (1.0, -1.0, 3.0), air((3.0, 2.0, 0.0)), 6.0)
    assert world.state(0).pos_W == pytest.approx((1.0, -1.0, 3.0), abs=1.5)  # no integral action: wind leaves an offset
    descent = [*np.arange(2.9, 0.0, -0.1).tolist(), *[-0.3] * 10]
    heights = [h for z in descent for h in fly(world, motors, pilot, (1.0, -1.0, z), air(), 0.2)]
    assert world.touching
    assert min(heights) > a.rest_height_m - 5e-3
    for _ in range(1000):
        world.step(motors.step((0.0,) * a.rotors.count, STEP_NS), air(), GRAVITY, STEP_NS)
    landed = world.state(0)
    assert landed.pos_W[2] == pytest.approx(a.rest_height_m, abs=1e-3)
    assert math.hypot(*landed.vel_W, *landed.rate_B, *landed.accel_W) < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_an_impact_is_the_same_to_the_bit_with_mujocos_own_search_for_contacts(name: str) -> None:
    """Tumbling on the ground and to rest, without and with the islands and the midphase that `build` switches off."""
    a = airframe.load(name)
    worlds = [airframe.world(a, STEP_NS / 1e9) for _ in range(2)]
    options, flags = worlds[1]._engine._model.opt, mujoco.mjtDisableBit
    assert options.disableflags & int(flags.mjDSBL_ISLAND) and options.disableflags & int(flags.mjDSBL_MIDPHASE)
    options.disableflags &= ~int(flags.mjDSBL_ISLAND | flags.mjDSBL_MIDPHASE)
    for world in worlds:
        world.reset((0.0, 0.0, 0.6), LEVEL, vel_W=(1.0, 2.0, -2.0), rate_B=(3.0, -2.0, 1.0))
    for step in range(1500):
        for world in worlds:
            world.step(stopped(a), air(), GRAVITY, STEP_NS)
        assert worlds[0].state(step) == worlds[1].state(step)
    assert worlds[0].touching and worlds[1].touching


@pytest.mark.parametrize("name", NAMES)
def test_a_fall_from_high_is_the_same_to_the_bit_whether_contacts_are_looked_for_on_the_way_or_not(name: str) -> None:
    """Tumbling from 8 m on the ground and to rest: the short cut ends in time for the fastest and the longest part."""
    a = airframe.load(name)
    worlds = [airframe.world(a, STEP_NS / 1e9) for _ in range(2)]
    worlds[1].low_m = math.inf  # never high enough to look away
    contacts = []
    for world in worlds:
        world.reset((0.0, 0.0, 8.0), LEVEL, vel_W=(1.0, 2.0, -6.0), rate_B=(3.0, -2.0, 1.0))
    for step in range(1500):
        for world in worlds:
            world.step(stopped(a), air(), GRAVITY, STEP_NS)
        assert worlds[0].state(step) == worlds[1].state(step)
        assert worlds[0].touching == worlds[1].touching
        contacts.append(worlds[0].touching)
    assert not contacts[0]
    assert contacts[-1]
