"""What limits hide is seen beside them, and nothing else changes."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen.clipping import UNCLIPPED, with_unclipped
from aeroloop.codegen.single import Single
from aeroloop.control.toolkit import clip


def clipped_root() -> ca.Function:
    x, y = ca.SX.sym("x"), ca.SX.sym("y", 2)
    root = clip(ca.sqrt(x), 0.2, 1.0)
    return ca.Function("law", [x, y], [root, ca.vertcat(y[0] + root, 3)], ["x", "y"], ["command", "memory_next"])


def test_a_nan_that_a_limit_drops_is_in_the_sum() -> None:
    law, watched = clipped_root(), with_unclipped(clipped_root())
    assert float(law(-1.0, [0, 0])[0]) == pytest.approx(0.2), "the limit hides it"
    assert math.isnan(float(watched(-1.0, [0, 0])[2]))
    assert math.isfinite(float(watched(0.25, [0, 0])[2]))
    assert not math.isfinite(float(watched(math.inf, [0, 0])[2]))


def test_the_other_outputs_and_names_are_the_same() -> None:
    law, watched = clipped_root(), with_unclipped(clipped_root())
    assert watched.name_in() == law.name_in()
    assert watched.name_out() == [*law.name_out(), UNCLIPPED]
    for x in (-1.0, 0.1, 0.5, 7.0):
        for one, other in zip(law(x, [0.3, 0.4]), watched(x, [0.3, 0.4]), strict=False):
            assert one.elements() == other.elements()


def test_in_single_precision_too() -> None:
    """Operation by operation, as the generated C computes it."""
    run = Single(with_unclipped(clipped_root()))
    assert np.isnan(run(np.float32([-1.0]), np.float32([0, 0]))[2][0])
    assert np.isfinite(run(np.float32([4.0]), np.float32([0, 0]))[2][0])


def test_a_function_of_matrices_is_read_as_its_expressions() -> None:
    x = ca.MX.sym("x")
    law = ca.Function("law", [x], [ca.fmax(ca.log(x), 0)], ["x"], ["command"])
    assert math.isnan(float(with_unclipped(law)(-1.0)[1]))


def test_a_look_up_table_cannot_be_read_and_stays_as_it_is() -> None:
    x = ca.MX.sym("x")
    table = ca.interpolant("table", "linear", [[0.0, 1.0, 2.0]], [0.0, 2.0, 3.0])
    law = ca.Function("law", [x], [ca.fmin(table(x), 1.5)], ["x"], ["command"])
    watched = with_unclipped(law)
    assert [float(value) for value in watched(0.5)] == [1.0, 0.0]
