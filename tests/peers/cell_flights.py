"""A vehicle that only knows cells: it plans, flies the first half of the fine cells, and plans again."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from aeroloop.core.wing_signals import Direction, Turn
from aeroloop.planning.cells import STEPS, TURNS, Cell
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.plan import Plan
from aeroloop.planning.search import Entry

FINEST_STEP = 16
"""Length of one unit, as costs count it."""


class Planning(Protocol):
    def plan(self, start_m: tuple[float, float], goal_m: tuple[float, float], entry: Entry | None = None) -> Plan: ...

    def flown(self, cell: Cell) -> None: ...

    def forget(self) -> None: ...


class Priced(Protocol):
    def factor(self, cell: Cell) -> int: ...


class Flight(NamedTuple):
    arrived: bool
    cells: tuple[Cell, ...]
    plans: int


def step_between(one: Cell, other: Cell) -> Direction:
    return Direction(STEPS.index((other.col - one.col, other.row - one.row)))


def next_entry(entry: Entry | None, direction: Direction) -> Entry:
    """How the next cell is entered after this step."""
    turn = Turn.STRAIGHT if entry is None else TURNS[(direction - entry.direction) % 4]
    assert turn is not None, "it turned back"
    assert entry is None or turn == Turn.STRAIGHT or turn != entry.last_turn, "a U turn"
    return Entry(direction, turn)


def fly(planner: Planning, elevation: Elevation, start: Cell, goal: Cell, most_cells: int) -> Flight:
    """From the centre of one fine cell to another; without the turn rule it would not be let through."""
    planner.forget()
    cells, entry, plans = [start], None, 0
    while cells[-1] != goal and len(cells) < most_cells:
        plan = planner.plan(elevation.centre_m(cells[-1]), elevation.centre_m(goal), entry)
        plans += 1
        if not plan.found:
            break
        ahead = plan.fine[1:] if plan.reaches_goal else plan.fine[1 : 1 + max(1, len(plan.fine) // 2)]
        if not ahead:
            break
        for cell in ahead:
            entry = next_entry(entry, step_between(cells[-1], cell))
            cells.append(cell)
            planner.flown(cell)
    return Flight(cells[-1] == goal, tuple(cells), plans)


def cost_of(cells: tuple[Cell, ...], ground: Priced, elevation: Elevation) -> int:
    """Of a way over fine cells, as a search over the full grid counts it."""
    return sum((FINEST_STEP << (elevation.order - cell.level)) * ground.factor(cell) for cell in cells[1:])
