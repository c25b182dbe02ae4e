"""The compiled step of a multirotor in free air against motors, loads, MuJoCo, earth and atmosphere, stage by stage.

One step from 300 random states with random commands leaves, for IRIS and hexarotor: position 0, velocity 4e-15 m/s,
quaternion 9e-16, rate 1.2e-12 rad/s (of torques that change it by 20 rad/s), acceleration and specific force 5e-13
m/s2, altitude 2e-9 m, pressure 2e-8 Pa. Whole flights in closed loop stay within 3e-6 m, 6e-6 m/s and 3e-7 in the
quaternion: a link in single precision now and then turns a last digit into one of seven.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from msgspec.structs import replace

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.core.frames import Vec
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import RigidState
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor import build
from aeroloop.families.multirotor import motion as motions
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.families.multirotor.motion import MultirotorMotion, Parts
from aeroloop.families.multirotor.rows import MultirotorRows
from aeroloop.families.multirotor.step_function import MOTION, step_function
from aeroloop.flight.inline import fly_inline
from aeroloop.sensors.suite import Sample
from aeroloop.sim.vehicle import Vehicle
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth, Home
from aeroloop.world.surroundings import Surroundings
from aeroloop.world.wind import Wind, WindConfig

OCTO_COAX = str(Path(__file__).resolve().parents[2] / "examples" / "aircraft" / "octo-coax.toml")
NAMES = ["iris", "hexarotor", OCTO_COAX, "iris-aero"]
DT_NS = 4_000_000
HOME = Home(lat_deg=-33.9, lon_deg=151.2, alt_m=40.0, geoid_height_m=22.0)
DAY = Day(sea_level_pressure_Pa=100_200.0, sea_level_temperature_K=295.0)
WIND = WindConfig(steady_W=(3.0, -4.0, 1.0))


def without_drag(airframe: Airframe) -> Airframe:
    """Without drag of the body."""
    return replace(airframe, body=replace(airframe.body, drag_area_m2=(0.0, 0.0, 0.0)))


def motion(airframe: Airframe, *, in_one: bool, wind: WindConfig = WIND, home: Home = HOME) -> MultirotorMotion:
    blades = airframes.blade_loads(airframe)
    world = airframes.world(airframe, DT_NS / 1e9, blades=blades)
    earth, atmosphere = Earth(home), Atmosphere(DAY)
    around = Surroundings(earth, atmosphere, Wind(wind, np.random.default_rng(0), Evaluator), world.state(0))
    motors = Motors(airframe.motors, airframe.rotors.count)
    parts = Parts(airframe, motors, world, around, earth, atmosphere, blades)
    return motions.motion(parts, Evaluator if in_one else None)


def random_state(
    rng: np.random.Generator, airframe: Airframe, heights_m: tuple[float, float] = (30.0, 3000.0)
) -> tuple[Vec, Vec, Vec]:
    """Motion, speeds of the rotors, commands."""
    quat = rng.normal(size=4)
    pos = rng.uniform([-3000.0, -3000.0, heights_m[0]], [3000.0, 3000.0, heights_m[1]])
    velocities = rng.normal(0, 8, 3), rng.normal(0, 4, 3), rng.normal(0, 3, 3), rng.normal(0, 10, 3)
    speeds = rng.uniform(0, airframe.motors.speed_max_rad_s, airframe.rotors.count)
    commands = rng.uniform(-0.1, 1.1, airframe.rotors.count)
    return np.concatenate([pos, quat / np.linalg.norm(quat), *velocities]), speeds, commands


def after_one_step(of: MultirotorMotion, start: Vec, speeds: Vec, commands: Vec) -> tuple[dict[str, Vec], RotorEffort]:
    of.reset(start.tolist(), speeds.tolist())
    effort = of.drive(commands.tolist(), DT_NS)
    state = of.state(DT_NS)
    of.move(DT_NS, DT_NS, state.pos_W, state.vel_W)
    place, air = of.place, of.air
    values = {
        "pos_m": state.pos_W,
        "quat": state.quat_WB,
        "vel_m_s": state.vel_W,
        "rate_rad_s": state.rate_B,
        "accel_m_s2": state.accel_W,
        "force_m_s2": of.force_B(),
        "speed_rad_s": effort.speed_rad_s,
        "spin_up_rad_s2": effort.spin_up_rad_s2,
        "lat_lon_deg": (place.lat_deg, place.lon_deg),
        "alt_m": (place.alt_m,),
        "gravity_m_s2": (place.gravity_m_s2,),
        "field_T": place.field_W_T,
        "wind_m_s": air.wind_W,
        "pressure_Pa": (air.pressure_Pa,),
        "temperature_K": (air.temperature_K,),
        "density_kg_m3": (air.density_kg_m3,),
    }
    return {name: np.array(value) for name, value in values.items()}, effort


TOLERANCES = {
    "pos_m": 1e-11,
    "quat": 5e-15,
    "vel_m_s": 5e-14,
    "rate_rad_s": 1e-11,
    "accel_m_s2": 1e-11,
    "force_m_s2": 1e-11,
    "speed_rad_s": 1e-11,
    "spin_up_rad_s2": 1e-9,
    "lat_lon_deg": 1e-13,
    "alt_m": 1e-8,
    "gravity_m_s2": 1e-13,
    "field_T": 1e-18,
    "wind_m_s": 0.0,
    "pressure_Pa": 1e-7,
    "temperature_K": 1e-10,
    "density_kg_m3": 1e-12,
}


@pytest.mark.parametrize(
    ("name", "home_m", "steps"), [*((name, HOME.alt_m, 300) for name in NAMES), ("iris", 18_500.0, 100)]
)
def test_one_step_is_that_of_mujoco_and_the_stages(name: str, home_m: float, steps: int) -> None:
    """From 18.5 km, to 21.5 km: two layers of the stratosphere."""
    airframe, rng, home = airframes.load(name), np.random.default_rng(7), replace(HOME, alt_m=home_m)
    in_one, staged = motion(airframe, in_one=True, home=home), motion(airframe, in_one=False, home=home)
    apart = dict.fromkeys(TOLERANCES, 0.0)
    for _ in range(steps):
        start = random_state(rng, airframe)
        ours, effort = after_one_step(in_one, *start)
        theirs, staged_effort = after_one_step(staged, *start)
        assert (effort.saturated, effort.not_finite) == (staged_effort.saturated, staged_effort.not_finite)
        for what, value in ours.items():
            apart[what] = max(apart[what], float(np.max(np.abs(value - theirs[what]))))
    assert {what: far for what, far in apart.items() if not far <= TOLERANCES[what]} == {}


def test_the_ground_effect_is_the_same_in_both() -> None:
    """Just above the height where MuJoCo takes over, with the ground raised to just below the rotors."""
    airframe, rng = airframes.load("iris-aero"), np.random.default_rng(8)
    flown, gained = [motion(airframe, in_one=in_one) for in_one in (True, False)], []
    for _ in range(100):
        start = random_state(rng, airframe, (3.0, 3.2))
        vels = []
        for ground_m in (0.0, 2.8):
            for each in flown:
                each.reset(*(part.tolist() for part in start[:2]))
                each._around.ground_m = ground_m
                each.drive(start[2].tolist(), DT_NS)
            ours, theirs = (each.state(DT_NS) for each in flown)
            assert ours.vel_W == pytest.approx(theirs.vel_W, abs=1e-12)
            assert ours.rate_B == pytest.approx(theirs.rate_B, abs=1e-10)
            vels.append(ours.vel_W)
        gained.append(np.linalg.norm(np.subtract(*vels)))
    assert 1e-3 < max(gained) < 1.0, "expected thrust of the ground"


@pytest.mark.parametrize("in_one", [True, False], ids=["compiled", "MuJoCo"])
def test_a_climb_is_damped_by_the_inflow_alone(in_one: bool) -> None:
    """At the speeds of hover it loses a third of its climb in half a second, 0.81 1/s, and without blades nothing."""
    for name, rate in (("iris-aero", 0.81), ("iris", 0.0)):
        airframe = airframes.load(name)
        flown, motor = motion(without_drag(airframe), in_one=in_one, wind=WindConfig()), airframe.motors
        flown.reset([0.0, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, *[0.0] * 9], [0.0] * 4)
        air, gravity = flown.air.density_kg_m3, flown.place.gravity_m_s2
        hover = (airframe.body.mass_kg * gravity / (4 * airframe.rotors.thrust_Ns2 * air / 1.225)) ** 0.5
        flown.reset([0.0, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, *[0.0] * 9], [hover] * 4)
        command = (hover - motor.speed_idle_rad_s) / (motor.speed_max_rad_s - motor.speed_idle_rad_s)
        for _ in range(125):
            flown.drive([command] * 4, DT_NS)
        assert -np.log(flown.state(0).vel_W[2] / 0.1) / 0.5 == pytest.approx(rate * (air / 1.225) ** 0.5, abs=0.01)


def test_commands_that_are_no_numbers_stop_their_motors_in_both() -> None:
    airframe, rng = airframes.load("iris"), np.random.default_rng(1)
    start, speeds, _ = random_state(rng, airframe)
    for commands in ([np.nan, 0.5, 2.0, -1.0], [np.inf, -np.inf, 0.0, 1.0]):
        (ours, effort), (theirs, staged) = (
            after_one_step(motion(airframe, in_one=in_one), start, speeds, np.array(commands))
            for in_one in (True, False)
        )
        assert effort.not_finite is staged.not_finite is True
        assert effort.saturated is staged.saturated
        assert ours["speed_rad_s"] == pytest.approx(theirs["speed_rad_s"], abs=1e-10)


@pytest.mark.parametrize("rotors", [4, 6])
def test_compiled_and_interpreted_agree_to_the_bit(rotors: int, tmp_path: Path) -> None:
    """So that a flight's hash does not depend on whether there is a compiler."""
    airframe, rng = airframes.load(NAMES[rotors == 6]), np.random.default_rng(3)
    function = step_function(rotors)
    runs = [Evaluator(function), Evaluator(compiled(function, tmp_path))]
    flown = motion(airframe, in_one=True)
    flown.reset(*(part.tolist() for part in random_state(rng, airframe)[:2]))
    flown.drive([0.5] * rotors, DT_NS)
    for _ in range(300):
        start, speeds, commands = random_state(rng, airframe)
        for run in runs:
            for own, theirs in zip(run.inputs, flown._inputs.values(), strict=True):
                own[:] = theirs
            run.inputs[0][:] = np.concatenate([start, speeds])
            run.inputs[1][:] = commands
            run()
        assert runs[0].outputs[0].tolist() == runs[1].outputs[0].tolist()


