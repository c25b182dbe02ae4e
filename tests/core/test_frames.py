"""Rotations and rates, against MuJoCo's own and against numeric derivatives."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core import frames

ANGLE = st.floats(-math.pi + 1e-3, math.pi - 1e-3)
PITCH = st.floats(-1.5, 1.5)
RATE = st.floats(-5, 5)


def matrix(quat: frames.Quat) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, np.array(quat))
    return flat.reshape(3, 3)


def elementary(axis: int, angle: float) -> np.ndarray:
    quat = np.zeros(4)
    mujoco.mju_axisAngle2Quat(quat, np.eye(3)[axis], angle)
    return matrix(tuple(quat))


@given(ANGLE, PITCH, ANGLE)
def test_euler_angles_are_zyx(roll: float, pitch: float, yaw: float) -> None:
    expected = elementary(2, yaw) @ elementary(1, pitch) @ elementary(0, roll)
    assert matrix(frames.quat_from_euler(roll, pitch, yaw)) == pytest.approx(expected, abs=1e-12)


@given(ANGLE, PITCH, ANGLE)
def test_the_rotation_matrix_is_that_of_mujoco(roll: float, pitch: float, yaw: float) -> None:
    quat = frames.quat_from_euler(roll, pitch, yaw)
    assert np.array(frames.rotation_rows(quat)) == pytest.approx(matrix(quat), abs=1e-12)


@given(ANGLE, PITCH, ANGLE)
def test_euler_round_trip(roll: float, pitch: float, yaw: float) -> None:
    back = frames.euler_from_quat(frames.quat_from_euler(roll, pitch, yaw))
    assert back == pytest.approx((roll, pitch, yaw), abs=1e-7)


@given(ANGLE, PITCH, RATE, RATE, RATE)
def test_rates_are_inverse(roll: float, pitch: float, p: float, q: float, r: float) -> None:
    euler_rates = frames.euler_rates_from_body(roll, pitch, (p, q, r))
    assert frames.body_from_euler_rates(roll, pitch, *euler_rates) == pytest.approx((p, q, r), abs=1e-9)


@given(st.floats(-1, 1), st.floats(-1, 1), ANGLE, RATE, RATE, RATE)
def test_rates_are_derivatives_of_the_angles(
    roll: float, pitch: float, yaw: float, p: float, q: float, r: float
) -> None:
    quat = np.array(frames.quat_from_euler(roll, pitch, yaw))
    ahead, step = quat.copy(), 1e-6
    mujoco.mju_quatIntegrate(ahead, np.array([p, q, r]), step)
    turned = np.array(frames.euler_from_quat(tuple(ahead))) - np.array(frames.euler_from_quat(tuple(quat)))
    numeric = (turned + math.pi) % (2 * math.pi) - math.pi
    assert numeric / step == pytest.approx(frames.euler_rates_from_body(roll, pitch, (p, q, r)), abs=1e-3)


def test_straight_up_saturates_instead_of_failing() -> None:
    assert all(map(math.isfinite, frames.euler_rates_from_body(0.3, math.pi / 2, (1.0, 2.0, 3.0))))
    _, pitch, _ = frames.euler_from_quat((math.sqrt(0.5), 0.0, math.sqrt(0.5) * (1 + 1e-12), 0.0))
    assert pitch == pytest.approx(math.pi / 2)
