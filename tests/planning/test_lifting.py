"""The integer Haar transform: exact both ways, and a mean that is rounded down."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aeroloop.planning.lifting import forward, inverse

Grid = npt.NDArray[np.int32]

MAPS = st.integers(0, 5).flatmap(
    lambda order: arrays(np.int32, (1 << order, 1 << order), elements=st.integers(-(2**15), 2**15 - 1))
)


def lifted_by_hand(values: Grid) -> list[list[int]]:
    """Half the resolution, pair by pair as the definition has it: rows first."""

    def approximation(x: int, y: int) -> int:
        return x + (y - x) // 2

    rows = [[approximation(*row[k : k + 2]) for k in range(0, len(row), 2)] for row in values.tolist()]
    return [[approximation(*pair) for pair in zip(*rows[k : k + 2], strict=True)] for k in range(0, len(rows), 2)]


@given(MAPS)
def test_exact_reconstruction_from_the_coarsest_cell_and_the_details_alone(values: Grid) -> None:
    pyramid = forward(values)
    assert pyramid.approximations[0].shape == (1, 1)
    alone = pyramid._replace(approximations=pyramid.approximations[:1])
    assert np.array_equal(inverse(alone), values)


@given(MAPS)
def test_each_level_is_lifted_from_the_finer_one(values: Grid) -> None:
    levels = forward(values).approximations
    assert np.array_equal(levels[-1], values)
    for coarse, fine in pairwise(levels):
        assert coarse.tolist() == lifted_by_hand(fine)


@given(MAPS)
def test_an_approximation_lies_under_the_mean_by_less_than_one_a_level(values: Grid) -> None:
    levels = forward(values).approximations
    order = len(levels) - 1
    for level, approximation in enumerate(levels):
        side = 1 << (order - level)
        means = values.reshape(1 << level, side, 1 << level, side).mean(axis=(1, 3))
        assert np.all(approximation <= means)
        assert np.all(means - approximation <= order - level)
