"""A* over the leaves, in bounded pieces, with whole numbers only: the board's C finds the same cells.

Cost of a step from leaf i to j, in 1/4096 of a unit's length:

    ceil(16 * distance of the centres) * (256 + (256 w * risk_j) / 256)        risk 0..256 from j's approximation

and the remaining cost is at least 256 * floor(16 * distance to the goal's centre). Rounded up there and down here, the
estimate is consistent, so that no leaf is expanded twice. The lowest sum is expanded first; among equals the one nearer
to the goal, then the one with the lower number.

Among fine cells a state is (leaf, direction in, turn of the cell before): a reversal is excluded, and so are two
consecutive left or right turns, a U turn that no aircraft flies in two cells. Coarse leaves have no such state.
"""

from __future__ import annotations

import heapq
from math import isqrt
from typing import NamedTuple, Protocol

from aeroloop.core.wing_signals import Direction, Turn
from aeroloop.planning.cells import SUB, TURNS, Cell, Leaves

CLEARED_AT_ONCE = 16
"""Leaves per piece of preparation."""
MOST_COST = 2**31 - 1
"""A path with a higher cost counts as none: half a million units."""
HEADINGS = len(Direction) * len(Turn)


class Entry(NamedTuple):
    """Direction and turn with which a flown path enters the first cell."""

    direction: Direction
    last_turn: Turn = Turn.STRAIGHT


class SearchTerrain(Protocol):
    """Map queries of the search."""

    def factor(self, leaf: Cell) -> int | None:
        """Cost of entering this leaf for each 1/16 unit of length; None if it is blocked."""


class Search:
    """One search; call `step` until it returns true. Then `found` and the path are available."""

    def __init__(
        self, leaves: Leaves, ground: SearchTerrain, start: Cell, goal: Cell, entry: Entry | None, *, turn_rule: bool
    ) -> None:
        self.leaves = leaves
        self.done = False
        self.found = False
        self.cost = 0
        self.expanded = 0
        self.pieces = 0
        self._ground = ground
        self._goal = goal
        self._entry = entry
        self._headings = HEADINGS if turn_rule else 1
        self._fine_base = leaves.fine_base
        self._free = self._fine_base + (leaves.slots - self._fine_base) * self._headings
        self._goal_slot = leaves.slot(goal)
        self._start_slot = leaves.slot(start)
        self._to_go: list[int] = []  # by slot
        self._ways: dict[int, list[tuple[int, Direction, int]]] = {}
        self._cost: dict[int, int] = {}
        self._from: dict[int, int] = {}
        self._closed: set[int] = set()
        self._open: list[tuple[int, int, int]] = []
        self._last = -1

    def step(self) -> bool:
        """One bounded piece of work: some leaves prepared, or one state expanded."""
        if self.done:
            return True
        self.pieces += 1
        if len(self._to_go) < self.leaves.slots:
            self._prepare()
        elif not self._expand():
            self.done = True
        return self.done

    def way(self) -> tuple[Cell, ...]:
        """The leaves from the start's to the goal's, once found."""
        cells = []
        state = self._last
        while state >= 0:
            cells.append(self.leaves.cell(self._slot(state)))
            state = self._from[state]
        return tuple(cells[::-1])

    def _prepare(self) -> None:
        first = len(self._to_go)
        for slot in range(first, min(first + CLEARED_AT_ONCE, self.leaves.slots)):
            self._to_go.append(isqrt(self._squared(self.leaves.cell(slot), self._goal)) << 8)
        if len(self._to_go) == self.leaves.slots:
            self._reach(self._first_state(), 0, -1)

    def _first_state(self) -> int:
        if self._start_slot < self._fine_base or self._headings == 1:
            return self._start_slot
        if self._entry is None:
            return self._free
        return self._state(self._start_slot, self._entry.direction, self._entry.last_turn)

    def _expand(self) -> bool:
        """Expand the next state; false when no state is left."""
        while self._open:
            *_, state = heapq.heappop(self._open)
            if state not in self._closed:
                break
        else:
            return False
        self._closed.add(state)
        self.expanded += 1
        slot = self._slot(state)
        if slot == self._goal_slot:
            self.found, self.cost, self._last = True, self._cost[state], state
            return False
        remembers = self._headings > 1 and self._fine_base <= state < self._free
        came, last_turn = divmod((state - self._fine_base) % HEADINGS, len(Turn)) if remembers else (0, 0)
        for beyond, direction, step_cost in self._ways_from(slot):
            turn = TURNS[(direction - came) % 4] if remembers else Turn.STRAIGHT
            if turn is None or (remembers and turn == last_turn != Turn.STRAIGHT):
                continue
            self._reach(self._state(beyond, direction, turn), self._cost[state] + step_cost, state)
        return True

    def _reach(self, state: int, cost: int, came_from: int) -> None:
        if cost > MOST_COST or cost >= self._cost.get(state, MOST_COST + 1) or state in self._closed:
            return
        self._cost[state] = cost
        self._from[state] = came_from
        to_go = self._to_go[self._slot(state)]
        heapq.heappush(self._open, (cost + to_go, to_go, state))

    def _ways_from(self, slot: int) -> list[tuple[int, Direction, int]]:
        """Neighbour's slot, direction and cost of each step from a leaf."""
        if slot not in self._ways:
            leaf = self.leaves.cell(slot)
            ways = []
            for direction, beyond in self.leaves.neighbours(leaf):
                factor = self._ground.factor(beyond)
                if factor is not None:
                    ways.append((self.leaves.slot(beyond), direction, self._length(leaf, beyond) * factor))
            self._ways[slot] = ways
        return self._ways[slot]

    def _length(self, one: Cell, other: Cell) -> int:
        """Between the centres, in 1/16 units, rounded up."""
        return isqrt(self._squared(one, other) - 1) + 1

    def _squared(self, one: Cell, other: Cell) -> int:
        half_one, half_other = (
            SUB // 2 << (self.leaves.order - one.level),
            SUB // 2 << (self.leaves.order - other.level),
        )
        x = (2 * one.col + 1) * half_one - (2 * other.col + 1) * half_other
        y = (2 * one.row + 1) * half_one - (2 * other.row + 1) * half_other
        return x * x + y * y

    def _state(self, slot: int, direction: Direction, turn: Turn) -> int:
        if slot < self._fine_base or self._headings == 1:
            return slot
        return self._fine_base + (slot - self._fine_base) * HEADINGS + direction * len(Turn) + turn

    def _slot(self, state: int) -> int:
        if state < self._fine_base:
            return state
        if state == self._free:
            return self._start_slot
        return self._fine_base + (state - self._fine_base) // self._headings
