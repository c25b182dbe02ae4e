"""A host law: its solution flies, else its last good command, else the fallback law; late by a clock alone."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control.host_law import FALLBACK, RETRY_S, Build, GuardedLaw, HostLawDesign, Solution
from aeroloop.control.mpc import HELD, HELD_PERIODS, SOLVED
from aeroloop.core.frames import Vec

PERIOD_S = 0.01
OWN = 5.0


class Counting:
    """Commands the number of its calls, except in periods where it finds none; takes `took_ns` of the clock."""

    memory = 1

    def __init__(self, bad: dict[int, Vec | None]) -> None:
        self._bad, self.calls, self.now_ns, self.took_ns = bad, 0, 0, 0

    def solve(self, measured: Vec, reference: Vec, memory: Vec, after: Vec) -> Solution:
        self.calls += 1
        self.now_ns += self.took_ns
        after[0] = memory[0] + 1
        return Solution(self._bad.get(self.calls, np.array([memory[0] + 10.0])), 0.25)

    def prepare(self, after: Vec) -> None: ...


def guarded(solver: Counting) -> GuardedLaw:
    x, r, m = (ca.SX.sym(name) for name in "xrm")
    fallback = ca.Function("fallback", [x, r, m], [OWN + 0 * x, m + 1])

    def made(build: Build) -> Counting:
        return solver

    return GuardedLaw(HostLawDesign("counting", made, fallback, PERIOD_S), Evaluator)


def flown(law: GuardedLaw, periods: int) -> list[tuple[float, float]]:
    rows = []
    for _ in range(periods):
        law()
        law.inputs[2][:] = law.outputs[1]
        rows.append((float(law.outputs[0][0]), float(law.outputs[2][0])))
    return rows


@pytest.mark.parametrize("none", [None, np.array([np.nan])], ids=["none", "nan"])
def test_without_a_solution_the_last_good_command_is_held_then_the_fallback_flies(none: Vec | None) -> None:
    last = 3 + HELD_PERIODS
    solver = Counting(dict.fromkeys(range(3, last + 1), none))
    law = guarded(solver)
    rows = flown(law, last + 2)
    assert rows[:2] == [(10.0, SOLVED), (11.0, SOLVED)]
    assert rows[2 : 2 + HELD_PERIODS] == [(11.0, HELD)] * HELD_PERIODS
    assert rows[2 + HELD_PERIODS] == (OWN, FALLBACK)
    assert rows[last:] == [(10.0, SOLVED), (11.0, SOLVED)]  # from a memory of zeros
    assert law.inputs[2][0] == last + 2  # the fallback's own memory follows every period


def test_without_a_good_command_yet_the_fallback_flies_at_once() -> None:
    assert flown(guarded(Counting({1: None})), 2) == [(OWN, FALLBACK), (10.0, SOLVED)]


def test_late_solutions_are_not_used_and_the_solver_is_left_out_for_a_while() -> None:
    solver = Counting({})
    law = guarded(solver)
    law.clock_ns = lambda: solver.now_ns
    assert flown(law, 1) == [(10.0, SOLVED)]
    solver.took_ns = 11_000_000
    levels = [level for _, level in flown(law, HELD_PERIODS + 1)]
    assert levels == [HELD] * HELD_PERIODS + [FALLBACK]
    called, left_out = solver.calls, round(RETRY_S / PERIOD_S)
    solver.took_ns = 9_000_000
    assert [level for _, level in flown(law, left_out)] == [FALLBACK] * left_out
    assert solver.calls == called
    assert flown(law, 1) == [(10.0, SOLVED)]


def test_in_lockstep_no_solution_is_late() -> None:
    solver = Counting({})
    solver.took_ns = 10**12
    assert flown(guarded(solver), 1) == [(10.0, SOLVED)]


def test_a_missing_solution_leaves_what_is_kept_of_the_memory() -> None:
    """Such as integrals; all of it starts from zero if any of it is not finite."""
    solver = Counting({3: None})
    x, r, m = (ca.SX.sym(name) for name in "xrm")
    fallback = ca.Function("fallback", [x, r, m], [OWN + 0 * x, m + 1])
    law = GuardedLaw(HostLawDesign("counting", lambda build: solver, fallback, PERIOD_S, kept=1), Evaluator)
    assert flown(law, 4) == [(10.0, SOLVED), (11.0, SOLVED), (11.0, HELD), (13.0, SOLVED)]
    law.inputs[2][-1] = np.nan
    assert flown(law, 2)[1] == (10.0, SOLVED)


def test_a_first_solution_that_is_late_is_the_start_of_the_next_period() -> None:
    solver = Counting({})
    law = guarded(solver)
    law.clock_ns = lambda: solver.now_ns
    solver.took_ns = 50_000_000
    assert flown(law, 1) == [(OWN, FALLBACK)]
    solver.took_ns = 1_000_000
    assert flown(law, 1) == [(11.0, SOLVED)]  # with the memory of the late one
