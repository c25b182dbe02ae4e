"""The IMU: what it feels at rest, falling and turning, and its Allan deviation against theory."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensor_scenes import G, scene, seconds, state

from aeroloop.core import frames
from aeroloop.sensors import allan
from aeroloop.sensors.imu import Imu, ImuConfig, Triad
from aeroloop.sensors.noise import Errors, Noise, Streams

ANGLE = st.floats(-math.pi, math.pi)
PITCH = st.floats(-1.5, 1.5)


def imu(**config: object) -> Imu:
    return Imu(ImuConfig(rate_hz=250.0, **config), Streams(1))


def turned(vector_W: frames.Vec3, quat_WB: frames.Quat) -> np.ndarray:
    """MuJoCo's rotation of a world vector into the body."""
    inverse, result = np.zeros(4), np.zeros(3)
    mujoco.mju_negQuat(inverse, np.array(quat_WB))
    mujoco.mju_rotVecQuat(result, np.array(vector_W), inverse)
    return result


def test_at_rest_on_level_ground_it_feels_the_ground_pushing_up() -> None:
    sample = imu().measure(scene(state(seconds(1))), 1)
    assert sample.accel_B == pytest.approx((0.0, 0.0, G), abs=1e-12)
    assert sample.rate_B == (0.0, 0.0, 0.0)
    assert (sample.t_ns, sample.ready_ns) == (seconds(1), seconds(1))


@given(ANGLE, PITCH, ANGLE)
def test_at_rest_it_feels_gravity_turned_into_the_body(roll: float, pitch: float, yaw: float) -> None:
    quat = frames.quat_from_euler(roll, pitch, yaw)
    sample = imu().measure(scene(state(quat_WB=quat)), 1)
    assert sample.accel_B == pytest.approx(turned((0.0, 0.0, G), quat), abs=1e-12)


def test_nose_up_feels_gravity_forwards() -> None:
    """FLU: pitching by -30 deg about +y lifts the nose, and the ground then pushes towards it."""
    sample = imu().measure(scene(state(quat_WB=frames.quat_from_euler(0.0, math.radians(-30.0), 0.0))), 1)
    assert sample.accel_B == pytest.approx((G * 0.5, 0.0, G * math.cos(math.radians(30.0))))


@given(ANGLE, PITCH, ANGLE)
def test_in_free_fall_it_feels_nothing(roll: float, pitch: float, yaw: float) -> None:
    falling = state(quat_WB=frames.quat_from_euler(roll, pitch, yaw), accel_W=(0.0, 0.0, -G))
    assert imu().measure(scene(falling), 1).accel_B == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_away_from_the_centre_of_mass_it_feels_the_rotation() -> None:
    """Turning about z at w, speeding up by alpha: -w^2 r inwards and alpha r sideways."""
    sensor = imu(lever_B=(0.2, 0.0, 0.0))
    w, alpha, dt_s = 3.0, 5.0, 0.004
    falling = (0.0, 0.0, -G)
    sensor.measure(scene(state(0, rate_B=(0.0, 0.0, w - alpha * dt_s), accel_W=falling)), 1)
    sample = sensor.measure(scene(state(seconds(dt_s), rate_B=(0.0, 0.0, w), accel_W=falling)), 1)
    assert sample.accel_B == pytest.approx((-(w**2) * 0.2, alpha * 0.2, 0.0), abs=1e-9)


def test_scale_and_misalignment() -> None:
    gyro = Triad(scale_error=(0.1, 0.0, 0.0), misalignment_rad=(0.0, 0.0, 0.1))
    sample = imu(gyro=gyro).measure(scene(state(rate_B=(1.0, 0.0, 0.0))), 1)
    # The sensor is turned to the left, so a rotation about body x has a part about its -y.
    assert sample.rate_B == pytest.approx((1.1 * math.cos(0.1), -math.sin(0.1), 0.0), abs=1e-12)
    assert sample.accel_B == pytest.approx((0.0, 0.0, G))


