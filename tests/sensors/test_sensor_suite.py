"""All sensors together: rates and latencies to the nanosecond, streams, faults, and one consistent world."""

from __future__ import annotations

import itertools
import math
from typing import Any

import msgspec
import numpy as np
import pymap3d
import pytest
from ambiance import Atmosphere
from sensor_scenes import AIR, FIELD_W_T, PLACE, G, seconds, state
from suite_flights import HOVER, fly, of

from aeroloop.core import frames
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import PlannedFault
from aeroloop.core.signals import NS, Air, Place, RigidState
from aeroloop.sensors import suite as suite_module
from aeroloop.sensors.airspeed import AirspeedSample
from aeroloop.sensors.barometer import BarometerConfig, BarometerSample
from aeroloop.sensors.gnss import GnssConfig, GnssSample
from aeroloop.sensors.imu import ImuConfig, ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.noise import Errors, Streams
from aeroloop.sensors.rangefinder import RangefinderSample
from aeroloop.sensors.scene import body_from_world
from aeroloop.sensors.schedule import Fault
from aeroloop.sensors.suite import NAMES, SensorSet, Suite, preset


def test_every_sensor_keeps_its_own_rate() -> None:
    sensors = preset("ideal")
    heard = fly(sensors, 2.0)
    assert {name: len(of(heard, name)) for name in NAMES} == {
        "imu": 500,
        "magnetometer": 100,
        "barometer": 100,
        "gnss": 20,
        "airspeed": 100,
        "rangefinder": 100,
        "tachometer": 500,
    }
    assert [sample.t_ns for sample in of(heard, "gnss")[:3]] == [0, 100_000_000, 200_000_000]
    assert {b.t_ns - a.t_ns for a, b in itertools.pairwise(of(heard, "imu"))} == {4_000_000}


def test_a_sample_is_delivered_exactly_its_delay_after_it_was_taken() -> None:
    sensors = SensorSet(imu=ImuConfig(rate_hz=250.0), gnss=GnssConfig(rate_hz=5.0, delay_s=0.1234567, start_s=0.05))
    suite = Suite(sensors, Streams(1))
    arrivals: list[tuple[int, int]] = []
    while suite.next_ns < NS:
        t_ns = suite.next_ns
        for sample in suite.sample(state(t_ns), AIR, PLACE):
            assert sample.ready_ns == t_ns
            if isinstance(sample, GnssSample):
                arrivals.append((sample.t_ns, t_ns))
    assert arrivals[:2] == [(50_000_000, 173_456_700), (250_000_000, 373_456_700)]
    assert len(arrivals) == 5


def test_a_late_sample_shows_the_past() -> None:
    suite = Suite(SensorSet(gnss=GnssConfig(rate_hz=10.0, delay_s=0.25)), Streams(1))
    for tick in range(100):
        t_ns = tick * 10_000_000
        for sample in suite.sample(state(t_ns, vel_W=(t_ns / NS, 0.0, 0.0)), AIR, PLACE):
            assert isinstance(sample, GnssSample)
            assert sample.vel_W[0] == pytest.approx(t_ns / NS - 0.25)


def test_a_coarse_loop_gets_one_sample_of_now_for_all_that_it_stepped_over() -> None:
    suite = Suite(SensorSet(imu=ImuConfig(rate_hz=500.0)), Streams(1))
    heard = [suite.sample(state(tick * 7_000_000), AIR, PLACE) for tick in range(5)]
    assert [[sample.t_ns for sample in samples] for samples in heard] == [[tick * 7_000_000] for tick in range(5)]
    assert suite.next_ns == 30_000_000


