"""The satellite receiver: correlated errors, lost fixes."""

from __future__ import annotations

import math

import numpy as np
import pymap3d
import pytest
from sensor_scenes import FIELD_W_T, PLACE, G, scene, seconds, state

from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import Place
from aeroloop.sensors.gnss import Gnss, GnssConfig
from aeroloop.sensors.noise import Errors, Streams


def gnss(seed: int = 1, **config: object) -> Gnss:
    return Gnss(GnssConfig(rate_hz=5.0, **config), Streams(seed))


def test_without_errors_it_is_where_the_aircraft_is() -> None:
    sample = gnss(eph_m=0.3, epv_m=0.4, satellites=11, delay_s=0.12).measure(
        scene(state(seconds(1), vel_W=(1.0, 2.0, -3.0))), 1
    )
    assert (sample.lat_deg, sample.lon_deg, sample.alt_m) == (PLACE.lat_deg, PLACE.lon_deg, PLACE.alt_m)
    assert sample.vel_W == (1.0, 2.0, -3.0)
    assert (sample.fix, sample.eph_m, sample.epv_m, sample.satellites) == (True, 0.3, 0.4, 11)
    assert sample.ready_ns - sample.t_ns == 120_000_000


def test_the_position_error_is_correlated_and_has_its_size() -> None:
    """Seed 3, 40 000 s at 5 Hz, correlation time 10 s: deviation to 6 %, correlation after 10 s 1/e to 0.05."""
    sensor = gnss(3, position=Errors(drift_std=(2.0, 2.0, 4.0), drift_time_s=10.0))
    still = scene()
    samples = [sensor.measure(still, 1) for _ in range(200_000)]
    lat, lon, alt = (np.array([getattr(s, key) for s in samples]) for key in ("lat_deg", "lon_deg", "alt_m"))
    east, north, _ = pymap3d.geodetic2enu(lat, lon, PLACE.alt_m, PLACE.lat_deg, PLACE.lon_deg, PLACE.alt_m)
    up = alt - PLACE.alt_m
    for error, std in ((east, 2.0), (north, 2.0), (up, 4.0)):
        assert error.std() == pytest.approx(std, rel=0.06)
        assert np.mean(error[50:] * error[:-50]) / np.var(error) == pytest.approx(math.exp(-1.0), abs=0.05)
    assert abs(np.corrcoef(east, north)[0, 1]) < 0.06


def test_the_velocity_error_has_its_size() -> None:
    """Seed 1, 20 000 samples: to 3 %."""
    sensor = gnss(velocity=Errors(white_std=(0.05, 0.05, 0.1)))
    moving = scene(state(vel_W=(3.0, 0.0, 1.0)))
    vel = np.array([sensor.measure(moving, 1).vel_W for _ in range(20_000)])
    assert vel.std(axis=0) == pytest.approx([0.05, 0.05, 0.1], rel=0.03)
    assert vel.mean(axis=0) == pytest.approx([3.0, 0.0, 1.0], abs=0.005)


def test_a_lost_fix_holds_the_last_position_and_says_so() -> None:
    sensor = gnss()
    elsewhere = Place(47.5, 8.6, 600.0, G, FIELD_W_T)
    before = sensor.measure(scene(state(seconds(1.8), vel_W=(5.0, 0.0, 0.0))), 1)
    sensor.lost = True
    lost = sensor.measure(scene(state(seconds(2.0), vel_W=(5.0, 0.0, 0.0)), place=elsewhere), 1)
    sensor.lost = False
    back = sensor.measure(scene(state(seconds(3.0), vel_W=(5.0, 0.0, 0.0)), place=elsewhere), 1)
    assert (before.fix, lost.fix, back.fix) == (True, False, True)
    assert (lost.lat_deg, lost.lon_deg, lost.alt_m) == (PLACE.lat_deg, PLACE.lon_deg, PLACE.alt_m)
    assert (lost.vel_W, lost.satellites) == ((0.0, 0.0, 0.0), 0)
    assert lost.eph_m > 50.0
    assert lost.epv_m > 50.0
    assert (back.lat_deg, back.vel_W) == (47.5, (5.0, 0.0, 0.0))


def test_a_lost_fix_does_not_change_later_errors() -> None:
    def flight(lost: range) -> list[float]:
        sensor, found = gnss(position=Errors(white_std=1.0)), []
        for k in range(50):
            sensor.lost = k in lost
            found.append(sensor.measure(scene(state(seconds(0.2 * k))), 1).lat_deg)
        return found

    whole, holed = flight(range(0)), flight(range(10, 20))
    assert holed[20:] == whole[20:]
    assert holed[10:20] == [whole[9]] * 10


def test_too_fast_or_too_high_is_no_fix() -> None:
    sensor = gnss(max_speed_m_s=100.0, max_alt_m=1000.0)
    assert not sensor.measure(scene(state(vel_W=(80.0, 80.0, 0.0))), 1).fix
    assert not sensor.measure(scene(place=Place(47.0, 8.0, 1001.0, G, FIELD_W_T)), 1).fix
    assert sensor.measure(scene(state(vel_W=(70.0, 70.0, 0.0))), 1).fix


def test_resolution() -> None:
    sample = gnss(lat_lon_quantum_deg=1e-4, alt_quantum_m=5.0).measure(scene(), 1)
    assert (sample.lat_deg, sample.lon_deg, sample.alt_m) == pytest.approx((47.3977, 8.5456, 490.0), abs=1e-9)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"rate_hz": 5.0, "lost_s": [[3.0, 2.0]]}, "from before to"),
        ({"rate_hz": 5.0, "position": {"quantum": 0.1}}, "lat_lon_quantum_deg"),
        ({"rate_hz": 0.0}, "rate_hz"),
        ({"rate_hz": 5.0, "sats": 3}, "sats: unknown key"),
        ({}, "rate_hz"),
    ],
)
def test_bad_configuration_is_refused_by_name(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        convert(table, GnssConfig, "here")
