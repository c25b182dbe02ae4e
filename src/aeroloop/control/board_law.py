"""A control law as any board runs it: a CasADi function with memory, once a control period.

(measured (n,), memory (k,)) -> (command (m,), memory (k,))
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from aeroloop.core.errors import ConfigError


@dataclass(frozen=True)
class BoardLaw:
    """What a family's row names as its law."""

    function: ca.Function
    period_s: float

    def __post_init__(self) -> None:
        f = self.function
        if (f.n_in(), f.n_out()) != (2, 2) or f.size1_in(1) != f.size1_out(1):
            raise ConfigError(f"law {f.name()}: expected (measured, memory) -> (command, memory), not {f}")

    @property
    def measured(self) -> int:
        return int(self.function.size1_in(0))

    @property
    def commands(self) -> int:
        return int(self.function.size1_out(0))
