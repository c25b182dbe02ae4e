"""The tilt-rotor's rotors with angular momentum and drag: MuJoCo's turning discs, the design model's generalised
forces and the closed form are three descriptions of one effect.

Tolerances are those of test_world_and_model.py, where both integrate with RK4 at 4 ms; in wind twice that: the drag of
the first step is that of a start without a known acceleration.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from msgspec.structs import replace

from aeroloop.core import frames, scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.signals import Air, Effort
from aeroloop.families.tiltrotor import airframe, batch, build
from aeroloop.families.tiltrotor.design import board_law, design, of_scenario, parameters
from aeroloop.families.tiltrotor.turning_rotors import TurningRotors
from aeroloop.models import integrate, tiltrotor
from aeroloop.models.tiltrotor_jacobian import dynamics_and_jacobian
from aeroloop.sensors.state import ideal
from aeroloop.world.multibody import Multibody

STEP_NS = 4_000_000
TOLERANCE = 1e-5
WIND_TOLERANCE = 2e-6
INERTIA = 2e-5
STILL = replace(parameters("cad"), rotor_inertia_kgm2=INERTIA)
BLOWN = replace(STILL, rotor_drag_Ns2_m=1.75e-4)


def speeds(p: tiltrotor.Parameters, thrust_N: Vec) -> Vec:
    return np.sqrt(thrust_N / p.thrust_Ns2)


def flown_apart(flown: tiltrotor.Parameters, modelled: tiltrotor.Parameters, seed: int, steps: int) -> float:
    """Largest difference in a flight under random inputs, whose thrusts speed the rotors up and down."""
    rng = np.random.default_rng(seed)
    q_eq, u_eq, _ = tiltrotor.equilibrium(flown)
    state = np.concatenate([q_eq, rng.normal(0, 0.5, 8), speeds(flown, u_eq[:2])])
    state[2], state[14:16] = 50.0, rng.normal(0, 4.0, 2)
    world = TurningRotors(airframe.build(flown, 0.004), flown)
    world.reset(
        tuple(state[:3]),
        frames.quat_from_euler(*state[3:6]),
        tuple(state[6:8]),
        vel_W=tuple(state[8:11]),
        rate_B=frames.body_from_euler_rates(state[3], state[4], *state[11:14]),
        hinge_rates_rad_s=tuple(state[14:16]),
    )
    step = integrate.rk4(tiltrotor.dynamics_with_rotors(modelled))
    worst, u = 0.0, u_eq
    for n in range(steps):
        if n % 3 == 0 and n:
            u = u_eq + rng.normal(0, [1.0, 1.0, 0.02, 0.02])
        spin_up = (speeds(flown, u[:2]) - state[16:]) / 0.004
        world.step(Effort((u[0], u[1]), (u[2], u[3]), False), STEP_NS)
        acting = np.concatenate([u, spin_up, np.zeros(4)])
        state = np.array(step(state, acting, STEP_NS / 1e9)).ravel()
        worst = max(worst, difference(world, state))
        if abs(state[4]) > 1.0:
            break
    assert n > 50
    return worst


def difference(world: Multibody, state: Vec) -> float:
    truth = world.state(0)
    angles = np.array(frames.euler_from_quat(truth.quat_WB)) - state[3:6]
    angles = (angles + np.pi) % (2 * np.pi) - np.pi
    parts = (np.array(truth.pos_W) - state[:3], angles, np.array(truth.tilt_rad) - state[6:8])
    return max(float(np.max(np.abs(part))) for part in parts)


@pytest.mark.parametrize("seed", range(4))
def test_discs_and_generalised_forces_are_the_same(seed: int) -> None:
    assert flown_apart(STILL, STILL, seed, 150) < TOLERANCE


@pytest.mark.parametrize("modelled", [0.0, 0.98 * INERTIA], ids=["none", "2 % less"])
def test_the_comparison_can_tell_two_inertias_apart(modelled: float) -> None:
    other = replace(STILL, rotor_inertia_kgm2=modelled)
    assert flown_apart(STILL, other, 0, 150) > 10 * TOLERANCE


def test_drag_of_the_rotors_is_the_same_in_both() -> None:
    assert blown_apart(BLOWN) < WIND_TOLERANCE
    assert blown_apart(replace(BLOWN, rotor_drag_Ns2_m=1.7e-4)) > 10 * WIND_TOLERANCE


@pytest.mark.parametrize("inertia", [0.0, INERTIA], ids=["drag alone", "both"])
def test_drag_acts_with_and_without_momentum(inertia: float) -> None:
    p = replace(BLOWN, rotor_inertia_kgm2=inertia)
    assert blown_apart(p, p, steps=150) < WIND_TOLERANCE


def blown_apart(modelled: tiltrotor.Parameters, flown: tiltrotor.Parameters = BLOWN, *, steps: int = 400) -> float:
    """Largest difference in a hover that a changing wind disturbs, each under its own feedback."""
    plan, rng = design("cad", "published", 0.012), np.random.default_rng(1)
    start = np.concatenate([plan.q_eq, np.zeros(8)])
    start[2] = 50.0
    state = np.concatenate([start, speeds(flown, plan.u_eq[:2])])
    world, drag = TurningRotors(airframe.build(flown, 0.004, in_air=True), flown), airframe.drag(flown)
    world.reset(tuple(start[:3]), frames.quat_from_euler(*start[3:6]), tuple(start[6:8]))
    step = integrate.rk4(tiltrotor.dynamics_with_rotors(modelled))
    wind_W, worst, u, own = np.zeros(3), 0.0, plan.u_eq, plan.u_eq
    for n in range(steps):
        if n % 3 == 0:
            u = plan.u_eq - plan.K[:, :16] @ (state[:16] - start)
            own = plan.u_eq - plan.K[:, :16] @ (np.array(ideal(world.state(0))) - start)
        wind_W += 0.02 * (np.array([5.0, -4.0, 1.0]) - wind_W) + rng.normal(0, 0.1, 3)
        air = Air(tuple(wind_W.tolist()), 101325.0, 288.15, 1.225)
        spin_up = (speeds(flown, u[:2]) - state[16:]) / 0.004
        world.step_in_air(Effort((own[0], own[1]), (own[2], own[3]), False), air, drag, STEP_NS)
        acting = np.concatenate([u, spin_up, wind_W, [1.225]])
        state = np.array(step(state, acting, STEP_NS / 1e9)).ravel()
        worst = max(worst, difference(world, state))
    return worst


def test_the_torque_is_the_closed_form() -> None:
    """tau = -I s W (omega x a). At a tilt rate of 5.7 rad/s and 1140 rad/s (12.3 N): 0.13 N m, in roll."""
    p = replace(STILL, cant_rad=0.0)
    q, qd, speed = ca.SX.sym("q", 8), ca.SX.sym("qd", 8), ca.SX.sym("speed", 2)
    forces = ca.Function("forces", [q, qd, speed], [tiltrotor.rotor_forces(p, q, qd, speed)])
    tilting = np.zeros(8)
    tilting[6] = 5.7
    tau = np.array(forces(np.zeros(8), tilting, [1140.0, 0.0])).ravel()
    # The right rotor turns about -z (spin = +1: its torque on the aircraft is about +z); omega x a = 5.7 y x z = 5.7 x.
    assert tau[3] == pytest.approx(INERTIA * 1140.0 * 5.7) and tau[3] == pytest.approx(0.13, abs=1e-3)
    assert np.delete(tau, 3) == pytest.approx(np.zeros(7))
    both = np.zeros(8)
    both[6:] = 5.7
    assert np.array(forces(np.zeros(8), both, [1140.0, 1140.0])).ravel() == pytest.approx(np.zeros(8))  # they cancel
    rng = np.random.default_rng(0)
    for _ in range(5):
        at, moving, turning = rng.normal(0, 0.7, 8), rng.normal(0, 3.0, 8), rng.uniform(500, 1500, 2)
        tau = np.array(forces(at, moving, turning)).ravel()
        assert tau[:3] == pytest.approx(np.zeros(3)) and tau @ moving == pytest.approx(0.0, abs=1e-12)  # no work
        rate_B = np.array(frames.body_from_euler_rates(at[3], at[4], *moving[3:6]))
        summed = np.zeros(3)
        for i in range(2):
            axis = np.array([math.sin(at[6 + i]), 0.0, math.cos(at[6 + i])])
            torque = p.spin[i] * INERTIA * turning[i] * np.cross(rate_B + np.array([0.0, moving[6 + i], 0.0]), axis)
            assert tau[6 + i] == pytest.approx(torque[1])  # about its tilt axis
            summed += torque
        assert tau[3] == pytest.approx(summed[0])  # the roll angle turns the body about its x axis


def test_a_rotor_that_speeds_up_turns_the_aircraft_back() -> None:
    """Angular momentum about the vertical, with thrusts too small to matter."""
    p = replace(STILL, thrust_Ns2=1e-20, cant_rad=0.0)
    world = TurningRotors(airframe.build(p, 0.004), p)
    world.reset((0.0, 0.0, 50.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0))
    world.step(Effort((0.0, 0.0), (0.0, 0.0), False), STEP_NS)
    world.step(Effort((1e-14, 0.0), (0.0, 0.0), False), STEP_NS)  # 1000 rad/s
    state = np.concatenate([[0.0] * 8, np.zeros(8)])
    M = np.array(tiltrotor.equations(p)[0](state[:8]))
    momentum = np.zeros(8)
    momentum[[5]] = p.spin[0] * INERTIA * 1000.0
    assert world.state(0).rate_B[2] == pytest.approx(np.linalg.solve(M, momentum)[5], rel=1e-3)
    assert world.state(0).rate_B[2] > 0.1


def test_the_jacobian_of_the_predictive_law_has_the_momentum() -> None:
    rng = np.random.default_rng(2)
    x, u = rng.normal(0, 0.5, 16), np.array([11.0, 9.5, 0.01, -0.02])
    made, jacobian = (np.array(part) for part in dynamics_and_jacobian(STILL)(x, u, []))
    whole = tiltrotor.dynamics(STILL)
    assert made.ravel() == pytest.approx(np.array(whole(x, u)).ravel(), rel=1e-9, abs=1e-9)
    state, given = ca.SX.sym("x", 16), ca.SX.sym("u", 4)
    slope = ca.Function("J", [state, given], [ca.jacobian(whole(state, given), ca.vertcat(state, given))])
    assert jacobian == pytest.approx(np.array(slope(x, u)), rel=1e-7, abs=1e-7)


def spiral(*changes: str) -> Any:
    return scenario_files.load(scenario_files.find("tiltrotor-spiral"), changes)


def test_the_published_gain_has_no_momentum_unless_asked() -> None:
    inertia = "vehicle.rotors.inertia_kgm2=2e-5"
    published = of_scenario(spiral()).K
    assert np.array_equal(of_scenario(spiral(inertia)).K, published)
    designed = of_scenario(spiral(inertia, "vehicle.rotors.designed=true"))
    assert not np.allclose(designed.K, published, rtol=1e-3) and board_law(spiral(inertia))[1].hover_command
    assert designed.u_eq == pytest.approx(of_scenario(spiral()).u_eq)  # nothing turns in hover


def test_only_the_keys_choose_the_turning_rotors() -> None:
    assert type(build.build_world(spiral())[0]) is Multibody
    assert type(build.build_world(spiral("vehicle.rotors.inertia_kgm2=2e-5"))[0]) is TurningRotors
    with pytest.raises(ConfigError, match=r"vehicle\.rotors\.inertia_kgm2: expected less than that of a pod"):
        build.build_world(spiral("vehicle.rotors.inertia_kgm2=1e-4"))
    with pytest.raises(ConfigError, match=r"vehicle\.rotors: a batch of the tilt-rotor flies without it"):
        batch.plan(spiral("vehicle.rotors.inertia_kgm2=2e-5"))
