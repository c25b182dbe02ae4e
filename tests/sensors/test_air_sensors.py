"""Airspeed from the air that really meets the tube, and range to the ground."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensor_scenes import AIR, scene, state

from aeroloop.core import frames
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import Air
from aeroloop.sensors.airspeed import Airspeed, AirspeedConfig
from aeroloop.sensors.noise import Errors, Streams
from aeroloop.sensors.rangefinder import Rangefinder, RangefinderConfig

RHO = AIR.density_kg_m3


def airspeed(**config: object) -> Airspeed:
    return Airspeed(AirspeedConfig(rate_hz=50.0, **config), Streams(1))


def rangefinder(**config: object) -> Rangefinder:
    return Rangefinder(RangefinderConfig(rate_hz=50.0, **config), Streams(1))


def wind(*wind_W: float) -> Air:
    return Air((wind_W[0], wind_W[1], wind_W[2]), AIR.pressure_Pa, AIR.temperature_K, RHO)


@given(vel=st.floats(-40, 40), gust=st.floats(-20, 20), yaw=st.floats(-3, 3))
def test_only_the_relative_wind_along_the_nose_counts(vel: float, gust: float, yaw: float) -> None:
    heading = frames.quat_from_euler(0.0, 0.0, yaw)
    sample = airspeed().measure(scene(state(vel_W=(vel, 0.0, 0.0), quat_WB=heading), wind(gust, 0.0, 0.0)), 1)
    u = (vel - gust) * math.cos(yaw)
    assert sample.pressure_Pa == pytest.approx(math.copysign(0.5 * RHO * u * u, u), abs=1e-9)


def test_a_head_wind_raises_it_and_a_side_wind_does_not() -> None:
    flying = state(vel_W=(15.0, 0.0, 0.0))
    calm, head, side = (
        airspeed().measure(scene(flying, wind(*blow)), 1).pressure_Pa
        for blow in ((0.0, 0.0, 0.0), (-5.0, 0.0, 0.0), (0.0, 5.0, 0.0))
    )
    assert (calm, head, side) == pytest.approx((0.5 * RHO * 225, 0.5 * RHO * 400, 0.5 * RHO * 225))


def test_indicated_speed_is_that_of_sea_level_air() -> None:
    standard = Air((0.0, 0.0, 0.0), 101_325.0, 288.15, 1.225)
    assert airspeed().measure(scene(state(vel_W=(20.0, 0.0, 0.0)), standard), 1).indicated_m_s == pytest.approx(20.0)
    high = Air((0.0, 0.0, 0.0), 70_000.0, 268.0, 0.909)
    sample = airspeed().measure(scene(state(vel_W=(20.0, 0.0, 0.0)), high), 1)
    assert sample.indicated_m_s == pytest.approx(20.0 * math.sqrt(0.909 / 1.225))
    assert sample.temperature_K == 268.0


def test_offset_and_saturation_of_the_airspeed_sensor() -> None:
    assert airspeed(pressure=Errors(offset=4.0)).measure(scene(), 1).pressure_Pa == 4.0
    fast = scene(state(vel_W=(200.0, 0.0, 0.0)))
    assert airspeed(pressure=Errors(range=(-6895.0, 6895.0))).measure(fast, 1).pressure_Pa == 6895.0


@given(height=st.floats(0.2, 8.0), tilt=st.floats(-0.6, 0.6), yaw=st.floats(-3, 3), terrain=st.floats(-50, 50))
def test_range_along_the_tilted_beam(height: float, tilt: float, yaw: float, terrain: float) -> None:
    truth = state(pos_W=(0.0, 0.0, terrain + height), quat_WB=frames.quat_from_euler(tilt, 0.0, yaw))
    sample = rangefinder().measure(scene(truth, terrain_m=terrain), 1)
    assert sample.valid
    assert sample.range_m == pytest.approx(height / math.cos(tilt), abs=1e-9)


@pytest.mark.parametrize(
    ("height_m", "roll_rad", "range_m", "valid"),
    [
        (5.0, 0.0, 5.0, True),
        (0.05, 0.0, 0.1, False),
        (-1.0, 0.0, 0.1, False),
        (15.0, 0.0, 12.0, False),
        (5.0, 0.8, 12.0, False),
        (5.0, math.pi, 12.0, False),
        (11.0, 0.6, 12.0, False),
    ],
)
def test_out_of_range_or_tilted_is_not_valid(height_m: float, roll_rad: float, range_m: float, valid: bool) -> None:
    truth = state(pos_W=(0.0, 0.0, height_m), quat_WB=frames.quat_from_euler(roll_rad, 0.0, 0.0))
    sample = rangefinder().measure(scene(truth), 1)
    assert (sample.range_m, sample.valid) == (pytest.approx(range_m), valid)


def test_mount_scale_and_resolution() -> None:
    sensor = rangefinder(mount_B=(0.0, 0.0, -0.1), scale_error=0.01, errors=Errors(quantum=0.01))
    assert sensor.measure(scene(state(pos_W=(0.0, 0.0, 4.1))), 1).range_m == pytest.approx(4.04)
    pitched = state(pos_W=(0.0, 0.0, 4.0), quat_WB=frames.quat_from_euler(0.0, 0.3, 0.0))
    # The nose goes down with positive pitch, and with it a sensor mounted there.
    found = rangefinder(mount_B=(0.5, 0.0, 0.0)).measure(scene(pitched), 1).range_m
    assert found == pytest.approx((4.0 - 0.5 * math.sin(0.3)) / math.cos(0.3))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"rate_hz": 50.0, "min_m": 3.0, "max_m": 2.0}, "less than max_m"),
        ({"rate_hz": 50.0, "errors": {"range": [0.0, 1.0]}}, "min_m and max_m"),
        ({"rate_hz": 50.0, "max_tilt_rad": 1.6}, "max_tilt_rad"),
    ],
)
def test_bad_range_finders_are_refused_by_name(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        convert(table, RangefinderConfig, "here")
