"""The equations of the fixed wing: a twin in the literature's axes, directions, invariants, symmetry, the stall."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fixedwing_flights import AEROSONDE, DENSITY, NAMES, STILL, derivative, flown, matrix, some_state, without_torque
from msgspec.structs import replace

from aeroloop.core import frames
from aeroloop.core.frames import Vec
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.trim import GRAVITY_M_S2, trim
from aeroloop.models import fixedwing

MIRROR = np.array([1, -1, 1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1])
"""Left and right exchanged: y and its velocity, roll and yaw with their rates change sign."""


class Twin:
    """Beard & McLain written down once more, with numbers, in north-east-down and forward-right-down."""

    m, Jx, Jy, Jz, Jxz = 11.0, 0.8244, 1.135, 1.759, 0.1204
    S, b, c, rho, e = 0.55, 2.8956, 0.18994, DENSITY, 0.9

    def accelerations(self, ned: Vec, angles: Vec, rates: Vec, delta: Vec, wind: Vec) -> tuple[Vec, Vec]:
        phi, theta, psi = angles
        p, q, r = rates
        da, de, dr, dt = delta
        Rx = np.array([[1, 0, 0], [0, math.cos(phi), -math.sin(phi)], [0, math.sin(phi), math.cos(phi)]])
        Ry = np.array([[math.cos(theta), 0, math.sin(theta)], [0, 1, 0], [-math.sin(theta), 0, math.cos(theta)]])
        Rz = np.array([[math.cos(psi), -math.sin(psi), 0], [math.sin(psi), math.cos(psi), 0], [0, 0, 1]])
        R = Rz @ Ry @ Rx
        u, v, w = R.T @ (ned - wind)
        V = math.sqrt(u * u + v * v + w * w)
        al, be = math.atan2(w, u), math.asin(v / V)
        E1, E2 = math.exp(-50 * (al - 0.47)), math.exp(50 * (al + 0.47))
        sigma = (1 + E1 + E2) / ((1 + E1) * (1 + E2))
        linear = 0.23 + 5.61 * al
        CL = (1 - sigma) * linear + sigma * 2 * np.sign(al) * math.sin(al) ** 2 * math.cos(al)
        CL += 7.95 * self.c * q / (2 * V) + 0.13 * de
        CD = linear**2 / (math.pi * self.e * self.b**2 / self.S) + 0.0135 * abs(de)
        Q = 0.5 * self.rho * V * V * self.S
        P, Rr = p * self.b / (2 * V), r * self.b / (2 * V)
        n, D = self.turns(V, dt), 0.508
        J = V / (n * D)
        thrust = self.rho * n**2 * D**4 * (0.09357 - 0.06044 * J - 0.1079 * J * J)
        shaft = self.rho * n**2 * D**5 * (0.00523 + 0.00497 * J - 0.01664 * J * J)
        L, Dr = Q * CL, Q * CD
        force = np.array(
            [
                L * math.sin(al) - Dr * math.cos(al) + thrust,
                Q * (-0.98 * be + 0.075 * da + 0.19 * dr),
                -L * math.cos(al) - Dr * math.sin(al),
            ]
        )
        ell = Q * self.b * (-0.13 * be - 0.51 * P + 0.25 * Rr + 0.17 * da + 0.0024 * dr) - shaft
        em = Q * self.c * (0.0135 - 2.74 * al - 38.21 * self.c * q / (2 * V) - 0.99 * de)
        en = Q * self.b * (0.073 * be + 0.069 * P - 0.095 * Rr - 0.011 * da - 0.069 * dr)
        Jx, Jy, Jz, Jxz = self.Jx, self.Jy, self.Jz, self.Jxz
        G = Jx * Jz - Jxz**2
        p_dot = (Jxz * (Jx - Jy + Jz) * p * q - (Jz * (Jz - Jy) + Jxz**2) * q * r + Jz * ell + Jxz * en) / G
        q_dot = ((Jz - Jx) * p * r - Jxz * (p * p - r * r) + em) / Jy
        r_dot = (((Jx - Jy) * Jx + Jxz**2) * p * q - Jxz * (Jx - Jy + Jz) * q * r + Jxz * ell + Jx * en) / G
        return R @ force / self.m + np.array([0, 0, GRAVITY_M_S2]), np.array([p_dot, q_dot, r_dot])

    def turns(self, V: float, throttle: float) -> float:
        """Turns a second at which motor and propeller agree, by bisection."""
        K, D = 60 / (2 * math.pi * 145.0), 0.508
        low, high = 1e-6, 1000.0
        for _ in range(200):
            n = (low + high) / 2
            J = V / (n * D)
            load = self.rho * n**2 * D**5 * (0.00523 + 0.00497 * J - 0.01664 * J * J)
            drive = K * ((44.4 * throttle - K * 2 * math.pi * n) / 0.042 - 1.5)
            low, high = (n, high) if drive > load else (low, n)
        return low


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_a_twin_in_the_literatures_axes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = some_state(rng, rng.uniform(12, 35))
    controls = np.array([*rng.uniform(-0.4, 0.4, 3), rng.uniform(0.3, 1.0)])
    wind_W = rng.normal(0, 4, 3)
    state[7:10] += wind_W
    roll, pitch, yaw = frames.euler_from_quat(tuple(state[3:7]))
    accel, rates_dot = Twin().accelerations(
        np.array(frames.ned_from_enu(tuple(state[7:10]))),
        np.array([roll, -pitch, math.pi / 2 - yaw]),
        np.array(frames.frd_from_flu(tuple(state[10:13]))),
        controls,
        np.array(frames.ned_from_enu(tuple(wind_W))),
    )
    dot = derivative(AEROSONDE, state, controls, wind_W)
    assert frames.ned_from_enu(tuple(dot[7:10])) == pytest.approx(accel, rel=1e-9, abs=1e-9)
    assert frames.frd_from_flu(tuple(dot[10:13])) == pytest.approx(rates_dot, rel=1e-9, abs=1e-8)
    assert dot[:3] == pytest.approx(state[7:10])


def test_the_surfaces_turn_the_way_they_should() -> None:
    level = trim(AEROSONDE)
    state, controls = level.state(), np.array(level.controls)

    def turned(index: int) -> Vec:
        return derivative(AEROSONDE, state, controls + 0.05 * np.eye(4)[index])[7:]

    assert turned(0)[3] > 1.0  # aileron: right wing down
    assert turned(1)[4] > 1.0  # elevator: nose down
    assert turned(2)[5] > 0.3  # rudder: nose to the left
    assert turned(3)[0] > 0.1  # throttle: forward


def test_air_data() -> None:
    state = np.concatenate([np.zeros(3), frames.quat_from_euler(0.0, -0.1, 0.0), [20.0, 0.0, 0.0], np.zeros(3)])
    airspeed, alpha, beta = (float(value) for value in fixedwing.airdata()(state, [0.0, 0.0, 0.0]))
    assert (airspeed, alpha, beta) == pytest.approx((20.0, 0.1, 0.0))  # nose up
    _, _, from_right = fixedwing.airdata()(state, [0.0, 2.0, 0.0])  # the air goes to the left
    assert float(from_right) == pytest.approx(math.asin(2 / math.hypot(20, 2)))
    drifting = fixedwing.airdata()(state, [20.0, 0.0, 0.0])
    assert float(drifting[0]) == pytest.approx(0.0, abs=1e-5)


def test_an_accelerometer_feels_the_force_without_gravity() -> None:
    level = trim(AEROSONDE)
    force_B, torque_B = fixedwing.forces(AEROSONDE)(level.state(), level.controls, STILL, DENSITY)
    felt_W = matrix(level.quat_WB()) @ np.array(force_B).ravel() / AEROSONDE.body.mass_kg
    assert felt_W == pytest.approx([0.0, 0.0, GRAVITY_M_S2], abs=1e-9)
    assert np.array(torque_B).ravel() == pytest.approx(np.zeros(3), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("throttle", [0.0, 1.0])
def test_finite_however_it_moves(name: str, throttle: float) -> None:
    p = airframe.load(name)
    rng = np.random.default_rng(3)
    tumbling = [some_state(rng, speed) for speed in (0.0, 1e-9, 1.0, 300.0)]
    for direction in (STILL, (-20.0, 0.0, 0.0), (0.0, 20.0, 0.0), (0.0, 0.0, -20.0), (0.0, 0.0, 20.0)):
        tumbling.append(np.concatenate([np.zeros(3), [1.0, 0.0, 0.0, 0.0], direction, np.zeros(3)]))
    for state in tumbling:
        assert np.isfinite(derivative(p, state, np.array([0.1, 0.1, 0.1, throttle]))).all()
    resting = derivative(p, tumbling[4], np.zeros(4))
    assert resting[7:] == pytest.approx([0, 0, -GRAVITY_M_S2, 0, 0, 0], abs=1e-9)


def test_standing_at_full_throttle_pulls_forward() -> None:
    at_rest = np.concatenate([np.zeros(3), [1.0, 0.0, 0.0, 0.0], np.zeros(6)])
    dot = derivative(AEROSONDE, at_rest, np.array([0.0, 0.0, 0.0, 1.0]))
    assert dot[7] > 5.0
    assert dot[10] < 0.0  # the propeller turns right, seen from behind, and its torque rolls the aircraft left


@pytest.mark.parametrize("seed", range(3))
def test_in_vacuum_energy_and_momentum_stay(seed: int) -> None:
    """Nothing but gravity: a free tumble keeps its energy, and its angular momentum in the world."""
    rng = np.random.default_rng(seed)
    p, state = AEROSONDE, some_state(rng, 15.0)
    (x, y, z), xz = p.body.inertia_kgm2, p.body.product_xz_kgm2
    inertia = np.array([[x, 0.0, xz], [0.0, y, 0.0], [xz, 0.0, z]])  # z up: the product's sign is turned

    def kept(s: Vec) -> Vec:
        momentum_W = matrix(s[3:7]) @ inertia @ s[10:13]
        energy = p.body.mass_kg * (0.5 * s[7:10] @ s[7:10] + GRAVITY_M_S2 * s[2]) + 0.5 * s[10:13] @ inertia @ s[10:13]
        return np.array([*momentum_W, energy, np.linalg.norm(s[3:7])])

    after = flown(p, state, np.array([0.2, -0.1, 0.1, 1.0]), 5.0, density=0.0)
    assert kept(after) == pytest.approx(kept(state), rel=1e-7, abs=1e-7)
    assert after[2] - state[2] == pytest.approx(state[9] * 5.0 - 0.5 * GRAVITY_M_S2 * 25.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_trimmed_aircraft_stays_as_it_is(name: str) -> None:
    frame = airframe.load(name)
    level = trim(frame)
    after = flown(frame, level.state((0.0, 0.0, 100.0), 0.7), np.array(level.controls), 10.0)
    assert after[2] == pytest.approx(100.0, abs=1e-6)
    assert after[7:10] == pytest.approx(level.state(yaw_rad=0.7)[7:10], abs=1e-6)
    assert np.linalg.norm(after[3:7]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_steady_turn_is_a_circle_and_a_climb_climbs(name: str) -> None:
    frame = airframe.load(name)
    rate = GRAVITY_M_S2 * math.tan(math.radians(25)) / 20.0  # to the left
    turning = trim(frame, 20.0, turn_rate_rad_s=rate, climb_rad=0.05)
    assert turning.roll_rad == pytest.approx(-math.radians(25), abs=math.radians(1.5))
    assert turning.residual < 1e-9
    circle_s = 2 * math.pi / rate
    dt = circle_s / 2000
    after = flown(frame, turning.state(), np.array(turning.controls), circle_s, dt=dt)
    assert after[:2] == pytest.approx([0.0, 0.0], abs=1e-2)
    assert after[2] == pytest.approx(20.0 * math.sin(0.05) * circle_s, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_left_mirrors_right(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = without_torque(AEROSONDE)
    state, controls = some_state(rng, 22.0), np.array([*rng.uniform(-0.3, 0.3, 3), 0.6])
    mirrored = derivative(p, state * MIRROR, controls * [-1, 1, -1, 1])
    assert mirrored == pytest.approx(derivative(p, state, controls) * MIRROR, rel=1e-9, abs=1e-9)


def test_symmetric_flight_stays_symmetric() -> None:
    frame = replace(AEROSONDE, propulsion=replace(AEROSONDE.propulsion, spin=0))
    level = trim(frame, 22.0)
    assert (level.roll_rad, *level.controls[:3:2]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    disturbed = np.array(level.controls) + np.array([0.0, 0.05, 0.0, 0.2])
    after = flown(frame, level.state(), disturbed, 5.0)
    assert abs(after[0]) > 50.0
    assert after[MIRROR < 0] == pytest.approx(np.zeros(6), abs=1e-12)
    left, right = (trim(frame, turn_rate_rad_s=rate) for rate in (0.2, -0.2))
    assert left.controls == pytest.approx(np.array(right.controls) * [-1, 1, -1, 1], abs=1e-9)
    assert left.roll_rad == pytest.approx(-right.roll_rad)


def test_the_stall_takes_the_lift_away() -> None:
    p = AEROSONDE
    forces = fixedwing.forces(replace(p, propulsion=replace(p.propulsion, thrust_fit=(0.0, 0.0, 0.0))))

    def lift_coefficient(alpha: float) -> float:
        vel_B = [20 * math.cos(alpha), 0.0, -20 * math.sin(alpha)]
        state = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *vel_B, 0.0, 0.0, 0.0])
        x, _, z = np.array(forces(state, np.zeros(4), STILL, DENSITY)[0]).ravel()
        return float(z * math.cos(alpha) + x * math.sin(alpha)) / (0.5 * DENSITY * 400 * p.wing.area_m2)

    plate = 2 * math.sin(0.9) ** 2 * math.cos(0.9)
    assert lift_coefficient(0.2) == pytest.approx(0.23 + 5.61 * 0.2, rel=1e-4)
    assert lift_coefficient(0.35) > 2.0 > lift_coefficient(0.6) > 0.0
    assert lift_coefficient(0.9) == pytest.approx(plate, rel=1e-4)
    assert lift_coefficient(-0.9) == pytest.approx(-plate, rel=1e-4)
