"""Helpers for writing the law of an aircraft whose board receives values: the helicopter, the 3-RRR robot, or one of
your own.

measured, memory = values_toolkit.inputs(design, memory=4)
x_m, y_m = design.picked(measured, "x_m"), design.picked(measured, "y_m")
...
return values_toolkit.function(measured, memory, command, memory_next)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from aeroloop.control.toolkit import clip as clip
from aeroloop.control.toolkit import with_memory
from aeroloop.control.toolkit import wrapped as wrapped
from aeroloop.core.suggest import did_you_mean

MEASURED = "measured"


@dataclass(frozen=True)
class LawDesign:
    """What the author of a law is given."""

    period_s: float
    values: Mapping[str, int]  # indices into `measured`: the columns of the stream of measured values (`sensors`)
    commands: Mapping[str, int]  # indices into the command: those of the stream `command`
    size: int  # of `measured`
    built_in: ca.Function  # the family's law, (measured, memory) -> (command, memory)
    aircraft: Any = None  # what the family's row has for authors of laws (`design`)

    def picked(self, measured: Any, *names: str) -> Any:
        """The values with these names, one below the other."""
        for name in names:
            if name not in self.values:
                like = did_you_mean(name, self.values)
                raise ValueError(f"no value {name!r}{like}; expected one of: {', '.join(self.values)}")
        return measured[[self.values[name] for name in names]]


def inputs(design: LawDesign, memory: int = 0) -> tuple[Any, Any]:
    """Symbols for a law's inputs; `memory` is the number of values it keeps from one period to the next."""
    return ca.SX.sym(MEASURED, design.size), ca.SX.sym("memory", memory)


def function(measured: Any, memory: Any, command: Any, memory_next: Any = None) -> ca.Function:
    """The law as a CasADi function; `memory_next` becomes the next period's `memory`."""
    return with_memory({MEASURED: measured, "memory": memory}, command, memory_next)
