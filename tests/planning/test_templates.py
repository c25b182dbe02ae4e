"""Path templates: the optimiser against the spec's table, the proofs of the library, and that it is not stale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.planning.spline import DEGREE, basis, curvature, curvature_bound, refinement, sampled
from aeroloop.planning.templates import LONGEST_STEP, NodeKind, library
from tools.template_optimiser import (
    WANTED,
    End,
    InfeasibleError,
    Problem,
    proven_margin,
    smooth,
    template,
)

FLYABLE = 2.12
"""Curvature times a cell's 150 m at 20 m/s and 30 degrees of bank: 150 / 70.6."""

LEFT_3 = Problem(((0, 0), (1, 0), (1, 1)), End(-0.5, 0, 0), End(1, 1.5, 90))
LEFT_5 = Problem(((-1, 0), (0, 0), (1, 0), (1, 1), (1, 2)), End(-1.5, 0, 0), End(1, 2.5, 90))
STAIRCASE = Problem(((0, 0), (1, 0), (1, 1), (2, 1)), End(-0.5, 0, 0), End(2.5, 1, 0))
ONE_CELL = Problem(((-1, 0), (0, 0), (0, 1)), End(-0.5, 0, 0), End(0, 0.5, 90))
U_TURN = Problem(((0, 0), (1, 0), (1, 1), (0, 1)), End(-0.5, 0, 0), End(-0.5, 1, 180))


def peak(control: np.ndarray) -> float:
    return float(np.abs(curvature(control, np.linspace(0.0, 1.0, 2001))).max())


@pytest.mark.parametrize(
    ("problem", "kappa"), [(LEFT_3, 1.756), (LEFT_5, 1.498), (ONE_CELL, 5.27)], ids=["left 3", "left 5", "one cell"]
)
def test_the_optimiser_finds_the_numbers_of_the_specification(problem: Problem, kappa: float) -> None:
    assert peak(smooth(problem)[0]) == pytest.approx(kappa, rel=0.005)


@pytest.mark.parametrize(
    ("problem", "kappa", "flyable"), [(STAIRCASE, 0.658, True), (U_TURN, 3.49, False)], ids=["staircase", "U turn"]
)
def test_where_spans_may_choose_their_rectangle_it_finds_smoother_curves_with_the_same_verdict(
    problem: Problem, kappa: float, flyable: bool
) -> None:
    found = peak(smooth(problem)[0])
    assert 0.7 * kappa < found < kappa
    assert (found < FLYABLE) == flyable


@pytest.mark.parametrize(
    "problem",
    [
        Problem(LEFT_3.cells, LEFT_3.begin, LEFT_3.end, margin=0.51, count=7),
        Problem(LEFT_3.cells, LEFT_3.begin, End(0, 1, 90), count=7),
    ],
    ids=["no room", "ends elsewhere"],
)
def test_what_has_no_solution_is_said_to_have_none(problem: Problem) -> None:
    with pytest.raises(InfeasibleError, match="no curve with 7 control points"):
        smooth(problem)


@pytest.mark.parametrize("name", WANTED)
def test_the_library_is_what_the_optimiser_makes(name: str) -> None:
    made = template(name)
    held = next(each.shape for each in library().values() if each.name == name)
    assert np.abs(np.array(made.control) - np.array(held.control)).max() < 1e-4
    assert made.rectangles == held.rectangles
    for number in ("length", "margin", "kappa_peak", "kappa_bound"):
        assert getattr(made, number) == pytest.approx(getattr(held, number), abs=1e-3), number


@pytest.mark.parametrize("name", WANTED)
def test_every_template_is_proven_inside_its_channel_and_under_the_limit(name: str) -> None:
    shape = next(each.shape for each in library().values() if each.name == name)
    control = np.array(shape.control)
    assert 0.1799 <= shape.margin <= proven_margin(WANTED[name][0], control, shape.rectangles)
    assert curvature_bound(control) <= shape.kappa_bound <= 1.28 < FLYABLE
    assert peak(control) <= shape.kappa_bound <= peak(control) * 1.01 + 1e-6


@pytest.mark.parametrize("name", WANTED)
def test_templates_begin_and_end_as_their_nodes_say(name: str) -> None:
    problem, _, _ = WANTED[name]
    samples = next(each.samples for each in library().values() if each.name == name)
    for index, end in ((0, problem.begin), (-1, problem.end)):
        assert (samples.x[index], samples.y[index]) == pytest.approx((end.x, end.y), abs=1e-12)
        assert samples.psi[index] == pytest.approx(math.radians(end.heading_deg), abs=1e-9)
        assert abs(samples.kappa[index]) < 1e-9


def test_out_of_a_staircase_is_the_way_in_backwards() -> None:
    into = library()[NodeKind.N, True, NodeKind.D].samples
    out = library()[NodeKind.D, True, NodeKind.N].samples
    # Backwards and mirrored, so that it turns left again: along the diagonal's own axes.
    assert out.kappa == pytest.approx(into.kappa[::-1], abs=1e-3)
    assert out.length == pytest.approx(into.length, abs=1e-6)


controls = st.lists(st.tuples(st.floats(0.02, 0.4), st.floats(-1.2, 1.2)), min_size=6, max_size=14).map(
    # Steps that never go back: the curve has a speed everywhere.
    lambda steps: np.cumsum([(0.0, 0.0), *((r * math.cos(a), r * math.sin(a)) for r, a in steps)], axis=0)
)


@given(controls)
def test_a_refined_curve_is_the_same_and_lies_in_its_hulls(control: np.ndarray) -> None:
    fine = refinement(len(control), 3) @ control
    spans = (len(control) - DEGREE) * 3
    for span in range(spans):
        u = np.linspace(span / spans, (span + 1) / spans, 5)
        points = basis(len(control), 0)(u) @ control
        hull = fine[span : span + DEGREE + 1]
        assert (points >= hull.min(axis=0) - 1e-12).all()
        assert (points <= hull.max(axis=0) + 1e-12).all()
    assert fine[[0, -1]] == pytest.approx(control[[0, -1]])


@given(controls)
def test_the_bound_on_curvature_holds(control: np.ndarray) -> None:
    assert peak(control) <= curvature_bound(control) * (1.0 + 1e-12)


@given(controls)
def test_samples_lie_at_equal_steps_of_arc_length(control: np.ndarray) -> None:
    samples = sampled(control, LONGEST_STEP)
    dense = basis(len(control), 0)(np.linspace(0.0, 1.0, 20001)) @ control
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(dense, axis=0).T))])
    assert samples.length == pytest.approx(along[-1], rel=1e-6)
    wanted = np.linspace(0.0, along[-1], len(samples.x))
    for got, column in ((samples.x, dense[:, 0]), (samples.y, dense[:, 1])):
        assert np.abs(got - np.interp(wanted, along, column)).max() < 1e-5
    assert samples.step <= LONGEST_STEP * (1 + 1e-9)
