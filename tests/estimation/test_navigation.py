"""The navigation filter in flight: what it makes of the simulator's own sensors, and how it bears their failing."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from navigation_flights import Flight, field_at, figure_eight, fly, navigation, rest, samples

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.core.faults import PlannedFault
from aeroloop.core.signals import NS
from aeroloop.estimation.config import NavigationConfig
from aeroloop.estimation.navigation import Navigation
from aeroloop.sensors.barometer import BarometerConfig
from aeroloop.sensors.gnss import GnssConfig, GnssSample
from aeroloop.sensors.imu import ImuConfig, Triad
from aeroloop.sensors.magnetometer import MagnetometerConfig, MagnetometerSample
from aeroloop.sensors.noise import Errors
from aeroloop.sensors.suite import Sample, SensorSet, preset

FLIGHT_S = 40.0
AWAY_S = 10.0  # it has left the ground
LOST_S, BACK_S = 16.0, 36.0
DEFAULTS = NavigationConfig()


def degrees(flight: Flight, values: list[float], start_s: float, end_s: float = math.inf) -> float:
    return math.degrees(flight.rms(values, start_s, end_s))


def lost(sample: Sample) -> Sample:
    if isinstance(sample, GnssSample) and LOST_S <= sample.t_ns / NS < BACK_S:
        return sample._replace(fix=False)
    return sample


@pytest.mark.parametrize(
    ("name", "attitude_deg", "pos_m", "vel_m_s"),
    [("thesis", 0.5, 0.2, 0.1), ("px4", 0.5, 0.5, 0.1), ("consumer", 3.0, 6.0, 0.4), ("ideal", 0.01, 0.01, 0.01)],
)
def test_a_flight_is_followed(name: str, attitude_deg: float, pos_m: float, vel_m_s: float) -> None:
    flight = fly(samples(name, figure_eight, FLIGHT_S))
    assert degrees(flight, flight.attitude_error_rad, AWAY_S) < attitude_deg
    assert flight.rms(flight.pos_error_m, AWAY_S) < pos_m
    assert flight.rms(flight.vel_error_m_s, AWAY_S) < vel_m_s
    assert all(e.attitude_ok and e.height_ok and e.position_ok for e in flight.estimates)
    assert not flight.nav.counts, "no sample was refused, nothing was set anew"


def test_the_stated_uncertainty_covers_the_error() -> None:
    flight = fly(samples("px4", figure_eight, FLIGHT_S))
    for east, north, up in flight.part(flight.pos_error_m, AWAY_S):
        assert math.hypot(east, north) < 3 * flight.estimates[-1].pos_std_m
        assert abs(up) < 3 * flight.estimates[-1].height_std_m
    last = flight.estimates[-1]
    assert max(flight.part(flight.attitude_error_rad, AWAY_S)) < 3 * math.hypot(last.tilt_std_rad, last.yaw_std_rad)
    assert last.tilt_std_rad < 0.02
    assert last.yaw_std_rad < 0.02


def test_biases_are_found() -> None:
    gyro, accel = (0.01, -0.02, 0.015), (0.1, -0.08, 0.12)
    sensors = preset("px4")
    assert sensors.imu is not None

    def offset(triad: Triad, by: tuple[float, float, float]) -> Triad:
        quiet = msgspec.structs.replace(triad.errors, offset=by, drift_std=0.0)
        return msgspec.structs.replace(triad, errors=quiet)

    imu = msgspec.structs.replace(
        sensors.imu, gyro=offset(sensors.imu.gyro, gyro), accel=offset(sensors.imu.accel, accel)
    )
    nav = fly(samples(msgspec.structs.replace(sensors, imu=imu), figure_eight, FLIGHT_S)).nav
    assert nav.gyro_bias_B == pytest.approx(gyro, abs=5e-4)
    assert nav.accel_bias_B == pytest.approx(accel, abs=0.03)


def test_surprises_are_as_large_as_the_filter_expects() -> None:
    """With sensors that are just as the filter believes, the normalised squares average to their dimension."""
    config = NavigationConfig(heading_std_rad=0.05, heading_gate=5.0, gyro_noise=1e-3, accel_noise=0.02)
    white = SensorSet(
        imu=ImuConfig(
            rate_hz=250.0,
            gyro=Triad(errors=Errors(white_density=config.gyro_noise)),
            accel=Triad(errors=Errors(white_density=config.accel_noise)),
        ),
        magnetometer=MagnetometerConfig(rate_hz=25.0, errors=Errors(white_std=0.05 * 21.5e-6)),
        barometer=BarometerConfig(rate_hz=25.0, pressure=Errors(white_std=0.2 * 11.35)),
        gnss=GnssConfig(
            rate_hz=10.0,
            delay_s=0.1,
            eph_m=0.5,
            epv_m=0.8,
            position=Errors(white_std=(0.5, 0.5, 0.8)),
            velocity=Errors(white_std=config.gnss_vel_std_m_s),
        ),
    )
    squares: dict[str, list[float]] = {}
    seen: dict[str, float] = {}

    def note(nav: Navigation) -> None:
        for name, ratio in nav.innovation_ratio.items():
            if ratio != seen.get(name) and nav.heard_ns["imu"] > 5 * NS:
                seen[name] = ratio
                squares.setdefault(name, []).append(ratio * 25.0)

    nav = fly(samples(white, figure_eight, FLIGHT_S), navigation(config), each=note).nav
    assert not nav.counts
    means = {name: float(np.mean(values)) for name, values in squares.items()}
    expected = {"position": 2.0, "velocity": 3.0, "height": 1.0, "barometer": 1.0, "magnetometer": 1.0}
    assert means == pytest.approx(expected, rel=0.25)


def test_without_fixes_it_reckons_for_a_while_and_comes_back() -> None:
    flight = fly(samples("thesis", figure_eight, FLIGHT_S), change=lost)
    config, ok = DEFAULTS, flight.part([e.position_ok for e in flight.estimates], 0.0)
    t_s = np.array(flight.t_s)
    reckoned = t_s[(t_s > LOST_S) & (t_s < BACK_S) & ok.astype(bool)]
    assert reckoned.max() == pytest.approx(LOST_S + config.dead_reckoning_s, abs=0.25), "the last fix was at 15.8 s"
    assert flight.rms(flight.pos_error_m, LOST_S, LOST_S + config.dead_reckoning_s) < 0.3
    assert all(e.attitude_ok and e.height_ok for e in flight.estimates)
    assert degrees(flight, flight.attitude_error_rad, LOST_S, BACK_S) < 1.0
    assert flight.rms([up for _, _, up in flight.pos_error_m], LOST_S, BACK_S) < 0.2
    assert ok[t_s >= BACK_S + 0.02].all()
    assert flight.rms(flight.pos_error_m, BACK_S + 0.02, BACK_S + 1.0) < 0.6, "the first fix back sets the position"
    assert flight.rms(flight.pos_error_m, BACK_S + 2.0) < 0.2
    assert flight.nav.counts == {"gnss_no_fix": 100, "position_reset": 1}


@pytest.mark.parametrize("bias", [(2e-5, 0.0, 0.0), (0.0, 8e-6, 0.0)])
def test_a_bent_field_does_not_bend_the_heading(bias: tuple[float, float, float]) -> None:
    def bent(sample: Sample) -> Sample:
        if isinstance(sample, MagnetometerSample) and sample.t_ns > 14 * NS:
            x, y, z = np.add(sample.field_B_T, bias).tolist()
            return sample._replace(field_B_T=(x, y, z))
        return sample

    flight = fly(samples("px4", figure_eight, FLIGHT_S), change=bent)
    assert degrees(flight, flight.attitude_error_rad, AWAY_S) < 1.0
    assert flight.rms(flight.pos_error_m, AWAY_S) < 0.5
    assert "heading_reset" not in flight.nav.counts


def test_a_frozen_magnetometer_in_a_turn_is_refused() -> None:
    fault = PlannedFault(target="magnetometer", kind="frozen", from_s=14.0)
    flight = fly(samples("thesis", figure_eight, FLIGHT_S, faults=(fault,)))
    assert degrees(flight, flight.attitude_error_rad, AWAY_S) < 2.0
    assert flight.nav.innovation_ratio["magnetometer"] > 1.0
    assert "heading_reset" not in flight.nav.counts


def test_on_the_ground_a_field_that_stays_turned_is_believed_in_the_end() -> None:
    """It was aligned beside iron, say: nothing but the magnetometer knows the heading of an aircraft at rest."""

    def turned(sample: Sample) -> Sample:
        if isinstance(sample, MagnetometerSample) and sample.t_ns < 6 * NS:
            x, y, z = sample.field_B_T
            return sample._replace(field_B_T=(-y, x, z))
        return sample

    flight = fly(samples("px4", rest, 30.0), change=turned)
    reset_s = 6.0 + DEFAULTS.heading_reset_s
    assert degrees(flight, flight.yaw_error_rad, 4.0, reset_s - 0.1) == pytest.approx(90.0, abs=1.0)
    assert degrees(flight, flight.yaw_error_rad, reset_s + 0.1) < 3.0
    assert flight.nav.counts == {"heading_reset": 1}


def test_at_rest_it_stays_where_it_is() -> None:
    flight = fly(samples("consumer", rest, 60.0))
    sensors = preset("consumer")
    assert sensors.gnss is not None
    limit_m = 1.5 * math.hypot(sensors.gnss.eph_m, 0.3)
    assert max(e.pos_std_m for e in flight.estimates) < 2 * limit_m
    assert np.abs(flight.part(flight.pos_error_m, 5.0)).max() < 2 * max(limit_m, sensors.gnss.epv_m)
    assert max(math.hypot(*e.vel_W) for e in flight.estimates) < 0.4
    assert max(e.tilt_std_rad for e in flight.estimates) < 0.02
    assert all(e.position_ok and e.height_ok for e in flight.estimates)


def test_at_rest_without_any_fix_it_stays_upright() -> None:
    nav = fly(samples("consumer", rest, 60.0), change=lambda s: None if isinstance(s, GnssSample) else s).nav
    estimate = nav.estimate
    assert estimate is not None
    w, x, y, z = estimate.quat_WB
    assert math.hypot(2 * (w * x + y * z), 2 * (w * y - z * x)) < math.radians(1.5), "level"
    assert (estimate.attitude_ok, estimate.height_ok, estimate.position_ok) == (True, True, False)
    assert abs(estimate.pos_W[2]) < 0.5
    assert math.hypot(*estimate.vel_W) < 1.0
    assert np.isfinite(nav.covariance).all()
    assert nav.origin is None


def test_the_covariance_stays_symmetric_and_positive() -> None:
    nav, least, count = navigation(), math.inf, 0

    def check(nav: Navigation) -> None:
        nonlocal least, count
        count += 1
        if nav.aligned and count % 50 == 0:
            P = nav.covariance
            assert (P == P.T).all()
            scale = 1.0 / np.sqrt(np.diag(P))
            least = min(least, float(np.linalg.eigvalsh(P * np.outer(scale, scale)).min()))

    fly(samples("consumer", figure_eight, FLIGHT_S), nav, change=lost, each=check)
    assert nav.counts["position_reset"] == 1, "through a loss and a return too"
    assert least > 1e-7


def test_compiled_and_interpreted_give_the_same_numbers(tmp_path: Path) -> None:
    heard = samples("px4", figure_eight, FLIGHT_S)[: 250 * 16]
    interpreted = fly(heard)
    sil = fly(heard, Navigation(NavigationConfig(), lambda f: Evaluator(compiled(f, tmp_path)), field_at))
    assert len(interpreted.estimates) > 500
    for a, b in zip(interpreted.estimates, sil.estimates, strict=True):
        assert [*a.pos_W, *a.vel_W, *a.quat_WB, *a.rate_B] == pytest.approx(
            [*b.pos_W, *b.vel_W, *b.quat_WB, *b.rate_B], abs=1e-9, rel=0
        )
    assert np.abs(interpreted.nav.covariance - sil.nav.covariance).max() < 1e-9


def test_the_same_samples_give_the_same_bits() -> None:
    heard = samples("consumer", figure_eight, FLIGHT_S)[: 250 * 15]
    assert repr(fly(heard).estimates) == repr(fly(heard).estimates)


def test_a_late_fix_is_held_against_the_past() -> None:
    """At 5 to 8 m/s a fix taken for one of now would be wrong by 2 m."""
    sensors = preset("ideal")
    assert sensors.gnss is not None
    late = msgspec.structs.replace(sensors, gnss=msgspec.structs.replace(sensors.gnss, delay_s=0.3))
    flight = fly(samples(late, figure_eight, FLIGHT_S))
    assert np.abs(flight.part(flight.pos_error_m, AWAY_S)).max() < 0.01
    assert np.abs(flight.part(flight.vel_error_m_s, AWAY_S)).max() < 0.01
