"""Filters, averages, vibration, temperature and g-sensitivity of the IMU, against closed forms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.signal import TransferFunction, lsim
from sensor_scenes import AIR, G, scene, seconds, state

from aeroloop.core import frames
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import RigidState
from aeroloop.sensors.detailed_imu import DetailedImu
from aeroloop.sensors.imu import Imu, ImuConfig, Triad
from aeroloop.sensors.imu_history import middle_of, rotation_vector
from aeroloop.sensors.low_pass import Axis, LowPass, gain_and_lag
from aeroloop.sensors.noise import Errors, Streams
from aeroloop.sensors.suite import SensorSet, Suite
from aeroloop.sensors.thermal import Thermal
from aeroloop.sensors.vibration import Vibration

ZERO: Vec3 = (0.0, 0.0, 0.0)
WORLD_S = 0.001


def detailed(rate_hz: float = 250.0, **config: object) -> DetailedImu:
    return DetailedImu(ImuConfig(rate_hz=rate_hz, **config), Streams(1))


def felt(
    sensor: DetailedImu,
    at: Callable[[float], RigidState],
    duration_s: float,
    *,
    step_s: float = WORLD_S,
    rotors_rad_s: tuple[float, ...] = (),
) -> np.ndarray:
    """Rows of rate and specific force at 250 Hz, along a motion whose states are given."""
    rows, every = [], round(0.004 / step_s)
    sensor.measure(scene(at(0.0)), 1)
    for k in range(1, round(duration_s / step_s) + 1):
        before, after = at((k - 1) * step_s), at(k * step_s)
        mean = (np.subtract(after.vel_W, before.vel_W) / step_s + (0.0, 0.0, G)).tolist()
        assert sensor.history is not None
        sensor.history.step(before, after, tuple(mean), rotors_rad_s, step_s)
        if k % every == 0:
            sample = sensor.measure(scene(after), 1)
            rows.append((*sample.rate_B, *sample.accel_B))
    return np.array(rows)


def resting(t_s: float) -> RigidState:
    return state(seconds(t_s))


@pytest.mark.parametrize("order", [1, 2])
def test_the_filter_has_the_step_response_of_its_transfer_function(order: int) -> None:
    """Against scipy's simulation of the transfer function, and its mean against that of 100 times finer steps."""
    cutoff = 2.0 * math.pi * 40.0
    top = [cutoff] if order == 1 else [cutoff**2]
    bottom = [1.0, cutoff] if order == 1 else [1.0, math.sqrt(2.0) * cutoff, cutoff**2]
    rng = np.random.default_rng(1)
    inputs = rng.standard_normal(50)
    axis, integral, found = Axis(cutoff, order), 0.0, []
    axis.step(0.0, 1.0)
    for value in inputs:
        integral += axis.step(value, 0.002)
        found.append(axis.output)
    fine = np.repeat(inputs, 100)
    t_s = 0.00002 * np.arange(len(fine) + 1)
    _, expected, _ = lsim(TransferFunction(top, bottom), np.append(fine, fine[-1]), t_s, interp=False)
    assert found == pytest.approx(expected[100::100], abs=1e-9)
    assert integral == pytest.approx(np.trapezoid(expected, t_s), abs=1e-5)


@pytest.mark.parametrize("order", [1, 2])
def test_gain_and_lag_are_those_of_the_filter_itself(order: int) -> None:
    """A sine through the filter in short steps, after 20 time constants, against the closed form to 0.1 %."""
    cutoff, rate = 2.0 * math.pi * 80.0, 2.0 * math.pi * 130.0
    axis, dt_s = Axis(cutoff, order), 2e-6
    t_s = 0.0
    for k in range(40_000):
        axis.step(math.sin(rate * (k + 0.5) * dt_s), dt_s)
        t_s = (k + 1) * dt_s
    gain, lag = gain_and_lag(cutoff, order, rate)
    assert axis.output == pytest.approx(gain * math.sin(rate * t_s + lag), abs=1e-3)
    decibels = 20.0 * math.log10(gain_and_lag(cutoff, order, cutoff)[0])
    assert decibels == pytest.approx(-3.0103, abs=1e-4)


