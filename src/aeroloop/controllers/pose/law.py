"""The multirotor's estimator and law as a pose board runs them: those of `controllers.law.guided`, and a group of
values with which the plant changes a parameter."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any

import casadi as ca

from aeroloop.control.board_law import BoardLaw, Group, Row
from aeroloop.controllers.law import guided
from aeroloop.controllers.pose.driver_table import ROW_SIZES
from aeroloop.controllers.pose.front import PARAMETER_VALUES
from aeroloop.controllers.pose.parameters import NAMES
from aeroloop.controllers.pose.tables import PoseScenario
from aeroloop.core.signals import NS
from aeroloop.protocols import values
from aeroloop.sim.vehicle import Vehicle

PARAMETER_HZ = 0.1
"""More seldom than any sensor; parameters are changed by hand."""


def pose_law(scenario: PoseScenario) -> BoardLaw:
    flown: Any = scenario
    law = guided.board_law(flown)
    f = law.function
    measured, fresh = ca.MX.sym("measured", law.measured + PARAMETER_VALUES), ca.MX.sym("fresh", len(law.groups) + 1)
    memory = ca.MX.sym("memory", f.size1_in(2))
    outputs = f(measured[: law.measured], fresh[: len(law.groups)], memory)
    function = ca.Function("posed", [measured, fresh, memory], list(outputs))
    groups = (*law.groups, Group(PARAMETER_VALUES, PARAMETER_HZ))
    return BoardLaw(function, law.period_s, groups, law.tells, partial(Readings, scenario), law.logs)


def shape_of(law: BoardLaw) -> values.Shape:
    rows = tuple((row.stream, row.size) for row in law.tells)
    return values.Shape(law.sizes, law.commands, (*rows, *ROW_SIZES.items()))


class Readings:
    """Ordinary sensors and setpoints, and the parameters that the scenario changes; a `Source`."""

    def __init__(self, scenario: PoseScenario, vehicle: Vehicle[Any, Any]) -> None:
        flown: Any = scenario
        self._readings = guided.Readings(flown, vehicle)
        changes = sorted(scenario.controller.pose.changes, key=lambda change: change.at_s)
        self._changes = deque((round(it.at_s * NS), (float(NAMES.index(it.name)), it.value)) for it in changes)

    def __call__(self, t_ns: int) -> list[Row | None] | None:
        found = self._readings(t_ns)
        if found is None:
            return None
        due = self._changes and self._changes[0][0] <= t_ns
        return [*found, self._changes.popleft()[1] if due else None]