def test_the_motion_is_handed_over_without_a_trace() -> None:
    """A jump across the height at which contacts are looked for, both ways: the same as with MuJoCo all the way."""
    airframe = airframes.load("iris")
    in_one, staged = motion(airframe, in_one=True), motion(airframe, in_one=False)
    low_m = in_one._low_m
    start = np.concatenate([[0.0, 0.0, low_m - 0.3, 1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 3.0], np.zeros(9)])
    seen = set()
    for flown in (in_one, staged):
        flown.reset(start.tolist(), [600.0] * 4)
    for k in range(1, 300):
        for flown in (in_one, staged):
            flown.drive([0.5, 0.52, 0.5, 0.49], DT_NS)
            state = flown.state(k * DT_NS)
            flown.move(k * DT_NS, DT_NS, state.pos_W, state.vel_W)
        seen.add(in_one._high)
        ours, theirs = in_one.state(0), staged.state(0)
        assert ours.pos_W == pytest.approx(theirs.pos_W, abs=1e-11)
        assert ours.quat_WB == pytest.approx(theirs.quat_WB, abs=1e-12)
        assert in_one.force_B() == pytest.approx(staged.force_B(), abs=1e-9)
        assert in_one.air.pressure_Pa == pytest.approx(staged.air.pressure_Pa, abs=1e-7)
    assert seen == {True, False}
    assert in_one.state(0).pos_W[2] < low_m, "expected it to come down again"


