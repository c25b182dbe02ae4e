"""The fixed wing's mission as a machine: against small stand-ins for planner and path generator."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from aeroloop.core.wing_signals import Direction, PlanStatus, Step, Turn
from aeroloop.families.fixedwing.start_and_goal import roomy_cells
from aeroloop.planning.cells import Cell
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.loiter import Circle, JoinSettings
from aeroloop.planning.mission import TRANSITIONS, Event, Mission, MissionSettings
from aeroloop.planning.mission_messages import Kind, Leg, Node, PathRequest, Result, tangent
from aeroloop.planning.mission_paths import PathGenerator, PathTerrain, haven
from aeroloop.planning.path import Node as PathNode
from aeroloop.planning.path import Path, PathPoint, path_of_channel
from aeroloop.planning.plan import Plan
from aeroloop.planning.planner import Planner, PlannerSettings
from aeroloop.planning.search import Entry
from aeroloop.planning.templates import NodeKind
from aeroloop.world.terrain_generator import generate

SETTINGS = MissionSettings(budget_s=5.0, speed_m_s=20.0, margin_m=20.0, replan_after_m=100.0, again_after_s=4.0)
START = Circle(0.0, 0.0, 90.0)
ALLOWED = {(before, after) for (before, _), after in TRANSITIONS.items()}
PERIOD_S = 0.05
RADIUS_M = 100.0


@dataclass(frozen=True, slots=True)
class Line:
    start: PathPoint
    length_m: float
    closed: bool = False

    def at(self, s_m: float) -> PathPoint:
        x, y, psi, _ = self.start
        s_m = min(max(s_m, 0.0), self.length_m)
        return PathPoint(x + s_m * math.cos(psi), y + s_m * math.sin(psi), psi, 0.0)


def answer(
    order: PathRequest, *, length_m: float = 1200.0, arrives: bool = False, exit_m: float = 50.0, ending: bool = True
) -> Result:
    """A straight channel with a node every 150 m, and before its end a circle that touches it."""
    if order.circle is not None:
        way = Line(order.circle.at(exit_m), 100.0)
        channel = Line(way.at(100.0), length_m)
        legs = (Leg(exit_m, way, 0.0, Kind.TRANSIENT), Leg(100.0, channel, 0.0, Kind.CHANNEL))
    else:
        assert order.path is not None and order.node is not None
        channel = Line(order.path.at(order.node.s_m), length_m)
        legs = (Leg(order.node.s_m, channel, 0.0, Kind.CHANNEL),)
    nodes = [
        Node(s_m, channel.at(s_m)[:2], Entry(Direction.EAST, Turn.STRAIGHT))
        for s_m in (150.0 * n for n in range(int(length_m / 150.0) + 1))
    ]
    circle, s_m = tangent(channel.at(length_m - 40.0), 90.0, left=True)
    last = Line(channel.at(length_m - 60.0), 20.0)
    onto = (
        Leg(length_m - 60.0, last, 0.0, Kind.TRANSIENT),
        Leg(20.0, circle, s_m, Kind.GOAL if arrives else Kind.START),
    )
    return Result(order.number, PlanStatus.FOUND, None, legs, nodes, onto if ending else (), arrives)


def failure(order: PathRequest, status: PlanStatus = PlanStatus.UNREACHABLE) -> Result:
    return Result(order.number, status)


class Flight:
    """Moves the virtual point and writes down what the mission says."""

    def __init__(self) -> None:
        self.mission = Mission(SETTINGS, START, lambda x, y: Cell(6, round(x / 150.0), round(y / 150.0)))
        self.now_s = 0.0
        self.rows: list[tuple[str, tuple[float, ...]]] = []
        self.path = [0]

    def period(self, result: Result | None = None, ahead_m: float = 1.0) -> None:
        mission = self.mission
        before = mission.reference.at(mission.s_m)
        self.rows += mission.step(self.now_s, mission.s_m + ahead_m, result)
        self.now_s += PERIOD_S
        self.path.append(mission.path_number)
        x, y, psi, _ = mission.reference.at(mission.s_m)
        assert math.hypot(x - before[0], y - before[1]) <= ahead_m + 1e-6, "the virtual point has jumped"
        assert abs(math.remainder(psi - before[2], 2 * math.pi)) < ahead_m / 80.0 + 1e-9

    def until(self, step: Step, most: int = 4000) -> None:
        for _ in range(most):
            if self.mission.state == step:
                return
            self.period()
        raise AssertionError(f"still in {self.mission.state.name}, not in {step.name}")

    def steps(self) -> list[Step]:
        return [Step(int(values[0])) for name, values in self.rows if name == "mission_step"]

    def plans(self) -> list[PlanStatus]:
        return [PlanStatus(int(values[1])) for name, values in self.rows if name == "plan"]

    def order(self) -> PathRequest:
        assert self.mission.order is not None
        return self.mission.order

    def off(self, *, arrives: bool = False) -> None:
        """Onto the first channel."""
        self.mission.command((3000.0, 0.0))
        self.period()
        self.period(answer(self.order(), arrives=arrives))


@pytest.fixture
def flight() -> Iterator[Flight]:
    flight = Flight()
    yield flight
    steps = flight.steps()
    assert set(pairwise(steps)) <= ALLOWED


def test_from_circle_to_circle(flight: Flight) -> None:
    flight.period()
    flight.off()
    assert flight.mission.state == Step.LEAVE
    flight.until(Step.REPLAN)
    node = flight.order().node
    assert node is not None and node.s_m >= flight.mission.s_m + SETTINGS.lead_m
    assert flight.order().start_m == node.beyond_m
    flight.period(answer(flight.order(), arrives=True))
    flight.until(Step.APPROACH)
    assert flight.mission.order is None
    flight.until(Step.ARRIVED)
    for _ in range(2000):
        flight.period()
    assert flight.steps() == [
        Step.LOITER, Step.PLAN, Step.LEAVE, Step.FOLLOW, Step.REPLAN, Step.TRANSIENT, Step.APPROACH, Step.ARRIVE,
        Step.ARRIVED,
    ]  # fmt: skip
    assert sorted(set(flight.path)) == [0, 1, 2, 3, 4, 5]


def test_cells_flown_over_go_with_the_next_order(flight: Flight) -> None:
    """Each once, in order; those of a circle do not count, and a new goal begins anew."""
    flight.off()
    assert flight.mission.order is None
    flight.until(Step.REPLAN)
    order = flight.order()
    assert not order.fresh
    x, y, *_ = flight.mission.reference.at(flight.mission.s_m)
    assert order.flown[-1] == Cell(6, round(x / 150.0), round(y / 150.0))
    assert len(order.flown) == len(set(order.flown)) >= 2
    assert all(abs(a.col - b.col) + abs(a.row - b.row) == 1 for a, b in pairwise(order.flown))
    flight.period(failure(order))
    assert flight.order().flown == ()
    flight.mission.command((0.0, 0.0))
    flight.period()
    assert flight.order().fresh


def test_the_exit_of_the_circle_is_waited_for(flight: Flight) -> None:
    """It has just been passed: once more round."""
    for _ in range(60):
        flight.period()
    flight.off()
    flight.until(Step.FOLLOW)
    assert flight.now_s * 1.0 / PERIOD_S == pytest.approx(START.length_m + 50.0 + 100.0, abs=3.0)


def test_no_way_from_the_circle(flight: Flight) -> None:
    flight.mission.command((1.0, 1.0))
    flight.period()
    first = flight.order()
    flight.period(failure(first, PlanStatus.NO_PATH))
    assert flight.mission.state == Step.STRANDED
    flight.until(Step.PLAN)
    assert flight.order().number == first.number + 1
    assert flight.order().began_s == pytest.approx(first.began_s + PERIOD_S + SETTINGS.again_after_s, abs=2 * PERIOD_S)


def test_failures_are_tried_again_from_later_nodes_and_end_in_a_haven(flight: Flight) -> None:
    flight.off()
    tried = []
    for _ in range(4000):
        order = flight.mission.order
        if order is not None and order.node is not None:
            tried.append(order.node.s_m)
            flight.period(failure(order))
        else:
            flight.period()
        if flight.mission.state == Step.STRANDED:
            break
    assert tried == [300.0, 450.0, 600.0, 750.0, 900.0, 1050.0]
    flight.until(Step.PLAN)
    assert isinstance(flight.mission.reference, Circle) and flight.order().circle == flight.mission.reference
    flight.period(answer(flight.order()))
    flight.until(Step.FOLLOW)


def test_too_late(flight: Flight) -> None:
    flight.off()
    flight.until(Step.REPLAN)
    order = flight.order()
    while flight.mission.order == order:
        flight.period()
    assert order.node is not None and flight.mission.s_m == pytest.approx(order.node.s_m, abs=2.0)
    assert flight.plans()[-1] == PlanStatus.TOO_LATE
    again = flight.order().node
    assert again is not None and again.s_m > order.node.s_m
    flight.period(answer(order))
    assert flight.mission.state == Step.REPLAN, "a result that nobody waits for was taken"


def test_a_way_that_comes_in_the_period_in_which_its_node_is_passed_is_too_late(flight: Flight) -> None:
    """Its path begins behind the point that is followed."""
    flight.off()
    flight.until(Step.REPLAN)
    order = flight.order()
    assert order.node is not None
    while flight.mission.s_m + 1.0 <= order.node.s_m:
        flight.period()
    assert flight.mission.order == order
    followed = flight.mission.reference
    flight.period(answer(order))
    assert flight.plans()[-1] == PlanStatus.TOO_LATE
    assert flight.mission.reference == followed


def test_a_channel_without_ending_ends_on_a_circle(flight: Flight) -> None:
    flight.mission.command((3000.0, 0.0))
    flight.period()
    flight.period(answer(flight.order(), ending=False))
    flight.until(Step.STRANDED)
    assert flight.mission.reference.closed
    flight.until(Step.PLAN)


@pytest.mark.parametrize("step", list(Step))
def test_a_new_goal_at_any_step(step: Step) -> None:
    flight = Flight()
    _lead_to(flight, step)
    flight.mission.command((-2000.0, 500.0))
    for _ in range(4000):
        flight.period()
        if flight.mission.order is not None and flight.mission.order.goal_m == (-2000.0, 500.0):
            break
    flight.period(answer(flight.order(), arrives=True))
    flight.until(Step.ARRIVED)
    steps = flight.steps()
    assert set(pairwise(steps)) <= ALLOWED
    if step == Step.APPROACH:
        assert steps.count(Step.ARRIVED) == 1, "it turned away from the goal that no longer counts"


def _lead_to(flight: Flight, step: Step) -> None:
    flight.period()
    if step == Step.LOITER:
        return
    if step == Step.PLAN:
        flight.mission.command((3000.0, 0.0))
        flight.period()
        return
    flight.off(arrives=step in (Step.APPROACH, Step.ARRIVE, Step.ARRIVED))
    if step == Step.TRANSIENT:
        flight.until(Step.REPLAN)
        flight.period(answer(flight.order()))
    flight.until(step)


@pytest.mark.parametrize("goal_m", [(math.nan, 0.0), (0.0, math.inf), (1e7, 0.0)])
def test_a_goal_that_is_no_place_is_passed_over(flight: Flight, goal_m: tuple[float, float]) -> None:
    flight.mission.command(goal_m)
    flight.period()
    assert flight.mission.state == Step.LOITER


def test_the_way_into_a_haven_is_smooth_and_stays_inside_its_square() -> None:
    limits = JoinSettings()
    for eighths in (0, 2, 4, 6):
        for left in (True, False):
            node = PathNode(NodeKind.N, 700.0, 75.0, -225.0, math.remainder(eighths * math.pi / 4, 2 * math.pi), None)
            way, onto = haven(node, 150.0, left=left)
            assert isinstance(way.reference, Path) and isinstance(onto.reference, Circle)
            path, circle = way.reference, onto.reference
            assert way.leave_s_m == node.s_m and path.at(0.0) == pytest.approx(
                (75.0, -225.0, node.psi_rad, 0.0), abs=1e-9
            )
            assert path.at(path.length_m) == pytest.approx(circle.at(onto.enter_s_m), abs=1e-6)
            assert abs(path.kappa_1_m).max() <= 1.0 / limits.least_radius_m
            assert abs(np.diff(path.kappa_1_m)).max() <= limits.bend_rate_1_m2 * path.step_m
            round_m = [circle.at(s_m) for s_m in np.linspace(0.0, circle.length_m, 100)]
            x = np.concatenate([path.x_m, [point.x_m for point in round_m]]) - node.x_m
            y = np.concatenate([path.y_m, [point.y_m for point in round_m]]) - node.y_m
            cos, sin = math.cos(node.psi_rad), math.sin(node.psi_rad)
            ahead, aside = cos * x + sin * y, (cos * y - sin * x) * (1.0 if left else -1.0)
            spare_m = min(ahead.min() + 75.0, 225.0 - ahead.max(), aside.min() + 75.0, 225.0 - aside.max())
            assert spare_m == pytest.approx(0.2667 * 150.0, abs=0.5)


@pytest.mark.parametrize("seed", range(2))
def test_what_is_generated_lies_over_free_cells(seed: int) -> None:
    """Ways off the circle, channels, and havens at their ends: none over a blocked cell."""
    planner = Planner(
        Elevation(generate(128, seed), 75.0), PlannerSettings(safe_m=350, highest_m=500, blocked_above_m=500)
    )
    country = PathTerrain(planner.elevation, 6, lambda cell: not planner.blocked(cell))
    rng = np.random.default_rng(seed)
    rooms = roomy_cells(planner, RADIUS_M + 40.0)
    havens = 0
    for number in range(12):
        start_m, goal_m = (planner.elevation.centre_m(rooms[index]) for index in rng.integers(len(rooms), size=2))
        plan = planner.plan(start_m, goal_m)
        order = PathRequest(number, 0.0, start_m, goal_m, Circle(*start_m, RADIUS_M))
        made = PathGenerator(country, RADIUS_M).generate(order, plan)
        havens += bool(made.ending) and not made.arrives
        for leg in (*made.legs, *made.ending):
            spare_m = 19.0 if leg.kind == Kind.TRANSIENT else 0.0
            for s_m in np.arange(0.0, leg.reference.length_m, 10.0):
                x_m, y_m, *_ = leg.reference.at(float(s_m))
                around = ((x_m + i * spare_m, y_m + j * spare_m) for i in (-1.0, 1.0) for j in (-1.0, 1.0))
                cells = [planner.elevation.cell_at(6, *place) for place in around]
                assert not any(planner.blocked(cell) for cell in cells), (number, leg.kind)
    assert havens > 3


def test_a_transient_from_path_to_path_or_the_node_where_none_can_be_flown() -> None:
    """East along a row of cells; the new plan turns north after the node."""
    elevation = Elevation(np.zeros((128, 128), dtype=np.int16), 75.0)
    flown = path_of_channel([Cell(6, 20 + n, 30) for n in range(8)], side_m=elevation.side_m)
    node = next(each for each in flown.nodes if each.s_m >= 450.0)
    assert node.onward is not None
    first = node.onward.start
    cells = [first._replace(row=first.row + n) for n in range(9)]
    plan = Plan(PlanStatus.FOUND, tuple(cells), tuple(cells))
    start_m = elevation.centre_m(first)
    begin = Node(node.s_m, start_m, node.onward.entry, node.kind, node.onward.lead)
    order = PathRequest(0, 0.0, start_m, (0.0, 0.0), path=flown, node=begin)
    country = PathTerrain(elevation, 6, lambda cell: True)
    at_node = PathGenerator(country, RADIUS_M).generate(order, plan)
    assert [(leg.leave_s_m, leg.kind) for leg in at_node.legs] == [(node.s_m, Kind.CHANNEL)]
    limits = JoinSettings()
    made = PathGenerator(country, RADIUS_M, limits, transient_stitch=True).generate(order, plan)
    way, onto = made.legs
    assert (way.kind, onto.kind) == (Kind.TRANSIENT, Kind.CHANNEL) and isinstance(way.reference, Path)
    assert way.leave_s_m == pytest.approx(node.s_m - 50.0) and onto.enter_s_m >= 150.0
    assert way.reference.at(0.0) == pytest.approx(flown.at(way.leave_s_m), abs=1e-6)
    assert way.reference.at(onto.leave_s_m) == pytest.approx(onto.reference.at(onto.enter_s_m), abs=1e-6)
    assert np.abs(way.reference.kappa_1_m).max() <= 1.0 / limits.least_radius_m
    among = {(cell.col, cell.row) for cell in (*begin.kept, *cells)}
    over = {elevation.cell_at(6, *place) for place in zip(way.reference.x_m, way.reference.y_m, strict=True)}
    assert {(cell.col, cell.row) for cell in over} <= among
    straight_only = JoinSettings(least_radius_m=1e4)
    refused = PathGenerator(country, 2e4, straight_only, transient_stitch=True).generate(order, plan)
    assert [(leg.leave_s_m, leg.kind) for leg in refused.legs] == [(node.s_m, Kind.CHANNEL)]


def test_a_result_too_late_for_its_transient_is_followed_from_the_node(flight: Flight) -> None:
    flight.off()
    flight.until(Step.REPLAN)
    order = flight.order()
    assert order.node is not None and order.path is not None
    made = answer(order)
    (onto,) = made.legs
    leave_s_m = order.node.s_m - 50.0
    way = Line(order.path.at(leave_s_m), 200.0)
    legs = (Leg(leave_s_m, way, 0.0, Kind.TRANSIENT), Leg(200.0, onto.reference, 150.0, Kind.CHANNEL))
    made = dataclasses.replace(made, legs=legs)
    while flight.mission.s_m <= leave_s_m:
        flight.period()
    flight.period(made)
    assert flight.mission.state == Step.TRANSIENT and flight.plans()[-1] == PlanStatus.FOUND
    flight.until(Step.FOLLOW)
    assert flight.mission.reference is onto.reference and flight.mission.s_m < 5.0


@given(st.lists(st.tuples(st.integers(0, 11), st.floats(0.0, 60.0), st.booleans()), max_size=150))
def test_any_sequence_of_events(events: list[tuple[int, float, bool]]) -> None:
    flight = Flight()
    for what, amount, flag in events:
        order = flight.mission.order
        result = None
        if what == 0:
            flight.mission.command((amount * 100.0, -amount))
        elif order is not None and what <= 3:
            result = answer(order, length_m=100.0 + 20.0 * amount, arrives=flag, exit_m=9.0 * amount, ending=what < 3)
        elif order is not None and what == 4:
            result = failure(order, PlanStatus.NO_PATH)
        elif order is not None and what == 5:
            result = Result(order.number + (1 if flag else -1), PlanStatus.FOUND)
        flight.now_s += amount / 10.0 if what == 6 else 0.0
        flight.period(result, amount if what > 7 else 1.0)
        assert all(math.isfinite(value) for value in flight.mission.reference.at(flight.mission.s_m))
        assert (flight.mission.order is not None) == (flight.mission.state in (Step.PLAN, Step.REPLAN))
    steps = flight.steps()
    assert set(pairwise(steps)) <= ALLOWED


def test_every_row_of_the_table_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by its event, in flights from start to goal with everything that may go wrong on the way."""
    reached: set[tuple[Step, Event]] = set()
    on = Mission._on

    def watched(self: Mission, event: Event, now_s: float) -> None:
        reached.add((self.state, event))
        on(self, event, now_s)

    monkeypatch.setattr(Mission, "_on", watched)
    for step in Step:
        test_a_new_goal_at_any_step(step)
    for test in (
        test_from_circle_to_circle,
        test_no_way_from_the_circle,
        test_failures_are_tried_again_from_later_nodes_and_end_in_a_haven,
        test_a_channel_without_ending_ends_on_a_circle,
    ):
        test(Flight())
    near = Flight()
    near.mission.command((300.0, 0.0))
    near.period()
    circle, s_m = tangent(START.at(0.0), 90.0, left=True)
    near.period(Result(0, PlanStatus.FOUND, legs=(Leg(0.0, circle, s_m, Kind.GOAL),)))
    near.until(Step.ARRIVED)
    late = Flight()
    late.mission.command((3000.0, 0.0))
    late.period()
    late.period(answer(late.order(), length_m=600.0))
    late.until(Step.STRANDED)
    assert set(TRANSITIONS) <= reached


def test_what_is_told(flight: Flight) -> None:
    flight.off(arrives=True)
    flight.until(Step.ARRIVED)
    for _ in range(200):
        flight.period()
    points = [values for name, values in flight.rows if name == "path"]
    kinds = (Kind.START, Kind.TRANSIENT, Kind.CHANNEL, Kind.TRANSIENT, Kind.GOAL)
    for path, kind in enumerate(kinds):
        mine = [values for values in points if values[0] == path]
        assert {values[1] for values in mine} == {kind}
        gaps = [b[2] - a[2] for a, b in pairwise(mine)]
        assert max(gaps) <= SETTINGS.told_every_m and min(gaps) > 0.5 * SETTINGS.told_every_m
    assert flight.plans() == [PlanStatus.FOUND]
