"""MuJoCo's world and the Euler-Lagrange design model are two descriptions of one aircraft: they must agree.

Tolerance: both integrate with RK4 at 4 ms, one in quaternions and one in Euler angles, so they differ by their
truncation errors (1e-9 to 1e-7 in the first 0.3 s), which the unstable aircraft then multiplies as it tumbles.
Uncontrolled, over up to 0.6 s of random inputs, 1e-5 (m, rad) leaves room for that and none for a wrong mass, lever
arm or sign: the rounding of Table 1 shows as more than 1e-3. Under control nothing is multiplied, so a 20 s flight
with random disturbances must agree to 1e-7. In wind the world holds its drag over a step, as the motion in the middle
makes it, where the design model has it in every stage of the step: 1e-6.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from aeroloop.core import frames
from aeroloop.core.signals import Air, Effort
from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.design import design, parameters
from aeroloop.models import integrate, tiltrotor
from aeroloop.sensors.state import ideal
from aeroloop.world.multibody import Multibody

STEP_NS = 4_000_000
TOLERANCE = 1e-5
WIND_TOLERANCE = 1e-6
GIMBAL_RAD = 1.0  # beyond it Euler angles turn ever faster, and RK4 in them loses its digits


def fly_both(name: str, seed: int, steps: int, world_name: str | None = None) -> tuple[float, int]:
    """Largest difference over a random-input flight, and how many steps were compared."""
    p = parameters(name)
    rng = np.random.default_rng(seed)
    q_eq, u_eq, _ = tiltrotor.equilibrium(p)
    state = np.concatenate([q_eq, rng.normal(0, 0.5, 8)])
    state[2] = 50.0
    state[3:6] += rng.normal(0, 0.2, 3)
    world = Multibody(airframe.build(parameters(world_name or name), 0.004))
    world.reset(
        tuple(state[:3]),
        frames.quat_from_euler(*state[3:6]),
        tuple(state[6:8]),
        vel_W=tuple(state[8:11]),
        rate_B=frames.body_from_euler_rates(state[3], state[4], *state[11:14]),
        hinge_rates_rad_s=tuple(state[14:16]),
    )
    step = integrate.rk4(tiltrotor.dynamics(p))
    worst = 0.0
    for n in range(steps):
        if abs(state[4]) > GIMBAL_RAD:
            return worst, n
        u = u_eq + rng.normal(0, [1.0, 1.0, 0.02, 0.02])
        world.step(Effort((u[0], u[1]), (u[2], u[3]), False), STEP_NS)
        state = np.array(step(state, u, STEP_NS / 1e9)).ravel()
        worst = max(worst, difference(world, state))
    return worst, steps


def fly_both_controlled(seed: int, steps: int) -> float:
    """Each under its own feedback, both shaken by the same random inputs."""
    p, plan = parameters("cad"), design("cad", "published", 0.012)
    rng = np.random.default_rng(seed)
    start = np.concatenate([plan.q_eq, np.zeros(8)])
    start[2] = 50.0
    state, worst = start.copy(), 0.0
    world = Multibody(airframe.build(p, 0.004))
    world.reset(tuple(start[:3]), frames.quat_from_euler(*start[3:6]), tuple(start[6:8]))
    step = integrate.rk4(tiltrotor.dynamics(p))
    for n in range(steps):
        if n % 3 == 0:
            shake = rng.normal(0, [0.5, 0.5, 0.01, 0.01])
            u_model = plan.u_eq + shake - plan.K[:, :16] @ (state - start)
            u_world = plan.u_eq + shake - plan.K[:, :16] @ (np.array(ideal(world.state(0))) - start)
        world.step(Effort((u_world[0], u_world[1]), (u_world[2], u_world[3]), False), STEP_NS)
        state = np.array(step(state, u_model, STEP_NS / 1e9)).ravel()
        worst = max(worst, difference(world, state))
    return worst


def difference(world: Multibody, state: np.ndarray) -> float:
    truth = world.state(0)
    angles = np.array(frames.euler_from_quat(truth.quat_WB)) - state[3:6]
    angles = (angles + np.pi) % (2 * np.pi) - np.pi
    parts = (np.array(truth.pos_W) - state[:3], angles, np.array(truth.tilt_rad) - state[6:8])
    return max(float(np.max(np.abs(part))) for part in parts)


@pytest.mark.parametrize("name", ["cad", "table1"])
@pytest.mark.parametrize("seed", range(8))
def test_world_flies_like_the_design_model(name: str, seed: int) -> None:
    worst, compared = fly_both(name, seed, 150)
    assert compared > 50
    assert worst < TOLERANCE


@pytest.mark.parametrize("seed", range(3))
def test_controlled_flights_agree_for_long(seed: int) -> None:
    assert fly_both_controlled(seed, 5000) < 1e-7


def fly_both_in_wind(seed: int, steps: int, *, areas_m2: tuple[float, float, float] | None = None) -> float:
    """Each under its own feedback in the same changing wind; `areas_m2`: of the design model, where not the world's."""
    p, plan = parameters("cad"), design("cad", "published", 0.012)
    rng = np.random.default_rng(seed)
    start = np.concatenate([plan.q_eq, np.zeros(8)])
    start[2] = 50.0
    state, worst = start.copy(), 0.0
    world, drag = Multibody(airframe.build(p, 0.004, in_air=True)), airframe.drag(p)
    world.reset(tuple(start[:3]), frames.quat_from_euler(*start[3:6]), tuple(start[6:8]))
    model = msgspec.structs.replace(p, drag_area_m2=areas_m2 or p.drag_area_m2)
    step = integrate.rk4(tiltrotor.dynamics_in_air(model))
    wind_W = np.zeros(3)
    for n in range(steps):
        if n % 3 == 0:
            u_model = plan.u_eq - plan.K[:, :16] @ (state - start)
            u_world = plan.u_eq - plan.K[:, :16] @ (np.array(ideal(world.state(0))) - start)
        wind_W += 0.02 * (np.array([5.0, -4.0, 1.0]) - wind_W) + rng.normal(0, 0.2, 3)
        air = Air(tuple(wind_W.tolist()), 101325.0, 288.15, 1.225)
        world.step_in_air(Effort((u_world[0], u_world[1]), (u_world[2], u_world[3]), False), air, drag, STEP_NS)
        state = np.array(step(state, np.concatenate([u_model, wind_W, [air.density_kg_m3]]), STEP_NS / 1e9)).ravel()
        worst = max(worst, difference(world, state))
    assert np.linalg.norm(state[:3] - start[:3]) > 0.02  # pushed away: no integrator holds it here
    return worst


@pytest.mark.parametrize("seed", range(2))
def test_drag_and_wind_are_the_same_in_both(seed: int) -> None:
    assert fly_both_in_wind(seed, 1500) < WIND_TOLERANCE


def test_the_comparison_in_wind_can_tell_two_drags_apart() -> None:
    areas_m2 = (0.015, 0.061, 0.1)  # one of them 2 % larger
    assert fly_both_in_wind(0, 500, areas_m2=areas_m2) > 10 * WIND_TOLERANCE


def test_the_comparison_can_tell_two_aircraft_apart() -> None:
    worst, _ = fly_both("cad", 0, 150, world_name="table1")
    assert worst > 100 * TOLERANCE
