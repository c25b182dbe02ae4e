"""The navigation filter's parts: alignment, gates, and what it does with input that it should not get."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from navigation_flights import EARTH, Flight, field_at, figure_eight, fly, navigation, rest, samples

from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec, Vec3, euler_from_quat, quat_from_euler
from aeroloop.core.signals import NS, Origin
from aeroloop.estimation.alignment import Alignment, RestDetector
from aeroloop.estimation.config import NavigationConfig
from aeroloop.estimation.gate import Gate, Stuck
from aeroloop.estimation.navigation import Navigation
from aeroloop.sensors.barometer import BarometerSample
from aeroloop.sensors.gnss import GnssSample
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.scene import body_from_world, times
from aeroloop.sensors.suite import Sample, preset

G = 9.80665
MS = 1_000_000
CONFIG = NavigationConfig()
SHORT_S = 16.0
HOME = EARTH.place((0.0, 0.0, 0.0))
DECLINATION_RAD = math.atan2(HOME.field_W_T[0], HOME.field_W_T[1])  # to the east

metres = st.floats(-3000.0, 3000.0)


def still(config: NavigationConfig, rate_B: Vec3, accel_B: Vec3, field_B_T: Vec3 | None) -> Alignment | None:
    standstill = RestDetector(config)
    for k in range(round(config.align_s * 250) + 1):
        if field_B_T is not None:
            standstill.magnetometer(field_B_T)
        aligned = standstill.imu(k * 4 * MS, rate_B, accel_B)
        if aligned is not None:
            return aligned
    return None


def test_a_flight_that_begins_in_the_air_needs_no_standstill() -> None:
    """Climbing east at 2 m/s, turned by 0.6 rad: it knows so at once, and a second later, before any fix."""
    pos_W, vel_W, quat_WB = (10.0, -4.0, 30.0), (2.0, 0.0, 0.5), quat_from_euler(0.0, 0.0, 0.6)
    filter_ = navigation()
    filter_.begin_in_air(Origin(HOME.lat_deg, HOME.lon_deg, HOME.alt_m), pos_W, vel_W, quat_WB)
    first = filter_.estimate
    assert first is not None and (first.pos_W, first.vel_W) == (pos_W, vel_W)
    assert first.quat_WB == pytest.approx(quat_WB) and first.position_ok
    field_B_T = times(body_from_world(quat_WB), *HOME.field_W_T)
    for t_ns in range(4 * MS, NS + 1, 4 * MS):
        filter_.imu(t_ns, (0.0, 0.0, 0.0), (0.0, 0.0, G))
        filter_.magnetometer(t_ns, field_B_T)
        filter_.barometer(t_ns, HOME.alt_m + pos_W[2] + vel_W[2] * t_ns / NS)
    later = filter_.estimate
    assert later is not None and later.pos_W == pytest.approx((12.0, -4.0, 30.5), abs=0.05)
    assert later.quat_WB == pytest.approx(quat_WB, abs=1e-3), "the field's declination is known"


@given(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1))
@settings(max_examples=30)
def test_gravity_and_field_give_the_attitude(roll: float, pitch: float, yaw: float) -> None:
    quat = quat_from_euler(roll, pitch, yaw)
    R_BW = body_from_world(quat)
    aligned = still(CONFIG, (0.01, -0.02, 0.03), times(R_BW, 0.0, 0.0, G), times(R_BW, 0.0, 2e-5, -4e-5))
    assert aligned is not None
    assert abs(np.dot(aligned.quat_WB, quat)) == pytest.approx(1.0, abs=1e-9)
    assert aligned.gyro_bias_B == pytest.approx((0.01, -0.02, 0.03))
    assert aligned.heading


def test_without_a_field_the_heading_is_unknown_and_comes_with_the_first() -> None:
    nav = navigation()
    for k in range(600):
        nav.imu(k * 4 * MS, (0.0, 0.0, 0.0), (0.0, 0.0, G))
    before = nav.estimate
    assert before is not None
    assert before.attitude_ok
    assert before.yaw_std_rad > 3.0
    nav.magnetometer(2400 * MS, (0.0, 2e-5, -4e-5))
    nav.magnetometer(2420 * MS, (2e-5, 0.0, -4e-5))
    after = nav.estimate
    assert after is not None
    assert after.yaw_std_rad < 0.25


@pytest.mark.parametrize(
    ("rate_B", "accel_B"),
    [((0.2, 0.0, 0.0), (0.0, 0.0, G)), ((0.0, 0.0, 0.0), (0.0, 0.0, 12.0)), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))],
)
def test_what_moves_is_not_aligned(rate_B: Vec3, accel_B: Vec3) -> None:
    assert still(CONFIG, rate_B, accel_B, None) is None


def test_shaking_is_no_standstill_but_its_end_is() -> None:
    nav = navigation()
    for k in range(1500):
        shake = 0.2 * (-1) ** k if k < 700 else 0.0
        nav.imu(k * 4 * MS, (shake, 0.0, 0.0), (0.0, 0.0, G))
        assert nav.aligned == (k >= 1000), "windows end at 1, 2, 3 and 4 s; the third is shaken at its beginning"


def test_a_gate_refuses_surprises_for_a_while() -> None:
    gate = Gate(3.0, 2.0)
    assert gate.passes(0, 9.0)
    assert not gate.passes(NS, 9.1)
    assert gate.ratio == pytest.approx(9.1 / 9.0)
    assert not gate.passes(2 * NS, math.nan)
    assert not gate.overdue(3 * NS - 1)
    assert gate.overdue(3 * NS)
    assert gate.recent(3 * NS, 3 * NS)
    assert not gate.recent(3 * NS, 2 * NS)
    assert gate.passes(4 * NS, 0.0)
    assert not gate.overdue(9 * NS)


def test_before_the_first_fix_north_is_magnetic_and_then_true() -> None:
    first: dict[bool, float] = {}

    def note(nav: Navigation) -> None:
        if nav.estimate is not None:
            first.setdefault(nav.origin is not None, euler_from_quat(nav.estimate.quat_WB)[2])

    fly(samples("ideal", rest, 5.0), change=without(GnssSample, 0.0, 3.0), each=note)
    assert first[False] == pytest.approx(-2.0 + DECLINATION_RAD, abs=1e-3)
    assert first[True] == pytest.approx(-2.0, abs=1e-3)


def test_there_is_no_place_before_the_first_fix() -> None:
    nav = fly(samples("ideal", rest, 5.0), change=without(GnssSample, 0.0)).nav
    assert nav.origin is None
    with pytest.raises(ValueError, match="no origin before the first good fix"):
        nav.local(47.0, 8.0, 400.0)
    with pytest.raises(ValueError, match="no origin before the first good fix"):
        nav.geodetic((0.0, 0.0, 0.0))


def test_a_poor_fix_is_no_fix() -> None:
    def poor(sample: Sample) -> Sample:
        return sample._replace(eph_m=50.0) if isinstance(sample, GnssSample) else sample

    nav = fly(samples("ideal", rest, 5.0), change=poor).nav
    assert nav.origin is None
    assert "fix" not in nav.heard_ns
    assert "gnss" in nav.heard_ns


def test_height_counted_before_the_first_fix_goes_on() -> None:
    nav = navigation()

    def climbed(sample: Sample) -> Sample | None:
        if isinstance(sample, GnssSample):
            return sample if sample.t_ns > 12 * NS else None
        return sample

    flight = fly(samples("px4", figure_eight, SHORT_S), nav, change=climbed)
    assert flight.t_s[0] == pytest.approx(12.2, abs=0.1)
    assert flight.estimates[0].pos_W[2] > 2.0
    assert nav.origin is not None
    assert nav.origin.alt_m == pytest.approx(HOME.alt_m, abs=1.0), "and the origin is where it took off"
    assert flight.rms(flight.pos_error_m, 13.0) < 1.0
    assert math.degrees(flight.rms(flight.attitude_error_rad, 14.0)) < 1.0


def without(kind: type, start_s: float, end_s: float = math.inf) -> Callable[[Sample], Sample | None]:
    def change(sample: Sample) -> Sample | None:
        return None if isinstance(sample, kind) and start_s <= sample.t_ns / NS < end_s else sample

    return change


NAN = math.nan
BAD: dict[str, tuple[str, Callable[[Navigation, int], None]]] = {
    "rate NaN": ("imu_absurd", lambda nav, t: nav.imu(t + MS, (NAN, 0.0, 0.0), (0.0, 0.0, G))),
    "force inf": ("imu_absurd", lambda nav, t: nav.imu(t + MS, (0.0, 0.0, 0.0), (0.0, math.inf, G))),
    "rate huge": ("imu_absurd", lambda nav, t: nav.imu(t + MS, (1e3, 0.0, 0.0), (0.0, 0.0, G))),
    "imu again": ("imu_repeated", lambda nav, t: nav.imu(t, (1.0, 0.0, 0.0), (0.0, 0.0, G))),
    "imu back": ("imu_backwards", lambda nav, t: nav.imu(t - 1, (1.0, 0.0, 0.0), (0.0, 0.0, G))),
    "field NaN": ("magnetometer_absurd", lambda nav, t: nav.magnetometer(t + MS, (0.0, NAN, 0.0))),
    "no field": ("magnetometer_absurd", lambda nav, t: nav.magnetometer(t + MS, (0.0, 0.0, 0.0))),
    "field again": ("magnetometer_repeated", lambda nav, t: nav.magnetometer(10 * NS, (0.0, 2e-5, 0.0))),
    "field back": ("magnetometer_backwards", lambda nav, t: nav.magnetometer(9 * NS, (0.0, 2e-5, 0.0))),
    "height NaN": ("barometer_absurd", lambda nav, t: nav.barometer(t + MS, NAN)),
    "height huge": ("barometer_absurd", lambda nav, t: nav.barometer(t + MS, 1e6)),
    "height again": ("barometer_repeated", lambda nav, t: nav.barometer(10 * NS, 0.0)),
    "latitude": ("gnss_absurd", lambda nav, t: nav.gnss(t, 91.0, 8.5, 488.0, (0.0, 0.0, 0.0), 1.0, 1.0, True)),
    "velocity": ("gnss_absurd", lambda nav, t: nav.gnss(t, 47.4, 8.5, 488.0, (0.0, NAN, 0.0), 1.0, 1.0, True)),
    "accuracy": ("gnss_absurd", lambda nav, t: nav.gnss(t, 47.4, 8.5, 488.0, (0.0, 0.0, 0.0), NAN, 1.0, True)),
    "fix ahead": ("gnss_early", lambda nav, t: nav.gnss(t + 2 * NS, 47.4, 8.5, 488.0, (0.0, 0.0, 0.0), 1.0, 1.0, True)),
    "fix back": ("gnss_backwards", lambda nav, t: nav.gnss(NS, 47.4, 8.5, 488.0, (0.0, 0.0, 0.0), 1.0, 1.0, True)),
}


def test_bad_input_is_counted_and_changes_nothing() -> None:
    heard = samples("px4", figure_eight, SHORT_S)
    middle = next(k for k, (state, _, _) in enumerate(heard) if state.t_ns > 10 * NS)
    nav = fly(heard[:middle]).nav
    counts = Counter[str]()
    before = repr((nav.estimate, nav.covariance, nav.heard_ns))
    for name, (count, send) in BAD.items():
        send(nav, 10 * NS)
        counts[count] += 1
        assert nav.counts == counts, name
        assert repr((nav.estimate, nav.covariance, nav.heard_ns)) == before, name
    flight = fly(heard[middle:], nav)
    assert nav.counts == counts, "and all goes on"
    assert flight.rms(flight.pos_error_m, 10.0) < 0.6


def test_a_receiver_that_jitters_and_then_repeats_itself_hangs() -> None:
    stuck = Stuck(most=5)
    assert not any(stuck.again((float(k), 0.0)) for k in range(20))
    assert [stuck.again((19.0, 0.0)) for _ in range(7)] == [False] * 4 + [True] * 3
    assert not stuck.again((20.0, 0.0)), "it goes on"


def test_a_receiver_without_noise_may_say_the_same_for_ever() -> None:
    stuck = Stuck(most=5)
    assert not any(stuck.again((1.0, 0.0)) for _ in range(20))
    assert not any(stuck.again((float(k), 0.0)) for k in range(20)), "it moves"
    assert not any(stuck.again((19.0, 0.0)) for _ in range(20)), "it hovers"


def test_fixes_of_a_receiver_that_hangs_are_none() -> None:
    seen: list[GnssSample] = []

    def hang(sample: Sample) -> Sample:
        if isinstance(sample, GnssSample) and sample.t_ns > 6 * NS:
            return seen[-1]._replace(t_ns=sample.t_ns)
        if isinstance(sample, GnssSample):
            seen.append(sample)
        return sample

    flight = fly(samples("px4", rest, SHORT_S), change=hang)
    assert flight.nav.counts["gnss_stuck"] > 30
    assert flight.estimates[-1].position_ok is False


def test_a_fix_too_old_for_the_history_is_left_out() -> None:
    def older(sample: Sample) -> Sample:
        if isinstance(sample, GnssSample) and sample.t_ns > 10 * NS:
            return sample._replace(t_ns=sample.t_ns - NS)
        return sample

    flight = fly(samples("px4", figure_eight, SHORT_S), change=older)
    assert flight.nav.counts["gnss_late"] > 40
    assert not flight.estimates[-1].position_ok


def test_a_fix_ahead_of_the_imu_waits_for_it() -> None:
    nav = fly(samples("ideal", rest, 3.0)).nav
    t_ns = nav.heard_ns["imu"]
    before = nav.accepted_ns["position"]
    nav.gnss(t_ns + 2 * MS, HOME.lat_deg, HOME.lon_deg, HOME.alt_m, (0.0, 0.0, 0.0), 0.3, 0.3, True)
    assert nav.accepted_ns["position"] == before
    nav.imu(t_ns + 4 * MS, (0.0, 0.0, 0.0), (0.0, 0.0, G))
    assert nav.accepted_ns["position"] == t_ns + 4 * MS


def test_a_short_gap_of_the_imu_is_bridged() -> None:
    flight = fly(samples("px4", figure_eight, SHORT_S), change=without(ImuSample, 12.0, 12.2))
    nav = flight.nav
    assert nav.counts == {"imu_gap": 1}
    gap = [(e.tilt_std_rad, e.position_ok, e.attitude_ok) for e in flight.estimates]
    at = int(np.searchsorted(flight.t_s, 12.201))
    assert gap[at][0] > 5 * gap[at - 20][0], "less sure than before"
    assert all(position and attitude for _, position, attitude in gap)
    assert math.degrees(max(flight.part(flight.attitude_error_rad, 12.2))) < 3.0
    assert flight.rms(flight.pos_error_m, 12.2) < 0.6


def test_over_a_long_gap_position_and_attitude_are_not_good_until_fixes_come() -> None:
    heard = samples("px4", figure_eight, SHORT_S)

    def change(sample: Sample) -> Sample | None:
        cut = without(GnssSample, 12.0, 13.5)(sample)
        return None if cut is None else without(ImuSample, 12.0, 13.0)(cut)

    flight = fly(heard, change=change)
    assert flight.nav.counts["imu_gap"] == 1
    assert not flight.part([e.position_ok or e.attitude_ok for e in flight.estimates], 13.02, 13.4).any()
    assert flight.estimates[-1].position_ok
    assert flight.estimates[-1].attitude_ok
    assert flight.rms(flight.pos_error_m, 15.0) < 1.0


def test_a_leap_of_the_fixes_is_refused_and_then_believed() -> None:
    def leapt(sample: Sample) -> Sample:
        if isinstance(sample, GnssSample) and sample.t_ns >= 10 * NS:
            return sample._replace(lat_deg=sample.lat_deg + 5e-4)
        return sample

    flight = fly(samples("px4", rest, SHORT_S), change=leapt)
    believed_s = 10.0 + 0.11 + CONFIG.gnss_reset_s
    assert np.abs(flight.part(flight.pos_error_m, 0.0, believed_s - 0.1)).max() < 1.0
    assert flight.part(flight.pos_error_m, believed_s + 0.1)[:, 1] == pytest.approx(55.6, abs=1.0)
    assert flight.nav.counts == {"position_reset": 1}
    assert flight.nav.innovation_ratio["position"] < 1.0


def test_a_step_of_the_barometer_becomes_its_offset() -> None:
    def stepped(sample: Sample) -> Sample:
        if isinstance(sample, BarometerSample) and sample.t_ns >= 8 * NS:
            return sample._replace(pressure_altitude_m=sample.pressure_altitude_m + 20.0)
        return sample

    flight = fly(samples("px4", rest, SHORT_S), change=stepped)
    assert np.abs(flight.part(flight.pos_error_m, 0.0)[:, 2]).max() < 1.0
    assert flight.nav.counts == {"barometer_reset": 1}
    assert flight.estimates[-1].height_ok


def test_without_fixes_a_barometer_that_insists_is_right() -> None:
    def stepped(sample: Sample) -> Sample | None:
        if isinstance(sample, BarometerSample) and sample.t_ns >= 4 * NS:
            return sample._replace(pressure_altitude_m=sample.pressure_altitude_m + 20.0)
        return without(GnssSample, 0.0)(sample)

    nav = fly(samples("px4", rest, SHORT_S), change=stepped).nav
    assert nav.counts == {"barometer_reset": 1}
    assert nav.estimate is not None
    assert nav.estimate.pos_W[2] == pytest.approx(20.0, abs=1.0)


def test_a_leap_of_the_fixes_height_moves_the_barometers_offset_in_the_end() -> None:
    def leapt(sample: Sample) -> Sample:
        if isinstance(sample, GnssSample) and sample.t_ns >= 8 * NS:
            return sample._replace(alt_m=sample.alt_m + 30.0)
        return sample

    flight = fly(samples("px4", rest, SHORT_S), change=leapt)
    up = flight.part(flight.pos_error_m, 0.0)[:, 2]
    t_s = np.array(flight.t_s)
    assert np.abs(up[t_s < 8.0 + CONFIG.gnss_reset_s]).max() < 1.0
    assert up[t_s > 8.3 + CONFIG.gnss_reset_s] == pytest.approx(30.0, abs=1.0)
    assert flight.nav.counts == {"height_reset": 1}
    assert flight.nav.innovation_ratio["barometer"] < 1.0


def test_without_a_barometer_fixes_give_the_height() -> None:
    flight = fly(samples("px4", figure_eight, SHORT_S), change=without(BarometerSample, 0.0))
    assert all(e.height_ok for e in flight.estimates)
    assert np.abs(flight.part(flight.pos_error_m, 10.0)[:, 2]).max() < 1.5


def test_without_barometer_and_fixes_the_height_is_not_good() -> None:
    def gone(sample: Sample) -> Sample | None:
        blind = isinstance(sample, BarometerSample | GnssSample) and sample.t_ns > 10 * NS
        return None if blind else sample

    flight: Flight = fly(samples("px4", figure_eight, SHORT_S), change=gone)
    ok = flight.part([e.height_ok for e in flight.estimates], 0.0)
    t_s = np.array(flight.t_s)
    assert ok[t_s < 10.0 + CONFIG.height_lost_s - 0.1].all()
    assert not ok[t_s > 10.0 + CONFIG.height_lost_s + 0.1].any()


def lift(t: Vec) -> tuple[Vec, Vec]:
    """Ten metres up, and to rest there."""
    s = np.clip((t - 4.0) / 3.0, 0.0, 1.0)
    up = 10 * s**4 * (35 - 84 * s + 70 * s**2 - 20 * s**3)
    return np.stack([0 * up, 0 * up, up], axis=-1), np.full(t.shape, -2.0)


def test_a_filter_that_is_not_finite_starts_anew() -> None:
    heard = samples("px4", lift, 14.0)
    middle = next(k for k, (state, _, _) in enumerate(heard) if state.t_ns > 8 * NS)
    nav = fly(heard[:middle]).nav
    origin = nav.origin
    nav._filter.x[4] = math.nan
    flight = fly(heard[middle:], nav)
    assert nav.counts == {"diverged": 1}
    assert nav.origin == origin
    assert flight.t_s[0] == pytest.approx(9.0, abs=0.1)
    assert not flight.estimates[0].height_ok
    assert flight.estimates[-1].position_ok
    assert flight.rms(flight.pos_error_m, 10.0) < 0.7, "the first fixes tell where it is, height too"
    assert math.degrees(max(flight.yaw_error_rad)) < 1.5, "north stays the true one"


def test_the_beginning_knows_that_a_biased_accelerometer_has_tilted_it() -> None:
    bias = (0.3, -0.2, 0.0)
    nav = navigation(NavigationConfig(accel_bias_std=0.3))
    for k in range(400):
        nav.imu(k * 4 * MS, (0.0, 0.0, 0.0), (bias[0], bias[1], G))
        nav.magnetometer(k * 4 * MS, (2e-5, 0.0, -4e-5))
        if nav.aligned:
            break
    estimate = nav.estimate
    assert estimate is not None
    # Level, facing (magnetic) north: body x is north, body y is west.
    roll, pitch, _ = euler_from_quat(estimate.quat_WB)
    error = np.zeros(16)
    error[:3] = (pitch, -roll, 0.0)  # turning back: -roll about north, -pitch about west
    error[12:15] = bias
    assert math.hypot(roll, pitch) > 0.03
    assert error @ np.linalg.solve(nav.covariance, error) < 4.0


def test_a_gap_in_the_standstill_begins_it_anew() -> None:
    nav = navigation()
    aligned_ns = 0
    for k in range(600):
        t_ns = k * 4 * MS + (NS if k > 200 else 0)
        nav.imu(t_ns, (0.0, 0.0, 0.0), (0.0, 0.0, G))
        if nav.aligned:
            aligned_ns = t_ns
            break
    assert aligned_ns == 804 * MS + 2 * NS
    assert nav.counts == {"imu_gap": 1}


def test_the_fix_that_sets_the_position_anew_may_be_late_too() -> None:
    sensors = preset("ideal")
    assert sensors.gnss is not None
    late = msgspec.structs.replace(sensors, gnss=msgspec.structs.replace(sensors.gnss, delay_s=0.3))
    flight = fly(samples(late, figure_eight, 24.0), change=without(GnssSample, 13.0, 22.0))
    assert flight.nav.counts == {"position_reset": 1}
    assert flight.part([math.hypot(*e.vel_W) for e in flight.estimates], 22.0, 22.5).min() > 3.0
    assert np.abs(flight.part(flight.pos_error_m, 22.32, 22.4)).max() < 0.05


def test_with_nothing_to_tell_the_height_the_climb_rate_stays_small() -> None:
    def blind(sample: Sample) -> Sample | None:
        return None if isinstance(sample, BarometerSample | GnssSample) else sample

    estimate = fly(samples("px4", rest, 30.0), change=blind).nav.estimate
    assert estimate is not None
    assert abs(estimate.vel_W[2]) < 0.5
    assert estimate.attitude_ok
    assert not estimate.height_ok


def test_it_says_when_each_sensor_was_heard() -> None:
    nav = fly(samples("px4", rest, 6.0)).nav
    assert nav.heard_ns == {
        "imu": 6 * NS,
        "magnetometer": 6 * NS,
        "barometer": 6 * NS,
        "gnss": 5_800 * MS,  # 110 ms late
        "fix": 5_800 * MS,
    }
    assert set(nav.accepted_ns) == set(nav.innovation_ratio)
    assert all(0.0 <= ratio < 1.0 for ratio in nav.innovation_ratio.values())


def test_its_configuration_is_checked() -> None:
    assert convert({}, NavigationConfig, "test") == CONFIG
    assert convert({"align_s": 2.0}, NavigationConfig, "test").align_s == 2.0
    with pytest.raises(ConfigError, match="gyro_noise"):
        convert({"gyro_noise": -1.0}, NavigationConfig, "test")


def test_the_field_where_the_filter_flies_is_that_of_the_world() -> None:
    assert field_at(HOME.lat_deg, HOME.lon_deg, HOME.alt_m) == pytest.approx(HOME.field_W_T, rel=1e-3)


def test_a_field_of_the_wrong_strength_never_turns_it() -> None:
    def strong(sample: Sample) -> Sample:
        if isinstance(sample, MagnetometerSample) and sample.t_ns > 4 * NS:
            x, y, z = sample.field_B_T
            return sample._replace(field_B_T=(-2 * y, 2 * x, 2 * z))
        return sample

    flight = fly(samples("px4", rest, 30.0), change=strong)
    assert math.degrees(max(flight.yaw_error_rad)) < 2.0
    assert flight.nav.innovation_ratio["magnetometer"] > 1.0
    assert not flight.nav.counts
