"""A path: position, heading and curvature along its length, as a table with even steps of at most 2 m.

Metres and radians, origin at the map's centre, headings counter-clockwise from east, curvature positive to the left.
Between samples everything is linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aeroloop.core.angles import wrap_pi
from aeroloop.core.wing_signals import Turn
from aeroloop.planning.cells import Cell
from aeroloop.planning.channel import Piece, Place, PlanContinuation, pieces
from aeroloop.planning.spline import Array
from aeroloop.planning.templates import Library, NodeKind, library

LONGEST_STEP_M = 2.0
MOST_POINTS = 960
"""Capacity of the board's table: a longer channel is followed up to that length."""
SEAM_M = 0.01
SEAM_RAD = 1e-3
"""Maximum heading difference where one path continues another."""

Allowed = Callable[[float, float], bool]
"""Whether a path may lead over this point, x and y in metres."""


class PathPoint(NamedTuple):
    x_m: float
    y_m: float
    psi_rad: float
    kappa_1_m: float


class Node(NamedTuple):
    """A point where a new path can continue this one exactly: curvature is zero, and the heading a multiple of 45
    degrees."""

    kind: NodeKind
    s_m: float
    x_m: float
    y_m: float
    psi_rad: float
    onward: PlanContinuation | None


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Arrays of one length, at even steps from the path's beginning to its end."""

    length_m: float
    x_m: Array
    y_m: Array
    psi_rad: Array
    """Continuous beyond half a turn, so that it can be interpolated."""
    kappa_1_m: Array
    nodes: tuple[Node, ...] = ()

    @property
    def closed(self) -> bool:
        return False

    @property
    def step_m(self) -> float:
        return self.length_m / (len(self.x_m) - 1)

    @property
    def s_m(self) -> Array:
        return np.linspace(0.0, self.length_m, len(self.x_m))

    def at(self, s_m: float) -> PathPoint:
        """Beyond an end: the end."""
        place = min(max(s_m / self.step_m, 0.0), len(self.x_m) - 1.0)
        index = min(int(place), len(self.x_m) - 2)
        part = place - index
        x_m, y_m, psi_rad, kappa_1_m = (
            float(column[index] + part * (column[index + 1] - column[index])) for column in self._columns
        )
        return PathPoint(x_m, y_m, wrap_pi(psi_rad), kappa_1_m)

    def nearest_s(self, x_m: float, y_m: float) -> float:
        """Arc length of the nearest point to (x, y); the first of several."""
        index = int(np.argmin((self.x_m - x_m) ** 2 + (self.y_m - y_m) ** 2))
        psi_rad = float(self.psi_rad[index])
        ahead_m = float((x_m - self.x_m[index]) * math.cos(psi_rad) + (y_m - self.y_m[index]) * math.sin(psi_rad))
        s_m = index * self.step_m + min(max(ahead_m, -self.step_m), self.step_m)
        return min(max(s_m, 0.0), self.length_m)

    def part(self, begin_m: float, end_m: float) -> Path:
        """A piece of it."""
        nodes = tuple(node._replace(s_m=node.s_m - begin_m) for node in self.nodes if begin_m <= node.s_m <= end_m)
        return _resampled(begin_m, end_m, self.s_m, self._columns, nodes)

    def then(self, following: Path) -> Path:
        """Both as one path; the second must begin at the end of the first, with its heading."""
        mine, other = self.at(self.length_m), following.at(0.0)
        gap_m = math.hypot(other.x_m - mine.x_m, other.y_m - mine.y_m)
        bend_rad = abs(wrap_pi(other.psi_rad - mine.psi_rad))
        if gap_m > SEAM_M or bend_rad > SEAM_RAD:
            raise ValueError(
                f"a path can continue another only at its end: they are {gap_m:.3f} m and "
                f"{math.degrees(bend_rad):.3f} deg apart"
            )
        length_m = self.length_m + following.length_m
        s_m = np.concatenate([self.s_m, following.s_m[1:] + self.length_m])
        both = [np.concatenate([a, b[1:]]) for a, b in zip(self._columns, following._columns, strict=True)]
        both[2] = np.unwrap(both[2])
        # The joint is a node of both; only the second has the continuation.
        nodes = tuple(node for node in self.nodes if node.s_m < self.length_m - SEAM_M or not following.nodes)
        nodes += tuple(node._replace(s_m=node.s_m + self.length_m) for node in following.nodes)
        return _resampled(0.0, length_m, s_m, both, nodes)

    @property
    def _columns(self) -> tuple[Array, Array, Array, Array]:
        return self.x_m, self.y_m, self.psi_rad, self.kappa_1_m


