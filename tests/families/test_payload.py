"""A payload taken up in flight: mass and inertia against MuJoCo's, motion against Newton and Euler, hover thrust."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import aeroloop
from aeroloop.actuators.motors import RotorEffort
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS, Air
from aeroloop.families.multirotor import airframe, laden_world
from aeroloop.families.multirotor.payload import Payload, laden

IRIS = airframe.load("iris")
PAYLOAD = Payload(mass_kg=0.4, offset_B_m=(0.03, 0.02, -0.05), from_s=0.02)
STEP_NS = 1_000_000
VACUUM = Air((0.0, 0.0, 0.0), 0.0, 288.0, 0.0)
"""Rotors without air have no thrust: only what the body itself does."""


def test_mass_and_inertia_are_those_of_two_bodies_in_mujoco() -> None:
    """MuJoCo adds up a body and a sphere that is fixed to it, by its own composite-body algorithm."""
    x, y, z = IRIS.body.inertia_kgm2
    spot = " ".join(map(str, PAYLOAD.offset_B_m))
    model: Any = mujoco.MjModel.from_xml_string(f"""
    <mujoco><compiler boundinertia="0" balanceinertia="false"/><worldbody><body><freejoint/>
      <inertial pos="0 0 0" mass="{IRIS.body.mass_kg}" diaginertia="{x} {y} {z}"/>
      <body pos="{spot}"><inertial pos="0 0 0" mass="0.4" diaginertia="1e-12 1e-12 1e-12"/></body>
    </body></worldbody></mujoco>""")
    data: Any = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    full = np.zeros((6, 6))
    mujoco.mj_fullM(model, data, full)
    together = laden(IRIS.body, PAYLOAD)
    assert together.mass_kg == pytest.approx(full[0, 0])
    assert together.centre_B_m == pytest.approx(data.subtree_com[0])
    c = together.centre_B_m
    about_origin = together.inertia_kgm2 + together.mass_kg * (c @ c * np.eye(3) - np.outer(c, c))
    assert about_origin == pytest.approx(full[3:, 3:], abs=1e-9)


def derivative(state: Vec, force_B: Vec, torque_B: Vec) -> Vec:
    """Newton and Euler of a body of two parts, from the airframe's origin O: velocity and rate in body axes.

    M (a + w' x c + w x (w x c)) = F,   I w' + w x I w + M c x a = T,   about O, with c the centre of mass.
    """
    quat, vel, rate = state[3:7], state[7:10], state[10:13]
    M, m, r = IRIS.body.mass_kg, PAYLOAD.mass_kg, np.array(PAYLOAD.offset_B_m)
    inertia = np.diag(IRIS.body.inertia_kgm2) + m * (r @ r * np.eye(3) - np.outer(r, r))
    moment = m * r  # total mass times c

    def cross(v: Vec) -> Vec:
        return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])

    w, xyz = quat[0], quat[1:]
    turn = np.eye(3) + 2 * w * cross(xyz) + 2 * cross(xyz) @ cross(xyz)
    gravity_B = turn.T @ np.array([0, 0, -GRAVITY_M_S2])
    left = np.block([[(M + m) * np.eye(3), -cross(moment)], [cross(moment), inertia]])
    force = force_B + (M + m) * gravity_B - np.cross(rate, np.cross(rate, moment))
    torque = torque_B + np.cross(moment, gravity_B) - np.cross(rate, inertia @ rate)
    accel = np.linalg.solve(left, np.concatenate([force, torque]))
    quat_dot = 0.5 * np.concatenate([[-xyz @ rate], w * rate + np.cross(xyz, rate)])
    return np.concatenate([vel, quat_dot, turn @ accel[:3], accel[3:]])


def test_the_motion_is_that_of_newton_and_euler() -> None:
    """Tumbling in a vacuum, from the moment on at which the payload is taken up: nothing jumps then."""
    world = airframe.world(IRIS, STEP_NS / NS, payload=PAYLOAD)
    start = np.array([0.0, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0, 2.0, -1.0, 3.0, 4.0, -3.0, 5.0])
    world.reset(tuple(start[:3]), tuple(start[3:7]), vel_W=tuple(start[7:10]), rate_B=tuple(start[10:]))
    still = RotorEffort((0.0,) * 4, (0.0,) * 4, False, False)
    for _ in range(20):
        world.step(still, VACUUM, GRAVITY_M_S2, STEP_NS)
    state = before = np.array(world.motion[:13])
    h = STEP_NS / NS
    for _ in range(200):
        world.step(still, VACUUM, GRAVITY_M_S2, STEP_NS)
        k1 = derivative(state, np.zeros(3), np.zeros(3))
        k2 = derivative(state + h / 2 * k1, np.zeros(3), np.zeros(3))
        k3 = derivative(state + h / 2 * k2, np.zeros(3), np.zeros(3))
        k4 = derivative(state + h * k3, np.zeros(3), np.zeros(3))
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    flown = np.array(world.motion[:13])
    assert flown[:3] == pytest.approx(state[:3], abs=1e-7)
    assert flown[3:7] == pytest.approx(state[3:7] / np.linalg.norm(state[3:7]), abs=1e-7)
    assert flown[7:] == pytest.approx(state[7:], abs=1e-6)
    free = before[:3] + before[7:10] * 0.2 - np.array([0, 0, GRAVITY_M_S2 * 0.02])
    assert np.linalg.norm(flown[:3] - free) > 1e-3  # without a payload the origin would fall freely


def test_in_hover_the_rotors_carry_the_payload_where_it_hangs() -> None:
    """Statics: the thrusts that balance both weights where they act hold it still, level and without rotation."""
    hanging = Payload(mass_kg=0.4, offset_B_m=(0.03, 0.02, -0.05))
    world = airframe.world(IRIS, STEP_NS / NS, payload=hanging)
    world.reset((0.0, 0.0, 50.0), (1.0, 0.0, 0.0, 0.0))
    speeds = laden_world.hover_speeds_rad_s(IRIS.body.mass_kg, hanging, IRIS.rotors)
    thrust_N = IRIS.rotors.thrust_Ns2 * speeds**2
    assert thrust_N.sum() == pytest.approx((IRIS.body.mass_kg + 0.4) * GRAVITY_M_S2)
    hovering = RotorEffort(tuple(speeds.tolist()), (0.0,) * 4, False, False)
    air = Air((0.0, 0.0, 0.0), 101325.0, 288.0, IRIS.rotors.density_kg_m3)
    for _ in range(200):
        world.step(hovering, air, GRAVITY_M_S2, STEP_NS)
    state = world.state(0)
    assert state.pos_W == pytest.approx((0.0, 0.0, 50.0), abs=1e-9)
    assert state.rate_B == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


def test_a_scenario_takes_it_up_at_its_time() -> None:
    """Climbing with full throttle in its own loop: thrust per mass falls at once to M / (M + m)."""
    settings = {
        "synchronisation.law": "none",
        "motors": {},
        "payload": {"mass_kg": 0.4, "from_s": 0.6},
    }
    with aeroloop.bench("quad-sync", set=settings, period_s=0.02, record=True) as bench:
        seen = bench.reset()
        while seen.t_s < 0.8:
            seen = bench.step((1.0,) * 4)
        imu = bench.log["imu"]
    up, t_s = imu["accel_z_m_s2"], imu.t_s
    before, after = (up[np.searchsorted(t_s, at_s)] for at_s in (0.595, 0.61))
    mass_kg = IRIS.body.mass_kg
    assert after / before == pytest.approx(mass_kg / (mass_kg + 0.4), rel=0.01)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("{mass_kg=5.0}", r"payload: .* with 5 kg at \(0, 0, 0\) m a rotor would have to turn at \d+ rad/s"),
        ("{mass_kg=0.4, offset_B_m=[2.0, 0.0, 0.0]}", "it would tip over"),
        ("{mass_kg=-1.0}", "payload.mass_kg"),
    ],
)
def test_a_payload_that_cannot_be_held_is_refused(payload: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected) as refused:
        airframe.check(load(find("quad-sync"), (f"payload={payload}",)))
    assert "\n" not in str(refused.value)
