"""The multirotor's design model: hover, the thesis' equations, directions, invariants, drag, linearisation, files."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from msgspec.structs import replace

from aeroloop.core import frames
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.families.multirotor import airframe
from aeroloop.models import integrate, quadrotor, rigid_body
from aeroloop.models.quadrotor import Parameters

NAMES = ["iris", "hexarotor"]
STILL = np.zeros(3)
IRIS = airframe.load("iris").flight
FRONT_RIGHT, REAR_LEFT, FRONT_LEFT, REAR_RIGHT = range(4)


def without_drag(p: Parameters) -> Parameters:
    return replace(p, body=replace(p.body, drag_area_m2=(0.0, 0.0, 0.0)), rotors=replace(p.rotors, drag_Ns2_m=0.0))


def in_vacuum(p: Parameters) -> Parameters:
    return replace(without_drag(p), rotors=replace(p.rotors, drag_Ns2_m=0.0, thrust_Ns2=1e-30))


def level(vel_W: Vec = STILL, rate_B: Vec = STILL) -> Vec:
    return np.concatenate([np.zeros(3), [1.0, 0.0, 0.0, 0.0], vel_W, rate_B])


def derivative(
    p: Parameters,
    state: Vec,
    speed: Vec,
    *,
    spin_up: Vec | None = None,
    wind_W: Vec = STILL,
    density: float = 1.225,
    gravity: float = GRAVITY_M_S2,
) -> Vec:
    still = np.zeros(p.rotors.count)
    dot = quadrotor.state_dot(p)(state, speed, still if spin_up is None else spin_up, wind_W, density, gravity)
    return np.array(dot).ravel()


def rotation(quat: Vec) -> Vec:
    q = ca.SX.sym("q", 4)
    return np.array(ca.Function("R", [q], [rigid_body.rotation(q)])(quat))


@pytest.mark.parametrize(("name", "hover_rad_s", "ratio"), [("rfly", 557.14, 3.26), ("rfly-e0", 469.9, 3.39)])
def test_the_rfly_airframes_hover_as_published(name: str, hover_rad_s: float, ratio: float) -> None:
    frame = airframe.load(name)
    assert quadrotor.hover_speeds_rad_s(frame.flight) == pytest.approx(np.full(4, hover_rad_s), rel=1e-3)
    assert (frame.motors.speed_max_rad_s / hover_rad_s) ** 2 == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_changes_at_hover(name: str) -> None:
    p = airframe.load(name).flight
    speeds = quadrotor.hover_speeds_rad_s(p)
    assert np.abs(derivative(p, level(), speeds)).max() < 1e-12
    assert p.rotors.thrust_Ns2 * np.sum(speeds**2) == pytest.approx(p.body.mass_kg * GRAVITY_M_S2)


def test_iris_hovers_where_the_arithmetic_says() -> None:
    expected = math.sqrt(1.5 * 9.80665 / 4 / 5.84e-6)
    assert quadrotor.hover_speeds_rad_s(IRIS) == pytest.approx([expected] * 4)


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_the_thesis_equations(seed: int) -> None:
    """Nguyen 2018, equations 2.1 to 2.4, which know no drag; the signs follow from the geometry."""
    rng = np.random.default_rng(seed)
    p = without_drag(IRIS)
    roll, pitch, yaw = rng.uniform(-1.0, 1.0, 3)
    rates, w = rng.normal(0, 2, 3), rng.uniform(300, 1000, 4)
    state = np.concatenate([np.zeros(3), frames.quat_from_euler(roll, pitch, yaw), rng.normal(0, 3, 3), rates])
    x, y = np.array(p.rotors.pos_B_m)[:, 0], np.array(p.rotors.pos_B_m)[:, 1]
    s, kf, km, jr = np.array([1, 1, -1, -1]), 5.84e-6, 5.84e-6 * 0.06, p.rotors.inertia_kgm2
    U1, U2, U3, U4 = kf * sum(w**2), kf * sum(y * w**2), -kf * sum(x * w**2), -km * sum(s * w**2)
    ixx, iyy, izz = p.body.inertia_kgm2
    P, Q, R, Wr = *rates, sum(s * w)
    sin, cos = math.sin, math.cos
    expected = [
        (cos(roll) * sin(pitch) * cos(yaw) + sin(roll) * sin(yaw)) * U1 / 1.5,
        (cos(roll) * sin(pitch) * sin(yaw) - sin(roll) * cos(yaw)) * U1 / 1.5,
        cos(roll) * cos(pitch) * U1 / 1.5 - GRAVITY_M_S2,
        (U2 + (iyy - izz) * Q * R - jr * Q * Wr) / ixx,
        (U3 + (izz - ixx) * P * R + jr * P * Wr) / iyy,
        (U4 + (ixx - iyy) * P * Q) / izz,
    ]
    assert derivative(p, state, w)[7:] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("faster", "roll", "pitch", "yaw"),
    [
        ((REAR_LEFT, FRONT_LEFT), 1, 0, 0),  # left side up
        ((REAR_LEFT, REAR_RIGHT), 0, 1, 0),  # nose down
        ((FRONT_LEFT, REAR_RIGHT), 0, 0, 1),  # clockwise rotors turn the body counter-clockwise
    ],
)
def test_motor_order_and_directions(faster: tuple[int, int], roll: int, pitch: int, yaw: int) -> None:
    speeds = quadrotor.hover_speeds_rad_s(IRIS)
    speeds[list(faster)] += 10.0
    rate_dot = derivative(IRIS, level(), speeds)[10:]
    wanted = np.array([roll, pitch, yaw])
    assert rate_dot @ wanted > 0.2
    sideways = np.abs(rate_dot[wanted == 0])  # the IRIS' rear arms are a little shorter: some roll comes with the yaw
    assert sideways.max() < 0.4 * rate_dot @ wanted


def test_gyroscopic_torque_turns_the_way_a_top_does() -> None:
    """A counter-clockwise rotor (momentum up) on a body that pitches nose down resists by rolling it left side down."""
    speeds = np.array([500.0, 500.0, 0.0, 0.0])
    p = in_vacuum(IRIS)
    rate_dot = derivative(p, level(rate_B=np.array([0.0, 1.0, 0.0])), speeds)[10:]
    assert rate_dot == pytest.approx([-1000.0 * p.rotors.inertia_kgm2 / p.body.inertia_kgm2[0], 0.0, 0.0], abs=1e-12)


def test_spinning_up_a_rotor_turns_the_body_the_other_way() -> None:
    p = in_vacuum(IRIS)
    rate_dot = derivative(p, level(), np.zeros(4), spin_up=np.array([8000.0, 0.0, 0.0, 0.0]))[10:]
    assert rate_dot == pytest.approx([0.0, 0.0, -8000.0 * 2.74004e-5 / 0.055225])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_free_tumble_keeps_energy_and_momentum(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = in_vacuum(airframe.load(name).flight)
    n, inertia = p.rotors.count, np.array(p.body.inertia_kgm2)
    quat = rng.normal(size=4)
    state = np.concatenate([[0.0, 0.0, 100.0], quat / np.linalg.norm(quat), rng.normal(0, 5, 3), rng.normal(0, 3, 3)])
    speed = rng.uniform(0, 1000, n)
    u = np.concatenate([speed, np.zeros(n), STILL, [1.225, GRAVITY_M_S2]])
    spinning = np.array([0.0, 0.0, p.rotors.inertia_kgm2 * (np.array(p.rotors.spin) @ speed)])

    def invariants(x: Vec) -> Vec:
        momentum_W = rotation(x[3:7]) @ (inertia * x[10:] + spinning)
        turning = 0.5 * inertia @ x[10:] ** 2
        moving = p.body.mass_kg * (0.5 * x[7:10] @ x[7:10] + GRAVITY_M_S2 * x[2])
        return np.array([*momentum_W, turning, moving, np.linalg.norm(x[3:7])])

    before, step = invariants(state), integrate.rk4(quadrotor.dynamics(p))
    for _ in range(2500):
        state = np.array(step(state, u, 0.002)).ravel()
    assert invariants(state) == pytest.approx(before, rel=1e-8, abs=1e-8)


def test_only_the_motion_through_the_air_brakes() -> None:
    speeds, wind_W = quadrotor.hover_speeds_rad_s(IRIS), np.array([6.0, -3.0, 1.0])
    drifting = derivative(IRIS, level(vel_W=wind_W), speeds, wind_W=wind_W)
    assert drifting[7:] == pytest.approx(np.zeros(6), abs=1e-9)
    blown = derivative(IRIS, level(), speeds, wind_W=np.array([5.0, 0.0, 0.0]))
    rotor_drag, body_drag = 1.75e-4 * sum(speeds) * 5.0, 0.5 * 1.225 * 0.02 * 25.0
    assert blown[7] == pytest.approx((rotor_drag + body_drag) / 1.5, rel=1e-6)
    assert blown[11] == pytest.approx(
        rotor_drag * 0.023 / 0.029125, rel=1e-6
    )  # the rotors sit above the mass: nose down


def test_thin_air_carries_less() -> None:
    speeds = quadrotor.hover_speeds_rad_s(IRIS)
    assert derivative(IRIS, level(), speeds, density=1.225 / 2)[9] == pytest.approx(-GRAVITY_M_S2 / 2)


@pytest.mark.parametrize("name", NAMES)
def test_linear_model_at_hover(name: str) -> None:
    p = airframe.load(name).flight
    A, B, speeds = quadrotor.hover_linear(p)
    n, m, c = p.rotors.count, p.body.mass_kg, p.rotors.drag_Ns2_m
    assert A.shape == (12, 12)
    assert B.shape == (12, n)
    assert A[6, 4] == pytest.approx(GRAVITY_M_S2)  # nose down: forward
    assert A[7, 3] == pytest.approx(-GRAVITY_M_S2)  # left side up: to the right
    assert A[6, 6] == pytest.approx(-c * sum(speeds) / m, rel=1e-3)
    assert B[8] == pytest.approx(2 * p.rotors.thrust_Ns2 * speeds / m)
    controllable = np.hstack([np.linalg.matrix_power(A, k) @ B for k in range(12)])
    scaled = controllable / np.maximum(np.linalg.norm(controllable, axis=0), 1e-300)
    assert np.linalg.matrix_rank(scaled, tol=1e-9) == 12
