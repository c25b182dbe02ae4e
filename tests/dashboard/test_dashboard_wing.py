"""The fixed wing in the dashboard: what pages read for each family, and its way as a picture."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from matplotlib.image import imread
from nicegui import Client, ui
from nicegui.page import page
from stream_tables import FIXED_WING
from test_dashboard_pages import HOSTILE, built

from aeroloop.core import scenario_files as scenarios
from aeroloop.core import tables
from aeroloop.core.errors import LinkError
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.operator import OperatorCommand
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.stream import TRUTH
from aeroloop.core.streams import streams_of_kind
from aeroloop.core.wing_signals import WING_TASKS, PlanStatus, Step, UserCommand
from aeroloop.dashboard import family_page, page_charts, page_view, readings
from aeroloop.dashboard.app import PAGES
from aeroloop.dashboard.link_sources import views
from aeroloop.dashboard.map import View
from aeroloop.dashboard.roles import ViewOnlyError
from aeroloop.dashboard.scene import MOST_TOLD_PATHS
from aeroloop.dashboard.scene import View as Scene
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.viewed_flight import ViewedFlight
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.families.fixedwing import page_path as way
from aeroloop.families.fixedwing import page_path_map as way_map
from aeroloop.families.fixedwing import page_processor as processor_panel
from aeroloop.families.fixedwing.operating import console
from aeroloop.families.fixedwing.page_fly import PathPage, facts, plans_table
from aeroloop.families.fixedwing.page_labels import STATUS_WORDS, STEP_WORDS, letters
from aeroloop.families.fixedwing.page_operator import TAP, commands, commands_table, newest, parameters_table
from aeroloop.families.fixedwing.planning_map import planner_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.shape import SURFACES
from aeroloop.planning.cells import Cell

START_M, GOAL_M = (-3375.0, 1425.0), (3975.0, -3975.0)
NAN, HUGE = math.nan, 1e300


@pytest.fixture(scope="module")
def scenario() -> FixedWingScenario:
    loaded = scenarios.load(scenarios.find("fixedwing-hierarchical"))
    assert isinstance(loaded.aircraft, FixedWingTables)
    return loaded


def row(stream: str, **values: float) -> tuple[float, ...]:
    return tuple(values.get(name, 0.0) for name in FIXED_WING[stream].names)


def add(store: Store, stream: str, **values: float) -> None:
    store.add(FIXED_WING[stream], row(stream, **values))


def fly(store: Store, t_s: float = 1.0) -> None:
    roll, pitch, yaw = 0.2, -0.1, math.pi / 2
    qw, qx, qy, qz = quat_from_euler(roll, pitch, yaw)
    place = {"x_m": -3000.0, "y_m": 1000.0, "z_m": 660.0}
    add(store, "truth", t_s=t_s, **place, qw=qw, qx=qx, qy=qy, qz=qz, airspeed_m_s=20.5, ground_m=400.0)
    add(store, "effort", t_s=t_s, aileron_rad=0.1, elevator_rad=-0.2, rudder_rad=0.05, throttle=0.5)
    add(store, "guidance", t_s=t_s, step=float(Step.FOLLOW), path_x_m=-2990.0, path_y_m=1010.0, cross_m=3.0)
    add(store, "air", t_s=t_s, wind_x_m_s=3.0, wind_y_m_s=4.0)
    add(store, "pace", t_s=t_s, missed=7.0)


def plan(store: Store, number: int, scenario: FixedWingScenario, **changed: float) -> way.PlanRow:
    """As a board tells a plan that was really made."""
    made = planner_of(scenario).plan(START_M, GOAL_M)
    told = {"t_s": 12.0 + number, "plan": number, "began_s": 10.0 + number, "leaves": made.leaves}
    told |= {"start_x_m": START_M[0], "start_y_m": START_M[1], "goal_x_m": GOAL_M[0], "goal_y_m": GOAL_M[1]}
    told |= {"expanded": made.expanded, "cells": len(made.cells), "fine": len(made.fine)}
    for index, cell in enumerate(made.cells):
        add(store, "plan_cell", t_s=told["t_s"], plan=number, index=index, level=cell.level, col=cell.col, row=cell.row)
    add(store, "plan", **{**told, **changed})
    return way.plans(store)[-1]


def path(store: Store, number: int, points: int = 20, t_s: float = 20.0) -> None:
    for index in range(points):
        add(store, "path", t_s=t_s + number, path=number, kind=1, s_m=10.0 * index, x_m=10.0 * index, y_m=-500.0)


class TestFamilies:
    def test_every_kind_of_flight_has_its_streams_and_charts(self) -> None:
        for kind in (name for name in tables.FAMILIES if tables.family(name).page):
            shown = tables.part(tables.family(kind).page)
            assert isinstance(shown, family_page.Page) and shown.charts
            store = Store(streams_of_kind(kind))
            for track in (TRUTH, shown.setpoint):
                assert {track.east, track.north} <= set(store.names(track.stream))
            assert "missed" in store.names("pace")
            assert all(store.signal(name) for chart in shown.charts for name in chart)
        assert all(Store(ROUTER_STREAMS).signal(name) for chart in page_charts.ROUTER_CHARTS for name in chart)

    def test_where_a_wing_is_and_what_it_does(self, scenario: FixedWingScenario) -> None:
        store = Store()
        assert readings.pose(store, scenario, 0) is None and readings.status(store, scenario, 0).mode == ""
        fly(store)
        pose = readings.pose(store, scenario, 0)
        assert pose is not None
        assert pose.heading_deg == pytest.approx(0.0) and pose.roll_rad == pytest.approx(0.2)
        assert pose.hinges_rad == pytest.approx((0.1, -0.1, -0.25, -0.15))
        assert readings.shown_rates(store, scenario, 0, [-1.0]) == [-8.0]
        assert readings.setpoint_height_m(store, scenario, 0) == scenario.aircraft.mission.height_m
        assert readings.missed_deadlines(store) == 7
        assert readings.ground_m(store, 0) == 400.0
        track = family_page.of(scenario).setpoint
        setpoints = readings.places(store, scenario, track, 0, -math.inf)
        assert setpoints == [(1.0, -2990.0, 1010.0, scenario.aircraft.mission.height_m)]
        words = page_view.facts(pose, readings.status(store, scenario, 0), readings.wind_W(store, 0))
        assert words["airspeed"] == "20.5 m/s" and words["ground"] == "260 m below" and words["tilt"] == ""
        assert words["mode"] == "C following the path"  # as guidance tells it, to who came late

    def test_a_second_replanning_is_the_papers_f(self, scenario: FixedWingScenario) -> None:
        steps = (Step.LOITER, Step.PLAN, Step.LEAVE, Step.REPLAN, Step.TRANSIENT, Step.REPLAN, Step.STRANDED)
        assert letters(map(float, steps)) == ["A", "B", "C", "D", "E", "F", "–"]
        store = Store()
        for t_s, step in enumerate(steps[:-1]):
            add(store, "mission_step", t_s=t_s, step=step)
        assert readings.status(store, scenario, 0).mode == "F following the path, replanning"

    def test_every_step_and_status_has_words(self) -> None:
        assert STEP_WORDS.keys() == set(Step) and STATUS_WORDS.keys() == set(PlanStatus)

    def test_its_shape_has_its_surfaces_in_order_and_one_propeller(self, scenario: FixedWingScenario) -> None:
        shape = family_page.of(scenario).shape(scenario)
        assert tuple(body.hinge.name for body in shape.bodies if body.hinge) == SURFACES
        assert len(shape.rotors) == 1 and 1.3 < shape.reach_m < 1.7

    def test_its_line_is_counted_at_the_plant(self, scenario: FixedWingScenario) -> None:
        store = Store()
        for t_s in range(11):
            add(store, "link", t_s=t_s, frames_in=100.0 * t_s, frames_out=20.0 * t_s)
        (line,) = views(store, (), scenario)
        assert line.name == "board" and line.cells["rate_out"].text == "20.0 / 20"
        timing = family_page.of(scenario).timing
        assert timing is not None and timing(scenario).stream == "pace"


def test_steps_and_plans_are_notices_and_nonsense_is_none(tmp_path: Path, scenario: FixedWingScenario) -> None:
    watched = WatchedFlight(tmp_path)
    watched.scenario = scenario
    for t_s, step in ((1.0, Step.REPLAN), (2.0, Step.REPLAN), (3.0, 99.0), (4.0, NAN), (5.0, HUGE)):
        watched.take(FIXED_WING["mission_step"], row("mission_step", t_s=t_s, step=float(step)))
    watched.take(FIXED_WING["plan"], row("plan", t_s=6.0, began_s=4.5, plan=2.0, fine=11.0))
    watched.take(FIXED_WING["plan"], row("plan", t_s=7.0, status=float(PlanStatus.UNREACHABLE)))
    for status in (NAN, HUGE, 77.0):
        watched.take(FIXED_WING["plan"], row("plan", t_s=8.0, status=status))
    for number in (NAN, HUGE, -1.0):
        watched.take(FIXED_WING["plan"], row("plan", t_s=8.0, plan=number))
    told = [(notice.severity, notice.words) for notice in watched.notices]
    assert told == [
        ("info", "step D: following the path, replanning"),
        ("info", "step F: following the path, replanning"),
        ("info", "plan 2: found, 11 cells of channel after 1.5 s"),
        ("warn", "plan 0: no path to the goal"),
    ]


class TestWay:
    def test_the_cells_are_those_that_the_planner_planned_on(self, scenario: FixedWingScenario) -> None:
        store, country, planner = Store(), way.page_map(scenario), planner_of(scenario)
        told = plan(store, 0, scenario)
        assert len(country.leaves_m(told.start_m)) == told.leaves > 200
        assert told.took_s == pytest.approx(2.0)
        order = country.elevation.order
        assert tuple(way.cells(store, 0, order).values()) == planner.plan(START_M, GOAL_M).cells
        finest = scenario.aircraft.planner.resolution.finest
        for col in range(0, 1 << finest, 7):
            for line in range(0, 1 << finest, 5):
                assert country.blocked[line, col] == planner.blocked(Cell(finest, col, line))

    def test_rows_that_are_no_cells_points_or_plans_are_left_out(self, scenario: FixedWingScenario) -> None:
        store, order = Store(), 7
        for bad in ({"level": NAN}, {"level": 8.0}, {"col": -1.0}, {"row": 64.0, "level": 6.0}, {"index": HUGE * 1e10}):
            add(store, "plan_cell", t_s=1.0, plan=3, **bad)
        assert way.cells(store, 3, order) == {}
        for bad in ({"x_m": NAN}, {"y_m": HUGE}, {"path": math.inf}):
            add(store, "path", t_s=1.0, **bad)
        assert way.paths(store) == []
        add(store, "plan", t_s=1.0, plan=NAN)
        assert way.plans(store) == [] and way.goal_m(store) is None
        add(store, "plan", t_s=2.0, start_x_m=NAN, goal_x_m=HUGE, fine=NAN, leaves=NAN)
        (told,) = way.plans(store)
        assert way.goal_m(store) is None and len(way.page_map(scenario).leaves_m(told.start_m)) == 0
        assert "nan" in plans_table([told])  # said, not hidden

    def test_paths_are_ordered_thinned_and_few(self) -> None:
        store = Store()
        for number in range(way.MOST_PATHS + 5):
            path(store, number)
        path(store, 90, points=3 * way.MOST_POINTS, t_s=30.0)
        told = way.paths(store)
        assert len(told) == way.MOST_PATHS and told[-1].number == 90
        points = told[-1].points_m
        assert len(points) <= way.MOST_POINTS and points[-1] == (10.0 * (3 * way.MOST_POINTS - 1), -500.0)
        assert points == sorted(points)

    def test_the_picture_of_blocked_cells_has_north_at_the_top(self) -> None:
        blocked = np.zeros((4, 4), dtype=bool)
        blocked[0, 3] = True  # in the south-east
        href = way_map.blocked_picture(blocked)
        pixels = imread(io.BytesIO(base64.b64decode(href.partition(",")[2])))
        assert np.argwhere(pixels[..., 3] > 0).tolist() == [[3, 3]]

    def test_the_map_shows_channel_cells_path_and_goal_and_nothing_out_of_sight(
        self, scenario: FixedWingScenario
    ) -> None:
        store, country = Store(), way.page_map(scenario)
        told = plan(store, 0, scenario)
        path(store, 0)
        path(store, 1)
        cells = way.cells(store, 0, country.elevation.order)
        shown = way_map.Layers(
            way_map.blocked_picture(country.blocked),
            country.elevation.side_m,
            leaves=country.leaves_m(told.start_m),
            coarse=country.boxes_m(tuple(cells.values())[told.fine :]),
            channel=country.boxes_m(tuple(cells.values())[: told.fine]),
            paths=way.paths(store),
            flown=1,
            goal_m=told.goal_m,
        )
        whole = View(m_per_px=15.0)
        drawn = way_map.layers(whole, shown)
        assert f'data-testid="way-channel" data-cells="{told.fine}"' in drawn
        assert drawn.count("way-past") == 1 and drawn.count('data-testid="way-path"') == 2 and "goal" in drawn
        west, _, _, north = country.elevation.bounds_m(next(iter(cells.values())))
        x, y = whole.pixel(west, north)
        assert f"M{x:.1f} {y:.1f}h10.0v10.0" in drawn  # the first fine cell: 150 m at 15 m a pixel
        assert len(drawn) < 100_000
        far = way_map.layers(replace(whole, east_m=90_000.0), shown)
        assert "h10.0" not in far and "h40.0" not in far
        nothing = way_map.layers(whole, way_map.Layers(goal_m=(NAN, 0.0)))
        assert nothing == ""


class TestProcessor:
    def test_what_is_no_number_leaves_a_gap_and_no_more(self) -> None:
        store = Store()
        assert processor_panel.all_series(store)["use"][0]["data"] == []
        for t_s in range(5):
            add(store, "cpu", t_s=t_s, use_pct=NAN if t_s == 2 else 20.0 + t_s)
            for task in range(len(WING_TASKS)):
                add(store, "task", t_s=t_s, task=task, share_pct=task, exec_s=0.001 * task)
        series = processor_panel.all_series(store)
        assert series["use"][0]["data"] == [[0.0, 20.0], [1.0, 21.0], [3.0, 23.0], [4.0, 24.0]]
        assert [each["name"] for each in series["share"]] == [task.name for task in WING_TASKS]
        assert series["exec"][12]["data"][0] == [0.0, 12.0]
        assert all(each["stack"] == "share" for each in series["share"])

    def test_each_task_has_a_colour_of_its_own(self) -> None:
        assert len(set(processor_panel.COLOURS)) == len(WING_TASKS)


@pytest.fixture
def scene() -> Iterator[Scene]:
    client = Client(page("/"), request=None)
    with client:
        yield Scene(ui.scene(grid=False))
    client.delete()


def test_the_3d_view_draws_the_newest_paths_and_forgets_old_ones(scene: Scene, scenario: FixedWingScenario) -> None:
    store = Store()
    fly(store)
    scene.show(scenario)
    before = len(scene.scene.objects)
    for number in range(MOST_TOLD_PATHS + 4):
        path(store, number)
        scene._updates = 0
        scene.update(store)
    assert len(scene.scene.objects) == before + MOST_TOLD_PATHS


def watching(tmp_path: Path, scenario: FixedWingScenario) -> WatchedFlight:
    watched = WatchedFlight(tmp_path)
    watched.flight_id, watched.running, watched.scenario = "one", True, scenario
    watched.notice(HOSTILE, "bad")
    return watched


def words(client: Client) -> list[str]:
    return [element.text for element in client.elements.values() if isinstance(element, ui.label)]


def shown(client: Client, testid: str) -> Any:
    return next(each for each in client.elements.values() if each.props.get("data-testid") == testid)


class TestPages:
    def test_the_fly_page_says_what_there_is_and_what_is_not(self, tmp_path: Path, scenario: FixedWingScenario) -> None:
        watched = watching(tmp_path, scenario)
        fly(watched.store)
        plan(watched.store, 0, scenario)
        fly_page = next(each for each in PAGES if each.title == "Fly")

        def look(client: Client) -> None:
            assert shown(client, "no-processor").visible
            assert shown(client, "op-goal").text == TAP
            assert not shown(client, "op-fly-there").visible

        def look_only(client: Client) -> None:
            assert shown(client, "op-parameters")
            assert not any(each.props.get("data-testid") == "op-set" for each in client.elements.values())

        built(watched, fly_page.build, look)
        built(ViewedFlight(watched), fly_page.build, look_only)
        with pytest.raises(ViewOnlyError):
            ViewedFlight(watched).operate(OperatorCommand(command="loiter"))
        with pytest.raises(LinkError, match="no flight is running"):
            watched.operate(OperatorCommand(command="loiter"))
        add(watched.store, "cpu", t_s=20.0, use_pct=99.0, missed_cycles=0.0)
        built(watched, fly_page.build, lambda client: _assert_processor(client))

    @pytest.mark.parametrize("value", [NAN, math.inf, -HUGE])
    def test_no_page_breaks_on_what_a_board_may_tell(
        self, tmp_path: Path, scenario: FixedWingScenario, value: float
    ) -> None:
        watched = watching(tmp_path, scenario)
        for t_s in (1.0, 2.0):
            for stream in FIXED_WING.values():
                if stream.name.startswith("wing_"):
                    watched.take(stream, (t_s, *(value,) * (len(stream.names) - 1)))
        for each in PAGES:
            built(watched, each.build, lambda client: None)
        built(watched, lambda _: _beat(PathPage(watched, scenario)), lambda client: None)
        assert all(len(words) < 400 for words in facts(watched, scenario).values())
        assert len(plans_table(way.plans(watched.store))) < 2000


def _beat(shown: PathPage) -> None:
    """What its timers do, a few times over."""
    for _ in range(2):
        shown._learn()
        shown._refresh()
        shown.map.refresh()
        shown.map._fit()
        shown.map._fit_near()


def _assert_processor(client: Client) -> None:
    assert not shown(client, "no-processor").visible
    assert shown(client, "cpu-use").text == "99 % busy"


def told(*rows: tuple[str, dict[str, float]]) -> Store:
    store = Store([FIXED_WING[name] for name in ("user_command", "user_answer", "parameter")])
    for name, values in rows:
        store.add(FIXED_WING[name], row(name, **values))
    return store


def test_the_console_shows_the_boards_values_and_answers_and_not_what_was_sent(scenario: FixedWingScenario) -> None:
    known = console(scenario)
    empty = told()
    assert parameters_table(empty, known).count("<b>–</b>") == len(known.parameters)
    assert commands_table(empty, known) == '<span class="al-soft">No user command yet.</span>'
    assert newest(empty, known) == ("", "info")
    store = told(
        ("user_command", {"t_s": 3.0, "number": 1, "command": UserCommand.SET, "parameter": 0, "x": 50.0}),
        ("user_answer", {"t_s": 3.05, "number": 1, "command": UserCommand.SET, "answer": 3, "latency_s": 0.05}),
        ("parameter", {"t_s": 3.05, "parameter": 0, "value": 20.0}),
        ("user_command", {"t_s": 4.0, "number": 2, "command": UserCommand.GOAL, "x": 1200.0, "y": -34.0}),
    )
    assert "<b>20</b> m/s" in parameters_table(store, known) and "<b>50</b>" not in parameters_table(store, known)
    assert newest(store, known) == ("goal 1200, -34: waiting", "info")
    assert commands(store, known)[1] == ("3.0 s", "set", "airspeed_m_s = 50", 3.0, "0.05 s")
    assert "outside the parameter&#x27;s limits" in commands_table(store, known)


@pytest.mark.parametrize("value", [NAN, HUGE, -1.0])
def test_any_numbers_of_a_board_make_a_console(value: float, scenario: FixedWingScenario) -> None:
    known = console(scenario)
    odd = {"number": value, "command": value, "parameter": value, "answer": value, "x": value, "value": value}
    store = told(("user_command", odd), ("user_answer", odd), ("parameter", odd))
    assert parameters_table(store, known) and commands_table(store, known) and newest(store, known)
