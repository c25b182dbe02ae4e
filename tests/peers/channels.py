"""Random channels that keep the planner's turn rule, and what they look like mirrored and turned."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from aeroloop.core.wing_signals import Turn
from aeroloop.planning.cells import STEPS, Cell

SIDE_M = 9600.0
LEVEL = 6
CELL_M = SIDE_M / 2**LEVEL
FIRST = Cell(LEVEL, 31, 32)


def channel_of(turns: Sequence[Turn], direction: int = 0) -> tuple[Cell, ...]:
    """Its cells between the first and the last turn like this."""
    cells = [FIRST]
    for turn in (Turn.STRAIGHT, *turns):
        direction = (direction + (0, 1, -1)[turn]) % 4
        col, row = STEPS[direction]
        cells.append(cells[-1]._replace(col=cells[-1].col + col, row=cells[-1].row + row))
    return tuple(cells)


def _no_u_turn(turns: list[Turn]) -> tuple[Turn, ...]:
    """Where a turn would be the second to one side, it goes to the other."""
    kept: list[Turn] = []
    for turn in turns:
        twice = kept and turn != Turn.STRAIGHT and kept[-1] == turn
        kept.append((Turn.RIGHT if turn == Turn.LEFT else Turn.LEFT) if twice else turn)
    return tuple(kept)


turns = st.lists(st.sampled_from(Turn), max_size=16).map(_no_u_turn)
directions = st.integers(0, 3)
channels = st.builds(channel_of, turns, directions)


def mirrored(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """North and south exchanged."""
    return tuple(cell._replace(row=2**LEVEL - 1 - cell.row) for cell in cells)


def turned(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """A quarter to the left about the map's centre."""
    return tuple(cell._replace(col=2**LEVEL - 1 - cell.row, row=cell.col) for cell in cells)