def test_a_field_cell_is_left_with_the_field_of_the_next() -> None:
    airframe = airframes.load("iris")
    start = np.concatenate([[4999.99, 0.0, 100.0, 1.0, 0.0, 0.0, 0.0, 10.0, 0.0, 0.0], np.zeros(9)])
    ends = []
    for in_one in (True, False):
        flown = motion(airframe, in_one=in_one)
        flown.reset(start.tolist(), [600.0] * 4)
        for k in range(1, 4):
            flown.drive([0.5] * 4, DT_NS)
            state = flown.state(k * DT_NS)
            flown.move(k * DT_NS, DT_NS, state.pos_W, state.vel_W)
        ends.append(flown.place)
    assert ends[0].field_W_T == pytest.approx(ends[1].field_W_T, abs=1e-18)


FLIGHTS: dict[str, tuple[str, ...]] = {
    "quad-hover": (),
    "quad-wind": (),
    "quad-terrain": (),
    "quad-hover hexarotor": ("vehicle.airframe=hexarotor",),
    "quad-wind iris-aero": ("vehicle.airframe=iris-aero",),
}


class NotedRows(MultirotorRows):
    """Keeps the states too, unrounded."""

    states: ClassVar[list[RigidState]] = []

    def step(self, vehicle: Vehicle[Any, Any], effort: RotorEffort, samples: list[Sample]) -> None:
        self.states.append(vehicle.state)
        super().step(vehicle, effort, samples)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "quad-hover" else pytest.mark.soak) for name in FLIGHTS]
)
def test_whole_flights_are_those_of_mujoco(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load(find(name.split()[0]), FLIGHTS[name])
    monkeypatch.setattr(build, "MultirotorRows", NotedRows)
    vehicle, states, events = build.vehicle, [], []
    for in_one in (True, False):
        monkeypatch.setattr(build, "vehicle", partial(vehicle, compiled=in_one))
        monkeypatch.setattr(NotedRows, "states", [])
        flight = fly_inline(scenario)
        assert flight.ended == "completed"
        states.append(NotedRows.states)
        # Time, aircraft and kind; the value beside them may be a speed.
        events.append([rows[:, :3].tolist() for stream, rows in flight.logs[0].rows.items() if "event" in stream])
    assert len(states[0]) == len(states[1]) == scenario.end_ns // DT_NS
    assert events[0] == events[1]
    assert sum(map(len, events[0])) > 5
    pos, quat, vel = (
        np.max(np.abs(np.subtract(*([getattr(state, name) for state in flown] for flown in states))))
        for name in ("pos_W", "quat_WB", "vel_W")
    )
    assert pos < 1e-5
    assert vel < 1e-5
    assert quat < 5e-7  # half an angle of 1e-6 rad


def test_the_state_is_the_head_of_the_row() -> None:
    assert len(airframes.world(airframes.load("iris"), 0.004).motion) == MOTION