def test_samples_under_way_do_not_hide_the_next_instant() -> None:
    suite = Suite(SensorSet(gnss=GnssConfig(rate_hz=10.0, delay_s=0.25)), Streams(1))
    instants = []
    for _ in range(6):
        instants.append(suite.next_ns // 1_000_000)
        suite.sample(state(suite.next_ns), AIR, PLACE)
    assert instants == [0, 100, 200, 250, 300, 350]


def test_samples_come_in_the_order_of_their_arrival() -> None:
    sensors = SensorSet(imu=ImuConfig(rate_hz=250.0, delay_s=0.02), gnss=GnssConfig(rate_hz=10.0, delay_s=0.001))
    suite = Suite(sensors, Streams(1))
    suite.sample(state(0), AIR, PLACE)
    assert [type(sample) for sample in suite.sample(state(25_000_000), AIR, PLACE)] == [GnssSample, ImuSample]


def test_due_names_what_samples_now() -> None:
    suite = Suite(preset("px4"), Streams(1))
    assert suite.due(0) == ("imu", "magnetometer", "barometer", "airspeed", "rangefinder", "tachometer")
    suite.sample(state(0), AIR, PLACE)
    assert suite.due(0) == ()
    assert suite.due(4_000_000) == ("imu", "tachometer")
    assert suite.due(seconds(3)) == NAMES
    assert suite.next_ns == 4_000_000


def test_between_instants_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = Suite(preset("px4"), Streams(1))
    suite.sample(state(0), AIR, PLACE)

    def refuse(*_: object) -> None:
        raise AssertionError("worked out a scene for nobody")

    monkeypatch.setattr(suite_module, "body_from_world", refuse)
    assert suite.sample(state(3_999_999), AIR, PLACE) == []
    with pytest.raises(AssertionError, match="for nobody"):
        suite.sample(state(4_000_000), AIR, PLACE)


def test_without_sensors_there_is_nothing_to_wait_for() -> None:
    suite = Suite(SensorSet(), Streams(1))
    assert suite.sample(state(seconds(100)), AIR, PLACE) == []
    assert suite.next_ns > seconds(86400)


def test_time_does_not_go_back() -> None:
    suite = Suite(preset("ideal"), Streams(1))
    suite.sample(state(seconds(1)), AIR, PLACE)
    with pytest.raises(ValueError, match="time went back from 1000000000 ns to 999999999 ns"):
        suite.sample(state(seconds(1) - 1), AIR, PLACE)


@pytest.mark.parametrize("name", ["thesis", "px4", "consumer"])
def test_one_seed_one_flight(name: str) -> None:
    assert fly(preset(name), 4.0, seed=7) == fly(preset(name), 4.0, seed=7)
    first, second = fly(preset(name), 4.0, seed=7), fly(preset(name), 4.0, seed=8)
    assert of(first, "imu")[5] != of(second, "imu")[5]
    assert of(first, "gnss")[0] != of(second, "gnss")[0]


@pytest.mark.parametrize("absent", NAMES)
def test_a_sensor_left_out_changes_no_other(absent: str) -> None:
    whole = preset("consumer")
    heard = fly(whole, 2.0)
    fewer = fly(msgspec.structs.replace(whole, **{absent: None}), 2.0)
    assert of(fewer, absent) == []
    for name in set(NAMES) - {absent}:
        assert of(fewer, name) == of(heard, name)
        assert len(of(heard, name)) > 5


@pytest.mark.parametrize("silenced", NAMES)
def test_a_silenced_sensor_changes_no_other_and_comes_back_as_if_nothing_had_been(silenced: str) -> None:
    heard = fly(preset("consumer"), 2.0)
    fault = PlannedFault(target=silenced, kind="silent", from_s=0.5, to_s=1.0)  # type: ignore[arg-type]
    holed = fly(preset("consumer"), 2.0, faults=(fault,))
    for name in NAMES:
        kept = [s for s in of(heard, name) if name != silenced or not seconds(0.5) <= s.t_ns < seconds(1.0)]
        assert of(holed, name) == kept
    assert len(of(holed, silenced)) < len(of(heard, silenced))


def test_another_rate_of_one_sensor_changes_no_other() -> None:
    whole = preset("px4")
    assert whole.imu is not None
    faster = msgspec.structs.replace(whole, imu=msgspec.structs.replace(whole.imu, rate_hz=1000.0))
    assert of(fly(faster, 1.0), "barometer") == of(fly(whole, 1.0), "barometer")


def test_two_aircraft_of_one_seed_have_their_own_noise() -> None:
    found = [Suite(preset("px4"), Streams(1).child(name)).sample(HOVER, AIR, PLACE) for name in ("a", "b")]
    assert found[0] != found[1]


def test_streams_of_different_sensors_are_not_correlated() -> None:
    """Seed 1, 10 000 samples of eight noises alike in all but name: no pair correlates by 0.05 (five sigma)."""
    white, noisy = {"white_std": 1.0}, {"errors": {"white_std": 1.0}}
    table = {
        "imu": {"rate_hz": 1000.0, "gyro": noisy, "accel": noisy},
        "barometer": {"rate_hz": 1000.0, "pressure": white},
        "airspeed": {"rate_hz": 1000.0, "pressure": white},
    }
    heard = fly(convert(table, SensorSet, "here"), 10.0)
    rows = [(*sample.rate_B, *sample.accel_B) for sample in of(heard, "imu")]
    pressures = [[sample.pressure_Pa for sample in of(heard, name)] for name in ("barometer", "airspeed")]
    noises = np.vstack([np.array(rows).T, pressures])
    assert np.abs(np.corrcoef(noises) - np.eye(8)).max() < 0.05


def test_a_frozen_sensor_repeats_its_last_values_under_new_times() -> None:
    fault = PlannedFault(target="barometer", kind="frozen", from_s=0.5, to_s=1.0)
    heard, frozen = fly(preset("consumer"), 1.5), fly(preset("consumer"), 1.5, faults=(fault,))
    plain, stuck = of(heard, "barometer"), of(frozen, "barometer")
    assert [(sample.t_ns, sample.ready_ns) for sample in stuck] == [(sample.t_ns, sample.ready_ns) for sample in plain]
    assert len({sample.pressure_Pa for sample in plain[25:50]}) > 1
    assert {sample.pressure_Pa for sample in stuck[25:50]} == {plain[25].pressure_Pa}
    assert stuck[:25] == plain[:25]
    assert stuck[50:] == plain[50:]
    assert of(frozen, "imu") == of(heard, "imu")


@pytest.mark.parametrize(
    ("sensor", "channel", "value", "field", "expected"),
    [
        ("imu", "", (0.1, 0.0, -0.2), "rate_B", (0.1, 0.0, -0.2)),
        ("imu", "accel", 0.5, "accel_B", (0.5, 0.5, 0.5)),
        ("magnetometer", "", 1e-5, "field_B_T", (1e-5, 1e-5, 1e-5)),
        ("barometer", "", 120.0, "pressure_Pa", 120.0),
        ("barometer", "temperature", 3.0, "temperature_K", 3.0),
        ("gnss", "velocity", (0.0, 1.0, 0.0), "vel_W", (0.0, 1.0, 0.0)),
        ("gnss", "position", (0.0, 0.0, 7.0), "alt_m", 7.0),
        ("airspeed", "", 11.0, "pressure_Pa", 11.0),
        ("rangefinder", "", -2.0, "range_m", -2.0),
    ],
)
def test_a_biased_sensor(sensor: Any, channel: str, value: Any, field: str, expected: Any) -> None:
    fault = PlannedFault(target=sensor, kind="bias", from_s=0.5, to_s=1.0, channel=channel, value=value)
    heard, biased = of(fly(preset("ideal"), 1.5), sensor), of(fly(preset("ideal"), 1.5, faults=(fault,)), sensor)
    for plain, shifted in zip(heard, biased, strict=True):
        active = seconds(0.5) <= plain.t_ns < seconds(1.0)
        difference = np.subtract(getattr(shifted, field), getattr(plain, field))
        assert difference == pytest.approx(np.multiply(expected, float(active)), abs=1e-9)


def test_a_bias_reaches_what_is_computed_from_the_channel() -> None:
    fault = PlannedFault(target="barometer", kind="bias", from_s=0.0, value=-120.0)
    heard, biased = fly(preset("ideal"), 0.1), fly(preset("ideal"), 0.1, faults=(fault,))
    raised_m = of(biased, "barometer")[0].pressure_altitude_m - of(heard, "barometer")[0].pressure_altitude_m
    assert raised_m == pytest.approx(10.5, abs=0.3)


def test_the_latest_bias_counts_and_a_large_one_saturates_like_the_real_one() -> None:
    errors = Errors(range=(0.0, 100_000.0))
    sensors = SensorSet(barometer=BarometerConfig(rate_hz=50.0, pressure=errors))
    one = PlannedFault(target="barometer", kind="bias", from_s=0.0, value=1000.0)
    two = PlannedFault(target="barometer", kind="bias", from_s=0.5, channel="pressure", value=2000.0)
    far = PlannedFault(target="barometer", kind="bias", from_s=0.8, value=1e4)
    found = [
        sample.pressure_Pa - AIR.pressure_Pa for sample in of(fly(sensors, 1.0, faults=(one, two, far)), "barometer")
    ]
    assert (found[0], found[30], found[45]) == pytest.approx((1000.0, 2000.0, 100_000.0 - AIR.pressure_Pa))


def test_a_noisy_sensor() -> None:
    """Seed 1, 2500 samples: the added deviation to 6 %; the sensor's own noise beneath it is untouched."""
    fault = PlannedFault(target="imu", kind="noise", from_s=0.0, to_s=10.0, channel="gyro", value=(0.5, 0.0, 1.0))
    heard, noisy = of(fly(preset("px4"), 12.0), "imu"), of(fly(preset("px4"), 12.0, faults=(fault,)), "imu")
    added = np.array([np.subtract(b.rate_B, a.rate_B) for a, b in zip(heard, noisy, strict=True)])
    assert added[:2500].std(axis=0) == pytest.approx([0.5, 0.0, 1.0], rel=0.06, abs=1e-12)
    assert not added[2500:].any()
    assert [sample.accel_B for sample in heard] == [sample.accel_B for sample in noisy]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"sensor": "imu", "kind": "bias", "start_s": 0.0}, "need one"),
        ({"sensor": "imu", "kind": "silent", "start_s": 0.0, "value": 1.0}, "belongs to bias and noise"),
        ({"sensor": "imu", "kind": "silent", "start_s": 2.0, "end_s": 1.0}, "start_s before end_s"),
        ({"sensor": "imu", "kind": "frozen", "start_s": 0.0, "channel": "gyro"}, "applies to the whole sensor"),
        ({"sensor": "sonar", "kind": "silent", "start_s": 0.0}, "sensor"),
        ({"sensor": "imu", "kind": "broken", "start_s": 0.0}, "expected one of: bias, frozen, noise, silent"),
        ({"sensor": "imu", "kind": "silent", "begin_s": 0.0}, "begin_s: unknown key"),
    ],
)
def test_bad_faults_are_refused_by_name(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        convert(table, Fault, "here")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            PlannedFault(target="imu", kind="bias", from_s=0.0, channel="gyros", value=1.0),
            "expected one of: gyro, accel",
        ),
        (PlannedFault(target="airspeed", kind="bias", from_s=0.0, value=(1.0, 2.0, 3.0)), "one value"),
    ],
)
def test_faults_that_do_not_fit_the_sensor_are_refused(fault: PlannedFault, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Suite(preset("ideal"), Streams(1)).switch(fault.switch(on=True))


def test_a_fault_of_an_absent_sensor_is_refused() -> None:
    with pytest.raises(ConfigError, match="no such sensor"):
        Suite(SensorSet(), Streams(1)).switch(PlannedFault(target="gnss", kind="silent", from_s=1.0).switch(on=True))


RADIUS_M = 6_356_766.0  # of the standard atmosphere


class SmoothFlight:
    """A closed-form flight with known derivatives: a climbing figure with swinging attitude."""

    def angles(self, t: float) -> tuple[float, float, float]:
        return 0.3 * math.sin(0.7 * t), 0.2 * math.sin(0.9 * t), 0.4 * t + 0.3 * math.sin(0.5 * t)

    def state(self, t_ns: int) -> RigidState:
        t = t_ns / NS
        roll, pitch, yaw = self.angles(t)
        rates = (0.21 * math.cos(0.7 * t), 0.18 * math.cos(0.9 * t), 0.4 + 0.15 * math.cos(0.5 * t))
        return RigidState(
            t_ns,
            (10 * math.sin(0.3 * t), 6 - 6 * math.cos(0.4 * t), 2 + 0.5 * t + math.sin(0.5 * t)),
            frames.quat_from_euler(roll, pitch, yaw),
            (3 * math.cos(0.3 * t), 2.4 * math.sin(0.4 * t), 0.5 + 0.5 * math.cos(0.5 * t)),
            frames.body_from_euler_rates(roll, pitch, *rates),
            (-0.9 * math.sin(0.3 * t), 0.96 * math.cos(0.4 * t), -0.25 * math.sin(0.5 * t)),
        )

    def place(self, truth: RigidState) -> Place:
        lat, lon, _ = pymap3d.enu2geodetic(*truth.pos_W, PLACE.lat_deg, PLACE.lon_deg, PLACE.alt_m)
        return Place(float(lat), float(lon), PLACE.alt_m + truth.pos_W[2], G, FIELD_W_T)


def quat_after(quat: frames.Quat, rate_B: np.ndarray, dt_s: float) -> frames.Quat:
    angle = float(np.linalg.norm(rate_B)) * dt_s
    x, y, z = math.sin(angle / 2) * rate_B * dt_s / angle
    w0, x0, y0, z0 = quat
    w = math.cos(angle / 2)
    return (
        w0 * w - x0 * x - y0 * y - z0 * z,
        w0 * x + x0 * w + y0 * z - z0 * y,
        w0 * y - x0 * z + y0 * w + z0 * x,
        w0 * z + x0 * y - y0 * x + z0 * w,
    )


def test_imu_gnss_barometer_and_magnetometer_tell_of_one_flight() -> None:
    """Integrate the ideal IMU alone for 30 s (trapezium) and hold it against the others.

    Position, height and range agree to 2 cm, velocity to 5 mm/s, airspeed to 1 cm/s and the field to 0.1 %.
    """
    flight, suite = SmoothFlight(), Suite(preset("ideal"), Streams(1))
    heights = np.arange(0.0, 30.0, 0.05)
    pressures = Atmosphere(PLACE.alt_m + heights).pressure
    start = flight.state(0)
    quat, vel, pos = start.quat_WB, np.array(start.vel_W), np.array(start.pos_W)
    last: ImuSample | None = None
    seen: dict[type, int] = {}
    while suite.next_ns <= seconds(30):
        truth = flight.state(suite.next_ns)
        pressure = math.exp(np.interp(truth.pos_W[2], heights, np.log(pressures)))
        air = Air((1.0, -2.0, 0.0), pressure, 285.0, 1.225)
        for sample in suite.sample(truth, air, flight.place(truth)):
            seen[type(sample)] = seen.get(type(sample), 0) + 1
            if isinstance(sample, ImuSample):
                if last is not None:
                    dt_s = (sample.t_ns - last.t_ns) / NS
                    old = np.array(body_from_world(quat)).T @ last.accel_B
                    quat = quat_after(quat, np.add(last.rate_B, sample.rate_B) / 2, dt_s)
                    new = np.array(body_from_world(quat)).T @ sample.accel_B
                    accel = (old + new) / 2 - [0.0, 0.0, G]
                    pos = pos + vel * dt_s + accel * dt_s**2 / 2
                    vel = vel + accel * dt_s
                last = sample
            elif isinstance(sample, GnssSample):
                home = (PLACE.lat_deg, PLACE.lon_deg, PLACE.alt_m)
                east, north, _ = pymap3d.geodetic2enu(sample.lat_deg, sample.lon_deg, sample.alt_m, *home)
                assert (east, north, sample.alt_m - PLACE.alt_m) == pytest.approx(pos, abs=0.02)
                assert sample.vel_W == pytest.approx(vel, abs=0.005)
            elif isinstance(sample, BarometerSample):
                geopotential = sample.pressure_altitude_m
                altitude = RADIUS_M * geopotential / (RADIUS_M - geopotential)
                assert altitude - PLACE.alt_m == pytest.approx(pos[2], abs=0.02)
            elif isinstance(sample, MagnetometerSample):
                turned = np.array(body_from_world(quat)).T @ sample.field_B_T
                assert turned == pytest.approx(FIELD_W_T, abs=1e-3 * np.linalg.norm(FIELD_W_T))
            elif isinstance(sample, RangefinderSample) and sample.valid:
                assert sample.range_m == pytest.approx(pos[2] / body_from_world(quat)[2][2], abs=0.02)
            elif isinstance(sample, AirspeedSample):
                forward = np.dot(body_from_world(quat)[0], vel - air.wind_W)
                assert sample.indicated_m_s == pytest.approx(forward, abs=0.01)
    assert seen[ImuSample] == 7501
    assert seen[GnssSample] == 301
    assert seen[MagnetometerSample] == seen[BarometerSample] == 1501
