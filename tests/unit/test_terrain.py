"""Ground: flat, and a grid with straight lines in between."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.errors import ConfigError
from aeroloop.world.terrain import Flat, Grid

HILLS = Grid(np.arange(12.0).reshape(3, 4) ** 2, spacing_m=10.0, corner_m=(-15.0, -5.0))  # 30 m east, 20 m north


def test_flat_ground_is_flat() -> None:
    assert Flat(3.0).height_m(100.0, -5.0) == 3.0
    assert Flat().normal_W(1.0, 1.0) == (0.0, 0.0, 1.0)


@given(st.floats(-15.0, 15.0), st.floats(-5.0, 15.0))
def test_a_plane_is_reproduced_exactly(x: float, y: float) -> None:
    heights = [[2.0 + 0.3 * (-15.0 + 10.0 * i) - 0.4 * (-5.0 + 10.0 * j) for i in range(4)] for j in range(3)]
    plane = Grid(heights, spacing_m=10.0, corner_m=(-15.0, -5.0))
    assert plane.height_m(x, y) == pytest.approx(2.0 + 0.3 * x - 0.4 * y, abs=1e-9)
    assert plane.normal_W(x, y) == pytest.approx((-0.3 / math.sqrt(1.25), 0.4 / math.sqrt(1.25), 1 / math.sqrt(1.25)))


@pytest.mark.parametrize(
    ("x", "y", "height"), [(-15, -5, 0), (15, -5, 9), (-15, 15, 64), (15, 15, 121), (-10, 0, 10.5)]
)
def test_grid_points_and_the_middle_of_a_cell(x: float, y: float, height: float) -> None:
    assert HILLS.height_m(x, y) == pytest.approx(height)


@given(st.floats(-14.9, 14.9), st.floats(-4.9, 14.9))
def test_normal_stands_on_the_slope(x: float, y: float) -> None:
    d = 1e-6
    cell = ((x + 15.0) % 10.0, (y + 5.0) % 10.0)
    if min(*cell, 10.0 - cell[0], 10.0 - cell[1]) < 1e-3:
        return  # on a crease there are two slopes
    nx, ny, nz = HILLS.normal_W(x, y)
    assert nx * nx + ny * ny + nz * nz == pytest.approx(1.0)
    assert -nx / nz == pytest.approx((HILLS.height_m(x + d, y) - HILLS.height_m(x - d, y)) / (2 * d), abs=1e-5)
    assert -ny / nz == pytest.approx((HILLS.height_m(x, y + d) - HILLS.height_m(x, y - d)) / (2 * d), abs=1e-5)


@given(st.floats(-15.0, 15.0))
def test_beyond_the_edge_the_edge_goes_on_level(x: float) -> None:
    assert HILLS.height_m(x, 1000.0) == HILLS.height_m(x, 15.0)
    assert HILLS.height_m(x, -1000.0) == HILLS.height_m(x, -5.0)
    assert HILLS.normal_W(x, 1000.0)[1] == 0.0
    assert HILLS.normal_W(1000.0, 1000.0) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("heights", [[1.0, 2.0], [[1.0, 2.0]], [[1.0, math.nan], [1.0, 1.0]]])
def test_a_bad_grid_is_refused(heights: object) -> None:
    with pytest.raises(ConfigError, match="at least two points in each"):
        Grid(heights, spacing_m=1.0, corner_m=(0.0, 0.0))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="expected a positive number"):
        Grid(np.zeros((2, 2)), spacing_m=0.0, corner_m=(0.0, 0.0))
