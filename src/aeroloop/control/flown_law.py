"""The law of a board that receives values: that of the family's row, or in its place that of a user's file.

    (measured (n,), memory (k,)) -> (command (m,), memory (k,))

The file's law has the period, the values and the commands of the family's law, and reports no telemetry of its own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import casadi as ca

from aeroloop.control import custom
from aeroloop.control.board_law import BoardLaw
from aeroloop.control.values_toolkit import MEASURED, LawDesign
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.stream import KEYS
from aeroloop.core.streams import named
from aeroloop.core.tables import family, made, offered

KEY = "law_file"


def law_file(scenario: Scenario) -> str:
    """Of a controller that flies the law of a family's row; empty: it flies that."""
    return str(value_at(scenario.controller, KEY) or "")


def flown_law(scenario: Scenario) -> BoardLaw:
    law = offered(scenario.kind, "law", scenario)
    if not isinstance(law, BoardLaw):
        reference = family(scenario.kind).law
        raise ConfigError(f"{reference}: expected a control.board_law.BoardLaw, not {type(law).__name__}")
    path = law_file(scenario)
    return _from_file(scenario, law, Path(path)) if path else law


def design_of(scenario: Scenario, law: BoardLaw) -> LawDesign:
    """What a file is given instead of this law of its family."""
    own = scenario.family.design
    values, commands = _names(scenario, law)
    f = law.function
    symbols = [ca.MX.sym(MEASURED, law.measured), ca.MX.sym("memory", f.size1_out(1))]
    fresh = [ca.DM.ones(len(law.groups))] if law.groups else []
    built_in = ca.Function("built_in", symbols, f.call([symbols[0], *fresh, symbols[1]])[:2])
    return LawDesign(law.period_s, values, commands, law.measured, built_in, made(own, scenario) if own else None)


def _names(scenario: Scenario, law: BoardLaw) -> list[dict[str, int]]:
    """The columns of the streams of values and commands; empty where the family has no such stream."""
    streams = named(scenario)
    columns = [streams[name].names if name in streams else () for name in law.logs]
    found = [{name: i for i, name in enumerate(name for name in row if name not in KEYS)} for row in columns]
    return [*found, {}, {}][:2]


def _from_file(scenario: Scenario, law: BoardLaw, path: Path) -> BoardLaw:
    shape = custom.Shape({MEASURED: law.measured}, law.commands)
    own = custom.load(path, design_of(scenario, law), shape, KEY)
    if law.groups:  # it sees the last values of each group
        symbols = [ca.MX.sym(name, own.size1_in(i)) for i, name in enumerate(own.name_in())]
        own = ca.Function(own.name(), [symbols[0], ca.MX.sym("fresh", len(law.groups)), symbols[1]], own.call(symbols))
    return replace(law, function=own, tells=())
