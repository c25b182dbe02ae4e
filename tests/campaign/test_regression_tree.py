"""The regression tree of a campaign: against brute force, and against what was put into the data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.campaign.regression_tree import FEWEST, Side, tree


def _squares(values: np.ndarray) -> float:
    return float(np.sum((values - values.mean()) ** 2))


def brute_force(columns: dict[str, np.ndarray], failed: np.ndarray, fewest: int) -> float:
    """The largest part of the sum of squares that one threshold of one column explains."""
    best, numbers = 0.0, failed.astype(float)
    for column, threshold in itertools.chain(*([(own, value) for value in own] for own in columns.values())):
        left = column <= threshold
        if min(left.sum(), (~left).sum()) >= fewest:
            rest = _squares(numbers[left]) + _squares(numbers[~left])
            best = max(best, 1.0 - rest / _squares(numbers))
    return best


@given(st.integers(0, 2**32 - 1), st.integers(FEWEST, 60), st.integers(1, 4))
def test_the_first_split_is_the_best_of_all(seed: int, count: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {"a": rng.normal(size=count), "b": rng.integers(0, levels + 1, size=count).astype(float)}
    failed = rng.random(count) < 0.3
    grown, best = tree(columns, failed), brute_force(columns, failed, 5) if 0 < failed.sum() < count else 0.0
    if grown is None or grown.root.split is None:
        assert best < 1e-9
    else:
        assert grown.root.split.gain == pytest.approx(best)


def leaves(side: Side) -> list[Side]:
    return [side] if side.split is None else [leaf for own in side.split.sides for leaf in leaves(own)]


def test_what_was_put_in_is_found() -> None:
    """Failures beyond 5 m/s with the consumer's sensors, and nowhere else."""
    rng = np.random.default_rng(3)
    wind, noise = rng.uniform(0, 10, 400), rng.uniform(0, 1, 400)
    preset = [("px4", "consumer")[index % 2] for index in range(400)]
    failed = (wind > 5.0) & (np.array(preset) == "consumer")
    grown = tree({"noise": noise, "wind": wind, "preset": preset}, failed)
    assert grown is not None and grown.root.split is not None
    assert grown.chance == 1 / 200  # none of 199 permutations was as good
    assert {leaf.rate for leaf in leaves(grown.root)} == {0.0, 1.0}
    assert sum(leaf.flights for leaf in leaves(grown.root)) == 400
    assert {grown.root.split.key, *(own.split.key for own in grown.root.split.sides if own.split)} == {"wind", "preset"}
    (bad,) = (leaf for leaf in leaves(grown.root) if leaf.failed)
    assert bad.flights == failed.sum()


def test_noise_is_said_to_be_noise() -> None:
    chances = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        grown = tree({name: rng.normal(size=100) for name in "abcd"}, rng.random(100) < 0.2)
        chances.append(grown.chance if grown else 1.0)
    assert np.mean(np.array(chances) <= 0.05) <= 0.15  # about one in twenty


def test_no_tree_of_too_few_or_equal_flights() -> None:
    column = {"a": np.arange(40.0)}
    assert tree(column, np.zeros(40, dtype=bool)) is None
    assert tree(column, np.ones(40, dtype=bool)) is None
    assert tree({"a": np.zeros(40)}, np.arange(40) < 9) is None
    assert tree({"a": np.arange(10.0)}, np.arange(10) < 3) is None
    assert tree({"a": np.full(40, np.nan)}, np.arange(40) < 9) is None
