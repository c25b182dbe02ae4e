"""Layers of the 3D view as bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.protocols.layers import GREY, HEADER, MOST_LINES, MOST_POINTS, encode, layer, size


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 2**32 - 1))
def test_numbers_arrive(points: int, lines: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points_W, lines_W = rng.normal(size=(points, 3)), rng.normal(size=(lines, 2, 3))
    colours = rng.integers(0, 256, (points, 3))
    data = encode(layer(points_W, colours, lines_W))
    assert size(data) == (points, lines)
    floats = np.frombuffer(data, "<f4", 3 * points + 6 * lines, HEADER.size)
    assert np.array_equal(floats[: 3 * points].reshape(-1, 3), points_W.astype("<f4"))
    assert np.array_equal(floats[3 * points :].reshape(-1, 2, 3), lines_W.astype("<f4"))
    of_all = np.frombuffer(data, np.uint8, offset=HEADER.size + 4 * len(floats)).reshape(-1, 3)
    assert np.array_equal(of_all[:points], colours)
    assert all(tuple(colour) == GREY for colour in of_all[points:])
    assert size(data[:-1]) is None if len(data) > HEADER.size else True


def test_it_is_bounded_and_finite() -> None:
    points = np.arange(3 * 3 * MOST_POINTS, dtype=float).reshape(-1, 3)
    points[5, 1] = np.nan
    lines = np.arange(6 * (MOST_LINES + 3), dtype=float).reshape(-1, 2, 3)
    made = layer(points, GREY, lines)
    assert len(made.points_W) == MOST_POINTS
    assert np.isfinite(made.points_W).all()
    assert len(made.lines_W) == MOST_LINES
    assert made.lines_W[-1, 1, 2] == lines[-1, 1, 2]  # the newest are kept
    assert size(encode(made)) == (MOST_POINTS, MOST_LINES)


@pytest.mark.parametrize("data", [b"", b"ALLX" + bytes(12), b"ALLY\x02" + bytes(11), b"ALLY\x01" + bytes(12)])
def test_what_is_no_layer_is_refused(data: bytes) -> None:
    assert size(data) is None
