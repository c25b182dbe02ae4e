"""No built-in law of a board hides a NaN behind its limits: the command or the memory then is not finite, which is what
boards look at on every rung."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.single import Single
from aeroloop.control import mpc
from aeroloop.control.clipping import within
from aeroloop.control.flown_law import flown_law
from aeroloop.control.host_law import GuardedLaw, HostLawDesign, Run
from aeroloop.controllers.law import guided, guided_nonlinear
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.law import wing_law
from aeroloop.families.tiltrotor.design import board_law, design


def opened(name: str) -> Scenario:
    return load(find(name))


def values_law(name: str) -> ca.Function:
    return flown_law(opened(name)).function


def cascade() -> ca.Function:
    plan: Any = opened("quad-law-hover")
    return guided.designed(plan)[1]


LAWS: dict[str, tuple[Callable[[], ca.Function], int]] = {
    "tilt-rotor": (lambda: design("cad", "published", 0.012).law("dlqr"), 2),
    "tilt-rotor, any heading": (lambda: design("cad", "published", 0.012).law("dlqr-heading"), 2),
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


TILTING = design("cad", "published", 0.012).state_eq
HOVER = {
    "tiltrotor": (TILTING, [*TILTING[[0, 1, 2, 5]], *[0] * 4]),
    "quad": ([0, 0, 3, 0, 0, 0, 1, *[0] * 6], [0, 0, 3, *[0] * 8]),
}
"""State and setpoint of each family."""


def predictive(name: str, *settings: str) -> Run:
    """A law of a scenario that finds its command in each period, as its board calls it on mil."""
    plan: Any = load(find(name), (*settings, 'loop="mil"' if name.startswith("tiltrotor") else 'loop="sil"'))
    if name.startswith("tiltrotor"):
        law = board_law(plan)[0]
    else:
        airframe_design, inner = guided.designed(plan)
        law = guided_nonlinear.host_law(airframe_design, plan.controller.control.nmpc, inner)
    return GuardedLaw(law, Evaluator) if isinstance(law, HostLawDesign) else Evaluator(law)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("tiltrotor-spiral-mpc", "control.mpc.steps=10"),
        ("tiltrotor-heading-nmpc", "control.nmpc.steps=4"),
        ("tiltrotor-spiral-mppi", "control.mppi.rollouts=64"),
        ("quad-law-nmpc", "control.nmpc.steps=4"),
    ],
)
def test_a_predictive_law_has_no_solution_with_a_nan(name: str, setting: str) -> None:
    """Its limits hide none: it holds the last good command for some periods, then its fallback flies, whose NaN is
    seen."""
    law, hover = predictive(name, setting), HOVER[name.partition("-")[0]]
    law.inputs[0][:], law.inputs[1][:] = hover
    law()
    good, memory = law.outputs[0].copy(), law.outputs[1].copy()
    assert law.outputs[-1][0] == mpc.SOLVED and np.all(np.isfinite(good))
    for i, values in enumerate(hover):
        for j in range(len(values)):
            law.inputs[0][:], law.inputs[1][:], law.inputs[2][:] = *hover, memory
            law.inputs[i][j] = math.nan
            for period in range(mpc.HELD_PERIODS + 1):
                law()
                law.inputs[2][:] = law.outputs[1]
                level = law.outputs[-1][0]
                if period < mpc.HELD_PERIODS:
                    assert level == mpc.HELD and law.outputs[0] == pytest.approx(good, abs=0), (i, j)
            assert level not in (mpc.SOLVED, mpc.HELD) and not np.all(np.isfinite(law.outputs[0])), (i, j)


@pytest.mark.parametrize(
    ("value", "limited"), [(0.5, 0.5), (-3.0, 0.0), (7.0, 1.0), (math.nan, None), (math.inf, None), (-math.inf, None)]
)
def test_a_limited_command_is_a_number_only_if_it_was_one(value: float, limited: float | None) -> None:
    x = ca.MX.sym("x")
    found = float(ca.Function("f", [x], [within(x, 0.0, 1.0)])(value))
    assert found == limited if limited is not None else not math.isfinite(found)
