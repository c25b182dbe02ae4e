"""The control law as a PX4 module runs it: one interface for the cascade and for a law from a user's file.

    (nav (13,), setpoint (16,), memory (n,), gains (k,)) -> (motors, attitude (4,), memory_next (n,), unclipped (1,))

Rows are those of `control.cascade`. A law of a file has no gains (k is 1, not used) and no attitude setpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca

from aeroloop.control import cascade
from aeroloop.control.cascade import NAV, SETPOINT
from aeroloop.control.clipping import UNCLIPPED, with_unclipped
from aeroloop.control.flight_gains import GAINS, Gain
from aeroloop.controllers.law.guided_design import Design, own_law

INPUTS = cascade.INPUTS
OUTPUTS = (*cascade.OUTPUTS, UNCLIPPED)
ATTITUDE = 4


@dataclass(frozen=True)
class ModuleLaw:
    """A law with what the module must know of it."""

    function: ca.Function
    gains: tuple[Gain, ...]  # empty: it has none
    flies_attitude: bool  # it follows roll, pitch and thrust too, for modes without a held height

    @property
    def memory(self) -> int:
        return int(self.function.numel_in(2))

    @property
    def rotors(self) -> int:
        return int(self.function.numel_out(0))


def module_law(design: Design, law_file: Path | None) -> ModuleLaw:
    """The cascade, or the law of a file; ConfigError if that does not fit the aircraft or cannot become C."""
    if law_file is None:
        return ModuleLaw(with_unclipped(cascade.law(design.frame, design.period_s)), GAINS, flies_attitude=True)
    return ModuleLaw(with_unclipped(_with_rows(own_law(law_file, design))), (), flies_attitude=False)


def _with_rows(law: ca.Function) -> ca.Function:
    """A law (state, setpoint (11,), memory) -> (motors, memory) with the rows of the cascade."""
    kind: Any = ca.SX if law.is_a("SXFunction") else ca.MX
    nav, setpoint = kind.sym("nav", NAV), kind.sym("setpoint", SETPOINT)
    memory, gains = kind.sym("memory", law.numel_in(2)), kind.sym("gains", 1)
    motors, memory_next = law(nav, ca.vertcat(setpoint[0:10], setpoint[15]), memory)
    attitude = ca.densify(kind(ATTITUDE, 1))
    outputs = [motors, attitude, memory_next]
    return ca.Function("own_law", [nav, setpoint, memory, gains], outputs, list(INPUTS), list(cascade.OUTPUTS))
