"""The earth's rotation in the motion of every aircraft, against integrations in axes that do not turn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import aeroloop
from aeroloop.api.bench import Observation
from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.signals import NS, Air, RigidState
from aeroloop.sensors.imu import Imu, ImuConfig
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.scene import StateScene, body_from_world, times
from aeroloop.sim.turning_earth import on_earth
from aeroloop.world.earth import Earth, Home, turn_W

DT_NS = 20_000_000
AIR = Air((0.0, 0.0, 0.0), 101325.0, 288.15, 1.225)
BRICK_KGM2 = (0.002568, 0.008421, 0.009755)
"""NASA's check cases 2 and 3."""


class Falling:
    """A torque-free body in vacuum, stepped by Runge-Kutta as if the earth did not turn."""

    def __init__(self, state: RigidState, gravity_m_s2: Any, inertia: Vec3) -> None:
        self.now, self._gravity, self._inertia = state, gravity_m_s2, np.array(inertia)

    def state(self, t_ns: int) -> RigidState:
        return self.now

    def displace(self, pos_W: Vec3, vel_W: Vec3, rate_B: Vec3) -> None:
        self.now = self.now._replace(pos_W=pos_W, vel_W=vel_W, rate_B=rate_B)

    def drive(self, command: tuple[float, ...], dt_ns: int) -> None:
        dt_s = dt_ns / NS
        x = np.array([*self.now.pos_W, *self.now.quat_WB, *self.now.vel_W, *self.now.rate_B])
        k1 = self._dot(x)
        k2 = self._dot(x + dt_s / 2 * k1)
        k3 = self._dot(x + dt_s / 2 * k2)
        x = x + dt_s / 6 * (k1 + 2 * k2 + 2 * k3 + self._dot(x + dt_s * k3))
        self.now = self.now._replace(
            t_ns=self.now.t_ns + dt_ns,
            pos_W=tuple(x[:3].tolist()),
            quat_WB=tuple((x[3:7] / np.linalg.norm(x[3:7])).tolist()),
            vel_W=tuple(x[7:10].tolist()),
            rate_B=tuple(x[10:].tolist()),
        )

    def _dot(self, x: Vec) -> Vec:
        w, v, rate = x[3], x[4:7], x[10:]
        quat_dot = 0.5 * np.array([-v @ rate, *(w * rate + np.cross(v, rate))])
        rate_dot = -np.cross(rate, self._inertia * rate) / self._inertia
        return np.concatenate([x[7:10], quat_dot, [0.0, 0.0, -self._gravity(x[:3])], rate_dot])


def at_rest(height_m: float = 0.0, rate_B: Vec3 = (0.0, 0.0, 0.0), quat_WB: Quat = (1.0, 0.0, 0.0, 0.0)) -> RigidState:
    return RigidState(0, (0.0, 0.0, height_m), quat_WB, (0.0, 0.0, 0.0), rate_B, (0.0, 0.0, 0.0))


