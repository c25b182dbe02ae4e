"""What the mission says to the planner and the path generator, and hears from them.

    PMAN ── Order ──▶ PPLAN ── Order, Plan ──▶ PGEN ── Result ──▶ PMAN ── reference, s ──▶ PFOL

A reference is what is followed: a path with an arc length, open or closed. Legs lead from one to the next: where on
the reference of before to leave it, and where on the next that same point lies, so that the virtual point never jumps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from aeroloop.core.wing_signals import PlanStatus
from aeroloop.planning.cells import Cell
from aeroloop.planning.loiter import Circle
from aeroloop.planning.path import PathPoint
from aeroloop.planning.plan import Plan
from aeroloop.planning.search import Entry
from aeroloop.planning.templates import NodeKind


class Kind(IntEnum):
    """Of a reference, as the stream path numbers them."""

    START = 0
    CHANNEL = 1
    TRANSIENT = 2
    GOAL = 3


class Reference(Protocol):
    @property
    def length_m(self) -> float: ...

    @property
    def closed(self) -> bool: ...

    def at(self, s_m: float) -> PathPoint:
        """The point at an arc length; a closed one goes on round, an open one stays at its ends."""


def tangent(point: PathPoint, radius_m: float, *, left: bool) -> tuple[Circle, float]:
    """The circle that touches a path there, and its own arc length at that point."""
    x, y, psi, _ = point
    side = 1.0 if left else -1.0
    circle = Circle(x - side * radius_m * math.sin(psi), y + side * radius_m * math.cos(psi), radius_m, left)
    return circle, circle.nearest_s(x, y)


@dataclass(frozen=True, slots=True)
class Node:
    """A point of a channel's path from which another plan may go on."""

    s_m: float
    beyond_m: tuple[float, float]
    """Centre of the cell that the next plan starts in."""
    entry: Entry
    kind: NodeKind = NodeKind.N
    kept: tuple[Cell, ...] = ()
    """Cells from the node to the next plan's start: its channel begins with them."""


@dataclass(frozen=True, slots=True)
class Leg:
    """Where a reference is left (its arc length), for which, of what kind, and where that is entered."""

    leave_s_m: float
    reference: Reference
    enter_s_m: float
    kind: Kind


@dataclass(frozen=True, slots=True)
class Order:
    """A way is wanted. From a circle, free to leave anywhere, or from a node of a path that is flown."""

    number: int
    began_s: float
    start_m: tuple[float, float]
    goal_m: tuple[float, float]
    circle: Circle | None = None
    circle_s_m: float = 0.0
    """Where on the circle the aircraft is: exits are tried from there on."""
    path: Reference | None = None
    node: Node | None = None
    flown: tuple[Cell, ...] = ()
    """Cells that were flown over since the order before: the planner holds them against a way that leads back."""
    fresh: bool = False
    """For a new goal: what was flown before does not count."""

    @property
    def entry(self) -> Entry | None:
        return self.node.entry if self.node else None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an order. `legs` lead onto the new channel; `ending` leads from it onto a circle where one may
    stay: the goal's, if the channel reaches it, else a haven for the case that nothing better is found in time."""

    number: int
    status: PlanStatus
    plan: Plan | None = None
    legs: tuple[Leg, ...] = ()
    nodes: Sequence[Node] = ()
    ending: tuple[Leg, ...] = ()
    arrives: bool = False
    """Whether the ending is the goal's circle."""