def _resampled(begin_m: float, end_m: float, s_m: Array, columns: Sequence[Array], nodes: tuple[Node, ...]) -> Path:
    wanted = begin_m + even_steps(end_m - begin_m)
    x_m, y_m, psi_rad, kappa_1_m = (np.interp(wanted, s_m, column) for column in columns)
    return Path(end_m - begin_m, x_m, y_m, psi_rad, kappa_1_m, nodes)


def steps_in(length_m: float) -> int:
    return max(1, math.ceil(length_m / LONGEST_STEP_M - 1e-3))


def even_steps(length_m: float) -> Array:
    return np.linspace(0.0, length_m, steps_in(length_m) + 1)


def path_of_channel(
    cells: Sequence[Cell],
    *,
    side_m: float,
    begin: NodeKind = NodeKind.N,
    templates: Library | None = None,
    most_points: int = MOST_POINTS,
) -> Path:
    """The path through a channel on a map of `side_m`, from its first node to the centre of its last cell.

    It begins at the centre of the first cell, towards the second; or, with `begin` D, on the edge between the two:
    where a path is continued from one of its nodes, `begin` is the node's kind, and the channel its lead and the new
    plan's cells. Where that takes too many points, the path ends at a node before.
    """
    templates = templates or library()
    cell_m = side_m / 2 ** cells[0].level
    origin_m = [(index + 0.5) * cell_m - side_m / 2 for index in (cells[0].col, cells[0].row)]

    def node(place: Place, s_m: float) -> Node:
        x_m, y_m = (origin + cell_m * along for origin, along in zip(origin_m, (place.x, place.y), strict=True))
        return Node(place.kind, s_m, x_m, y_m, wrap_pi(place.eighths * math.pi / 4), place.onward)

    taken: list[Piece] = []
    nodes: list[Node] = []
    end_m = 0.0
    for piece in pieces(cells, begin):
        length_m = templates[piece.template].samples.length * cell_m
        if steps_in(end_m + length_m) >= most_points:
            break
        taken.append(piece)
        nodes.append(node(piece.begin, end_m))
        end_m += length_m
    if not taken:
        raise ValueError(f"{most_points} points are not enough for the first template")
    nodes.append(node(taken[-1].end, end_m))
    s_m = even_steps(end_m)
    # Each sample belongs to the template in which it lies, the last one of two that share it.
    owner = np.searchsorted([each.s_m for each in nodes[:-1]], s_m, side="right") - 1
    columns = [
        _recalled(piece, templates, origin_m, cell_m, s_m[owner == index] - nodes[index].s_m)
        for index, piece in enumerate(taken)
    ]
    x_m, y_m, psi_rad, kappa_1_m = (np.concatenate(each) for each in zip(*columns, strict=True))
    return Path(end_m, x_m, y_m, psi_rad, kappa_1_m, tuple(nodes))


def _recalled(
    piece: Piece, templates: Library, origin_m: Sequence[float], cell_m: float, along_m: Array
) -> tuple[Array, Array, Array, Array]:
    """A template at some of its arc lengths: mirrored, rotated, scaled and moved to its position."""
    samples = templates[piece.template].samples
    s_m = np.linspace(0.0, samples.length * cell_m, len(samples.x))
    x, y, psi, kappa = (np.interp(along_m, s_m, column) for column in samples[1:])
    flip = -1.0 if piece.turn == Turn.RIGHT else 1.0
    y = flip * y
    c, s = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[piece.direction]
    return (
        origin_m[0] + cell_m * (piece.begin.x + c * x - s * y),
        origin_m[1] + cell_m * (piece.begin.y + s * x + c * y),
        piece.begin.eighths * (math.pi / 4) + flip * (psi - samples.psi[0]),
        flip * kappa / cell_m,
    )
