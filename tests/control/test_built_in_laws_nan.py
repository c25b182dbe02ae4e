"""No built-in law of a board hides a NaN behind its limits: the command or the memory then is not finite, which is what
boards look at on every rung."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen.single import Single
from aeroloop.control.clipping import within
from aeroloop.control.flown_law import flown_law
from aeroloop.controllers.law import guided
from aeroloop.core import scenario_files
from aeroloop.core.scenario import Scenario
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.law import wing_law
from aeroloop.families.tiltrotor.design import design


def opened(name: str) -> Scenario:
    return scenario_files.load(scenario_files.find(name))


def values_law(name: str) -> ca.Function:
    return flown_law(opened(name)).function


def cascade() -> ca.Function:
    plan: Any = opened("quad-law-hover")
    return guided.designed(plan)[1]


LAWS: dict[str, tuple[Callable[[], ca.Function], int]] = {
    "tilt-rotor": (lambda: design("cad", "published", 0.012).law("dlqr"), 2),
    "helicopter": (lambda: values_law("heli-hover"), 1),
    "robot": (lambda: values_law("rrr-circle"), 1),
    "cascade": (cascade, 2),
    "wing, inner loops": (lambda: wing_law(airframe.load("aerosonde")).cntr, 2),
    "wing, path following": (lambda: wing_law(airframe.load("aerosonde")).pfol, 0),
}
"""Each with the place of its memory among its inputs: boards keep none that is not finite."""


@pytest.mark.parametrize("name", LAWS)
def test_a_nan_in_any_value_that_a_law_uses_is_seen(name: str) -> None:
    made, memory = LAWS[name]
    law = made()
    single, rng = Single(law), np.random.default_rng(1)
    given = [0.5 + 0.1 * rng.random(law.size1_in(i)) for i in range(law.n_in())]
    assert all(np.all(np.isfinite(value.full())) for value in law.call(given)), "the point itself is a good one"
    tried = 0
    for i, values in enumerate(given):
        for j in range(len(values) if i != memory else 0):
            if not any(j in law.jac_sparsity(k, i).get_col() for k in (0, 1)):
                continue
            wrong = [row.copy() for row in given]
            wrong[i][j] = math.nan
            tried += 1
            outputs = [value.full() for value in law.call(wrong)[:2]]
            assert not all(np.all(np.isfinite(value)) for value in outputs), (law.name_in(i), j)
            rounded = single(*(np.float32(row) for row in wrong))[:2]
            assert not all(np.all(np.isfinite(value)) for value in rounded), (law.name_in(i), j, "single precision")
    assert tried >= 9


@pytest.mark.parametrize(
    ("value", "limited"), [(0.5, 0.5), (-3.0, 0.0), (7.0, 1.0), (math.nan, None), (math.inf, None), (-math.inf, None)]
)
def test_a_limited_command_is_a_number_only_if_it_was_one(value: float, limited: float | None) -> None:
    x = ca.MX.sym("x")
    found = float(ca.Function("f", [x], [within(x, 0.0, 1.0)])(value))
    assert found == limited if limited is not None else not math.isfinite(found)
