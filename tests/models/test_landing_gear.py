"""Wheels and skids against closed forms: load, drop, rolling, sliding, steering, slopes."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import GRAVITY_M_S2, Vec, quat_from_euler
from aeroloop.models import integrate, landing_gear, rigid_body
from aeroloop.models.landing_gear import SLIP_M_S, Wheel

MASS_KG, INERTIA_KGM2 = 11.0, (0.8, 1.1, 1.7)
K_N_M, C_NS_M, ROLLING, SIDE = 4000.0, 80.0, 0.05, 0.7
LEVEL = (0.0, 0.0, 0.0)
STEP_S = 1e-3


def wheel(x: float, y: float, steering: float = 0.0, rolling: float = ROLLING) -> Wheel:
    return Wheel(
        pos_B_m=(x, y, -0.35),
        stiffness_N_m=K_N_M,
        damping_Ns_m=C_NS_M,
        rolling=rolling,
        side=SIDE,
        travel_m=0.2,
        steering=steering,
    )


CART = (wheel(-0.4, 0.4), wheel(-0.4, -0.4), wheel(0.4, 0.4, 1.0), wheel(0.4, -0.4, 1.0))


def cart(gear: tuple[Wheel, ...] = CART, rudder: float = 0.0, plane: tuple[float, ...] = LEVEL) -> ca.Function:
    """A rigid body on wheels, without air: (state, unused, dt) -> state after dt."""
    state = ca.SX.sym("state", rigid_body.STATES)
    force_B, torque_B = landing_gear.wrench_B(gear, state, ca.SX(rudder), ca.SX(ca.DM(plane)))
    body = rigid_body.Body(mass_kg=MASS_KG, inertia_kgm2=INERTIA_KGM2, drag_area_m2=(0.0, 0.0, 0.0))
    dot = rigid_body.state_dot(state, force_B, torque_B, GRAVITY_M_S2, body)
    return integrate.rk4(ca.Function("cart", [state, ca.SX.sym("u", 0)], [dot]))


def run(function: ca.Function, state: Vec, seconds: float) -> Vec:
    """(steps + 1, 13) The states."""
    evaluate, rows = Evaluator(function), [state]
    evaluate.inputs[0][:], evaluate.inputs[2][0] = state, STEP_S
    for _ in range(round(seconds / STEP_S)):
        evaluate()
        evaluate.inputs[0][:] = evaluate.outputs[0]
        rows.append(evaluate.outputs[0].copy())
    return np.array(rows)


def at(z_m: float, vel_W: tuple[float, float, float] = (0.0, 0.0, 0.0), pitch_rad: float = 0.0) -> Vec:
    return np.array([0.0, 0.0, z_m, *quat_from_euler(0.0, pitch_rad, 0.0), *vel_W, 0.0, 0.0, 0.0])


RESTING_M = 0.35 - MASS_KG * GRAVITY_M_S2 / (4 * K_N_M)


def test_it_stands_where_the_springs_carry_its_weight() -> None:
    end = run(cart(), at(0.36), 3.0)[-1]
    assert end[2] == pytest.approx(RESTING_M, abs=1e-6)
    assert end[7:] == pytest.approx(np.zeros(6), abs=1e-6)


def test_a_drop_compresses_and_rings_as_a_spring_and_a_damper() -> None:
    """m z'' = -k z - c z' about the resting height, from the touch down on, until the wheels leave the ground."""
    sink_m_s, k, c = 0.3, 4 * K_N_M, 4 * C_NS_M
    states = run(cart(), at(0.35, (0.0, 0.0, -sink_m_s)), 0.1)
    t_s = STEP_S * np.arange(len(states))
    decay, start = c / (2 * MASS_KG), 0.35 - RESTING_M
    ring = math.sqrt(k / MASS_KG - decay**2)
    expected = RESTING_M + np.exp(-decay * t_s) * (
        start * np.cos(ring * t_s) + (-sink_m_s + decay * start) / ring * np.sin(ring * t_s)
    )
    pressed = c * -states[:, 9] > k * (states[:, 2] - 0.35)
    assert pressed.all()  # it never pulls, so the closed form holds
    assert states[:, 2] == pytest.approx(expected, abs=5e-5)


