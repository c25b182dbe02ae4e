"""Angles wrapped into one turn: the same direction, within the stated ends, in each of the forms."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.control import toolkit
from aeroloop.core.angles import wrap_180, wrap_pi, wrap_pi_half_open

ANGLE = st.floats(-100.0, 100.0)


def same_direction(one_rad: float, other_rad: float) -> bool:
    return math.hypot(math.cos(one_rad) - math.cos(other_rad), math.sin(one_rad) - math.sin(other_rad)) < 1e-12


@given(ANGLE)
def test_a_wrapped_angle_is_the_same_direction_within_half_a_turn(angle_rad: float) -> None:
    column = np.array([angle_rad])
    symbolic = float(toolkit.wrapped(ca.DM(angle_rad)))
    degrees = float(wrap_180(np.degrees(column))[0])
    for wrapped_rad in (wrap_pi(angle_rad), wrap_pi_half_open(angle_rad), symbolic, math.radians(degrees)):
        assert abs(wrapped_rad) <= math.pi
        assert same_direction(wrapped_rad, angle_rad)
    assert wrap_pi_half_open(column)[0] == wrap_pi_half_open(angle_rad)


@given(st.floats(-math.pi, math.pi, exclude_min=True, exclude_max=True))
def test_what_lies_within_half_a_turn_keeps_every_digit(angle_rad: float) -> None:
    assert wrap_pi(angle_rad) == angle_rad
    angle_deg = np.array([math.degrees(angle_rad)])
    assert wrap_180(angle_deg)[0] == angle_deg[0]


def test_half_a_turn_itself() -> None:
    assert (wrap_pi(math.pi), wrap_pi(-math.pi)) == (math.pi, -math.pi)
    assert (wrap_pi_half_open(math.pi), wrap_pi_half_open(-math.pi)) == (-math.pi, -math.pi)
    assert wrap_pi_half_open(math.pi - 1e-9) == pytest.approx(math.pi)


def test_nan_stays_nan() -> None:
    assert math.isnan(wrap_pi(math.nan))
    assert np.isnan(wrap_pi_half_open(np.array([math.nan]))).all()
    assert np.isnan(wrap_180(np.array([math.nan]))).all()
