"""Why the earth turns under autopilots that subtract its rate from the gyroscopes (docs/how-true.md).

EKF2 of PX4 subtracts it in `Ekf::predictState`, rotated by its own attitude. The virtual Pixhawk's filter does not."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import pytest
from navigation_flights import feed, navigation

from aeroloop.core.frames import Quat, Vec3, quat_from_euler
from aeroloop.core.signals import NS, Air, Origin, RigidState
from aeroloop.estimation.navigation import Navigation
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.scene import body_from_world, times
from aeroloop.sensors.suite import Sample, Suite, preset
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import EARTH_RATE_RAD_S, Earth, Home, turn_W

HOME = Home()
YAW_RAD = 0.6  # of the nose, from east to north
QUAT_WB = quat_from_euler(0.0, 0.0, YAW_RAD)
STILL: Vec3 = (0.0, 0.0, 0.0)
STEP_NS = 4_000_000
REST_S = 60.0


@functools.cache
def at_rest(turns: bool) -> list[Sample]:
    """Samples without noise of a vehicle at rest."""
    suite = Suite(preset("ideal"), Streams(1), turn_W(HOME) if turns else None)
    place = Earth(HOME).place(STILL)
    air: Air = Atmosphere(Day()).air(place.alt_m, STILL)
    arrived: list[Sample] = []
    for k in range(round(REST_S * NS / STEP_NS) + 1):
        arrived += suite.sample(RigidState(k * STEP_NS, STILL, QUAT_WB, STILL, STILL, STILL), air, place)
    return arrived


def without_earth_rate(sample: ImuSample, quat_WB: Quat) -> ImuSample:
    """As EKF2: less the earth's rate, in the body axes of the estimated attitude."""
    p, q, r = sample.rate_B
    x, y, z = times(body_from_world(quat_WB), *turn_W(HOME))
    return sample._replace(rate_B=(p - x, q - y, r - z))


def learned_deg_h(nav: Navigation, turns: bool, subtracts: bool) -> tuple[float, ...]:
    """Bias of the gyroscope that the filter believes in the end."""
    for sample in at_rest(turns):
        if subtracts and isinstance(sample, ImuSample):
            estimate = nav.estimate
            sample = without_earth_rate(sample, QUAT_WB if estimate is None else estimate.quat_WB)
        feed(nav, sample)
    assert nav.estimate is not None and nav.estimate.position_ok
    return tuple(math.degrees(bias) * 3600.0 for bias in nav.gyro_bias_B)


def aligned_at_rest() -> Navigation:
    """The mean of its first second is the first estimate of the bias."""
    return navigation()


def begun_without_bias() -> Navigation:
    """It believes at first that there is none: what it learns is from gravity, compass and fixes."""
    nav = navigation()
    nav.begin_in_air(Origin(HOME.lat_deg, HOME.lon_deg, HOME.alt_m), STILL, STILL, QUAT_WB)
    return nav


@pytest.mark.parametrize(("begin", "within_deg_h"), [(aligned_at_rest, 1e-6), (begun_without_bias, 0.1)])
@pytest.mark.parametrize(
    ("turns", "subtracts", "share"),
    [
        pytest.param(True, False, 1.0, id="earth turns, not subtracted"),
        pytest.param(True, True, 0.0, id="earth turns, subtracted"),
        pytest.param(False, True, -1.0, id="earth does not turn, subtracted"),
        pytest.param(False, False, 0.0, id="earth does not turn, not subtracted"),
    ],
)
def test_who_does_not_subtract_the_earths_rate_learns_it_as_a_bias(
    turns: bool, subtracts: bool, share: float, begin: Callable[[], Navigation], within_deg_h: float
) -> None:
    """And who subtracts it where there is none learns its opposite: 15 deg/h in all."""
    learned = learned_deg_h(begin(), turns, subtracts)
    earth_deg_h, lat_rad = math.degrees(EARTH_RATE_RAD_S) * 3600.0, math.radians(HOME.lat_deg)
    north, up = math.cos(lat_rad), math.sin(lat_rad)
    expected = [
        share * earth_deg_h * part for part in (north * math.sin(YAW_RAD), north * math.cos(YAW_RAD), up)
    ]  # forward, left, up
    assert learned == pytest.approx(expected, abs=within_deg_h)
    assert math.hypot(*learned) == pytest.approx(abs(share) * 15.041, abs=0.1)
