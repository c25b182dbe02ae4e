"""The barometer against the standard atmosphere's published table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ambiance import Atmosphere
from sensor_scenes import AIR, scene, state

from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import Air
from aeroloop.sensors.barometer import Barometer, BarometerConfig, pressure_altitude_m
from aeroloop.sensors.noise import Errors, Streams
from aeroloop.sensors.thermal import Thermal


def barometer(**config: object) -> Barometer:
    return Barometer(BarometerConfig(rate_hz=50.0, **config), Streams(1))


@pytest.mark.parametrize(
    ("altitude_m", "pressure_Pa"),
    [(0.0, 101_325.0), (1000.0, 89_874.6), (2000.0, 79_495.2), (5000.0, 54_019.9), (11_000.0, 22_632.1)],
)
def test_pressure_altitude_in_the_standard_atmosphere(altitude_m: float, pressure_Pa: float) -> None:
    """ISO 2533 by geopotential altitude; its pressures are printed to 0.1 Pa, which is 3 cm at the top."""
    assert pressure_altitude_m(pressure_Pa) == pytest.approx(altitude_m, abs=0.03)


@pytest.mark.parametrize("geometric_m", [0.0, 488.0, 3000.0])
def test_pressure_altitude_of_a_second_implementation(geometric_m: float) -> None:
    """ambiance, by geometric altitude z: geopotential altitude is r z / (r + z)."""
    pressure = float(Atmosphere(geometric_m).pressure[0])
    assert pressure_altitude_m(pressure) == pytest.approx(6_356_766 * geometric_m / (6_356_766 + geometric_m), abs=0.01)


def test_without_errors_it_measures_the_air() -> None:
    sample = barometer().measure(scene(), 1)
    assert (sample.pressure_Pa, sample.temperature_K) == (AIR.pressure_Pa, AIR.temperature_K)
    assert sample.pressure_altitude_m == pressure_altitude_m(AIR.pressure_Pa)


def test_altitude_follows_the_measured_pressure_not_the_true_one() -> None:
    sample = barometer(pressure=Errors(offset=-120.0)).measure(scene(), 1)
    assert sample.pressure_Pa == AIR.pressure_Pa - 120.0
    assert sample.pressure_altitude_m == pytest.approx(pressure_altitude_m(AIR.pressure_Pa) + 10.5, abs=0.3)


def test_drift_moves_slowly() -> None:
    """Seed 1: over 600 s the drift wanders by more than its deviation, but by less than a tenth of it in a sample."""
    sensor = barometer(pressure=Errors(drift_std=8.0, drift_time_s=100.0))
    still = scene()
    pressure = np.array([sensor.measure(still, 1).pressure_Pa for _ in range(30_000)])
    assert np.ptp(pressure) > 8.0
    assert np.abs(np.diff(pressure)).max() < 0.8


def test_wind_and_motion_reach_the_static_port() -> None:
    sensor = barometer(port_coefficient=-0.1)
    windy = Air((-6.0, 0.0, 0.0), AIR.pressure_Pa, AIR.temperature_K, 1.2)
    found = sensor.measure(scene(state(vel_W=(4.0, 0.0, 0.0)), windy), 1).pressure_Pa
    assert found == pytest.approx(AIR.pressure_Pa - 0.1 * 0.5 * 1.2 * 10.0**2)
    drifting = sensor.measure(scene(state(vel_W=(-6.0, 0.0, 0.0)), windy), 1).pressure_Pa
    assert drifting == pytest.approx(AIR.pressure_Pa)


def test_range_and_quantum() -> None:
    sensor = barometer(pressure=Errors(quantum=1.0, range=(30_000.0, 120_000.0)))
    thin = Air(AIR.wind_W, 20_000.0, 220.0, 0.3)
    assert sensor.measure(scene(air=thin), 1).pressure_Pa == 30_000.0
    odd = Air(AIR.wind_W, 95_000.4, 280.0, 1.2)
    assert sensor.measure(scene(air=odd), 1).pressure_Pa == 95_000.0


def test_a_warm_sensor_measures_its_own_temperature_and_an_offset() -> None:
    """T = T_air + warming (1 - exp(-t / time)), the pressure's offset in proportion."""
    warm = Thermal(warming_K=15.0, time_s=40.0, calibrated_K=AIR.temperature_K)
    sensor = Barometer(BarometerConfig(rate_hz=10.0, thermal=warm, temperature_offset_Pa_per_K=0.75), Streams(1))
    for k in range(1000):
        sample = sensor.measure(scene(), 1)
        over_K = 15.0 * -math.expm1(-0.1 * k / 40.0)
        assert sample.temperature_K == pytest.approx(AIR.temperature_K + over_K, abs=1e-9)
        assert sample.pressure_Pa == pytest.approx(AIR.pressure_Pa + 0.75 * over_K, abs=1e-8)


def test_an_offset_by_temperature_needs_a_temperature() -> None:
    with pytest.raises(ConfigError, match="needs the table thermal"):
        convert({"rate_hz": 10.0, "temperature_offset_Pa_per_K": 1.0}, BarometerConfig, "here")
