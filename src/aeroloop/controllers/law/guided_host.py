"""A multirotor's estimator and a host law on one board: the call of `BoardLaw.whole`, and the law's status.

measured, fresh ─▶ estimator (CasADi) ─▶ believed motion, setpoint, whether it flies ─▶ host law ─▶ rotors
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from aeroloop.control.clipping import within
from aeroloop.control.host_law import Build, GuardedLaw, HostLawDesign
from aeroloop.control.mpc import STATUS_SIZE
from aeroloop.control.quad_toolkit import SETPOINT, STATE
from aeroloop.core.frames import Vec


class GuidedHost:
    """A `control.board_law.BoardRun`."""

    def __init__(self, believe: ca.Function, law: HostLawDesign, build: Build) -> None:
        """`believe`: (measured, fresh, memory) -> (state, setpoint, whether it flies, memory, told)."""
        self._believe, self._law = build(believe), GuardedLaw(law, build)
        command = ca.SX.sym("command", law.commands)
        self._limited = build(ca.Function("limited", [command], [within(command, 0, 1)]))
        self._estimated = len(self._believe.inputs[2])
        measured, fresh = self._believe.inputs[:2]
        memory = self._estimated + len(self._law.inputs[2])
        self.inputs: list[Vec] = [measured, fresh, np.zeros(memory)]
        self.outputs: list[Vec] = [
            np.zeros(law.commands),
            np.zeros(memory),
            self._believe.outputs[4],
            np.zeros(STATUS_SIZE),
        ]

    @property
    def clock_ns(self) -> Callable[[], int] | None:
        return self._law.clock_ns

    @clock_ns.setter
    def clock_ns(self, clock_ns: Callable[[], int] | None) -> None:
        self._law.clock_ns = clock_ns

    def __call__(self) -> None:
        memory, split = self.inputs[2], self._estimated
        command, after, _, status = self.outputs
        believe, law, limited = self._believe, self._law, self._limited
        believe.inputs[2][:] = memory[:split]
        believe()
        state, setpoint, flies, kept, _ = believe.outputs
        after[:split] = kept
        if not flies[0]:
            command[:], after[split:], status[:] = 0.0, 0.0, 0.0
            law.outputs[1][:] = 0.0
            return
        law.inputs[0][:], law.inputs[1][:], law.inputs[2][:] = state[:STATE], setpoint[:SETPOINT], memory[split:]
        law()
        limited.inputs[0][:] = law.outputs[0]
        limited()
        command[:], after[split:], status[:] = limited.outputs[0], law.outputs[1], law.outputs[2]

    def prepare(self) -> None:
        self._law.prepare()
