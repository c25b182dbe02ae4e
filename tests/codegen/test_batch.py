"""Generated batches: CasADi's values, own elementary functions, and equal bits whatever the number of lanes."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from aeroloop.codegen import batch, batch_build
from aeroloop.core.errors import ConfigError
from aeroloop.estimation import ekf
from aeroloop.world import dryden

Floats = NDArray[Any]
RNG_SEED = 5


def call(
    function: ca.Function, columns: list[Floats], cache: Path, *, lanes: int = 16, dialect: batch.Dialect = batch.LANES
) -> list[Floats]:
    """A function of every column, through compiled blocks of this many lanes."""
    program = batch.lowered(function)
    names = [name for name, _ in program.inputs] + [name for name, _ in program.outputs]
    arguments = ", ".join(f"al_real *{name}" for name in names)
    source = (
        f'#include "batch_runtime.h"\n{batch.c_function(program, dialect)}\n'
        f"void one_block({arguments}) {{ {program.name}({', '.join(names)}); }}\n"
    )
    flags = batch_build.LANE_FLAGS if dialect.single else batch_build.DOUBLE_FLAGS
    if dialect.single:
        flags = (*flags, f"-DAL_LANES={lanes}")
    else:
        lanes = 1
    library = batch_build.loaded(batch_build.library(source, flags, cache))
    real = np.float32 if dialect.single else np.float64
    count = columns[0].shape[1]
    outputs = [np.zeros((size, count), real) for _, size in program.outputs]
    for first in range(0, count, lanes):
        block = [np.zeros((size, lanes), real) for _, size in (*program.inputs, *program.outputs)]
        width = min(lanes, count - first)
        for array, column in zip(block, columns, strict=False):
            array[:, :width] = column[:, first : first + width]
        library.one_block(*(ctypes.c_void_p(array.ctypes.data) for array in block))
        for output, array in zip(outputs, block[len(columns) :], strict=True):
            output[:, first : first + width] = array[:, :width]
    return outputs


def random_function(rng: np.random.Generator, size: int) -> ca.Function:
    """Random expressions of moderate values: each new one combines two earlier ones."""
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 3)
    known = [*ca.vertsplit(x), *ca.vertsplit(y), ca.SX(0.75), ca.SX(-2.0)]
    for _ in range(size):
        a, b = (known[int(i)] for i in rng.integers(len(known), size=2))
        forms = [
            lambda a, b: ca.sin(a + b),
            lambda a, b: a * b / (1 + a * a),
            lambda a, b: ca.cos(a) - a * b * 0.125,
            lambda a, b: ca.atan2(a, 2 + ca.fabs(b)),
            lambda a, b: ca.sqrt(1 + a * a) / 3,
            lambda a, b: ca.exp(-ca.fabs(a)) + 0.5 * b,
            lambda a, b: ca.log(1.5 + b * b),
            lambda a, b: ca.fmin(a, b) - ca.fmax(a, 0.25),
            lambda a, b: ca.if_else(ca.logic_and(a < b, b > 0.1), a * 0.5, b - a * 0.25),
            lambda a, b: (a <= b) + ca.logic_not(a) - 0.5,
            lambda a, b: (2 * a - b) / (2 + b * b) + 1 / (2 + b * b),
        ]
        known.append(ca.tanh(0) + forms[int(rng.integers(len(forms)))](a, b))
    return ca.Function("f", [x, y], [ca.vertcat(*known[-8:]), known[-9]], ["x", "y"], ["out", "last"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_expressions_have_the_values_of_casadi(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    function = random_function(rng, 60)
    x, y = (rng.uniform(-2, 2, (n, 37)) for n in (4, 3))
    expected = [np.array(part) for part in function.map(37)(x, y)]
    exact = call(function, [x, y], tmp_path, dialect=batch.DOUBLE)
    for ours, theirs in zip(exact, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)
    single = call(function, [x, y], tmp_path)
    for ours, theirs in zip(single, expected, strict=True):
        # A comparison may fall on the other side by a rounding: rare, and never in most of the columns.
        assert np.mean(np.abs(ours - theirs) < 2e-4 * (1 + np.abs(theirs))) > 0.99


def test_lanes_do_not_change_a_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(RNG_SEED)
    function = random_function(rng, 80)
    x, y = (rng.uniform(-3, 3, (n, 53)).astype(np.float32) for n in (4, 3))
    one, eight, sixteen = (call(function, [x, y], tmp_path, lanes=lanes) for lanes in (1, 8, 16))
    for a, b, c in zip(one, eight, sixteen, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes()


def of_one(name: str) -> ca.Function:
    x = ca.SX.sym("x")
    return ca.Function("f", [x], [getattr(ca, name)(x)], ["x"], ["y"])


@pytest.mark.parametrize(
    ("name", "low", "high", "relative", "absolute"),
    [
        ("sin", -1000.0, 1000.0, 0.0, 1.2e-7),
        ("cos", -1000.0, 1000.0, 0.0, 1.2e-7),
        ("sin", -0.5, 0.5, 1.5e-7, 0.0),
        ("exp", -80.0, 80.0, 2.0e-7, 0.0),
        ("expm1", -0.01, 0.01, 2.0e-7, 0.0),
        ("expm1", -20.0, 20.0, 4.0e-7, 0.0),
        ("log", 1e-30, 4.0, 1.5e-7, 6e-8),
        ("log", 0.999, 1.001, 3.0e-7, 0.0),
        ("floor", -1000.0, 1000.0, 0.0, 0.0),
        ("asin", -1.0, 1.0, 0.0, 3e-7),
        ("tan", -1.4, 1.4, 4e-7, 0.0),
        ("tanh", -0.01, 0.01, 4e-7, 0.0),
        ("tanh", -100.0, 100.0, 4e-7, 0.0),
    ],
)
def test_elementary_functions(
    tmp_path: Path, name: str, low: float, high: float, relative: float, absolute: float
) -> None:
    x = np.linspace(low, high, 20_001, dtype=np.float32).reshape(1, -1)
    (ours,) = call(of_one(name), [x], tmp_path)
    exact = {"asin": np.arcsin}.get(name, getattr(np, name, None))(x.astype(float))
    assert np.all(np.abs(ours - exact) <= absolute + relative * np.abs(exact))


def test_atan2_in_all_quadrants_and_on_the_axes(tmp_path: Path) -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = ca.Function("f", [y, x], [ca.atan2(y, x)], ["y", "x"], ["angle"])
    rng = np.random.default_rng(RNG_SEED)
    ys, xs = (np.concatenate([rng.normal(size=20_000) * 10.0 ** rng.uniform(-6, 6, 20_000)]) for _ in range(2))
    ys[:9] = [0.0, 0.0, -0.0, -0.0, 1.0, -1.0, 0.0, 3.0, -3.0]
    xs[:9] = [1.0, -1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 3.0, -3.0]
    ys, xs = ys.astype(np.float32).reshape(1, -1), xs.astype(np.float32).reshape(1, -1)
    (ours,) = call(function, [ys, xs], tmp_path)
    exact = np.arctan2(ys.astype(float), xs.astype(float))
    assert np.max(np.abs(ours - exact) - 1.2e-7 * np.abs(exact)) < 1.3e-7
    small = (np.abs(exact) < 0.3) & (exact != 0)
    assert np.max(np.abs(ours[small] / exact[small] - 1)) < 4e-7


def test_powers(tmp_path: Path) -> None:
    x = ca.SX.sym("x", 2)
    powers = ca.vertcat(x[0] ** 3, x[0] ** 0.5, x[0] ** 1.2, x[0] ** -0.4, x[0] ** x[1])
    given = np.array([np.linspace(0.01, 50, 200), np.linspace(-1.5, 1.5, 200)], np.float32)
    function = ca.Function("f", [x], [powers], ["x"], ["y"])
    (ours,) = call(function, [given], tmp_path)
    a, b = given.astype(float)
    exact = np.array([a**3, np.sqrt(a), a**1.2, a**-0.4, a**b])
    assert np.max(np.abs(ours / exact - 1)) < 2e-6
    assert batch.lowered(function).count("sqrt") == 1


STAGES = {
    "propagate": lambda: ekf.propagate(9.81),
    "predict": lambda: ekf.predict(ekf.Noise(0.01, 0.02, 0.003, 0.004, 0.05), 9.81),
    "position": ekf.correct_position,
    "velocity": ekf.correct_velocity,
    "height": ekf.correct_height,
    "heading": ekf.correct_heading,
    "dryden": dryden.step_function,
}


@pytest.mark.parametrize("name", STAGES)
def test_stages_of_a_multirotor_have_the_values_of_casadi(tmp_path: Path, name: str) -> None:
    """Filter and turbulence can be lowered as they are; in double precision only the order of roundings differs."""
    function = STAGES[name]()
    rng = np.random.default_rng(RNG_SEED)
    given = [rng.uniform(0.2, 1.0, (function.numel_in(i), 3)) for i in range(function.n_in())]
    ours = call(function, given, tmp_path, dialect=batch.DOUBLE)
    for column in range(3):
        shaped = [ca.reshape(ca.DM(part[:, column]), *function.size_in(i)) for i, part in enumerate(given)]
        for own, theirs in zip(ours, function.call(shaped), strict=True):
            np.testing.assert_allclose(
                own[:, column], np.array(ca.densify(ca.vec(theirs))).ravel(), rtol=1e-7, atol=1e-9
            )


def test_logarithm_outside_its_range(tmp_path: Path) -> None:
    x = np.array([[0.0, -1.0, np.nan]], np.float32)
    (ours,) = call(of_one("log"), [x], tmp_path)
    assert ours[0, 0] == -np.inf and np.isnan(ours[0, 1:]).all()


@pytest.mark.parametrize("value", [1e-40, 1e-46, 1e39, float("inf")])
def test_constants_that_are_no_normal_numbers_are_refused(value: float) -> None:
    x = ca.SX.sym("x")
    with pytest.raises(ConfigError, match="normal number"):
        batch.lowered(ca.Function("f", [x], [x * x + value]))


def test_unknown_operations_are_refused() -> None:
    x = ca.SX.sym("x")
    with pytest.raises(ConfigError, match="not known in a batch"):
        batch.lowered(ca.Function("f", [x], [ca.erf(x)]))


def test_products_fuse_and_divisors_invert_once() -> None:
    x = ca.SX.sym("x", 5)
    shared = ca.Function("f", [x], [x[0] / x[4] + x[1] / x[4], x[2] / x[4], x[3] / 8])
    program = batch.lowered(shared)
    assert program.count("div") == 1  # the inverse of x4
    assert program.count("fma") == 1
    difference = batch.lowered(ca.Function("f", [x], [x[0] - x[1] * x[2], x[3] * x[3] - x[4]]))
    assert difference.count("fnma") == difference.count("fms") == 1
    assert difference.count("mul") == 0
    twice = x[0] * x[1]
    assert batch.lowered(ca.Function("f", [x], [twice + x[2], twice - x[3]])).count("mul") == 1


def test_a_state_that_does_not_change_is_not_written() -> None:
    state = ca.SX.sym("state", 2)
    function = ca.Function("f", [state], [ca.vertcat(state[0], state[1] + 1)], ["state"], ["state_next"])
    text = batch.c_function(batch.lowered(function), batch.LANES)
    assert "AL_AT(state_next, 1)" in text and "AL_AT(state_next, 0)" not in text


def test_a_broken_source_says_what_the_compiler_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="error"):
        batch_build.library("int broken(", batch_build.LANE_FLAGS, tmp_path)


def test_no_mask_is_the_negation_of_one_bit() -> None:
    """gcc 13 makes an integer of one bit of it, and leaves the whole function scalar."""
    code = re.sub(r"/\*.*?\*/", "", batch_build.header(), flags=re.DOTALL)
    assert "& 1)" in code and not re.search(r"-\s*\([^()]*& 1\)", code)
