"""The estimator's equations in single precision, near no rotation at all: as a board or a GPU evaluates them."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from aeroloop.codegen.embedded import FLAGS, embedded
from aeroloop.core.frames import Vec
from aeroloop.estimation import ekf

G, DT_S = 9.80665, 0.002
NOISE = ekf.Noise(1e-3, 1e-2, 1e-5, 1e-4, 1e-2)
FUNCTIONS = (
    ekf.propagate(G),
    ekf.predict(NOISE, G),
    ekf.correct_position(),
    ekf.correct_velocity(),
    ekf.correct_height(),
    ekf.correct_heading(),
)
RATES_RAD_S = [0.0, 1e-42, 1e-36, 1e-25, 1e-20, 1e-17, 1e-14, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 30.0]


def at_rest() -> Vec:
    x = np.zeros(ekf.STATES)
    x[0] = 1.0
    return x


def turning(rate_rad_s: float) -> tuple[Vec, Vec]:
    """State and IMU sample of a steady rate about a slanted axis; and so the turn of one sample is rate times DT_S."""
    x, rate_B = at_rest(), np.array([0.6, -0.64, 0.48]) * rate_rad_s
    x[ekf.LAST_RATE] = rate_B
    return x, np.array([DT_S, *rate_B, 0.0, 0.0, G])


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """`nav_propagate` as the firmware's C in single precision, compiled for this host."""
    folder, compiler = tmp_path_factory.mktemp("single"), shutil.which("cc")
    assert compiler, "this test needs a C compiler: apt install gcc libc6-dev"
    made = embedded(ekf.propagate(G))
    (folder / "law.c").write_text(made.c)
    (folder / "law.h").write_text(made.h)
    command = [compiler, *FLAGS, "-fPIC", "-shared", "-o", str(folder / "law.so"), str(folder / "law.c"), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(folder / "law.so"))


def quat_of(x: Vec) -> Vec:
    return np.asarray(x[ekf.QUAT], float)


@pytest.mark.parametrize("rate_rad_s", RATES_RAD_S)
def test_a_turn_of_any_size_is_right_in_double(rate_rad_s: float) -> None:
    x, imu = turning(rate_rad_s)
    quat = quat_of(ekf.propagate(G)(x, imu).full().ravel())
    expected = Rotation.from_rotvec(imu[1:4] * DT_S).as_quat()
    assert quat[1:] == pytest.approx(expected[:3], rel=1e-12, abs=0)
    assert quat[0] == pytest.approx(expected[3], abs=1e-15)


@pytest.mark.parametrize("rate_rad_s", RATES_RAD_S)
def test_a_turn_of_any_size_is_right_in_single(single: ctypes.CDLL, rate_rad_s: float) -> None:
    x, imu = (values.astype(np.float32) for values in turning(rate_rad_s))
    after = np.zeros(ekf.STATES, np.float32)
    pointer = ctypes.POINTER(ctypes.c_float)
    single.law_run(*(values.ctypes.data_as(pointer) for values in (x, imu, after)))
    quat, expected = quat_of(after), Rotation.from_rotvec(imu[1:4].astype(float) * DT_S).as_quat()
    smallest = float(np.finfo(np.float32).tiny)
    assert quat[1:] == pytest.approx(expected[:3], rel=1e-6, abs=smallest)
    assert quat[0] == pytest.approx(expected[3], abs=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name())
def test_no_constant_is_subnormal_in_single_precision(function: ca.Function) -> None:
    """Processors that flush such numbers to zero would divide by it."""
    made = embedded(function).c
    constants = [abs(float(text)) for text in re.findall(r"(?<![\w.])(\d+\.\d+e[+-]\d+)f", made)]
    assert constants
    assert all(value == 0 or value >= np.finfo(np.float32).tiny for value in constants)
