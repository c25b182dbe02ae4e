"""Messages between the mission, the planner and the path generator.

    PMAN ── Order ──▶ PPLAN ── Order, Plan ──▶ PGEN ── Result ──▶ PMAN ── reference, s ──▶ PFOL

A reference is a path with an arc length, open or closed, that path following tracks. Legs lead from one to the next:
the exit on the previous reference, and the arc length of the same point on the next, so that the virtual point never
jumps.
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
    """Kind of a reference, as numbered in the stream path."""

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
        """The point at an arc length; a closed path repeats, an open one ends at its ends."""


def tangent(point: PathPoint, radius_m: float, *, left: bool) -> tuple[Circle, float]:
    """The circle that touches a path there, and its own arc length at that point."""
    x, y, psi, _ = point
    side = 1.0 if left else -1.0
    circle = Circle(x - side * radius_m * math.sin(psi), y + side * radius_m * math.cos(psi), radius_m, left)
    return circle, circle.nearest_s(x, y)


@dataclass(frozen=True, slots=True)
class Node:
    """A point of a channel's path from which another plan may continue."""

    s_m: float
    beyond_m: tuple[float, float]
    """Centre of the cell that the next plan starts in."""
    entry: Entry
    kind: NodeKind = NodeKind.N
    kept: tuple[Cell, ...] = ()
    """Cells from the node to the next plan's start: its channel begins with them."""


@dataclass(frozen=True, slots=True)
class Leg:
    """Exit from a reference (its arc length), the next reference, its kind, and the arc length of entry."""

    leave_s_m: float
    reference: Reference
    enter_s_m: float
    kind: Kind


@dataclass(frozen=True, slots=True)
class PathRequest:
    """Request for a path, from a circle with a free exit, or from a node of the path being flown."""

    number: int
    began_s: float
    start_m: tuple[float, float]
    goal_m: tuple[float, float]
    circle: Circle | None = None
    circle_s_m: float = 0.0
    """Position of the aircraft on the circle: exits are tried from there on."""
    path: Reference | None = None
    node: Node | None = None
    flown: tuple[Cell, ...] = ()
    """Cells flown over since the previous request: the planner raises the cost of a path that leads back."""
    fresh: bool = False
    """For a new goal: cells flown before do not count."""

    @property
    def entry(self) -> Entry | None:
        return self.node.entry if self.node else None


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a request. `legs` lead onto the new channel; `ending` leads from it onto a loiter circle: the goal's,
    if the channel reaches it, else a fallback circle (haven) in case no better path is found in time."""

    number: int
    status: PlanStatus
    plan: Plan | None = None
    legs: tuple[Leg, ...] = ()
    nodes: Sequence[Node] = ()
    ending: tuple[Leg, ...] = ()
    arrives: bool = False
    """Whether the ending is the goal's circle."""