@given(st.tuples(*[st.floats(-2, 2)] * 3))
def test_misalignment_is_a_rotation(vector: frames.Vec3) -> None:
    angle = math.hypot(*vector)
    response = Triad(misalignment_rad=vector).response()
    expected = np.eye(3)
    if response is not None and angle > 1e-9:
        quat, flat = np.zeros(4), np.zeros(9)
        mujoco.mju_axisAngle2Quat(quat, np.array(vector) / angle, angle)
        mujoco.mju_quat2Mat(flat, quat)
        expected = flat.reshape(3, 3).T
    assert np.array(response or np.eye(3)) == pytest.approx(expected, abs=1e-8)


def test_a_saturated_axis_stands_at_its_limit() -> None:
    sensor = imu(gyro=Triad(errors=Errors(range=(-2.0, 2.0), quantum=0.5)))
    assert sensor.measure(scene(state(rate_B=(9.0, -9.0, 0.7))), 1).rate_B == (2.0, -2.0, 0.5)


def uncertainty(duration_s: float, tau_s: float) -> float:
    """Four standard deviations of an Allan deviation, relative: a record has duration / tau independent averages."""
    return max(0.01, 4.0 / math.sqrt(2.0 * duration_s / tau_s))


RATE_HZ = 250.0


def record(errors: Errors, duration_s: float, seed: int) -> np.ndarray:
    return Noise(errors, 1.0 / RATE_HZ, 1, Streams(seed)).block(round(duration_s * RATE_HZ))[:, 0]


def test_allan_deviation_of_the_gyro_as_sampled() -> None:
    """Through the whole sensor, seed 1, 400 s: N / sqrt(tau) within `uncertainty`, and a slope of -1/2 to 0.03."""
    density = 1.8665e-4
    sensor = imu(gyro=Triad(errors=Errors(white_density=density)))
    still = scene(state())
    values = np.array([sensor.measure(still, 1).rate_B[1] for _ in range(100_000)])
    taus_s = (0.004, 0.04, 0.2, 1.0)
    found = [allan.overlapping(values, round(tau_s * RATE_HZ)) for tau_s in taus_s]
    for tau_s, deviation in zip(taus_s, found, strict=True):
        assert deviation == pytest.approx(density / math.sqrt(tau_s), rel=uncertainty(400.0, tau_s)), tau_s
    assert np.polyfit(np.log(taus_s), np.log(found), 1)[0] == pytest.approx(-0.5, abs=0.03)


def test_allan_deviation_of_the_bias_instability() -> None:
    """White noise and drift, seed 4, 8000 s, over four decades of averaging time, within `uncertainty` of theory.

    Drift shows at its maximum, 0.617 std near 1.89 correlation times, where white noise alone would be far below.
    """
    density, std, time_s = 2e-4, 1e-3, 5.0
    values = record(Errors(white_density=density, drift_std=std, drift_time_s=time_s), 8000.0, seed=4)
    for tau_s in (0.004, 0.04, 0.4, 2.0, 1.89 * time_s, 40.0):
        theory = math.hypot(density / math.sqrt(tau_s), allan.of_drift(std, time_s, tau_s))
        found = allan.overlapping(values, round(tau_s * RATE_HZ))
        assert found == pytest.approx(theory, rel=uncertainty(8000.0, tau_s)), tau_s
    assert allan.of_drift(std, time_s, 1.89 * time_s) == pytest.approx(0.617 * std, rel=0.01)


def test_allan_deviation_of_the_rate_random_walk() -> None:
    """Walk K, seed 5, 8000 s: K sqrt(tau / 3), a slope of +1/2, within `uncertainty`."""
    walk = 3e-4
    values = record(Errors(walk=walk), 8000.0, seed=5)
    for tau_s in (1.0, 4.0, 16.0, 40.0):
        found = allan.overlapping(values, round(tau_s * RATE_HZ))
        assert found == pytest.approx(allan.of_walk(walk, tau_s), rel=uncertainty(8000.0, tau_s)), tau_s


@pytest.mark.parametrize("rate_hz", [100.0, 1000.0])
def test_the_angle_error_does_not_depend_on_the_rate(rate_hz: float) -> None:
    """300 seeds: the integral of the gyro over 4 s wanders by N sqrt(4 s), to 15 % (known to 4 %), at either rate."""
    density = 1e-3
    ends = [
        Noise(Errors(white_density=density), 1.0 / rate_hz, 1, Streams(seed)).block(round(4 * rate_hz)).sum() / rate_hz
        for seed in range(300)
    ]
    assert np.std(ends) == pytest.approx(density * 2.0, rel=0.15)