def test_a_body_that_falls_for_30_s_lands_east_as_in_nasas_check_case_1() -> None:
    home = Home(lat_deg=0.0, lon_deg=0.0, alt_m=9144.0)
    earth = Earth(home)
    body = Falling(at_rest(), lambda pos: earth.place(tuple(pos.tolist())).gravity_m_s2, BRICK_KGM2)
    motion = on_earth(body, turn_W(home), BRICK_KGM2, body.displace)
    for _ in range(30 * NS // DT_NS):
        motion.drive((), DT_NS)
    east_m, north_m, _ = body.now.pos_W
    assert east_m == pytest.approx(6.40, abs=0.01)  # published: 6.39 to 6.40
    assert body.now.vel_W[0] == pytest.approx(0.6403, abs=0.001)
    assert north_m == 0.0


def test_a_tumbling_body_keeps_its_momentum_in_axes_that_do_not_turn() -> None:
    """Case 2's brick for 30 s, at latitude 45: its attitude against an integration in inertial axes."""
    turn = turn_W(Home(lat_deg=45.0))
    turn_B = np.array(turn)  # at the start body axes are those of W
    rate_B: Vec3 = (math.radians(10.0), math.radians(20.0), math.radians(30.0))
    body = Falling(at_rest(rate_B=rate_B), lambda pos: 0.0, BRICK_KGM2)
    motion = on_earth(body, turn, BRICK_KGM2, body.displace)
    for _ in range(30 * NS // DT_NS):
        motion.drive((), DT_NS)
    inertia = np.array(BRICK_KGM2)

    def dot(t: float, x: Vec) -> Vec:
        w, v, rate = x[0], x[1:4], x[4:]
        rate_dot = -np.cross(rate, inertia * rate) / inertia
        return np.array([*(0.5 * np.array([-v @ rate, *(w * rate + np.cross(v, rate))])), *rate_dot])

    start = np.array([1.0, 0.0, 0.0, 0.0, *(np.array(rate_B) + turn_B)])
    end = solve_ivp(dot, (0.0, 30.0), start, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    earth_turned = Rotation.from_rotvec(30.0 * np.array(turn))
    expected = earth_turned.inv() * Rotation.from_quat(end[:4], scalar_first=True)
    found = Rotation.from_quat(body.now.quat_WB, scalar_first=True)
    assert (expected.inv() * found).magnitude() < 1e-5
    assert found.as_matrix() @ body.now.rate_B + turn == pytest.approx(expected.as_matrix() @ end[4:], abs=1e-5)
    assert earth_turned.magnitude() == pytest.approx(math.radians(0.1253), rel=1e-3)  # what it would be off otherwise


FULL = (1.0, 1.0, 1.0, 1.0)
MOVING: dict[str, tuple[str, dict[str, Any], tuple[float, ...] | None]] = {
    "multirotor": ("quad-hover", {}, FULL),
    "multirotor of MuJoCo": ("quad-hover", {"payload.mass_kg": 0.1, "payload.offset_B_m": [0.01, 0.0, 0.0]}, FULL),
    "tilt-rotor": ("tiltrotor-spiral", {"world.start": "rest"}, (14.0, 14.0, 0.0, 0.0)),
    "tilt-rotor with an IMU": ("tiltrotor-navigation", {}, None),
    "helicopter": ("heli-hover", {"sensors.fitted": ["imu"]}, (0.13, 0.0, 0.0, 0.2, 0.9)),
    "fixed wing": ("fixedwing-circle", {}, None),
}
"""Scenario, settings, command; None: that of the start."""


def moved(name: str, settings: dict[str, Any], command: Any, rotates: bool) -> tuple[list[Observation], Vec]:
    """Start and states after 0.06 and 0.3 s, and the earth's rate."""
    given = {**settings, "world.earth_rotation": rotates}
    with aeroloop.bench(name, set=given, period_s=0.02) as bench:
        seen = [bench.reset(), *(bench.step(command) for _ in range(15))]
        return [seen[0], seen[3], seen[15]], np.array(turn_W(bench.scenario.aircraft.world.home))


@pytest.mark.parametrize("aircraft", MOVING)
def test_every_aircraft_is_deflected_and_its_gyroscope_feels_the_earth(aircraft: str) -> None:
    """In a short time the rotation changes the velocity by -2 W x (the way). After 0.06 s air and rotors have answered
    to that by 1.7 % of the fixed wing's, and by 0.6 % of the others' at most; after 0.3 s by up to 10 %."""
    (start, early_without, without), turn = moved(*MOVING[aircraft], rotates=False)
    (_, early_turning, turning), _ = moved(*MOVING[aircraft], rotates=True)
    way_m = np.subtract(early_without.truth.pos_W, start.truth.pos_W)
    assert np.linalg.norm(way_m) > 0.003
    expected = -2.0 * np.cross(turn, way_m)
    found = np.subtract(early_turning.truth.vel_W, early_without.truth.vel_W)
    assert found == pytest.approx(expected, abs=(0.02 if "wing" in aircraft else 0.01) * np.linalg.norm(expected))
    if "imu" in without.sensors:
        felt = np.subtract(turning.sensors["imu"].rate_B, without.sensors["imu"].rate_B)
        turned = np.subtract(turning.truth.rate_B, without.truth.rate_B)
        of_earth = times(body_from_world(without.truth.quat_WB), *turn)
        assert felt - turned == pytest.approx(of_earth, abs=1e-5)  # a step of the sensor's converter
        coriolis_m_s2 = float(np.linalg.norm(np.cross(2.0 * turn, without.truth.vel_W)))
        change = np.subtract(turning.sensors["imu"].accel_B, without.sensors["imu"].accel_B)
        assert (
            float(np.linalg.norm(change)) < 0.3 * coriolis_m_s2
        )  # sideslip and drag; with the Coriolis acceleration in it, it would be above 1


def test_an_aircraft_at_rest_stays_where_it_is() -> None:
    """MuJoCo's ground holds it; the rotation adds nothing to a body that does not move."""
    (start, _, end), _ = moved("quad-hover", {}, None, rotates=True)
    assert end.truth.pos_W == pytest.approx(start.truth.pos_W, abs=1e-6)
    assert np.linalg.norm(end.truth.rate_B) < 1e-6


def test_a_gyroscope_at_rest_measures_the_earths_rate() -> None:
    home = Home(lat_deg=45.0)
    imu = Imu(ImuConfig(rate_hz=250.0), Streams(1))
    imu.turn_W = turn_W(home)
    north_up: Quat = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # nose north
    state = at_rest(quat_WB=north_up)
    place = Earth(home).place((0.0, 0.0, 0.0))
    sample = imu.measure(StateScene(state, AIR, place, body_from_world(north_up)), 1)
    deg_h = np.degrees(sample.rate_B) * 3600.0
    assert deg_h == pytest.approx([10.64, 0.0, 10.64], abs=0.01)  # forward (north), left, up
    assert sample.accel_B == pytest.approx((0.0, 0.0, place.gravity_m_s2))
