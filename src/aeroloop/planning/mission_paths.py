"""PGEN, the path generator: converts a request and the planner's cells to flyable legs.

    from a circle   circle -> transient -> channel, from the first exit that gives a flyable curve; to a goal so near
                    that no channel leads there, straight onto its circle
    from a node     channel, which continues the flown one exactly; or flown channel -> transient -> channel
    ending          channel -> transient -> circle: the goal's, or a haven

A haven is a fallback circle that needs only four free cells in a square. Its entry is one curve, always the same in
units of a cell: it begins at a node N (the centre of a cell that is passed straight), and the circle lies ahead and to
the side of it, over that cell, the next one ahead, and the two beside them. It needs no search, so it costs the slow
computer almost nothing. The last node with such a square beside it is the ending.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from aeroloop.core.wing_signals import Direction, PlanStatus
from aeroloop.planning.cells import STEPS, Cell
from aeroloop.planning.channel import ChannelError
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.loiter import Circle, JoinSettings, enter, leave, stitch
from aeroloop.planning.mission_messages import Kind, Leg, Node, PathRequest, Result
from aeroloop.planning.path import Node as PathNode
from aeroloop.planning.path import Path, PathPoint, path_of_channel
from aeroloop.planning.plan import Plan
from aeroloop.planning.templates import NodeKind
from aeroloop.planning.transient import Quintic

HAVEN_RADIUS = 19.0 / 30.0
HAVEN_AHEAD = HAVEN_ASIDE = 0.6
HAVEN_ANGLE_RAD = math.radians(10.0)
"""In cells, from the node: radius of the circle, its centre, and the angle from its nearest point to the joining point.
The curve's curvature never exceeds the circle's, and it stays 0.26 cells inside the square."""
SPARE_M = 20.0
"""Margin of transients to the edge of the allowed cells: the aircraft is not always on its path."""
ROOM_M = 100.0
"""Free cells within this distance of a loiter circle may be used to leave or enter it."""
WITHIN = 0.95
APPROACH_M = 500.0
"""Distance before the end of the channel at which transients to the goal's circle begin."""
STITCH_BEFORE = 1.0 / 3.0
STITCH_AFTER = 1.0
"""In cells along the path: where a transient leaves the current path before the node, and the first place after it
where it joins the new one. It leaves in the node's own cell, so that the new channel's cells are enough to check it."""


@dataclass(frozen=True, slots=True)
class PathTerrain:
    """Map queries of path generation."""

    elevation: Elevation
    finest: int
    free: Callable[[Cell], bool]

    @property
    def cell_m(self) -> float:
        return self.elevation.size_m(self.finest)

    def is_free(self, col: int, row: int) -> bool:
        side = 1 << self.finest
        return 0 <= col < side and 0 <= row < side and self.free(Cell(self.finest, col, row))

    def around(self, one: Circle) -> set[Cell]:
        """Free cells within reach of a circle."""
        reach_m = one.radius_m + ROOM_M
        west, east = (
            math.floor((one.x_m + part + self.elevation.side_m / 2) / self.cell_m) for part in (-reach_m, reach_m)
        )
        south, north = (
            math.floor((one.y_m + part + self.elevation.side_m / 2) / self.cell_m) for part in (-reach_m, reach_m)
        )
        return {
            Cell(self.finest, col, row)
            for row in range(south, north + 1)
            for col in range(west, east + 1)
            if self.is_free(col, row)
        }

    def within(self, cells: set[Cell]) -> Callable[[float, float], bool]:
        """Whether a point lies in one of the cells, with the margin."""
        half_m, size_m = self.elevation.side_m / 2, self.cell_m
        places = {(cell.col, cell.row) for cell in cells}

        def allowed(x_m: float, y_m: float) -> bool:
            west, east = (math.floor((x_m + part + half_m) / size_m) for part in (-SPARE_M, SPARE_M))
            south, north = (math.floor((y_m + part + half_m) / size_m) for part in (-SPARE_M, SPARE_M))
            return all(place in places for place in ((west, south), (east, south), (west, north), (east, north)))

        return allowed


