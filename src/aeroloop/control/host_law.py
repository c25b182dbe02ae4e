"""A host law: a control law that is a Python object with compiled parts, where a CasADi function is not enough (a
solver of quadratic programs, thousands of rollouts). It flies on mil and sil alone.

    solver     what is expensive: (measured, reference, memory) -> command or none, memory
    fallback   a CasADi function of the same inputs that always has a command: DLQR, cascade

`HostLawDesign` is the design, which a family's row returns in place of a CasADi function; `GuardedLaw` is what a board
calls. It has the call of `codegen.evaluate.Evaluator`: fill `inputs` (measured, reference, memory), call, read
`outputs` (command, memory, status). Everything that is kept from one period to the next is in the memory, which is zero
at the start, so equal inputs give equal outputs and lockstep flights repeat.

Without a solution (none found, not finite, or late) the last good command is held for `HELD_PERIODS`, then the fallback
law flies until a solution is good again; its memory is kept up to date all the time. A solver without a solution starts
from a memory of zeros, but for the first `kept` numbers, such as integrals, while they are finite; one that was only
late keeps its own.

Late: with a clock, which is the flight's own in wall time and None in lockstep, a solution that took longer than the
control period is not used, and a solver that was late until the fallback law flew is left out for `RETRY_S`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np

from aeroloop.control.mpc import HELD, HELD_PERIODS, SOLVED, STATUS_SIZE
from aeroloop.core.frames import Vec
from aeroloop.core.signals import NS

FALLBACK = 2
"""What flies: SOLVED and HELD of `control.mpc`, or the fallback law; the values of the event LAW_FALLBACK."""
RETRY_S = 1.0
"""A late solver is tried again after this time."""

_HAS_GOOD, _BAD, _LEFT_OUT = range(3)
_COUNTERS = 3
"""In the memory: whether there was a good command, periods without a solution, periods without the solver."""


class Run(Protocol):
    """A function with its arrays, as `codegen.evaluate.Evaluator`."""

    inputs: list[Vec]
    outputs: list[Vec]

    def __call__(self) -> None: ...


Build = Callable[[ca.Function], Run]
"""How a rung calls a CasADi function: interpreted (mil) or as C (sil)."""


@dataclass(frozen=True)
class Solution:
    """Of one control period."""

    command: Vec | None  # None: not found
    residual: float = 0.0  # what is left of the solver's error, by its own measure; for the status alone


class Solver(Protocol):
    """The expensive part of a host law. It depends on its arguments alone; arrays of its own are for working only."""

    memory: int
    """Numbers that it keeps from one period to the next."""

    def solve(self, measured: Vec, reference: Vec, memory: Vec, after: Vec) -> Solution:
        """The command of this period; `after` receives the memory of the next."""

    def prepare(self, after: Vec) -> None:
        """What can be computed before the next measurement: called once the command has been sent, in wall time.
        `solve` does the same itself where this was not called with the memory that it is given."""


@dataclass(frozen=True)
class HostLawDesign:
    """Design of a host law."""

    name: str  # as in `control.law`
    solver: Callable[[Build], Solver]
    fallback: ca.Function  # (measured, reference, memory) -> (command, memory, ...)
    period_s: float
    parts: tuple[ca.Function, ...] = ()  # of the solver: compiled before the flight's processes start, for rung sil
    ahead: Callable[[], object] | None = None  # compiles what is no CasADi function, before the processes start
    kept: int = 0  # numbers at the start of the solver's memory that a missing solution leaves

    @property
    def commands(self) -> int:
        return int(self.fallback.size1_out(0))


class GuardedLaw:
    """A host law with its fallback: fill `inputs`, call, read `outputs`."""

    def __init__(self, law: HostLawDesign, build: Build) -> None:
        self.clock_ns: Callable[[], int] | None = None  # the flight's own, in wall time
        self._period_ns = round(law.period_s * NS)
        self._retry = round(RETRY_S / law.period_s)
        self._kept = law.kept
        self._solver = law.solver(build)
        self._fallback = build(law.fallback)
        kept, commands = len(self._fallback.outputs[1]), law.commands
        ends = np.cumsum([kept, commands, _COUNTERS, self._solver.memory]).tolist()
        self._own, self._good, self._counters, self._work = (
            slice(start, end) for start, end in zip([0, *ends], ends, strict=False)
        )
        measured, reference = (np.zeros(len(row)) for row in self._fallback.inputs[:2])
        self.inputs: list[Vec] = [measured, reference, np.zeros(ends[-1])]
        self.outputs: list[Vec] = [np.zeros(commands), np.zeros(ends[-1]), np.zeros(STATUS_SIZE)]

    def __call__(self) -> None:
        measured, reference, memory = self.inputs
        command, after, status = self.outputs
        after[:] = memory
        own_command = self._fall_back(measured, reference, memory, after)
        counters = after[self._counters]  # a view
        solution, late = self._solve(measured, reference, memory, after)
        if solution.command is not None:
            after[self._good] = solution.command
            counters[:] = (1, 0, 0)
            level = SOLVED
        else:
            counters[_BAD] = min(counters[_BAD] + 1, HELD_PERIODS + 1)
            level = HELD if counters[_HAS_GOOD] and counters[_BAD] <= HELD_PERIODS else FALLBACK
            given_up = late and counters[_BAD] > HELD_PERIODS
            if given_up:
                counters[_LEFT_OUT] = self._retry
            if given_up or not late:  # what was only late is a good start for the next period
                work = after[self._work]  # a view
                work[self._kept if np.all(np.isfinite(work)) else 0 :] = 0.0
        command[:] = own_command if level == FALLBACK else after[self._good]
        status[:] = level, solution.residual if np.isfinite(solution.residual) else -1.0

    def prepare(self) -> None:
        """Work ahead, once the command has been sent."""
        if not self.outputs[1][self._counters][_LEFT_OUT]:
            self._solver.prepare(self.outputs[1][self._work])

    def _fall_back(self, measured: Vec, reference: Vec, memory: Vec, after: Vec) -> Vec:
        run = self._fallback
        run.inputs[0][:], run.inputs[1][:], run.inputs[2][:] = measured, reference, memory[self._own]
        run()
        after[self._own] = run.outputs[1]
        return run.outputs[0]

    def _solve(self, measured: Vec, reference: Vec, memory: Vec, after: Vec) -> tuple[Solution, bool]:
        """The solution, without a command if it is of no use; whether it was late."""
        counters = after[self._counters]
        if counters[_LEFT_OUT] > 0:
            counters[_LEFT_OUT] -= 1
            return Solution(None), False
        began_ns = self.clock_ns() if self.clock_ns else 0
        solution = self._solver.solve(measured, reference, memory[self._work], after[self._work])
        late = self.clock_ns is not None and self.clock_ns() - began_ns > self._period_ns
        finite = solution.command is not None and np.all(np.isfinite(solution.command))
        if not finite or not np.all(np.isfinite(after[self._work])):
            return Solution(None, solution.residual), False
        if late:
            return Solution(None, solution.residual), True
        return solution, False
