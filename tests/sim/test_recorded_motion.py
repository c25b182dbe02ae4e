"""What an IMU is told of every step: in flights of every family, over cut steps, impacts and a turning earth."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import aeroloop
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec, Vec3, rotated
from aeroloop.core.signals import NS, Place, RigidState
from aeroloop.families.fixedwing import airframe as wing_airframes
from aeroloop.families.fixedwing.build import level_flight
from aeroloop.families.helicopter import airframe as helicopter_airframes
from aeroloop.families.multirotor import airframe as multirotor_airframes
from aeroloop.models import fixedwing
from aeroloop.sensors.detailed_imu import DetailedImu
from aeroloop.sensors.imu import ImuConfig
from aeroloop.sensors.imu_history import middle_of, rotation_vector
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.vibration import Vibration
from aeroloop.sim.recorded_motion import Source, accel_of_state, recorded
from aeroloop.world.atmosphere import Atmosphere
from aeroloop.world.earth import Earth, turn_W

FULL = (1.0, 1.0, 1.0, 1.0)
SHAKES = {"at_rad_s": 600.0, "accel_m_s2": [1.0, 1.0, 0.0]}
MAIN_ONLY = {**SHAKES, "rotors": [1.0, 0.0]}
MOVING: dict[str, tuple[str, dict[str, Any], tuple[float, ...] | None]] = {
    "multirotor": ("quad-hover", {}, (0.9, 0.85, 0.9, 0.86)),
    "multirotor of MuJoCo": ("quad-hover", {"payload.mass_kg": 0.1, "payload.offset_B_m": [0.01, 0.0, 0.0]}, FULL),
    "tilt-rotor": ("tiltrotor-navigation", {}, (16.0, 15.9, 0.01, 0.0)),
    "helicopter": ("heli-hover", {"sensors.fitted": ["imu"]}, (0.13, 0.0, 0.02, 0.2, 0.9)),
    "fixed wing": ("fixedwing-circle", {}, None),
}
"""Scenario, settings, command; None: that of the start."""


def steps(name: str, settings: dict[str, Any], command: Any, count: int) -> tuple[list[Any], float, Any]:
    """Observations after each step of the world, each with a sample of the IMU; the step, and the scenario."""
    with aeroloop.bench(name) as bench:
        step_s = bench.scenario.aircraft.world.step_s
    given = {"sensors.preset": "ideal", "sensors.imu.rate_hz": 1.0 / step_s, **settings}
    with aeroloop.bench(name, set=given, period_s=step_s) as bench:
        seen = [bench.reset(), *(bench.step(command) for _ in range(count))]
        return seen, step_s, bench.scenario


@pytest.mark.parametrize("rotates", [False, True])
@pytest.mark.parametrize("aircraft", MOVING)
def test_averages_are_the_change_of_velocity_and_attitude(aircraft: str, rotates: bool) -> None:
    """Each mean force, turned into the world, less gravity, is the change of velocity less that by the earth's
    rotation; the mean rate is the change of attitude, plus the earth's."""
    name, settings, command = MOVING[aircraft]
    given = {**settings, "sensors.imu.average": True, "world.earth_rotation": rotates}
    seen, step_s, scenario = steps(name, given, command, 60)
    turn = np.array(turn_W(scenario.aircraft.world.home)) if rotates else np.zeros(3)
    gravity = []
    for before, after in itertools.pairwise(seen[5:]):
        sample, middle = after.sensors["imu"], middle_of(before.truth.quat_WB, after.truth.quat_WB)
        change = np.subtract(after.truth.vel_W, before.truth.vel_W) / step_s
        mean_W = np.add(after.truth.vel_W, before.truth.vel_W) / 2.0
        coriolis = -2.0 * np.cross(turn, mean_W)
        felt = np.array(rotated(middle, sample.accel_B)) - change + coriolis
        assert felt[:2] == pytest.approx([0.0, 0.0], abs=1e-6)
        gravity.append(felt[2])
        rate = np.array(rotation_vector(before.truth.quat_WB, after.truth.quat_WB)) / step_s
        w, x, y, z = middle
        of_earth = rotated((w, -x, -y, -z), tuple(turn))
        assert sample.rate_B == pytest.approx(rate + of_earth, abs=1e-9)
    assert gravity == pytest.approx(np.full(len(gravity), gravity[0]), abs=1e-4)
    assert 9.78 < gravity[0] < 9.84


def shaken(
    name: str, settings: dict[str, Any], command: Any, count: int, vibration: Any = SHAKES
) -> tuple[Vec, float, list[Any], Any]:
    """What the vibration adds to the specific force forward, step by step."""
    still, step_s, _ = steps(name, settings, command, count)
    shaking, _, scenario = steps(name, {**settings, "sensors.imu.vibration": vibration}, command, count)
    assert [s.truth for s in still] == [s.truth for s in shaking]
    pairs = zip(still[1:], shaking[1:], strict=True)
    added = [b.sensors["imu"].accel_B[0] - a.sensors["imu"].accel_B[0] for a, b in pairs]
    return np.array(added), step_s, shaking, scenario


def cosine_of_a_step(signal: Vec) -> float:
    """Of a sine: x[k+1] + x[k-1] = 2 cos(W dt) x[k], by least squares."""
    inner = signal[1:-1]
    return float(inner @ (signal[2:] + signal[:-2]) / (2.0 * inner @ inner))


