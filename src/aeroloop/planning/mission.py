"""PMAN, the mission manager: the current step of the flight, the next computation and the path to follow.

The state machine of the paper's Figure 8. TRANSITIONS is complete: an event that the table does not list for a step has
no effect. There is a path to follow at every moment: each channel has an ending, legs that lead onto a circle, which is
flown if no better path is found before. Nothing is computed here: a PathRequest goes out, a Result comes in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from itertools import count
from typing import Annotated

from aeroloop.core.config import Config, meta
from aeroloop.core.wing_signals import PlanStatus, Step
from aeroloop.planning.cells import Cell
from aeroloop.planning.loiter import Circle
from aeroloop.planning.mission_messages import Kind, Leg, Node, PathRequest, Reference, Result, tangent
from aeroloop.planning.mission_telemetry import Row, TelemetryQueue, plan_row

__all__ = ["TRANSITIONS", "Event", "Mission", "MissionSettings"]

FARTHEST_M = 1e6
"""From the middle of the map; a goal beyond is rejected."""
MOST_FLOWN = 16
"""Number of cells kept from request to request."""


class Event(Enum):
    GOAL = auto()  # a goal without a plan yet
    FOUND = auto()  # the requested path is ready and can still be reached
    FAILED = auto()  # the request has failed, or its result was too late
    JOINED = auto()  # on the channel, which continues beyond its end
    JOINED_LAST = auto()  # on the channel that leads to the goal
    DUE = auto()  # far enough along the channel to request the next
    ENDING = auto()  # at the exit from the channel to its circle
    ROUND = auto()  # on a circle
    AGAIN = auto()  # time to try again


TRANSITIONS: dict[tuple[Step, Event], Step] = {
    (Step.LOITER, Event.GOAL): Step.PLAN,
    (Step.PLAN, Event.GOAL): Step.PLAN,
    (Step.PLAN, Event.FOUND): Step.LEAVE,
    (Step.PLAN, Event.FAILED): Step.STRANDED,
    (Step.LEAVE, Event.ROUND): Step.ARRIVED,  # a goal so near that no channel lies between
    (Step.LEAVE, Event.JOINED): Step.FOLLOW,
    (Step.LEAVE, Event.JOINED_LAST): Step.APPROACH,
    (Step.FOLLOW, Event.DUE): Step.REPLAN,
    (Step.FOLLOW, Event.ENDING): Step.STRANDED,
    (Step.REPLAN, Event.GOAL): Step.FOLLOW,
    (Step.REPLAN, Event.FOUND): Step.TRANSIENT,
    (Step.REPLAN, Event.FAILED): Step.FOLLOW,
    (Step.REPLAN, Event.ENDING): Step.STRANDED,
    (Step.TRANSIENT, Event.JOINED): Step.FOLLOW,
    (Step.TRANSIENT, Event.JOINED_LAST): Step.APPROACH,
    (Step.APPROACH, Event.GOAL): Step.FOLLOW,
    (Step.APPROACH, Event.ENDING): Step.ARRIVE,
    (Step.ARRIVE, Event.ROUND): Step.ARRIVED,
    (Step.ARRIVED, Event.GOAL): Step.PLAN,
    (Step.STRANDED, Event.AGAIN): Step.PLAN,
}


class MissionSettings(Config, frozen=True):
    budget_s: Annotated[float, meta("s", "time that planning may take in flight", gt=0)] = 8.0
    speed_m_s: Annotated[float, meta("m/s", "ground speed that converts the time budget to a distance", gt=0)] = 20.0
    margin_m: Annotated[float, meta("m", "margin added to that distance", ge=0)] = 40.0
    replan_after_m: Annotated[float, meta("m", "distance flown on a channel before the next is requested", ge=0)] = (
        150.0
    )
    again_after_s: Annotated[float, meta("s", "time on a circle before the next try", gt=0)] = 5.0
    told_every_m: Annotated[float, meta("m", "spacing of the points of a path in the telemetry", gt=0)] = 12.0
    told_at_once: Annotated[int, meta("-", "maximum rows of cells and points sent in a period", gt=0)] = 4

    @property
    def lead_m(self) -> float:
        """Minimum distance to a node from which a new plan can be ready in time."""
        return self.budget_s * self.speed_m_s + self.margin_m


class Mission:
    """Call `step` once a period, after path following has advanced the virtual point."""

    def __init__(
        self, settings: MissionSettings, circle: Circle, cell_at: Callable[[float, float], Cell], *, now_s: float = 0.0
    ) -> None:
        self._settings = settings
        self._cell_at = cell_at
        self._flown: deque[Cell] = deque(maxlen=MOST_FLOWN)
        self.state = Step.LOITER
        self.reference: Reference = circle
        self.s_m = 0.0
        self.order: PathRequest | None = None
        """The pending request."""
        self._numbers = count()  # numbers of the paths, in the order in which they are flown
        self._telling = TelemetryQueue(settings.told_every_m, settings.told_at_once)
        self.path_number = next(self._numbers)
        self._telling.path(self.path_number, Kind.START, circle)
        self._kind = Kind.START
        self.radius_m = circle.radius_m
        """Of circles at the end of a channel or where a path is left."""
        self.home_m = circle.x_m, circle.y_m
        self._legs: deque[Leg] = deque()
        self._next: Result | None = None  # the result whose channel the legs lead to
        self._nodes: Sequence[Node] = ()
        self._ending: tuple[Leg, ...] = ()
        self._from_s_m = 0.0  # nodes up to here have been tried, or are passed
        self._joined_s_m = 0.0
        self._launch = 0
        self._goal_m: tuple[float, float] | None = None
        self._goal_new = False
        self._cell: Cell | None = None
        self._round_since_s = now_s
        self._rows: list[Row] = [("mission_step", (float(Step.LOITER), 0.0))]

    def command(self, goal_m: tuple[float, float]) -> None:
        """Set a goal, at any time; the newest replaces earlier ones. An invalid position is ignored."""
        if not all(abs(part_m) <= FARTHEST_M for part_m in goal_m):
            return
        self._goal_m = goal_m
        self._goal_new = True

    @property
    def goal_m(self) -> tuple[float, float] | None:
        """The newest goal; kept while loitering."""
        return self._goal_m

    def loiter(self, free: Callable[[Circle], bool]) -> bool:
        """Leave the path at the virtual point for a circle that touches it, on the side of its curvature if that is
        free, or stay on the circle that is flown; a goal waits for `resume`. False if no such circle is free."""
        if not self.reference.closed:
            point = self.reference.at(self.s_m)
            for left in (point.kappa_1_m >= 0.0, point.kappa_1_m < 0.0):
                circle, s_m = tangent(point, self.radius_m, left=left)
                if free(circle):
                    break
            else:
                return False
            self.reference, self.s_m, self._kind = circle, s_m, Kind.START
            self.path_number = next(self._numbers)
            self._telling.path(self.path_number, Kind.START, circle)
        self.state, self.order, self._next = Step.LOITER, None, None
        self._legs.clear()
        self._nodes, self._ending, self._goal_new = (), (), False
        self._rows.append(("mission_step", (float(self.state), float(max(self._launch - 1, 0)))))
        return True

    def resume(self) -> bool:
        """Fly on to the goal after `loiter`; False without a goal, or in any other step."""
        able = self.state == Step.LOITER and self._goal_m is not None
        self._goal_new = self._goal_new or able
        return able

    def step(self, now_s: float, s_m: float, result: Result | None = None) -> list[Row]:
        """One period: takes the position of the virtual point and new results. Then `reference`, `s_m` and `order` are
        the output, and the rows go to the ground."""
        self.s_m = s_m
        self._switch(now_s)
        self._remember()
        if result is not None:
            self._handle(now_s, result)
        elif self.order is not None and self.order.node is not None and self.s_m > self.order.node.s_m:
            self._handle(now_s, Result(self.order.number, PlanStatus.TOO_LATE))
        if self._goal_new:
            self._on(Event.GOAL, now_s)
        if self.state == Step.FOLLOW and self._due() is not None:
            self._on(Event.DUE, now_s)
        if self.state == Step.STRANDED and self._circling() and self._waited(now_s):
            self._on(Event.AGAIN, now_s)
        rows, self._rows = self._rows, []
        return rows + self._telling.some()

    def _on(self, event: Event, now_s: float) -> None:
        after = TRANSITIONS.get((self.state, event))
        if after is None:
            return
        before, self.state = self.state, after
        self._leave(before)
        self._enter(now_s)
        if after != before or event == Event.GOAL:
            self._rows.append(("mission_step", (float(after), float(max(self._launch - 1, 0)))))

    def _leave(self, before: Step) -> None:
        if before in (Step.PLAN, Step.REPLAN):
            self.order = None

    def _enter(self, now_s: float) -> None:
        if self.state == Step.PLAN:
            assert isinstance(self.reference, Circle)
            self._request_plan(now_s, (self.reference.x_m, self.reference.y_m), None)
        elif self.state == Step.REPLAN:
            node = self._due()
            assert node is not None
            self._from_s_m = node.s_m
            self._request_plan(now_s, node.beyond_m, node)
        elif self.state == Step.FOLLOW and self._goal_new:
            self._from_s_m = self.s_m

    def _request_plan(self, now_s: float, start_m: tuple[float, float], node: Node | None) -> None:
        assert self._goal_m is not None
        circle = self.reference if isinstance(self.reference, Circle) else None
        path = None if circle else self.reference
        s_m = self.s_m if circle else 0.0
        flown, fresh = tuple(self._flown), self._goal_new
        self.order = PathRequest(self._launch, now_s, start_m, self._goal_m, circle, s_m, path, node, flown, fresh)
        self._launch += 1
        self._flown.clear()
        self._goal_new = False

    def _remember(self) -> None:
        """Remember the cell of the virtual point, unless it flies a circle."""
        if not self.reference.closed:
            x_m, y_m, *_ = self.reference.at(self.s_m)
            cell = self._cell_at(x_m, y_m)
            if cell != self._cell:
                self._cell = cell
                self._flown.append(cell)

    def _handle(self, now_s: float, result: Result) -> None:
        """Handle a result; an outdated one is ignored."""
        order = self.order
        if order is None or result.number != order.number:
            return
        if result.status == PlanStatus.FOUND and order.node is not None and self.s_m > order.node.s_m:
            result = Result(result.number, PlanStatus.TOO_LATE, result.plan)
        self._rows.append(plan_row(order, result))
        self._telling.plan(result)
        self.order = None
        if result.status != PlanStatus.FOUND:
            self._round_since_s = now_s
            self._on(Event.FAILED, now_s)
            return
        self._next = result
        self._follow(self._reachable(order, result.legs))
        self._on(Event.FOUND, now_s)

    def _reachable(self, order: PathRequest, legs: tuple[Leg, ...]) -> tuple[Leg, ...]:
        """Past the beginning of a transient to the new channel, but not past the node: the channel from the node."""
        if order.node is not None and self.s_m > legs[0].leave_s_m:
            return (Leg(order.node.s_m, legs[-1].reference, 0.0, Kind.CHANNEL),)
        return legs

    def _follow(self, legs: tuple[Leg, ...]) -> None:
        """Follow these legs from here on; stay on a circle until its exit."""
        first = legs[0]
        if self.reference.closed:
            round_m = self.reference.length_m
            self.s_m %= round_m
            leave_m = first.leave_s_m % round_m
            leave_m += round_m if leave_m < self.s_m else 0.0
            legs = (Leg(leave_m, first.reference, first.enter_s_m, first.kind), *legs[1:])
        self._legs = deque(legs)

    def _switch(self, now_s: float) -> None:
        """Change to the next reference when the virtual point reaches the exit of this one; s continues without a
        jump."""
        while True:
            ending = self._ending_due()
            if self._legs and self.s_m >= self._legs[0].leave_s_m:
                leg = self._legs.popleft()
                self.s_m = leg.enter_s_m + self.s_m - leg.leave_s_m
                self.reference, self._kind = leg.reference, leg.kind
                self.path_number = next(self._numbers)
                self._telling.path(self.path_number, leg.kind, leg.reference)
                if not self._legs:
                    self._arrived_on(now_s)
            elif ending:
                self._legs = deque(ending)
                self._on(Event.ENDING, now_s)
            else:
                break
        if self.reference.closed and not self._legs:
            self.s_m %= self.reference.length_m

    def _arrived_on(self, now_s: float) -> None:
        """At the end of the legs: on a channel, or on a circle."""
        if self.reference.closed:
            self._nodes, self._ending = (), ()
            self._round_since_s = now_s
            self._on(Event.ROUND, now_s)
            return
        joined, self._next = self._next, None
        assert joined is not None
        self._nodes, self._ending = joined.nodes, joined.ending
        self._from_s_m = self._joined_s_m = self.s_m
        self._on(Event.JOINED_LAST if joined.arrives and not self._goal_new else Event.JOINED, now_s)

    def _ending_due(self) -> tuple[Leg, ...]:
        """The channel's ending, once the virtual point has reached it; without one, a circle at the channel's end."""
        if self._kind != Kind.CHANNEL or self._legs:
            return ()
        if self._ending:
            return self._ending if self.s_m >= self._ending[0].leave_s_m else ()
        if self.s_m < self.reference.length_m:
            return ()
        circle, s_m = tangent(self.reference.at(self.reference.length_m), self.radius_m, left=True)
        return (Leg(self.reference.length_m, circle, s_m, Kind.START),)

    def _due(self) -> Node | None:
        """The node from which the next plan starts, once it is due."""
        settings = self._settings
        if not self._goal_new and self.s_m < self._joined_s_m + settings.replan_after_m:
            return None
        last_m = self._ending[0].leave_s_m if self._ending else self.reference.length_m
        for node in self._nodes:
            if node.s_m > self._from_s_m and node.s_m >= self.s_m + settings.lead_m:
                return node if node.s_m <= last_m else None
        return None

    def _circling(self) -> bool:
        return self.reference.closed and not self._legs

    def _waited(self, now_s: float) -> bool:
        return self._goal_new or now_s >= self._round_since_s + self._settings.again_after_s
