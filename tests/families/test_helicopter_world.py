"""The simulated helicopter (MuJoCo, rotors in floats) and the design model (CasADi): two descriptions of one aircraft.

The world holds loads over a step at the motion in its middle, the design model has them in every stage of Runge-Kutta 4
at 0.5 ms: second order, so the difference shrinks fourfold with half the step.
"""

from __future__ import annotations

import math

import casadi as ca
import msgspec
import numpy as np
import pytest

from aeroloop.core.frames import GRAVITY_M_S2, Vec3, euler_from_quat
from aeroloop.core.signals import Air, Place
from aeroloop.families.helicopter import airframe, model, world
from aeroloop.families.helicopter.airframe import Helicopter
from aeroloop.families.helicopter.build import HelicopterMotion
from aeroloop.models import integrate
from aeroloop.world.rigid import Rigid

DENSITY = 1.1
START = (0.0, 0.0, 100.0)
SHAKEN, SHAKEN_RAD_S = (0.02, 0.015, -0.02, 0.05, 0.1), (7.0, 4.0, 5.0, 6.0, 3.0)
"""Amplitudes and frequencies of the commands about hover."""


class StillPlace:
    """Surroundings without a place on earth: the design model has the standard gravity."""

    def __init__(self, wind_W: Vec3) -> None:
        self.air = Air(wind_W, 1e5, 288.0, DENSITY)
        self.place = Place(0.0, 0.0, 0.0, GRAVITY_M_S2, (0.0, 0.0, 0.0))


def step_of(h: Helicopter, wind_W: Vec3) -> ca.Function:
    state, command = ca.SX.sym("state", model.STATES), ca.SX.sym("command", model.INPUTS)
    dot, _ = model.in_air(h)(state, command, ca.DM(wind_W), DENSITY)
    return integrate.rk4(ca.Function("dot", [state, command], [dot]))


def apart(h: Helicopter, step_ns: int, *, other: Helicopter | None = None, wind_W: Vec3 = (3.0, -2.0, 0.5)) -> float:
    """Largest difference of position (m) and attitude (rad) in a second of changing pitches, in wind, with a turn."""
    other = other or h
    built = world.build(other, step_ns / 1e9)
    motion = HelicopterMotion(other, lambda loads: Rigid(built, loads), (START, 0.3))
    motion.surroundings = StillPlace(wind_W)  # type: ignore[assignment]
    state, hover = model.hover(h)
    state = state.copy()
    state[model.POS], state[model.ANGLES.stop - 1] = START, 0.3
    step, worst, leaned = step_of(h, wind_W), 0.0, 0.0
    fine_s = 0.0005
    for n in range(50):  # 20 ms each
        command = hover + np.array(SHAKEN) * np.sin(0.02 * n * np.array(SHAKEN_RAD_S))
        for _ in range(20_000_000 // step_ns):
            motion.drive(tuple(command), step_ns)
        for _ in range(round(0.02 / fine_s)):
            state = np.array(step(state, command, fine_s)).ravel()
        body = motion.state(0)
        angles = [a - b for a, b in zip(euler_from_quat(body.quat_WB), state[model.ANGLES], strict=True)]
        angles = [math.remainder(angle, math.tau) for angle in angles]
        leaned = max(leaned, float(np.abs(state[model.ANGLES][:2]).max()))
        speed = (motion.rotors.state[4] - state[model.SPEED]) / h.head.speed_rad_s
        worst = max(worst, float(np.abs([*(np.array(body.pos_W) - state[model.POS]), *angles, speed]).max()))
    assert leaned > 0.15, "a flight that moves"
    return worst


@pytest.fixture(scope="module")
def h() -> Helicopter:
    return airframe.load("xcell60")


def test_world_and_design_model_agree(h: Helicopter) -> None:
    """Within 0.7 mm or mrad after a second with 26 degrees of lean, at the usual step; of second order."""
    usual, fine = apart(h, 2_000_000), apart(h, 1_000_000)
    assert usual < 7e-4
    assert fine < 0.3 * usual


def test_a_wrong_number_would_show(h: Helicopter) -> None:
    """A lever arm wrong by one per cent, the fin or the flapping with speed by ten."""
    replace = msgspec.structs.replace
    tail = replace(h.tail_rotor, hub_B_m=(-0.919, 0.0, 0.08))
    fin, head = replace(h.fin, area_m2=0.0132), replace(h.head, speed_factor=0.22)
    for wrong in (replace(h, tail_rotor=tail), replace(h, fin=fin), replace(h, head=head)):
        assert apart(h, 1_000_000, other=wrong) > 1e-3


def test_a_tail_rotor_that_does_not_turn_has_no_thrust(h: Helicopter) -> None:
    built = world.build(h, 0.002)
    motion = HelicopterMotion(h, lambda loads: Rigid(built, loads), (START, 0.0))
    motion.surroundings = StillPlace((0.0, 0.0, 0.0))  # type: ignore[assignment]
    motion.rotors.tail_broken = True
    for _ in range(50):
        effort = motion.drive(motion.hover, 2_000_000)
    assert effort.thrust_N[1] == 0.0
    # The engine turns the body against a clockwise rotor: to the left, by torque over inertia at first.
    engine_Nm = motion.hover[model.THROTTLE] * h.drive.power_max_W / h.head.speed_rad_s
    assert motion.state(0).rate_B[2] == pytest.approx(0.1 * engine_Nm / h.body.inertia_kgm2[2], rel=0.1)
