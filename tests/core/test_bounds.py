"""The bound of the world is a sphere about the origin."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.bounds import beyond
from aeroloop.core.frames import Vec3

DIRECTION = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda way: math.hypot(*way) > 1e-3)


@given(DIRECTION, st.floats(1.0, 1e5), st.floats(0.0, 0.999), st.floats(1.001, 1e3))
def test_the_bound_is_as_far_in_every_direction(way: Vec3, bound_m: float, inside: float, outside: float) -> None:
    def at(distance_m: float) -> Vec3:
        x, y, z = (axis / math.hypot(*way) * distance_m for axis in way)
        return x, y, z

    assert not beyond(at(inside * bound_m), bound_m)
    assert beyond(at(outside * bound_m), bound_m)


def test_neither_a_cube_nor_a_cylinder() -> None:
    assert not beyond((99.0, 0.0, 0.0), 100.0)
    assert beyond((99.0, 99.0, 0.0), 100.0)
    assert beyond((60.0, 60.0, -60.0), 100.0)
    assert beyond((100.0, 0.0, 0.0), 100.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("axis", range(3))
def test_what_is_no_position_is_beyond(axis: int, bad: float) -> None:
    pos_W = [0.0, 0.0, 0.0]
    pos_W[axis] = bad
    assert beyond((pos_W[0], pos_W[1], pos_W[2]), 1e300)
