"""The noise processes have the statistics that their equations promise, at any rate. Each test states its seed."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.sensors.noise import BLOCK, Channel, Errors, Noise, Streams
from aeroloop.sensors.schedule import Grid, Sensor


def series(errors: Errors, rate_hz: float, count: int, seed: int = 1) -> np.ndarray:
    return Noise(errors, 1.0 / rate_hz, 1, Streams(seed)).block(count)[:, 0]


@pytest.mark.parametrize("rate_hz", [50.0, 400.0])
def test_white_noise_density_and_deviation(rate_hz: float) -> None:
    """Seed 1, 200 000 samples: the standard deviation is known to 0.16 %, so 1 % is six sigma."""
    assert series(Errors(white_std=0.3), rate_hz, 200_000).std() == pytest.approx(0.3, rel=0.01)
    dense = series(Errors(white_density=0.02), rate_hz, 200_000)
    assert dense.std() == pytest.approx(0.02 * math.sqrt(rate_hz), rel=0.01)


@pytest.mark.parametrize("rate_hz", [2.0, 20.0, 200.0])
def test_drift_has_its_deviation_and_correlation_time_at_any_rate(rate_hz: float) -> None:
    """Seed 2, 20 000 correlation times: deviation to 2 %, autocorrelation to 0.03 at half, one and two times."""
    time_s, std = 0.8, 1.7
    drift = series(Errors(drift_std=std, drift_time_s=time_s), rate_hz, round(20_000 * time_s * rate_hz), seed=2)
    assert drift.std() == pytest.approx(std, rel=0.02)
    for lag in (round(part * time_s * rate_hz) for part in (0.5, 1.0, 2.0)):
        found = np.mean(drift[lag:] * drift[: drift.size - lag]) / np.var(drift)
        assert found == pytest.approx(math.exp(-lag / rate_hz / time_s), abs=0.03)


def test_drift_is_bit_for_bit_what_scipy_filters() -> None:
    errors, decay = Errors(drift_std=1.7, drift_time_s=0.8), math.exp(-0.02 / 0.8)
    kicks = Streams(7).generator("drift").standard_normal((BLOCK + 1, 3))
    first = 1.7 * kicks[0]
    kicks = 1.7 * math.sqrt(-math.expm1(-2.0 * 0.02 / 0.8)) * kicks[1:]
    expected, _ = lfilter([1.0], [1.0, -decay], kicks, axis=0, zi=decay * first[None, :])
    assert np.array_equal(Noise(errors, 0.02, 3, Streams(7)).block(BLOCK), expected)


def test_drift_starts_stationary() -> None:
    """4 000 seeds: the first sample has the whole deviation, to 5 % (a deviation is known to 1.1 %)."""
    errors = Errors(drift_std=2.0, drift_time_s=1000.0)
    first = [Noise(errors, 0.004, 1, Streams(seed)).block(1)[0, 0] for seed in range(4000)]
    assert np.std(first) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("rate_hz", [5.0, 50.0])
def test_random_walk_grows_with_the_root_of_time(rate_hz: float) -> None:
    """2 000 seeds: after 10 s the deviation is walk sqrt(10), to 6 % (known to 1.6 %)."""
    errors = Errors(walk=0.1)
    ends = [series(errors, rate_hz, round(10 * rate_hz), seed)[-1] for seed in range(2000)]
    assert np.std(ends) == pytest.approx(0.1 * math.sqrt(10.0), rel=0.06)


def test_turn_on_error_is_one_draw_a_flight() -> None:
    errors = Errors(turn_on_std=0.5, offset=3.0)
    flights = np.array([series(errors, 10.0, 3, seed) for seed in range(2000)])
    assert np.ptp(flights, axis=1).max() == 0.0
    assert flights[:, 0].mean() == pytest.approx(3.0, abs=0.05)
    assert flights[:, 0].std() == pytest.approx(0.5, rel=0.06)


def test_blocks_of_any_length_give_the_same_errors() -> None:
    errors = Errors(white_std=1.0, drift_std=1.0, drift_time_s=0.1, walk=1.0)
    whole = series(errors, 100.0, 60)
    noise = Noise(errors, 0.01, 1, Streams(1))
    assert np.concatenate([noise.block(n)[:, 0] for n in (1, 7, 52)]) == pytest.approx(whole, abs=1e-12)


def test_a_channel_walks_through_its_noise_and_skips_what_was_missed() -> None:
    errors = Errors(white_std=1.0, walk=0.2)
    whole = Noise(errors, 0.01, 1, Streams(3)).block(4 * BLOCK)[:, 0]
    channel = Channel(errors, 0.01, 1, Streams(3))
    steps = [1, 1, 3, BLOCK, 2 * BLOCK - 10]
    found = [channel.measure1(10.0, step) for step in steps]
    assert found == pytest.approx([10.0 + whole[k - 1] for k in np.cumsum(steps)], abs=1e-12)


def test_a_process_switched_off_leaves_the_others_alone() -> None:
    both = Errors(white_std=1.0, drift_std=0.4, drift_time_s=2.0)
    white, drift = Errors(white_std=1.0), Errors(drift_std=0.4, drift_time_s=2.0)
    together = series(both, 10.0, 50)
    assert together == pytest.approx(series(white, 10.0, 50) + series(drift, 10.0, 50), abs=1e-12)


def test_streams_depend_on_seed_and_name_alone() -> None:
    def draw(seed: int, *path: str) -> float:
        return Streams(seed, path[:-1]).generator(path[-1]).standard_normal()

    drawn = {draw(1, "a", "b"), draw(1, "a", "c"), draw(2, "a", "b"), draw(1, "b", "a"), draw(1, "a")}
    assert len(drawn) == 5
    assert Streams(1).child("a").generator("b").standard_normal() == draw(1, "a", "b")


def test_quantisation_and_saturation() -> None:
    channel = Channel(Errors(quantum=0.25, range=(-1.0, 2.1)), 0.01, 1, Streams(1))
    given_values = (0.0, 0.124, 0.126, -0.13, 1.99, 2.4, 1e9, -0.99, -7.0)
    assert [channel.measure1(v, 1) for v in given_values] == [0.0, 0.0, 0.25, -0.25, 2.0, 2.1, 2.1, -1.0, -1.0]


def test_quantisation_error_is_uniform() -> None:
    """A ramp over a quantum of q: the error has deviation q / sqrt(12), to 1 %."""
    channel = Channel(Errors(quantum=0.1), 0.01, 3, Streams(1))
    truth = np.linspace(-3.0, 3.0, 6007)
    error = np.array([channel.measure3(v, v, v, 1)[2] for v in truth]) - truth
    assert error.std() == pytest.approx(0.1 / math.sqrt(12.0), rel=0.01)
    assert np.abs(error).max() <= 0.05 + 1e-12


def test_saturation_comes_after_noise() -> None:
    channel = Channel(Errors(white_std=5.0, range=(-1.0, 1.0)), 0.01, 3, Streams(1))
    found = np.array([channel.measure3(0.0, 0.0, 0.0, 1) for _ in range(500)])
    assert found.min() == -1.0
    assert found.max() == 1.0


@given(
    rate_mHz=st.integers(100, 2_000_000),
    start_s=st.floats(0, 0.1),
    steps=st.lists(st.integers(1, 50_000_000), min_size=5, max_size=60),
)
def test_a_grid_never_misses_or_repeats_an_instant(rate_mHz: int, start_s: float, steps: list[int]) -> None:
    sensor = Sensor(rate_hz=rate_mHz / 1000, start_s=start_s)
    grid, t_ns, taken = Grid(sensor), 0, 0
    for step in steps:
        t_ns += step
        taken += grid.take(t_ns)
        # Instant k is k / rate after the start, to half a nanosecond.
        since = t_ns - round(start_s * NS)
        exact = since * rate_mHz / (1000 * NS)
        assert taken == pytest.approx(math.floor(exact) + 1 if since >= 0 else 0, abs=1)
        assert abs((grid.next_ns - round(start_s * NS)) * rate_mHz - taken * NS * 1000) <= rate_mHz
        assert grid.next_ns > t_ns


def test_a_grid_of_an_uneven_rate_does_not_drift() -> None:
    grid = Grid(Sensor(rate_hz=300.0))
    instants = []
    for _ in range(301):
        instants.append(grid.next_ns)
        assert grid.take(grid.next_ns) == 1
    assert instants[:4] == [0, 3_333_333, 6_666_667, 10_000_000]
    assert instants[300] == NS


def test_a_week_of_instants_is_exact() -> None:
    grid = Grid(Sensor(rate_hz=500.0))
    week_ns = 7 * 86400 * NS
    assert grid.take(week_ns) == 7 * 86400 * 500 + 1
    assert grid.next_ns == week_ns + 2_000_000


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"white_sdt": 1.0}, "white_sdt: unknown key"),
        ({"white_std": 1.0, "white_density": 1.0}, "not both"),
        ({"walk": -1.0}, "walk"),
        ({"drift_std": [1.0, -1.0, 0.0]}, "drift_std"),
        ({"range": [2.0, 1.0]}, "least value first"),
        ({"drift_time_s": 0.0}, "drift_time_s"),
    ],
)
def test_bad_errors_are_refused_by_name(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        convert(table, Errors, "here")


def test_three_numbers_for_one_axis_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"barometer\.pressure: the channel has one axis"):
        Channel(Errors(white_std=(1.0, 2.0, 3.0)), 0.01, 1, Streams(1, ("barometer", "pressure")))


def test_errors_survive_a_round_trip() -> None:
    errors = Errors(white_std=(1.0, 2.0, 3.0), range=(-1.0, 1.0))
    assert msgspec.convert(msgspec.to_builtins(errors), Errors) == errors
