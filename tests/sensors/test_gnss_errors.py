"""GNSS errors whose velocity agrees with their position, multipath near the ground, and changing satellites."""

from __future__ import annotations

import math

import numpy as np
import pymap3d
import pytest
from sensor_scenes import PLACE, scene, seconds, state

from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import PlannedFault
from aeroloop.sensors.gnss import DetailedGnss, GnssConfig, GnssSample
from aeroloop.sensors.gnss_errors import Constellation, Multipath, Smooth, dilution
from aeroloop.sensors.noise import Errors, Streams
from aeroloop.sensors.suite import SensorSet, Suite

PERIOD_S = 0.2


def gnss(seed: int = 1, **config: object) -> DetailedGnss:
    return DetailedGnss(GnssConfig(rate_hz=1.0 / PERIOD_S, **config), Streams(seed))


def errors(samples: list[GnssSample]) -> tuple[np.ndarray, np.ndarray]:
    """Of position and velocity, of an aircraft at rest."""
    lat, lon, alt = (np.array([getattr(s, key) for s in samples]) for key in ("lat_deg", "lon_deg", "alt_m"))
    position = pymap3d.geodetic2enu(lat, lon, alt, PLACE.lat_deg, PLACE.lon_deg, PLACE.alt_m)
    return np.column_stack(position), np.array([sample.vel_W for sample in samples])


def flown(sensor: DetailedGnss, count: int, height_m: float = 0.0) -> list[GnssSample]:
    here = scene(state(pos_W=(0.0, 0.0, height_m)))
    return [sensor.measure(here, 1) for _ in range(count)]


def test_the_sum_of_the_velocity_error_is_the_change_of_the_position_error() -> None:
    """To 1e-9 m as drawn; in degrees and back within 0.1 mm, what the flat earth of small displacements leaves."""
    sensor = gnss(
        consistent=True,
        position=Errors(drift_std=(2.0, 2.0, 4.0), drift_time_s=60.0),
        velocity=Errors(white_std=0.05, drift_std=0.02, drift_time_s=20.0),
        multipath=Multipath(ground_std_m=(1.0, 1.0, 2.0), scale_height_m=10.0, time_s=15.0),
        constellation=Constellation(least=6, most=14, time_s=60.0),
    )
    felt, moved = [], []
    for k in range(500):
        sensor._satellites.advance(1)
        error, change = sensor._wander.advance(1 + (k % 7 == 0), 3.0, sensor._satellites.true)
        felt.append(error)
        moved.append(np.multiply(change, PERIOD_S * (1 + (k % 7 == 0))))
    assert np.cumsum(moved[1:], axis=0) == pytest.approx(np.subtract(felt[1:], felt[0]), abs=1e-9)
    position, velocity = errors(flown(sensor, 400))
    assert np.cumsum(PERIOD_S * velocity[1:], axis=0) == pytest.approx(position[1:] - position[0], abs=1e-4)


def test_velocity_errors_of_a_first_order_receiver_do_not_agree() -> None:
    """The receiver without the key: what its velocity sums up to has nothing to do with where its position goes."""
    sensor = gnss(
        position=Errors(drift_std=2.0, drift_time_s=60.0),
        velocity=Errors(white_std=0.05),
        multipath=Multipath(ground_std_m=(0.0, 0.0, 0.0), scale_height_m=10.0, time_s=15.0),
    )
    position, velocity = errors(flown(sensor, 1000))
    assert np.abs(np.cumsum(PERIOD_S * velocity[1:], axis=0) - (position[1:] - position[0])).max() > 1.0


def test_the_wander_has_its_deviation_correlation_and_velocity() -> None:
    """Seed 3, 40,000 s, correlation time 10 s: deviations to 5 %, autocorrelation (1 + bt) exp(-bt) to 0.05, velocity
    b std with b = 2 / time, less what a mean over 0.2 s takes (1 %)."""
    sensor = gnss(3, consistent=True, position=Errors(drift_std=(2.0, 2.0, 4.0), drift_time_s=10.0))
    position, velocity = errors(flown(sensor, 100_000))
    b = 2.0 / 10.0
    for axis, std in enumerate((2.0, 2.0, 4.0)):
        error = position[:, axis]
        assert error.std() == pytest.approx(std, rel=0.05)
        assert velocity[:, axis].std() == pytest.approx(b * std, rel=0.03)
        for lag_s in (3.0, 10.0, 20.0):
            lag = round(lag_s / PERIOD_S)
            found = np.mean(error[lag:] * error[:-lag]) / np.var(error)
            assert found == pytest.approx((1.0 + b * lag_s) * math.exp(-b * lag_s), abs=0.05)


def test_noise_of_the_velocity_is_that_of_its_table() -> None:
    """Seed 2, 20,000 samples without a wander: to 3 %; the position then has its sum, forgotten over the time."""
    sensor = gnss(2, consistent=True, position=Errors(drift_time_s=20.0), velocity=Errors(white_std=0.05))
    position, velocity = errors(flown(sensor, 20_000))
    assert velocity.std(axis=0) == pytest.approx(np.full(3, 0.05), rel=0.03)
    expected = 0.05 * PERIOD_S / math.sqrt(-math.expm1(-2.0 * PERIOD_S / 20.0))
    assert position.std(axis=0) == pytest.approx(np.full(3, expected), rel=0.15)


