"""Control law of a board: a CasADi function with memory, called once per control period.

    (measured (n,), memory (k,)) -> (command (m,), memory (k,))

or, for values with different rates, and for a law with telemetry:

    (measured (n,), fresh (g,), memory (k,)) -> (command (m,), memory (k,), told (t,))

`measured` holds the values of all groups, one group after the other; a group without new values keeps the last ones,
and its `fresh` is 0. Memory is zero at the start. Values that are NaN or infinite do not reach the law: the message is
rejected, or, for a law that `restarts`, the last command is held in that period and the memory is set to zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import casadi as ca

from aeroloop.control.custom import BECOMES_C
from aeroloop.control.host_law import Build, Run
from aeroloop.core.errors import ConfigError

INPUTS, OUTPUTS = ("measured", "fresh", "memory"), ("command", "memory_next", "told")
MOST_GROUPS = 8
LEAST_PERIOD_S = 1e-4

Row = Sequence[float]
Source = Callable[[int], Sequence[Row | None] | None]
"""At a simulated time in ns: the new values of each group, None for a group without; None during a dropout of all."""


class BoardRun(Run, Protocol):
    """A host law with the inputs and outputs of `BoardLaw.whole` and one output more, its status; its memory has its
    own size."""

    clock_ns: Callable[[], int] | None
    """The flight's clock in wall time, by which it may be late."""

    def prepare(self) -> None:
        """Work ahead, once the command has been sent."""


@dataclass(frozen=True)
class Group:
    """Values that arrive together."""

    size: int
    rate_hz: float = 0.0  # 0: every control period


@dataclass(frozen=True)
class TelemetryRow:
    """Values of `told` that are a row of a stream."""

    stream: str
    size: int
    every: int = 1  # control periods
    unknown: int = 0  # columns after them that this law does not provide: NaN in the log


@dataclass(frozen=True)
class BoardLaw:
    """The law in a family's table row."""

    function: ca.Function
    period_s: float
    groups: tuple[Group, ...] = ()  # empty: one group, every period, and the function has no `fresh`
    tells: tuple[TelemetryRow, ...] = ()
    source: Callable[[Any], Source] | None = None  # of a vehicle; None: its state sensors, in one group
    logs: tuple[str, ...] = ("sensors", "command")  # streams of the values sent and of the command received
    restarts: bool = False  # with a memory of zeros after values that are NaN or infinite
    host: Callable[[Build], BoardRun] | None = None  # a host law in place of the function, which has the same shape
    parts: tuple[ca.Function, ...] = ()  # of the host law, which become C

    def __post_init__(self) -> None:
        if not isinstance(self.function, ca.Function):
            raise ConfigError(f"law: expected a casadi.Function, not {type(self.function).__name__}")
        f, told = self.function, sum(row.size for row in self.tells)
        if not (math.isfinite(self.period_s) and self.period_s >= LEAST_PERIOD_S):
            raise ConfigError(
                f"law {f.name()}: expected a period of {LEAST_PERIOD_S:g} s or more, not {self.period_s:g}"
            )
        if f.has_free():
            raise ConfigError(f"law {f.name()}: uses {', '.join(f.get_free())}, which is none of its inputs")
        for part in (f, *f.find_functions()):
            if part.class_name() not in BECOMES_C:
                raise ConfigError(f"law {f.name()}: calls {part.name()!r} ({part.class_name()}), which cannot become C")
        shape = (2 + bool(self.groups), 2 + bool(self.tells))
        if (f.n_in(), f.n_out()) != shape or f.size1_in(shape[0] - 1) != f.size1_out(1):
            fresh, tells = ", fresh" * bool(self.groups), ", told" * bool(self.tells)
            raise ConfigError(
                f"law {f.name()}: expected (measured{fresh}, memory) -> (command, memory{tells}), not {f}"
            )
        if self.groups and (f.size1_in(0), f.size1_in(1)) != (sum(g.size for g in self.groups), len(self.groups)):
            raise ConfigError(f"law {f.name()}: expected the values and flags of {len(self.groups)} groups, not {f}")
        if self.tells and f.size1_out(2) != told:
            raise ConfigError(f"law {f.name()}: expected {told} telemetry values, not {f}")
        if len(self.groups) > MOST_GROUPS:
            raise ConfigError(f"law {f.name()}: expected at most {MOST_GROUPS} groups, not {len(self.groups)}")

    @property
    def measured(self) -> int:
        return int(self.function.size1_in(0))

    @property
    def commands(self) -> int:
        return int(self.function.size1_out(0))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the groups."""
        return tuple(group.size for group in self.groups) or (self.measured,)

    @cached_property
    def whole(self) -> ca.Function:
        """The function with all three inputs and outputs; without telemetry its output is a zero."""
        f = self.function
        symbols: Any = ca.SX if f.is_a("SXFunction") else ca.MX
        measured = symbols.sym("measured", self.measured)
        fresh = symbols.sym("fresh", len(self.sizes))
        memory = symbols.sym("memory", f.size1_out(1))
        given = [measured, fresh, memory] if self.groups else [measured, memory]
        command, memory_next, *told = f.call(given)
        results = [command, memory_next, *(told or [symbols(1, 1)])]
        return ca.Function(
            f.name(), [measured, fresh, memory], [ca.densify(result) for result in results], INPUTS, OUTPUTS
        )
