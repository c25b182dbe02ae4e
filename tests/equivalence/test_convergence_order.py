"""Order of every integrator, measured: how much less the end of a manoeuvre changes when its step is halved again.

Commands and wind are held over the longest step, or for the whole manoeuvre. The order is that of the whole step: where
loads that depend on the motion, or the speeds of actuators, are held over a step at their value in its middle or their
mean, it is 2 with Runge-Kutta 4 in the rigid body's equations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from aeroloop.actuators.motors import Motors
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Vec, Vec3, quat_from_euler
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS, Air, Effort, Place
from aeroloop.families.fixedwing import airframe as wings
from aeroloop.families.fixedwing.build import Start, build_world
from aeroloop.families.freebody import equations
from aeroloop.families.helicopter import airframe as helicopters
from aeroloop.families.helicopter import world as helicopter_world
from aeroloop.families.helicopter.build import HelicopterMotion
from aeroloop.families.multirotor import airframe as multirotors
from aeroloop.families.multirotor import motion as motions
from aeroloop.families.rrr.disturbances import Acting
from aeroloop.families.rrr.plants import Multibody as Bodies
from aeroloop.families.rrr.plants import Plant, Reduced
from aeroloop.families.rrr.robot import Robot
from aeroloop.families.tiltrotor import airframe as tiltrotors
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.models import tiltrotor
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth, Home
from aeroloop.world.multibody import Multibody
from aeroloop.world.rigid import Rigid
from aeroloop.world.surroundings import Surroundings
from aeroloop.world.wind import Wind, WindConfig

MS = 1_000_000
WIND_W: Vec3 = (3.0, -2.0, 0.5)
AIR = Air(WIND_W, 101325.0, 288.15, 1.1)
GRAVITY_M_S2 = 9.8


def multirotor(name: str, *, compiled: bool) -> Callable[[int], Vec]:
    """Motors, rotors, body, earth and air, for half a second in which it turns over."""
    aircraft = multirotors.load(name)

    def end(step_ns: int) -> Vec:
        blades = multirotors.blade_loads(aircraft)
        world = multirotors.world(aircraft, step_ns / NS, blades=blades)
        earth, atmosphere = Earth(Home()), Atmosphere(Day())
        wind = Wind(WindConfig(steady_W=WIND_W), np.random.default_rng(0), Evaluator)
        around = Surroundings(earth, atmosphere, wind, world.state(0))
        motors = Motors(aircraft.motors, aircraft.rotors.count)
        parts = motions.Parts(aircraft, motors, world, around, earth, atmosphere, blades)
        flown = motions.motion(parts, Evaluator if compiled else None)
        flown.reset([0.0, 0.0, 300.0, 1.0, 0.0, 0.0, 0.0, 4.0, 1.0, 2.0, *[0.0] * 9], [700.0] * 4)
        state, rng = flown.state(0), np.random.default_rng(3)
        for k in range(480 * MS // step_ns):
            if k * step_ns % (96 * MS) == 0:
                command = rng.uniform(0.4, 0.8, 4).tolist()
            flown.drive(command, step_ns)
            state = flown.state(k * step_ns)
            flown.move(k * step_ns, step_ns, state.pos_W, state.vel_W)
        return np.array([*state.pos_W, *state.quat_WB])

    return end


def tiltrotor_end(*, in_air: bool) -> Callable[[int], Vec]:
    p = parameters("cad")
    q_eq, u_eq, _ = tiltrotor.equilibrium(p)

    def end(step_ns: int) -> Vec:
        world, drag = Multibody(tiltrotors.build(p, step_ns / NS, in_air=in_air)), tiltrotors.drag(p)
        world.reset(
            (0.0, 0.0, 50.0),
            quat_from_euler(0.1, float(q_eq[4]), 0.3),
            (float(q_eq[6]), float(q_eq[7])),
            vel_W=(3.0, 1.0, -1.0),
            rate_B=(0.5, -0.4, 0.6),
        )
        u = u_eq + np.array([0.8, -0.5, 0.01, -0.01])
        effort = Effort((u[0], u[1]), (u[2], u[3]), False)
        for _ in range(384 * MS // step_ns):
            if in_air:
                world.step_in_air(effort, AIR, drag, step_ns)
            else:
                world.step(effort, step_ns)
        state = world.state(0)
        return np.array([*state.pos_W, *state.quat_WB, *state.tilt_rad])

    return end


def fixedwing(step_ns: int) -> Vec:
    world, servos = build_world(wings.load("aerosonde"), Start((0.0, 0.0, 300.0)), Evaluator)
    controls = tuple(np.array(servos.controls) + np.array([0.03, 0.05, -0.02, 0.1]))
    for _ in range(960 * MS // step_ns):
        world.step(SimpleNamespace(controls=controls), AIR, GRAVITY_M_S2, step_ns)
    state = world.state(0)
    return np.array([*state.pos_W, *state.quat_WB])


def helicopter(step_ns: int) -> Vec:
    h = helicopters.load("xcell60")
    built = helicopter_world.build(h, step_ns / NS)
    motion = HelicopterMotion(h, lambda loads: Rigid(built, loads), ((0.0, 0.0, 100.0), 0.3))
    place = Place(0.0, 0.0, 0.0, GRAVITY_M_S2, (0.0, 0.0, 0.0))
    motion.surroundings = SimpleNamespace(air=AIR, place=place)  # type: ignore[assignment]
    command = np.array(motion.hover) + np.array([0.02, 0.02, -0.02, 0.03, 0.05])
    for _ in range(480 * MS // step_ns):
        motion.drive(tuple(command.tolist()), step_ns)
    state = motion.state(0)
    return np.array([*state.pos_W, *state.quat_WB])


def free_body(step_ns: int) -> Vec:
    """The body of a check case with damped rates, in a fast tumble."""
    tables = load(find("check-case-3")).aircraft
    step = equations.step(tables)
    state = np.array([6378137.0 + 9000.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 30.0, 60.0, -20.0, 3.0, -2.0, 4.0])
    for _ in range(960 * MS // step_ns):
        state = np.array(step(state, step_ns / NS)).ravel()
    return state[3:]


def rrr(plant: Callable[[Robot, tuple[float, ...]], Plant], friction: tuple[float, float]) -> Callable[[int], Vec]:
    def end(step_ns: int) -> Vec:
        robot = plant(Robot(), (0.04, -0.05, 0.1, 0.05, 0.02, -0.1))
        acts = Acting((0.02, 0.0, -0.01), (0.5, 1.0, 1.0), friction, (0.0, 0.0, 0.0))
        for _ in range(64 * MS // step_ns):
            robot.step((0.3, -0.2, 0.1), acts, step_ns / NS)
        return np.array(robot.motion)

    return end


INTEGRATORS: dict[str, tuple[Callable[[int], Vec], int, int]] = {
    "multirotor, compiled": (multirotor("iris", compiled=True), 8 * MS, 2),
    "multirotor, MuJoCo": (multirotor("iris", compiled=False), 8 * MS, 2),
    "multirotor, rotors in flow": (multirotor("iris-aero", compiled=True), 8 * MS, 2),
    "tilt-rotor": (tiltrotor_end(in_air=False), 16 * MS, 4),
    "tilt-rotor with drag": (tiltrotor_end(in_air=True), 2 * MS, 2),
    "fixed wing": (fixedwing, 16 * MS, 4),
    "helicopter": (helicopter, MS, 2),
    "free body": (free_body, 32 * MS, 4),
    "parallel robot, reduced": (rrr(Reduced, (0.0, 0.01)), MS, 4),
    "parallel robot, bodies": (rrr(Bodies, (0.0, 0.0)), MS, 4),
    "parallel robot, bodies with friction": (rrr(Bodies, (0.0, 0.01)), MS, 1),
}


@pytest.mark.parametrize("name", INTEGRATORS)
def test_the_order_is_the_stated_one(name: str) -> None:
    end, step_ns, stated = INTEGRATORS[name]
    ends = [end(step_ns >> halved) for halved in range(3)]
    changes = [float(np.linalg.norm(coarse - fine)) for coarse, fine in pairwise(ends)]
    assert math.log2(changes[0] / changes[1]) == pytest.approx(stated, abs=0.3)