@pytest.mark.parametrize(("order", "hz"), [(1, 50.0), (2, 50.0), (None, 0.0)])
def test_vibration_has_its_amplitude_and_aliases(order: int | None, hz: float) -> None:
    """A rotor at 180 Hz sampled at 250 Hz: a line at 70 Hz with the filter's gain at 180 Hz, twice per rev at 360 Hz:
    one at 110 Hz. 10 s, so that both are whole numbers of cycles; amplitudes grow with the square of the speed."""
    table = Vibration(
        at_rad_s=math.tau * 90.0, accel_m_s2=(1.0, 2.0, 4.0), gyro_rad_s=(0.1, 0.0, 0.05), harmonics=(1.0, 0.5)
    )
    filters = LowPass(gyro_hz=2.0 * hz, accel_hz=hz, order=order) if order is not None else None
    rows = felt(detailed(vibration=table, low_pass=filters), resting, 10.0, rotors_rad_s=(math.tau * 180.0,))
    spectrum = 2.0 / len(rows) * np.abs(np.fft.rfft(rows, axis=0))
    frequency = np.fft.rfftfreq(len(rows), 0.004)

    def gain(cutoff_hz: float, of_hz: float) -> float:
        return gain_and_lag(math.tau * cutoff_hz, order, math.tau * of_hz)[0] if order is not None else 1.0

    for alias_hz, of_hz, share in ((70.0, 180.0, 4.0), (110.0, 360.0, 2.0)):
        line = spectrum[np.argmin(np.abs(frequency - alias_hz))]
        assert line[3:] == pytest.approx(np.array([1.0, 2.0, 4.0]) * share * gain(hz, of_hz), rel=1e-6)
        assert line[:3] == pytest.approx(np.array([0.1, 0.0, 0.05]) * share * gain(2 * hz, of_hz), rel=1e-6, abs=1e-9)
    assert rows[:, 5].mean() == pytest.approx(G, abs=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_vibration_is_late_by_the_phase_of_the_filter(order: int) -> None:
    """About x the cosine and about y the sine of an angle: behind the filter that angle is less by its lag."""
    speed = math.tau * 60.0
    table = Vibration(at_rad_s=speed, accel_m_s2=(1.0, 1.0, 0.0))
    filters = LowPass(gyro_hz=500.0, accel_hz=50.0, order=order)
    plain = felt(detailed(vibration=table), resting, 0.2, rotors_rad_s=(speed,))
    late = felt(detailed(vibration=table, low_pass=filters), resting, 0.2, rotors_rad_s=(speed,))
    turn = (late[:, 3] + 1j * late[:, 4]) / (plain[:, 3] + 1j * plain[:, 4])
    gain, lag = gain_and_lag(math.tau * 50.0, order, speed)
    assert turn == pytest.approx(np.full(50, gain * np.exp(1j * lag)), abs=1e-9)
    assert -math.pi < lag < -0.5


def test_the_phase_of_vibration_is_the_integral_of_the_rotor_speed() -> None:
    """A rotor that speeds up from 10 to 30 Hz in 2 s: the signal is the cosine of the angle it has turned."""
    table = Vibration(at_rad_s=100.0, accel_m_s2=(1.0, 1.0, 0.0))
    sensor, angle, found, expected = detailed(vibration=table), 0.0, [], []
    assert sensor.history is not None
    for k in range(2000):
        speed = math.tau * (10.0 + 0.01 * (k + 0.5))
        sensor.history.step(state(), state(), (0.0, 0.0, G), (speed,), WORLD_S)
        angle += speed * WORLD_S
        if k % 4 == 3:
            x, y, _ = sensor.measure(scene(), 1).accel_B
            found.append(math.atan2(y, x) - angle)
            expected.append((speed / 100.0) ** 2 - math.hypot(x, y))
    assert np.exp(1j * np.array(found)).std() < 1e-9
    assert expected == pytest.approx(np.zeros(500), abs=1e-9)


def test_several_rotors_start_at_angles_of_their_own() -> None:
    table = Vibration(at_rad_s=100.0, accel_m_s2=(1.0, 0.0, 0.0))
    ends = []
    for seed in range(20):
        sensor = DetailedImu(ImuConfig(rate_hz=250.0, vibration=table), Streams(seed))
        assert sensor.history is not None
        sensor.history.step(state(), state(), (0.0, 0.0, G), (100.0,) * 4, WORLD_S)
        ends.append(sensor.measure(scene(), 1).accel_B[0])
    assert 0.8 < np.std(ends) < 2.2  # four random phases: sqrt(2)


def test_averages_of_vibration_are_the_integrals() -> None:
    """Means over each 4 ms of cosine and sine of the angle, by their antiderivatives."""
    speed = 500.0
    table = Vibration(at_rad_s=speed, accel_m_s2=(1.0, 1.0, 0.0))
    plain = felt(detailed(vibration=table), resting, 0.4, rotors_rad_s=(speed,))
    means = felt(detailed(vibration=table, average=True), resting, 0.4, rotors_rad_s=(speed,))
    end = np.arctan2(plain[:, 4], plain[:, 3])
    start = end - 0.004 * speed
    assert means[:, 3] == pytest.approx((np.sin(end) - np.sin(start)) / (0.004 * speed), abs=1e-9)
    assert means[:, 4] == pytest.approx((np.cos(start) - np.cos(end)) / (0.004 * speed), abs=1e-9)


def manoeuvre(t_s: float) -> RigidState:
    """Turns about z at 3 rad/s, on a circle of 2 m, and climbs in a sine."""
    w, radius, up = 3.0, 2.0, 5.0
    yaw = w * t_s
    quat = frames.quat_from_euler(0.0, 0.0, yaw)
    vel = (-w * radius * math.sin(yaw), w * radius * math.cos(yaw), up * math.sin(20.0 * t_s))
    accel = (-(w**2) * radius * math.cos(yaw), -(w**2) * radius * math.sin(yaw), 20.0 * up * math.cos(20.0 * t_s))
    return state(seconds(t_s), quat_WB=quat, vel_W=vel, rate_B=(0.0, 0.0, w), accel_W=accel)


def test_an_average_is_the_integral_over_the_period() -> None:
    """A circle with a sine in height: the centripetal force in the body is constant, the vertical mean is the change of
    velocity, in closed form. The plain IMU at the end of the period is off by up to 4 m/s2."""
    rows = felt(detailed(average=True), manoeuvre, 1.0)
    t_s = 0.004 * np.arange(1, len(rows) + 1)
    vertical = 5.0 * (np.sin(20.0 * t_s) - np.sin(20.0 * (t_s - 0.004))) / 0.004 + G
    assert rows[:, 5] == pytest.approx(vertical, abs=1e-9)
    # Chords of the circle are shorter than its arcs: 1 - (w dt)^2 / 24 of each step.
    assert rows[:, 3] == pytest.approx(np.full(250, -18.0), rel=(3.0 * WORLD_S) ** 2)
    assert rows[:, 4] == pytest.approx(np.zeros(250), abs=1e-9)
    assert rows[:, :3] == pytest.approx(np.tile((0.0, 0.0, 3.0), (250, 1)), abs=1e-9)
    ends = [Imu(ImuConfig(rate_hz=250.0), Streams(1)).measure(scene(manoeuvre(t)), 1).accel_B[2] for t in t_s]
    assert 3.0 < np.abs(ends - vertical).max() < 5.0


def test_averages_do_not_depend_on_how_the_steps_are_cut() -> None:
    """Steps of 1 ms, and the same cut at random: means differ by the curvature of the path in a step alone."""
    whole, cut = detailed(average=True), detailed(average=True)
    assert whole.history is not None
    assert cut.history is not None
    rng = np.random.default_rng(2)
    whole.measure(scene(manoeuvre(0.0)), 1)
    cut.measure(scene(manoeuvre(0.0)), 1)
    for k in range(50):
        start, end = 0.004 * k, 0.004 * (k + 1)
        for sensor, times in (
            (whole, np.linspace(start, end, 5)),
            (cut, np.sort(np.append(np.linspace(start, end, 5), rng.uniform(start, end, 3)))),
        ):
            for t0, t1 in itertools.pairwise(times):
                before, after = manoeuvre(t0), manoeuvre(t1)
                x, y, z = np.subtract(after.vel_W, before.vel_W) / (t1 - t0)
                assert sensor.history is not None
                sensor.history.step(before, after, (x, y, z + G), (), t1 - t0)
        first, second = (sensor.measure(scene(manoeuvre(end)), 1) for sensor in (whole, cut))
        assert first.accel_B == pytest.approx(second.accel_B, abs=1e-4)
        assert first.rate_B == pytest.approx(second.rate_B, abs=1e-9)


def test_averages_sum_to_the_change_of_attitude_and_velocity() -> None:
    """About a fixed axis, with a varying rate: the sum of delta angles is the angle, and turned back, step by step, the
    sum of delta velocities is the change of velocity; here each sample is one step."""

    def at(t_s: float) -> RigidState:
        angle = 0.5 * math.sin(4.0 * t_s)
        vel = (math.sin(3.0 * t_s), t_s**2, math.cos(5.0 * t_s))
        return state(seconds(t_s), quat_WB=frames.quat_from_euler(angle, 0.0, 0.0), vel_W=vel)

    rows = felt(detailed(average=True), at, 1.2, step_s=0.004)
    assert 0.004 * rows[:, 0].sum() == pytest.approx(0.5 * math.sin(4.8), abs=1e-9)
    change = np.zeros(3)
    for k, row in enumerate(rows):
        middle = middle_of(at(0.004 * k).quat_WB, at(0.004 * (k + 1)).quat_WB)
        change += 0.004 * (np.array(frames.rotated(middle, tuple(row[3:]))) - (0.0, 0.0, G))
    assert change == pytest.approx(np.subtract(at(1.2).vel_W, at(0.0).vel_W), abs=1e-9)


def test_a_filtered_average_is_that_of_the_filtered_motion() -> None:
    """A vertical sine at 20 rad/s through 10 Hz: mean of the settled sine, in closed form, to 1e-3 m/s2."""
    sensor = detailed(average=True, low_pass=LowPass(gyro_hz=10.0, accel_hz=10.0, order=2))
    rows = felt(sensor, manoeuvre, 2.0)
    gain, lag = gain_and_lag(math.tau * 10.0, 2, 20.0)
    t_s = 0.004 * np.arange(1, len(rows) + 1)
    angle = 20.0 * t_s + lag
    expected = G + 100.0 * gain * (np.sin(angle) - np.sin(angle - 0.08)) / 0.08
    assert rows[250:, 5] == pytest.approx(expected[250:], abs=2e-2)
    assert np.abs(rows[250:, 5] - G).max() == pytest.approx(100.0 * gain * math.sin(0.04) / 0.04, rel=1e-3)


def test_away_from_the_centre_of_mass_an_average_has_the_rotation() -> None:
    """Speeding up about z at alpha: alpha r sideways, and the mean of -w^2 r inwards over the period."""
    alpha, lever = 5.0, 0.2

    def at(t_s: float) -> RigidState:
        quat = frames.quat_from_euler(0.0, 0.0, alpha * t_s**2 / 2.0)
        return state(seconds(t_s), quat_WB=quat, rate_B=(0.0, 0.0, alpha * t_s))

    rows = felt(detailed(average=True, lever_B=(lever, 0.0, 0.0)), at, 0.5)
    t_s = 0.004 * np.arange(1, len(rows) + 1)
    inwards = -lever * alpha**2 * (t_s**3 - (t_s - 0.004) ** 3) / 3.0 / 0.004
    assert rows[:, 4] == pytest.approx(np.full(125, alpha * lever), abs=1e-9)
    assert rows[:, 3] == pytest.approx(inwards, abs=1e-6)


def test_an_impact_between_two_samples_is_in_the_average() -> None:
    sensor = detailed(average=True)
    sensor.measure(scene(), 1)
    assert sensor.history is not None
    for _ in range(4):
        sensor.history.step(state(), state(), (0.0, 0.0, G), (), WORLD_S)
    sensor.history.strike(state(), state(vel_W=(0.02, 0.0, 0.0)))
    assert sensor.measure(scene(), 1).accel_B == pytest.approx((0.02 / 0.004, 0.0, G), abs=1e-9)


def test_the_first_average_is_what_a_plain_imu_measures() -> None:
    sensor = detailed(average=True, start_s=1.0)
    assert sensor.history is not None
    for _ in range(1000):
        sensor.history.step(state(), state(), (9.0, 0.0, 0.0), (), WORLD_S)
    assert sensor.measure(scene(), 1).accel_B == pytest.approx((0.0, 0.0, G))


def test_temperature_follows_the_air_and_warms_up() -> None:
    """T = T_air + warming (1 - exp(-t / time)); the offset and the scale follow it, from the temperature of
    calibration on."""
    warm = Thermal(warming_K=20.0, time_s=100.0, calibrated_K=AIR.temperature_K + 5.0)
    gyro = Triad(temperature_offset=(1e-3, 0.0, -2e-3), temperature_scale=(0.0, 1e-3, 0.0))
    accel = Triad(temperature_offset=(0.0, 2e-3, 0.0), temperature_scale=(0.0, 0.0, 1e-4))
    sensor = detailed(rate_hz=10.0, thermal=warm, gyro=gyro, accel=accel)
    turning = state(rate_B=(0.0, 2.0, 0.0))
    for k in range(3000):
        sample = sensor.measure(scene(turning), 1)
        over_K = 20.0 * -math.expm1(-0.1 * k / 100.0) - 5.0
        assert sample.rate_B == pytest.approx((1e-3 * over_K, 2.0 + 2e-3 * over_K, -2e-3 * over_K), abs=1e-12)
        assert sample.accel_B == pytest.approx((0.0, 2e-3 * over_K, G * (1.0 + 1e-4 * over_K)), abs=1e-12)


def test_missed_samples_warm_the_sensor_too() -> None:
    warm = Thermal(warming_K=20.0, time_s=3.0)
    gyro = Triad(temperature_offset=(1e-3, 0.0, 0.0))
    one, many = (detailed(rate_hz=10.0, thermal=warm, gyro=gyro) for _ in range(2))
    one.measure(scene(), 1)
    for _ in range(11):
        last = many.measure(scene(), 1)
    assert one.measure(scene(), 10).rate_B == pytest.approx(last.rate_B, abs=1e-12)


def test_the_gyroscope_measures_specific_force() -> None:
    """Rows of the matrix times f; a table of one g about each axis."""
    matrix = ((1e-3, 2e-3, 3e-3), (0.0, 0.0, -1e-3), (0.0, 4e-3, 0.0))
    for roll, pitch in ((0.0, 0.0), (0.5 * math.pi, 0.0), (0.3, -0.7)):
        here = scene(state(quat_WB=frames.quat_from_euler(roll, pitch, 0.4), rate_B=(0.1, 0.2, 0.3)))
        sample = detailed(g_sensitivity=matrix).measure(here, 1)
        assert sample.rate_B == pytest.approx(np.array(matrix) @ sample.accel_B + (0.1, 0.2, 0.3), abs=1e-12)


def test_range_and_misalignment_come_after_vibration() -> None:
    table = Vibration(at_rad_s=500.0, accel_m_s2=(0.0, 0.0, 30.0))
    turned = Triad(misalignment_rad=(math.pi / 2.0, 0.0, 0.0), errors=Errors(range=(-20.0, 20.0)))
    rows = felt(detailed(vibration=table, accel=turned), resting, 1.0, rotors_rad_s=(500.0,))
    assert np.abs(rows[:, 4]).max() == 20.0
    assert np.abs(rows[:, 5]).max() < 1e-9


def test_noise_is_that_of_the_plain_imu() -> None:
    """The same seed, with an effect that does nothing here: bit for bit the same errors."""
    errors = Triad(errors=Errors(white_std=0.1, drift_std=0.2, drift_time_s=3.0, quantum=1e-3))
    plain = Imu(ImuConfig(rate_hz=250.0, gyro=errors, accel=errors), Streams(5))
    other = DetailedImu(ImuConfig(rate_hz=250.0, gyro=errors, accel=errors, thermal=Thermal(time_s=10.0)), Streams(5))
    assert all(plain.measure(scene(), 1) == other.measure(scene(), 1) for _ in range(300))


def test_a_suite_has_a_history_only_where_it_is_needed() -> None:
    def suite(**keys: object) -> Suite:
        return Suite(SensorSet(imu=ImuConfig(rate_hz=250.0, **keys)), Streams(1))

    assert suite().history is None
    assert suite(thermal=Thermal(time_s=1.0)).history is None
    assert suite(average=True).history is not None


def test_rotation_vectors() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        angle, axis = rng.uniform(0.0, math.pi), rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        first = rng.standard_normal(4)
        first /= np.linalg.norm(first)
        turn = (math.cos(angle / 2), *(math.sin(angle / 2) * axis).tolist())
        last = frames.quat_product(tuple(first), turn)
        for sign in (1.0, -1.0):
            flipped = tuple(sign * value for value in last)
            assert rotation_vector(tuple(first), flipped) == pytest.approx(angle * axis, abs=1e-7)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"low_pass": {"gyro_hz": 50.0}}, "low_pass.accel_hz: missing"),
        ({"low_pass": {"gyro_hz": 50.0, "accel_hz": 50.0, "order": 3}}, "low_pass.order"),
        ({"vibration": {"accel_m_s2": [1.0, 1.0, 1.0]}}, "vibration.at_rad_s: missing"),
        ({"vibration": {"at_rad_s": 600.0, "harmonics": [0.0]}}, "at least one that is not 0"),
        ({"vibration": {"at_rad_s": 600.0, "accel_m_s2": [-1.0, 0.0, 0.0]}}, "accel_m_s2: expected numbers from 0"),
        ({"thermal": {"warming_K": 10.0}}, "thermal.time_s: missing"),
        ({"gyro": {"temperature_offset": [1e-3, 0.0, 0.0]}}, "need the table thermal"),
        ({"g_sensitivity": [[100.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]}, "g_sensitivity: expected at most"),
        ({"count_clipped": True}, "count_clipped: expected a range"),
    ],
)
def test_bad_tables_are_refused_by_name(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        convert({"rate_hz": 250.0, **table}, ImuConfig, "here")
