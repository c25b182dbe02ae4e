"""Division of the map into square cells: fine near the vehicle, coarse far away.

A cell (level j, column k, row l) covers 2^(N-j) units a side of a map of 2^N. It starts with all coarsest cells; a cell
nearer to the vehicle (inf-norm) than its level's radius keeps its details, which splits it in four. A cell that is not
split is a leaf. The kept details of one level are a rectangle of indices: the window around the vehicle, within the
children of the level above. So the tree needs no more memory than two rectangles a level, a leaf's number is
arithmetic, and neighbours follow from the indices alone.

Integers throughout: positions are in 1/16 of a unit, so that every processor divides the map identically.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from aeroloop.core.config import Config, meta
from aeroloop.core.wing_signals import Direction, Turn

SUB = 16
"""Fractions of a unit in which positions and distances are counted."""
MOST_ORDER = 12
"""A map has at most 2^12 units a side: costs then fit 32 bits."""


TURNS = (Turn.STRAIGHT, Turn.LEFT, None, Turn.RIGHT)
"""By (direction out - direction in) modulo 4; a reversal is no turn."""

STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Columns and rows of a step in each direction."""


class Cell(NamedTuple):
    level: int
    col: int
    row: int


class Box(NamedTuple):
    """Cells of one level: columns `col0 <= col < col1`, rows likewise."""

    col0: int
    col1: int
    row0: int
    row1: int

    @property
    def width(self) -> int:
        return self.col1 - self.col0

    @property
    def cells(self) -> int:
        return self.width * (self.row1 - self.row0)

    def holds(self, col: int, row: int) -> bool:
        return self.col0 <= col < self.col1 and self.row0 <= row < self.row1


NOTHING = Box(0, 0, 0, 0)

Level = Annotated[int, meta("-", "level of a cell: the map has 2^level along a side", ge=0, le=MOST_ORDER)]
Radius = Annotated[int, meta("units", "cells nearer to the vehicle than this are split", ge=0, le=2**MOST_ORDER)]


class Resolution(Config, frozen=True):
    """Level j has 2^j cells along a side of the map. Levels and radii of the paper are not known; these are ours."""

    coarsest: Level = 3
    finest: Level = 6
    radii_units: Annotated[
        tuple[Radius, ...],
        meta("units", "for each level from the coarsest on: cells nearer to the aircraft than this are split"),
    ] = (48, 32, 16)

    def __post_init__(self) -> None:
        if self.finest < self.coarsest:
            raise ValueError(f"the finest level, {self.finest}, is coarser than the coarsest, {self.coarsest}")
        if len(self.radii_units) != self.finest - self.coarsest:
            raise ValueError(
                f"radii_units: expected {self.finest - self.coarsest} radii, one for each level from {self.coarsest} "
                f"to {self.finest - 1}, not {len(self.radii_units)}"
            )


class Leaves:
    """The map's leaves with the vehicle at `x`, `y` (in 1/16 units from the south-west corner).

    `slots` numbers the leaves: level by level, in each row by row over the rectangle of existing cells. The number of a
    split cell stays unused.
    """

    def __init__(self, order: int, resolution: Resolution, x: int, y: int) -> None:
        self.order = order
        self.coarsest = resolution.coarsest
        self.finest = resolution.finest
        self.there: list[Box] = []  # cells that exist, leaves or split, by level from the coarsest
        self.kept: list[Box] = []  # those that are split and keep their details
        self.bases: list[int] = []
        side = 1 << self.coarsest
        there, base = Box(0, side, 0, side), 0
        for level in range(self.coarsest, self.finest + 1):
            radius = resolution.radii_units[level - self.coarsest] * SUB if level < self.finest else 0
            kept = _window(there, SUB << (order - level), x, y, radius)
            self.there.append(there)
            self.kept.append(kept)
            self.bases.append(base)
            base += there.cells
            there = Box(*(2 * edge for edge in kept))
        self.slots = base
        self.fine_base = self.bases[-1]

    def __iter__(self) -> Iterator[Cell]:
        for level, there, kept in zip(range(self.coarsest, self.finest + 1), self.there, self.kept, strict=True):
            for row in range(there.row0, there.row1):
                for col in range(there.col0, there.col1):
                    if not kept.holds(col, row):
                        yield Cell(level, col, row)

    def __len__(self) -> int:
        return sum(there.cells - kept.cells for there, kept in zip(self.there, self.kept, strict=True))

    def is_leaf(self, cell: Cell) -> bool:
        index = cell.level - self.coarsest
        place = (cell.col, cell.row)
        return 0 <= index < len(self.there) and self.there[index].holds(*place) and not self.kept[index].holds(*place)

    def slot(self, leaf: Cell) -> int:
        index = leaf.level - self.coarsest
        there = self.there[index]
        return self.bases[index] + (leaf.row - there.row0) * there.width + leaf.col - there.col0

    def cell(self, slot: int) -> Cell:
        index = len(self.bases) - 1
        while self.bases[index] > slot:
            index -= 1
        there = self.there[index]
        row, col = divmod(slot - self.bases[index], there.width)
        return Cell(self.coarsest + index, there.col0 + col, there.row0 + row)

    def leaf_at(self, col: int, row: int) -> Cell:
        """The leaf that covers a cell of the finest level: the deepest one."""
        for index in range(len(self.there) - 1, 0, -1):
            if self.there[index].holds(col, row):
                return Cell(self.coarsest + index, col, row)
            col, row = col >> 1, row >> 1
        return Cell(self.coarsest, col, row)

    def neighbours(self, leaf: Cell) -> Iterator[tuple[Direction, Cell]]:
        """Leaves that share an edge: east, north, west, south, and along each edge starting from west or south."""
        shift = self.finest - leaf.level
        span = 1 << shift
        side = 1 << self.finest
        for direction in Direction:
            step_col, step_row = STEPS[direction]
            # The first cell of the finest level beyond the edge; then along the edge, leaf by leaf.
            col = (leaf.col << shift) + (span if step_col > 0 else step_col)
            row = (leaf.row << shift) + (span if step_row > 0 else step_row)
            if not (0 <= col < side and 0 <= row < side):
                continue
            done = 0
            while done < span:
                beyond = self.leaf_at(col if step_col else col + done, row if step_row else row + done)
                yield direction, beyond
                done += 1 << (self.finest - beyond.level)

    def edges(self) -> set[tuple[Cell, Cell]]:
        """Pairs of neighbours, from the kept coefficients: each leaf finds its equal or coarser neighbours; the finer
        ones find it."""
        found = set()
        for leaf in self:
            for step_col, step_row in STEPS:
                level, col, row = leaf.level, leaf.col + step_col, leaf.row + step_row
                if not (0 <= col < 1 << level and 0 <= row < 1 << level):
                    continue
                while not self.is_leaf(Cell(level, col, row)) and level > self.coarsest:
                    level, col, row = level - 1, col >> 1, row >> 1
                beyond = Cell(level, col, row)
                if self.is_leaf(beyond):
                    found.add((min(leaf, beyond), max(leaf, beyond)))
        return found


def _window(there: Box, side: int, x: int, y: int, radius: int) -> Box:
    """The cells, `side` wide, whose inf-norm distance from the vehicle is less than the radius."""
    if radius == 0:
        return NOTHING
    col0, row0 = max(there.col0, (x - radius) // side), max(there.row0, (y - radius) // side)
    col1, row1 = min(there.col1, -(-(x + radius) // side)), min(there.row1, -(-(y + radius) // side))
    return Box(col0, col1, row0, row1) if col0 < col1 and row0 < row1 else NOTHING
