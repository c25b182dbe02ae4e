"""Intervals of rates cover them as often as they say; the sequential test is wrong as rarely as it says."""

from __future__ import annotations

import numpy as np
import pytest

from aeroloop.campaign.statistics import (
    RateTest,
    clopper_pearson,
    correlation_interval,
    lower_bound,
    rank_correlation,
    wilson,
)

CAMPAIGNS, FLIGHTS = 2000, 200


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.97])
def test_intervals_cover_the_rate(rate: float) -> None:
    successes = np.random.default_rng(5).binomial(FLIGHTS, rate, CAMPAIGNS)
    intervals = {int(count): (clopper_pearson(int(count), FLIGHTS), wilson(int(count), FLIGHTS)) for count in successes}
    exact = np.mean([intervals[count][0][0] <= rate <= intervals[count][0][1] for count in map(int, successes)])
    scored = np.mean([intervals[count][1][0] <= rate <= intervals[count][1][1] for count in map(int, successes)])
    assert 0.95 <= exact <= 0.99
    assert 0.93 <= scored <= 0.97


def test_intervals_against_known_numbers() -> None:
    low, high = clopper_pearson(0, 1000)
    assert low == 0.0
    assert high == pytest.approx(0.00368, abs=5e-6)
    low, high = clopper_pearson(1, 4_000_000)
    assert (low, high) == (pytest.approx(6.3e-9, rel=0.02), pytest.approx(1.39e-6, rel=0.01))
    assert clopper_pearson(8, 10) == (pytest.approx(0.4439, abs=1e-4), pytest.approx(0.9748, abs=1e-4))
    assert wilson(8, 10) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert lower_bound(59, 59, 0.95) == pytest.approx(0.9505, abs=1e-4)  # 59 of 59 show 95 %, 58 do not
    assert lower_bound(58, 58, 0.95) < 0.95
    assert clopper_pearson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("rate", "answer"), [(0.975, "above"), (0.925, "below")])
def test_sequential_test_errs_as_rarely_as_it_says(rate: float, answer: str) -> None:
    rng, test = np.random.default_rng(3), RateTest(0.95)
    assert test.hypotheses == (pytest.approx(0.925), pytest.approx(0.975))
    right = [test.decide(rng.random(2000) < rate)[0] == answer for _ in range(500)]
    assert np.mean(right) >= 0.93  # at least 0.95, less the spread of 500 trials


def test_sequential_test_says_how_many_are_missing() -> None:
    test = RateTest(0.5)
    assert test.missing([]) == 3
    assert test.decide([True, True]) == ("open", 2)
    assert test.missing([True, True]) == 1
    assert test.decide([True, True, True, False]) == ("above", 3)
    assert test.missing([False] * 3) == 0
    assert test.decide([False] * 3) == ("below", 3)
    assert test.missing([True, False]) == 3


def test_rank_correlation() -> None:
    x = np.arange(20.0)
    assert rank_correlation(x, np.exp(x)) == pytest.approx(1.0)
    assert rank_correlation(x, -(x**3)) == pytest.approx(-1.0)
    assert np.isnan(rank_correlation(x, np.ones(20)))
    assert np.isnan(rank_correlation(x[:5], x[:5]))
    low, high = correlation_interval(0.5, 100)
    assert 0.3 < low < 0.5 < high < 0.65