@pytest.mark.parametrize("period_s", [1e-3, 0.1, 5.0])
def test_the_smooth_process_is_stationary_at_any_period(period_s: float) -> None:
    """5000 independent axes, time 4 s: deviations 1 after 1 and 50 periods, to 5 %, and of the slope b."""
    process = Smooth(4.0, period_s, 5000, Streams(7))
    for _ in range(50):
        process.advance()
    assert process.value.std() == pytest.approx(1.0, rel=0.05)
    assert process._state[1].std() == pytest.approx(0.5, rel=0.05)
    assert abs(np.corrcoef(process._state)[0, 1]) < 0.05


def test_multipath_fades_with_the_height_above_the_ground() -> None:
    """The same seed at other heights: exactly exp(-h / H) times the error at the ground, over hills too."""
    table = Multipath(ground_std_m=(2.0, 1.0, 4.0), scale_height_m=8.0, time_s=10.0)
    on_ground, _ = errors(flown(gnss(4, multipath=table), 500))
    for height_m, hill_m in ((8.0, 0.0), (30.0, 14.0)):
        sensor = gnss(4, multipath=table)
        here = scene(state(pos_W=(0.0, 0.0, height_m)), ground_m=hill_m)
        position, velocity = errors([sensor.measure(here, 1) for _ in range(500)])
        assert position == pytest.approx(math.exp(-(height_m - hill_m) / 8.0) * on_ground, abs=1e-6)
        assert not velocity.any()
    deep, _ = errors(flown(gnss(4, multipath=table), 500, height_m=-5.0))
    assert np.array_equal(deep, on_ground)


def test_multipath_has_its_deviation() -> None:
    table = Multipath(ground_std_m=(2.0, 1.0, 4.0), scale_height_m=8.0, time_s=2.0)
    position, _ = errors(flown(gnss(5, multipath=table), 50_000))
    assert position.std(axis=0) == pytest.approx([2.0, 1.0, 4.0], rel=0.05)


def test_accuracies_follow_the_satellites() -> None:
    """eph = table sqrt((12 - 3) / (n - 3)), from 5 to 20 satellites, all of which occur, equally often to 30 %."""
    sensor = gnss(
        6,
        satellites=12,
        eph_m=1.2,
        epv_m=2.0,
        constellation=Constellation(least=5, most=20, time_s=2.0),
    )
    samples = flown(sensor, 50_000)
    counts = np.array([sample.satellites for sample in samples])
    assert set(counts) == set(range(5, 21))
    assert np.bincount(counts)[5:] == pytest.approx(np.full(16, 50_000 / 16), rel=0.3)
    for sample in samples[:2000]:
        assert sample.eph_m == pytest.approx(1.2 * math.sqrt(9.0 / (sample.satellites - 3.0)))
        assert sample.epv_m == pytest.approx(2.0 * math.sqrt(9.0 / (sample.satellites - 3.0)))
    assert dilution(12, 12) == 1.0
    assert dilution(12, 4) == 3.0


def test_errors_follow_the_satellites() -> None:
    """Fixed at 4, with the table's accuracies at 12: noise of position and velocity is three times that of the table,
    and a fault's bias is not."""
    table = Constellation(least=4, most=4, time_s=10.0)
    sensor = gnss(7, satellites=12, position=Errors(white_std=0.5), velocity=Errors(white_std=0.1), constellation=table)
    position, velocity = errors(flown(sensor, 20_000))
    assert position.std(axis=0) == pytest.approx(np.full(3, 1.5), rel=0.03)
    assert velocity.std(axis=0) == pytest.approx(np.full(3, 0.3), rel=0.03)
    suite = Suite(SensorSet(gnss=GnssConfig(rate_hz=5.0, satellites=12, constellation=table)), Streams(1))
    suite.switch(PlannedFault(target="gnss", kind="bias", from_s=0.0, value=(0.0, 0.0, 7.0)).switch(on=True))
    (sample,) = suite.sample(state(), scene().air, PLACE)
    assert sample.alt_m == pytest.approx(PLACE.alt_m + 7.0)
    assert sample.satellites == 4


def test_the_position_does_not_jump_with_a_satellite() -> None:
    table = Constellation(least=5, most=12, time_s=30.0)
    sensor = gnss(8, consistent=True, position=Errors(drift_std=2.0, drift_time_s=60.0), constellation=table)
    samples = flown(sensor, 5000)
    position, velocity = errors(samples)
    assert len({sample.satellites for sample in samples}) == 8
    assert np.abs(np.diff(position, axis=0)).max() < 0.2
    assert np.abs(velocity).max() < 1.0


def test_lost_fixes_do_not_change_later_errors() -> None:
    def flight(lost: range) -> list[GnssSample]:
        sensor, found = gnss(9, consistent=True, position=Errors(drift_std=2.0), velocity=Errors(white_std=0.1)), []
        for k in range(40):
            sensor.lost = k in lost
            found.append(sensor.measure(scene(state(seconds(PERIOD_S * k))), 1))
        return found

    whole, holed = flight(range(0)), flight(range(10, 20))
    assert holed[20:] == whole[20:]
    assert not any(sample.fix for sample in holed[10:20])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"constellation": {"least": 3, "most": 9, "time_s": 10.0}}, "constellation.least"),
        ({"constellation": {"least": 9, "most": 8, "time_s": 10.0}}, "expected at most 8, the most"),
        ({"multipath": {"scale_height_m": 8.0, "time_s": 5.0}}, "multipath.ground_std_m: missing"),
        ({"multipath": {"ground_std_m": [-1.0, 0.0, 0.0], "scale_height_m": 8.0, "time_s": 5.0}}, "ground_std_m"),
    ],
)
def test_bad_tables_are_refused_by_name(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        convert({"rate_hz": 5.0, **table}, GnssConfig, "here")
