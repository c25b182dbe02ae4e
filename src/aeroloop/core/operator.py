"""User commands of an operator to a board in flight: planned in a scenario, from the page or from the command line.

A family's row names the `Console` of its board (`core.tables.Family.operator`): the parameters that may change in
flight. The board checks every command, answers it, and reports what it applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from msgspec import Meta

from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.suggest import did_you_mean

CommandName = Literal["goal", "loiter", "return", "resume", "set", "read"]
COMMANDS: tuple[str, ...] = get_args(CommandName)
MOST = 1e6


class OperatorCommand(Config, frozen=True):
    """One user command."""

    command: Annotated[
        CommandName,
        note(
            "`goal`, `loiter` here, `return` to the start, `resume` the flight to the goal, `set` or `read` parameters"
        ),
    ]
    position_m: Annotated[
        tuple[float, float] | None, meta("m", "of the command `goal`: east and north of the map's centre")
    ] = None
    parameter: Annotated[str, Meta(max_length=64), note("of the command `set`: the name of a parameter")] = ""
    value: Annotated[float | None, meta("-", "of the command `set`: its new value, in its own unit")] = None

    def __post_init__(self) -> None:
        for key, owner in (("position_m", "goal"), ("parameter", "set"), ("value", "set")):
            given = getattr(self, key) not in (None, "")
            if given != (self.command == owner):
                expected = f"the command {self.command} needs" if not given else f"only the command {owner} has"
                raise ValueError(f"{key}: {expected} a {key}")
        if self.position_m is not None and not all(abs(part_m) <= MOST for part_m in self.position_m):
            raise ValueError(f"position_m: expected a position within {MOST:g} m, not {self.position_m}")
        if self.value is not None and not abs(self.value) <= MOST:  # also refuses NaN
            raise ValueError(f"value: expected a number within {MOST:g}, not {self.value}")


class PlannedOperatorCommand(OperatorCommand, frozen=True, kw_only=True):
    """A user command at a simulated time."""

    at_s: Annotated[float, meta("s", "simulated time at which the ground sends it", ge=0, le=86400)]


@dataclass(frozen=True)
class ParameterSpec:
    """A parameter of a board that may change in flight."""

    name: str
    unit: str
    default: float
    low: float
    high: float
    meaning: str


@dataclass(frozen=True)
class Console:
    """What the operator of a flight can change; the number of a parameter or of an answer is its index."""

    parameters: tuple[ParameterSpec, ...]
    answers: tuple[str, ...] = ("accepted",)  # in words
    silent: int = -1  # the answer that the ground logs where the board gave none

    def number(self, name: str) -> int:
        """ConfigError for a parameter that does not exist."""
        names = [spec.name for spec in self.parameters]
        if name not in names:
            raise ConfigError(f"parameter: no {name!r}{did_you_mean(name, names)}; expected one of: {', '.join(names)}")
        return names.index(name)

    def check(self, order: OperatorCommand) -> None:
        if order.command == "set":
            self.number(order.parameter)