class PathGenerator:
    """Call `generate` for a request's result, once its plan is ready."""

    def __init__(
        self,
        terrain: PathTerrain,
        radius_m: float,
        joining: JoinSettings | None = None,
        *,
        transient_stitch: bool = False,
    ) -> None:
        self._terrain = terrain
        self._transient_stitch = transient_stitch
        self._wanted = joining or JoinSettings()
        self.radius_m = radius_m

    @property
    def radius_m(self) -> float:
        """Of the circle around a goal."""
        return self._radius_m

    @radius_m.setter
    def radius_m(self, radius_m: float) -> None:
        self._radius_m = radius_m
        # A transient ends with the circle's curvature, so a small circle must be within its limit.
        least_m = min(self._wanted.least_radius_m, WITHIN * radius_m)
        self._joining = msgspec.structs.replace(self._wanted, least_radius_m=least_m)

    def generate(self, order: PathRequest, plan: Plan) -> Result:
        if plan.status != PlanStatus.FOUND:
            return Result(order.number, plan.status, plan)
        made = self._from_circle(order, plan) if order.circle else self._from_node(order, plan)
        return made or Result(order.number, PlanStatus.NO_PATH, plan)

    def _from_node(self, order: PathRequest, plan: Plan) -> Result | None:
        node = order.node
        assert node is not None
        cells = (*node.kept, *plan.fine)
        channel = self._channel(cells, node.kind)
        if channel is None:
            return None
        made = self._stitched(order, plan, cells, channel, node) if self._transient_stitch else None
        if made is not None and made.ending:
            return made
        return self._with_ending(order, plan, cells, channel, (Leg(node.s_m, channel, 0.0, Kind.CHANNEL),), 0.0)

    def _stitched(
        self, order: PathRequest, plan: Plan, cells: Sequence[Cell], channel: Path, node: Node
    ) -> Result | None:
        """A transient from the current path, across the node, onto the new one; None if none can be flown."""
        assert order.path is not None
        begin_m = node.s_m - STITCH_BEFORE * self._terrain.cell_m
        first_m = STITCH_AFTER * self._terrain.cell_m
        allowed = self._terrain.within(set(cells))
        way = stitch(order.path, begin_m, channel, first_m, allowed, self._joining)
        if way.path is None:
            return None
        legs = (
            Leg(way.begin_m, way.path, 0.0, Kind.TRANSIENT),
            Leg(way.path.length_m, channel, way.join_m, Kind.CHANNEL),
        )
        return self._with_ending(order, plan, cells, channel, legs, way.join_m)

    def _from_circle(self, order: PathRequest, plan: Plan) -> Result | None:
        circle = order.circle
        assert circle is not None
        channel = self._channel(plan.fine, NodeKind.N)
        allowed = self._terrain.around(circle) | set(plan.fine)
        if channel is not None:
            way = leave(circle, order.circle_s_m, channel, self._terrain.within(allowed), self._joining)
            if way.path is not None:
                legs = (
                    Leg(way.begin_m, way.path, 0.0, Kind.TRANSIENT),
                    Leg(way.path.length_m, channel, way.join_m, Kind.CHANNEL),
                )
                made = self._with_ending(order, plan, plan.fine, channel, legs, way.join_m)
                if made is not None:
                    return made
        return self._across(order, plan, circle, allowed) if plan.reaches_goal else None

    def _across(self, order: PathRequest, plan: Plan, circle: Circle, allowed: set[Cell]) -> Result | None:
        """Transient from circle to circle."""
        goal = Circle(*order.goal_m, self._radius_m)
        allowed = allowed | self._terrain.around(goal)
        way = leave(circle, order.circle_s_m, goal, self._terrain.within(allowed), self._joining)
        if way.path is None:
            return None
        legs = (Leg(way.begin_m, way.path, 0.0, Kind.TRANSIENT), Leg(way.path.length_m, goal, way.join_m, Kind.GOAL))
        return Result(order.number, PlanStatus.FOUND, plan, legs)

    def _channel(self, cells: Sequence[Cell], begin: NodeKind) -> Path | None:
        try:
            return path_of_channel(cells, side_m=self._terrain.elevation.side_m, begin=begin)
        except ChannelError:
            return None

    def _with_ending(
        self, order: PathRequest, plan: Plan, cells: Sequence[Cell], channel: Path, legs: tuple[Leg, ...], from_m: float
    ) -> Result | None:
        arrival = self._arrival(order, cells, channel, from_m) if plan.reaches_goal else ()
        ending = arrival or next(self._havens(channel, from_m), ())
        if plan.reaches_goal and not arrival and not ending:
            return None
        nodes = tuple(self._nodes(channel))
        return Result(order.number, PlanStatus.FOUND, plan, legs, nodes, ending, bool(arrival))

    def _nodes(self, channel: Path) -> Iterator[Node]:
        for node in channel.nodes:
            if node.onward is not None:
                beyond_m = self._terrain.elevation.centre_m(node.onward.start)
                yield Node(node.s_m, beyond_m, node.onward.entry, node.kind, node.onward.lead)

    def _arrival(self, order: PathRequest, cells: Sequence[Cell], channel: Path, from_m: float) -> tuple[Leg, ...]:
        first_m = max(from_m, channel.length_m - APPROACH_M)
        for left in (True, False):
            goal = Circle(*order.goal_m, self._radius_m, left)
            allowed = self._terrain.within(self._terrain.around(goal) | set(cells))
            way = enter(channel, first_m, goal, allowed, self._joining)
            if way.path is not None:
                return (
                    Leg(way.begin_m, way.path, 0.0, Kind.TRANSIENT),
                    Leg(way.path.length_m, goal, way.join_m, Kind.GOAL),
                )
        return ()

    def _havens(self, channel: Path, from_m: float) -> Iterator[tuple[Leg, ...]]:
        """Havens from the last node backwards."""
        for node in reversed(channel.nodes):
            if node.kind == NodeKind.N and node.s_m >= from_m:
                for left in (True, False):
                    if self._square_free(node, left=left):
                        yield haven(node, self._terrain.cell_m, left=left)

    def _square_free(self, node: PathNode, *, left: bool) -> bool:
        half_m, size_m = self._terrain.elevation.side_m / 2, self._terrain.cell_m
        col, row = (math.floor((place_m + half_m) / size_m) for place_m in (node.x_m, node.y_m))
        direction = Direction(round(node.psi_rad / (math.pi / 2)) % 4)
        ahead, aside = STEPS[direction], STEPS[(direction + (1 if left else 3)) % 4]
        return all(
            self._terrain.is_free(col + a * ahead[0] + b * aside[0], row + a * ahead[1] + b * aside[1])
            for a in (0, 1)
            for b in (0, 1)
        )


def haven(node: PathNode, cell_m: float, *, left: bool) -> tuple[Leg, ...]:
    """The curve from a node onto the circle ahead and to its side."""
    side = 1.0 if left else -1.0
    cos, sin = math.cos(node.psi_rad), math.sin(node.psi_rad)
    ahead_m, aside_m, radius_m = HAVEN_AHEAD * cell_m, side * HAVEN_ASIDE * cell_m, HAVEN_RADIUS * cell_m
    one = Circle(node.x_m + cos * ahead_m - sin * aside_m, node.y_m + sin * ahead_m + cos * aside_m, radius_m, left)
    # The circle's nearest point to the line lies at a right angle to it; from there continue by the angle.
    psi = node.psi_rad + side * HAVEN_ANGLE_RAD
    end = PathPoint(
        one.x_m + side * radius_m * math.sin(psi), one.y_m - side * radius_m * math.cos(psi), psi, side / radius_m
    )
    way = Quintic(PathPoint(node.x_m, node.y_m, node.psi_rad, 0.0), end, 1.0).table()
    return (
        Leg(node.s_m, way, 0.0, Kind.TRANSIENT),
        Leg(way.length_m, one, one.nearest_s(end.x_m, end.y_m), Kind.START),
    )
