"""The mission's telemetry: rows of the streams plan, plan_cell and path, of the long ones a few per period."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from aeroloop.core.wing_signals import PlanStatus
from aeroloop.planning.mission_messages import Kind, PathRequest, Reference, Result
from aeroloop.planning.plan import Plan

Row = tuple[str, tuple[float, ...]]
"""Name of a stream, and its values without the time."""


class TelemetryQueue:
    """Queue of telemetry rows: cells of plans and points of paths, in order, a limited number at a time."""

    def __init__(self, every_m: float, at_once: int) -> None:
        self._every_m = every_m
        self._at_once = at_once
        self._waiting: deque[Iterator[Row]] = deque()

    def plan(self, result: Result) -> None:
        if result.plan is not None:
            self._waiting.append(_cells(result.number, result.plan))

    def path(self, number: int, kind: Kind, reference: Reference) -> None:
        self._waiting.append(_points(number, kind, reference, self._every_m))

    def some(self) -> list[Row]:
        rows: list[Row] = []
        while self._waiting and len(rows) < self._at_once:
            rows += islice(self._waiting[0], self._at_once - len(rows))
            if len(rows) < self._at_once:
                self._waiting.popleft()
        return rows


def plan_row(order: PathRequest, result: Result) -> Row:
    plan = result.plan or Plan(PlanStatus.UNREACHABLE)
    return "plan", (
        float(order.number),
        float(result.status),
        order.began_s,
        *order.start_m,
        *order.goal_m,
        float(plan.leaves),
        float(plan.expanded),
        float(plan.cost),
        0.0,
        float(len(plan.cells)),
        float(len(plan.fine)),
        float(plan.reaches_goal),
    )


def _cells(number: int, plan: Plan) -> Iterator[Row]:
    for index, cell in enumerate(plan.cells):
        yield "plan_cell", (float(number), float(index), float(cell.level), float(cell.col), float(cell.row))


def _points(number: int, kind: Kind, reference: Reference, every_m: float) -> Iterator[Row]:
    """Evenly spaced, including both ends."""
    parts = max(1, -int(-reference.length_m // every_m))
    for part in range(parts + 1):
        s_m = reference.length_m * part / parts
        yield "path", (float(number), float(kind), s_m, *reference.at(s_m))