def test_wheels_push_and_never_pull() -> None:
    leaving = run(cart(), at(0.34, (0.0, 0.0, 3.0)), 0.05)
    gained = np.diff(leaving[:, 9]) / STEP_S
    assert (gained >= -GRAVITY_M_S2 - 1e-9).all()
    assert gained[-1] == pytest.approx(-GRAVITY_M_S2)


def test_it_rolls_out_over_v2_by_2_mu_g() -> None:
    speed = 5.0
    states = run(cart(), at(RESTING_M, (speed, 0.0, 0.0)), 12.0)
    assert states[-1, 0] == pytest.approx(speed**2 / (2 * ROLLING * GRAVITY_M_S2), rel=0.01)
    slowing = (states[0, 7] - states[2000, 7]) / 2.0
    assert slowing == pytest.approx(ROLLING * GRAVITY_M_S2, rel=2e-3)


def test_across_its_wheels_it_slides_with_the_side_friction() -> None:
    gear = tuple(wheel(x, y) for x in (-2.0, 2.0) for y in (-2.0, 2.0))  # wide, so that it hardly rolls over
    states = run(cart(gear), at(RESTING_M, (0.0, 2.0, 0.0)), 0.2)
    assert (states[0, 8] - states[-1, 8]) / 0.2 == pytest.approx(SIDE * GRAVITY_M_S2, rel=0.02)


@pytest.mark.parametrize("slope", [0.02, 0.3])
def test_on_a_side_slope_it_creeps_below_the_friction_and_slides_no_faster(slope: float) -> None:
    """mu_s cos(a) v/sqrt(v^2 + e^2) = sin(a)."""
    gear = tuple(wheel(x, y) for x in (-2.0, 2.0) for y in (-2.0, 2.0))
    roll = -math.atan(slope)  # the ground rises to the left
    state = at(0.36 / math.cos(roll))
    state[3:7] = quat_from_euler(roll, 0.0, 0.0)
    end = run(cart(gear, plane=(0.0, 0.0, slope)), state, 3.0)[-1]
    share = slope / SIDE
    creep = SLIP_M_S * share / math.sqrt(1 - share**2)
    assert np.linalg.norm(end[7:10]) == pytest.approx(creep, rel=0.01)
    assert end[8] < 0.0


def test_down_a_slope_it_rolls_faster() -> None:
    slope = 0.1  # the ground falls ahead
    state = at(RESTING_M + 0.003, pitch_rad=math.atan(slope))
    states = run(cart(plane=(0.0, -slope, 0.0)), state, 3.0)
    angle = math.atan(slope)
    along = np.linalg.norm(states[-1, 7:10] - states[1000, 7:10]) / 2.0
    assert along == pytest.approx(GRAVITY_M_S2 * (math.sin(angle) - ROLLING * math.cos(angle)), rel=0.02)


def test_steered_to_the_left_it_turns_on_the_circle_of_its_wheelbase() -> None:
    """Slowly, where side friction holds: r = v tan(d) / wheelbase. A rudder that yaws left steers left."""
    rudder, speed = 0.1, 1.0
    gear = (wheel(-0.4, 0.4), wheel(-0.4, -0.4), wheel(0.4, 0.0, 1.0, 0.0))
    states = run(cart(gear, rudder), at(0.345, (speed, 0.0, 0.0)), 1.0)
    end = states[-1]
    rate = end[12]
    # Without friction along the front wheel only its direction counts; each axle slips a little, by less than SLIP_M_S.
    assert rate == pytest.approx(np.linalg.norm(end[7:9]) * math.tan(rudder) / 0.8, rel=0.1)


def test_a_wheel_above_the_ground_does_nothing() -> None:
    state = ca.SX.sym("state", rigid_body.STATES)
    wrench = ca.Function("wrench", [state], list(landing_gear.wrench_B(CART, state, ca.SX(0), ca.SX.zeros(3))))
    force, torque = wrench(at(0.351, (20.0, 3.0, -5.0)))
    assert np.array(force).tolist() == np.array(torque).tolist() == [[0.0], [0.0], [0.0]]
    assert float(wrench(at(0.349))[0][2]) == pytest.approx(4 * K_N_M * 0.001)
