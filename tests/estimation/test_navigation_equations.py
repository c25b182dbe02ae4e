"""The filter's linear equations against differences of the non-linear ones."""

from __future__ import annotations

import numpy as np
import pytest

from aeroloop.core.frames import Vec
from aeroloop.estimation import ekf

G = 9.80665
DT_S = 0.002
SIZE = 1e-6
RNG = np.random.default_rng(4)
SILENT = ekf.Noise(0.0, 0.0, 0.0, 0.0, 0.0)


def start() -> Vec:
    x = np.zeros(ekf.STATES)
    quat = np.array([0.8, 0.3, -0.2, 0.4])
    x[ekf.QUAT] = quat / np.linalg.norm(quat)
    x[4:17] = RNG.normal(size=13) * np.repeat([3.0, 10.0, 0.02, 0.1, 1.0], [3, 3, 3, 3, 1])
    x[ekf.LAST_RATE], x[ekf.LAST_FORCE] = (0.3, -0.2, 0.5), (1.0, 2.0, 9.0)
    return x


def disturbed(x: Vec, error: Vec) -> Vec:
    """The state that is the true one when the nominal one has this error."""
    after = x.copy()
    w, v = 1.0, error[:3] / 2
    q0, q = x[0], x[1:4]
    after[ekf.QUAT] = [w * q0 - v @ q, *(w * q + q0 * v + np.cross(v, q))]
    after[ekf.QUAT] /= np.linalg.norm(after[ekf.QUAT])
    after[4:17] += error[3:]
    return after


def difference(true: Vec, nominal: Vec) -> Vec:
    a0, a, b0, b = true[0], true[1:4], nominal[0], nominal[1:4]
    turned = -a0 * b + b0 * a - np.cross(a, b)
    return np.concatenate([2 * turned, (true - nominal)[4:17]])


def moved(x: Vec, count: int) -> Vec:
    propagate = ekf.propagate(G)
    for k in range(count):
        imu = [DT_S, 0.3 + 0.01 * k, -0.2, 0.5, 1.0, 0.5 - 0.01 * k, 9.5]
        x = propagate(x, imu).full().ravel()
    return x


def transition(x: Vec, count: int) -> Vec:
    nominal = moved(x, count)
    columns = []
    for i in range(ekf.ERRORS):
        true = disturbed(x, SIZE * np.eye(ekf.ERRORS)[i])
        if i < 3 or 12 <= i < 15:  # the sample before was felt with the same error
            true[ekf.LAST_FORCE] = _felt(true, x)
        columns.append(difference(moved(true, count), nominal) / SIZE)
    return np.array(columns).T


def _rotation(quat: Vec) -> Vec:
    w, v = quat[0], quat[1:4]
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    R: Vec = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    return R


def _felt(true: Vec, nominal: Vec) -> Vec:
    raw_B = _rotation(nominal[ekf.QUAT]).T @ nominal[ekf.LAST_FORCE] + nominal[ekf.ACCEL_BIAS]
    force: Vec = _rotation(true[ekf.QUAT]) @ (raw_B - true[ekf.ACCEL_BIAS])
    return force


def test_the_covariance_moves_as_errors_do() -> None:
    x, count = start(), 5
    after = moved(x, count)
    F = transition(x, count)
    step = [count * DT_S, *(after - x)[ekf.VEL_I]]
    predict = ekf.predict(SILENT, G)
    for i in range(ekf.ERRORS):
        P = np.zeros((ekf.ERRORS, ekf.ERRORS))
        P[i, i] = 1.0
        got = ekf.unpacked(predict(after, ekf.packed(P), step).full().ravel())
        assert got == pytest.approx(np.outer(F[:, i], F[:, i]), abs=2e-3), f"error {i}"


def test_noise_enters_where_it_belongs() -> None:
    noise = ekf.Noise(gyro=1.0, accel=2.0, gyro_bias=3.0, accel_bias=4.0, baro=5.0)
    got = ekf.unpacked(ekf.predict(noise, G)(start(), np.zeros(ekf.TRIANGLE), [0.01, 0, 0, 0]).full().ravel())
    expected = 0.01 * np.repeat([1.0, 4.0, 0.0, 9.0, 16.0, 25.0], [3, 3, 3, 3, 3, 1])
    assert np.diag(got) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["position", "velocity", "height"])
def test_a_late_measurement_depends_on_the_errors_of_now_as_the_past_did(kind: str) -> None:
    x, count = start(), 100
    after = moved(x, count)
    tau_s = count * DT_S
    dv = (after - x)[ekf.VEL_I]
    late = [tau_s, *dv, *((after - x)[ekf.POS_I] - tau_s * x[ekf.VEL_I])]
    back = np.linalg.inv(transition(x, count))
    pos, vel = x[ekf.POS], x[ekf.VEL]
    # A surprise of 1 in the one measured number that is not next to free.
    cases = {
        "position": [(ekf.correct_position(), [pos[0] + 1, pos[1], 1.0], 6)],
        "velocity": [
            (ekf.correct_velocity(), [*(vel + np.eye(3)[k]), *np.where(np.arange(3) == k, 1.0, 1e12)], 3 + k)
            for k in range(3)
        ],
        "height": [(ekf.correct_height(), [pos[2] + 1, 1.0, 0.0], 8)],
    }
    for correct, z, row in cases[kind]:
        for i in np.delete(np.arange(ekf.ERRORS), ekf.D_GYRO):  # which the filter leaves out
            P = np.zeros((ekf.ERRORS, ekf.ERRORS))
            P[i, i] = 1.0
            x_after, _, surprise = (part.full().ravel() for part in correct(after, ekf.packed(P), z, late))
            assert np.linalg.norm(surprise[1:]) == pytest.approx(1.0, abs=1e-9), "the past is found again"
            h = back[row, i]
            across = back[7, i] ** 2 if kind == "position" else 0.0  # north is measured too
            gain = h / (1.0 + h**2 + across)
            assert difference(x_after, after)[i] == pytest.approx(gain, abs=0.02), f"{kind} {row} error {i}"


def test_heading_is_the_yaw_alone() -> None:
    x = start()
    field_W = np.array([1e-6, 2e-5, -4e-5])
    true = disturbed(x, np.array([0.0, 0.0, 1e-3, *np.zeros(13)]))
    field_B = _rotation(true[ekf.QUAT]).T @ field_W
    z = [*field_B, np.arctan2(field_W[1], field_W[0]), 1.0]
    P = ekf.packed(np.eye(ekf.ERRORS))
    x_after, _, surprise = (part.full().ravel() for part in ekf.correct_heading()(x, P, z))
    assert surprise[1] == pytest.approx(1e-3, rel=1e-3)
    assert difference(x_after, x) == pytest.approx([0.0, 0.0, 5e-4, *np.zeros(13)], abs=1e-7)