def test_a_multirotor_shakes_at_the_speed_of_its_rotors() -> None:
    """Full command: every rotor at its highest speed after many time constants of the motors."""
    added, step_s, _, scenario = shaken("quad-hover", {}, FULL, 300)
    speed = multirotor_airframes.load(scenario.aircraft.vehicle.airframe).motors.speed_max_rad_s
    assert cosine_of_a_step(added[-100:]) == pytest.approx(math.cos(speed * step_s), abs=1e-3)
    assert 0.0 < np.abs(added).max() <= 4.0 * (speed / 600.0) ** 2


def test_a_fixed_wing_shakes_at_the_speed_of_its_propeller() -> None:
    """At its trim: the speed at which motor and propeller are in equilibrium."""
    added, step_s, seen, scenario = shaken("fixedwing-circle", {"world.wind.turbulence.w20_m_s": 0.0}, None, 40)
    tables = scenario.aircraft
    throttle = level_flight(tables).controls[3]
    alt_m = Earth(tables.world.home).place(seen[0].truth.pos_W).alt_m
    _, _, density_kg_m3 = Atmosphere(tables.world.day).at(alt_m)
    airspeed = math.hypot(*seen[20].truth.vel_W)
    propulsion = wing_airframes.load(tables.vehicle.airframe).propulsion
    speed = float(fixedwing.propeller_speed(propulsion)(airspeed, throttle, density_kg_m3))
    assert 100.0 < speed < 1500.0
    assert cosine_of_a_step(added) == pytest.approx(math.cos(speed * step_s), abs=0.01)
    assert np.abs(added).max() == pytest.approx((speed / 600.0) ** 2, rel=0.1)


def test_a_helicopter_shakes_at_the_speed_of_its_main_rotor() -> None:
    settings = {"sensors.fitted": ["imu"]}
    command = (0.09, 0.0, 0.0, 0.15, 0.4)
    added, step_s, _, scenario = shaken("heli-hover", settings, command, 60, MAIN_ONLY)
    speed = helicopter_airframes.load(scenario.aircraft.vehicle.airframe).head.speed_rad_s
    assert cosine_of_a_step(added) == pytest.approx(math.cos(speed * step_s), abs=0.02)
    assert np.abs(added).max() == pytest.approx((speed / 600.0) ** 2, rel=0.2)


def test_rotors_without_a_speed_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"sensors\.imu\.vibration: this aircraft's rotors have no simulated speed"):
        steps("tiltrotor-navigation", {"sensors.imu.vibration": SHAKES}, None, 1)


class Gliding:
    """A body with a constant acceleration."""

    def __init__(self, accel_W: Vec3) -> None:
        self._accel_W, self._vel_W = accel_W, (0.0, 0.0, 0.0)

    def drive(self, command: Any, dt_ns: int) -> tuple[float, ...]:
        x, y, z = (v + a * dt_ns / NS for v, a in zip(self._vel_W, self._accel_W, strict=True))
        self._vel_W = x, y, z
        return (dt_ns / NS * 1e5,)

    def state(self, t_ns: int) -> RigidState:
        return RigidState(t_ns, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), self._vel_W, (0.0, 0.0, 0.0), self._accel_W)

    def strike(self, kick_W: Vec3) -> None:
        x, y, z = (v + kick for v, kick in zip(self._vel_W, kick_W, strict=True))
        self._vel_W = x, y, z


class Around:
    place = Place(0.0, 0.0, 0.0, 10.0, (0.0, 0.0, 0.0))


def test_cut_steps_impacts_and_rotor_angles_are_all_recorded() -> None:
    """4 ms in three cuts of different length, with an impact at their end; the rotor's speed differs in each."""
    sensor = DetailedImu(ImuConfig(rate_hz=250.0, average=True, vibration=Vibration(at_rad_s=1.0)), Streams(1))
    body = Gliding((1.0, 0.0, -2.0))
    source: Any = Source(Around(), accel_of_state, lambda effort: effort)
    motion, sense = recorded(body, lambda state, effort: [state], sensor.history, source)
    assert sensor.history is not None
    assert sensor.history.rotors is not None
    for dt_ns in (1_000_000, 2_500_000, 500_000):
        motion.drive((), dt_ns)
    body.strike((0.0, 0.04, 0.0))
    state = motion.state(4_000_000)
    assert sense(state, ()) == [state]
    (start,), (end,) = sensor.history.rotors.last, sensor.history.rotors.now
    assert end - start == pytest.approx(1e5 * (0.001**2 + 0.0025**2 + 0.0005**2), abs=1e-12)
    found = sensor.history.take()
    assert found is not None
    assert found[0] == (0.0, 0.0, 0.0)
    assert found[1] == pytest.approx((1.0, 0.04 / 0.004, 8.0), abs=1e-9)


def test_a_vehicle_without_a_history_is_not_wrapped() -> None:
    body, source = Gliding((0.0, 0.0, 0.0)), Source[Any, RigidState](None, accel_of_state, None)

    def sense(state: RigidState, effort: Any) -> list[Any]:
        return []

    assert recorded(body, sense, None, source) == (body, sense)
