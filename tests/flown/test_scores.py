"""Properties of lag and scores."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flown_logs import Array, times, wave
from hypothesis import assume, given
from hypothesis import strategies as st

from aeroloop.flown.lag import correlations, find_lag, vertex
from aeroloop.flown.scale_names import scale_words
from aeroloop.flown.scores import BANDS_HZ, noise, score, spectrum

RATE_HZ = 100.0
seeds = st.integers(0, 2**32)


def series(seed: int, length: int = 500) -> Array:
    return np.random.default_rng(seed).normal(size=length)


@pytest.mark.parametrize("shift_s", [0.3137, -0.7771, 1.25, 0.0, 0.005])
def test_a_shift_is_found_to_a_millisecond(shift_s: float) -> None:
    t_s = times(58.0, RATE_HZ)
    found = find_lag(wave(t_s, 7, 5.0), wave(t_s - shift_s, 7, 5.0), RATE_HZ, -2.0, 2.0)
    assert found is not None
    assert found.lag_s == pytest.approx(shift_s, abs=0.001)
    assert found.peak > 0.999


@given(seeds, st.floats(-1.9, 1.9))
def test_the_lag_of_a_shifted_series_is_the_shift(seed: int, shift_s: float) -> None:
    t_s = times(30.0, RATE_HZ)
    found = find_lag(wave(t_s, seed), wave(t_s - shift_s, seed), RATE_HZ, -2.0, 2.0)
    assert found is not None
    assert found.lag_s == pytest.approx(shift_s, abs=0.002)


def test_correlations_are_pearsons_where_both_are_known() -> None:
    x, y = series(1, 200), series(2, 260)
    x[30:40], y[100:120] = np.nan, np.nan
    shifts = np.arange(-20, 70)
    for shift, found in zip(shifts, correlations(x, y, shifts), strict=True):
        pairs = [
            (x[i], y[i + shift])
            for i in range(len(x))
            if 0 <= i + shift < len(y) and math.isfinite(x[i]) and math.isfinite(y[i + shift])
        ]
        assert found == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1], abs=1e-9)


def test_too_little_in_common_and_what_does_not_move_have_no_correlation() -> None:
    x = series(3, 100)
    assert np.isnan(correlations(x, x, np.array([80]))[0])
    assert find_lag(x, np.ones(100), RATE_HZ, -0.1, 0.1) is None
    assert find_lag(x, np.full(100, np.nan), RATE_HZ, -0.1, 0.1) is None


def test_a_maximum_at_the_limit_is_told() -> None:
    t_s = times(30.0, RATE_HZ)
    found = find_lag(wave(t_s, 8, 0.3), wave(t_s - 0.3, 8, 0.3), RATE_HZ, -0.1, 0.1)
    assert found is not None
    assert found.at_limit


def test_the_vertex_of_a_parabola() -> None:
    low, middle, high = (0.9 - 0.2 * (step - 0.3) ** 2 for step in (-1.0, 0.0, 1.0))
    assert vertex(low, middle, high) == pytest.approx((0.3, 0.9, 0.4))
    assert vertex(1.0, 1.0, 1.0) == (0.0, 1.0, 0.0)


@given(seeds)
def test_a_series_equals_itself(seed: int) -> None:
    x = series(seed)
    found = score(x, x)
    assert found.r == pytest.approx(1.0, abs=1e-12)
    assert (found.rmse, found.nrmse, found.tic, found.tic_mean_free) == (0.0, 0.0, 0.0, 0.0)
    assert (found.scale, found.offset) == pytest.approx((1.0, 0.0), abs=1e-12)


@given(seeds, st.floats(0.01, 100.0), st.floats(-100.0, 100.0))
def test_scale_and_offset_change_the_tic_and_not_r(seed: int, factor: float, offset: float) -> None:
    assume(abs(factor - 1.0) > 0.01)
    x, y = series(seed), series(seed) + series(seed + 1)
    plain, changed = score(x, y), score(x, factor * y + offset)
    assert changed.r == pytest.approx(plain.r, abs=1e-9)
    assert changed.scale == pytest.approx(factor * plain.scale, rel=1e-6)
    assert score(x, factor * x + offset).tic > 0.001
    assert score(x, -x).r == pytest.approx(-1.0)


def test_scores_by_hand() -> None:
    found = score(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 4.0, 4.0]))
    assert found.r == pytest.approx(2 / math.sqrt(5))
    assert found.rmse == pytest.approx(math.sqrt(0.5))
    assert found.nrmse == pytest.approx(0.5 / math.sqrt(1.25))
    assert found.tic == pytest.approx(math.sqrt(0.5) / (math.sqrt(7.5) + math.sqrt(10.0)))
    assert found.tic_mean_free == pytest.approx(0.5 / (math.sqrt(1.25) + 1.0))
    assert found.scale == pytest.approx(0.8)


def test_a_large_mean_hides_in_the_tic_and_not_in_the_mean_free_one() -> None:
    """A yaw of 250 deg, held to a degree, against one that has nothing to do with it."""
    found = score(250.0 + series(1), 250.0 + series(2))
    assert found.tic < 0.005
    assert found.tic_mean_free > 0.6


def test_what_does_not_move_has_no_correlation() -> None:
    assert math.isnan(score(np.ones(10), series(1, 10)).r)
    assert math.isnan(score(series(1, 10), np.full(10, 3.3)).r)


def test_spectra_by_band() -> None:
    """Twice the amplitude; and noise of its own above 5 Hz."""
    t_s = times(60.0, RATE_HZ)
    x = wave(t_s, 9, 4.0) + 0.001 * series(1, len(t_s))
    y = 2.0 * wave(t_s, 9, 4.0) + 0.05 * series(2, len(t_s))
    found = spectrum(x, y, RATE_HZ)
    assert found is not None
    bands = found[1]
    assert [(band.low_hz, band.high_hz) for band in bands] == list(itertools.pairwise(BANDS_HZ))
    for band in bands[:3]:
        assert band.amplitude_ratio == pytest.approx(2.0, rel=0.02)
        assert band.coherence > 0.95
    assert bands[-1].coherence < 0.3
    short = spectrum(x[:1600], y[:1600], RATE_HZ)
    assert short is not None
    assert all(math.isnan(band.coherence) for band in short[1])
    assert spectrum(x[:500], y[:500], RATE_HZ) is None


def test_noise_is_what_changes_from_row_to_row() -> None:
    t_s = times(20.0, RATE_HZ)
    assert noise(0.1 * series(1, len(t_s)) + np.sin(t_s)) == pytest.approx(0.1, rel=0.1)
    assert noise(np.sin(t_s)) < 1e-3


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.0, ""),
        (1.03, ""),
        (1.3, "1.3 times"),
        (180 / math.pi, "57.3 times (degrees for radians)"),
        (math.pi / 180, "0.01745 times (radians for degrees)"),
        (0.01, "0.01 times (whole units for hundredths)"),
        (-1.0, "-1 times (opposite sign)"),
        (-9.80665, "-9.807 times (m/s2 for g, opposite sign)"),
    ],
)
def test_scales_have_names(factor: float, words: str) -> None:
    x = series(5)
    assert scale_words(score(x, factor * x)) == words
    assert not scale_words(score(x, factor * series(6)))
