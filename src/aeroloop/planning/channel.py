"""Converts a channel, a sequence of fine cells, to its nodes and the templates between them.

In each cell but the first and last the path turns or goes straight; the ends count as straight. Nodes (templates.py)
are the centres of straight cells and the edges between two cells that turn in opposite directions. One template leads
from node to node:

    N-S-N  into a straight cell            N-L-N  around one turning cell     N-L-D  into a staircase
                                           D-L-N  out of a staircase          D-L-D  on along it

and the same to the right. Two consecutive turns to the same side are a U turn, which has no template: the aircraft
could not fly it, and the planner excludes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from aeroloop.core.wing_signals import Direction, Turn
from aeroloop.planning.cells import STEPS, TURNS, Cell
from aeroloop.planning.search import Entry
from aeroloop.planning.templates import NodeKind


class ChannelError(ValueError):
    """Reason why there is no path through a channel, as a sentence."""


class PlanContinuation(NamedTuple):
    """Continuation of a path from a node: a new plan starts at `start` with `entry`, and its channel is `lead` + its
    cells."""

    lead: tuple[Cell, ...]
    start: Cell
    entry: Entry


class Place(NamedTuple):
    """A node of a channel, in cells: the first cell's centre is (0, 0)."""

    kind: NodeKind
    cell: int
    """Index of its cell in the channel; of a D node, the first of the two."""
    x: float
    y: float
    eighths: int
    """Heading in eighths of a turn from east; continuous beyond a whole turn."""
    onward: PlanContinuation | None
    """None where the channel ends before a new plan could start."""


class Piece(NamedTuple):
    """One template: from `begin`, entered with `direction`, with the turn of the cell between."""

    begin: Place
    direction: Direction
    turn: Turn
    end: Place

    @property
    def template(self) -> tuple[NodeKind, bool, NodeKind]:
        """Its key in the library."""
        return self.begin.kind, self.turn != Turn.STRAIGHT, self.end.kind


@dataclass(frozen=True, slots=True)
class _Channel:
    cells: tuple[Cell, ...]
    directions: tuple[Direction, ...]

    def turn(self, index: int) -> Turn:
        if not 0 < index < len(self.cells) - 1:
            return Turn.STRAIGHT
        turn = TURNS[(self.directions[index] - self.directions[index - 1]) % 4]
        if turn is None:
            raise ChannelError(f"the channel turns back in its cell {index}, {_at(self.cells[index])}")
        return turn

    def place(self, kind: NodeKind, cell: int, eighths: int) -> Place:
        first, here = self.cells[0], self.cells[cell]
        x, y = float(here.col - first.col), float(here.row - first.row)
        if kind == NodeKind.D:
            step = STEPS[self.directions[cell]]
            x, y = x + 0.5 * step[0], y + 0.5 * step[1]
        return Place(kind, cell, x, y, eighths, self._onward(kind, cell))

    def _onward(self, kind: NodeKind, cell: int) -> PlanContinuation | None:
        """After N the next cell may turn or not; after D the next one must turn, and the one after may."""
        start = cell + (1 if kind == NodeKind.N else 2)
        if start >= len(self.cells):
            return None
        entry = Entry(self.directions[start - 1], self.turn(start - 1) if kind == NodeKind.D else Turn.STRAIGHT)
        return PlanContinuation(self.cells[cell:start], self.cells[start], entry)


def pieces(cells: Sequence[Cell], begin: NodeKind = NodeKind.N) -> tuple[Piece, ...]:
    """The templates of a channel that begins at the centre of its first cell (N) or at the edge to the second (D)."""
    channel = _Channel(tuple(cells), _directions(cells))
    direction = channel.directions[0]
    eighths = 2 * direction
    if begin == NodeKind.D:
        turn = channel.turn(1)
        if turn == Turn.STRAIGHT:
            raise ChannelError(f"the channel begins on a diagonal, but does not turn in its cell 1, {_at(cells[1])}")
        eighths += _side(turn)
    here = channel.place(begin, 0, eighths)
    found = []
    while here.cell + 1 < len(cells):
        found.append(_next(channel, here))
        here = found[-1].end
    return tuple(found)


def _next(channel: _Channel, here: Place) -> Piece:
    direction = channel.directions[here.cell]
    turn, then = channel.turn(here.cell + 1), channel.turn(here.cell + 2)
    if turn == Turn.STRAIGHT:
        end = channel.place(NodeKind.N, here.cell + 1, here.eighths)
    elif then == turn:
        raise ChannelError(
            f"the channel makes a U turn, {turn.name.lower()} in both of its cells {here.cell + 1} and "
            f"{here.cell + 2}, at {_at(channel.cells[here.cell + 1])}: too tight to fly"
        )
    else:
        whole = 2 * _side(turn) - (_side(turn) if here.kind == NodeKind.D else 0)
        if then == Turn.STRAIGHT:
            end = channel.place(NodeKind.N, here.cell + 2, here.eighths + whole)
        else:
            end = channel.place(NodeKind.D, here.cell + 1, here.eighths + whole - _side(turn))
    return Piece(here, direction, turn, end)


def _side(turn: Turn) -> int:
    return 1 if turn == Turn.LEFT else -1


def _directions(cells: Sequence[Cell]) -> tuple[Direction, ...]:
    if len(cells) < 2:
        raise ChannelError(f"a path needs a channel of at least two cells, not {len(cells)}")
    found = []
    for index, (here, there) in enumerate(pairwise(cells)):
        step = (there.col - here.col, there.row - here.row)
        if here.level != there.level or step not in STEPS:
            raise ChannelError(
                f"the channel's cells {index} and {index + 1} do not share an edge: {_at(here)} and {_at(there)}"
            )
        found.append(Direction(STEPS.index(step)))
    return tuple(found)


def _at(cell: Cell) -> str:
    return f"column {cell.col}, row {cell.row}"
