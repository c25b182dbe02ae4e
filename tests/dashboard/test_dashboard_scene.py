"""The 3D view: what the server sends for which rows, how lines stay bounded, and the ground's mesh."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nicegui", reason="the dashboard needs nicegui")
from nicegui import Client, ui
from nicegui.page import page
from stream_tables import MULTIROTOR, TILTROTOR

from aeroloop.core import scenario_files as scenarios
from aeroloop.core.frames import Vec3, quat_from_euler
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page, ground, readings
from aeroloop.dashboard.family_page import Status
from aeroloop.dashboard.page_view import Factor, facts
from aeroloop.dashboard.readings import Pose
from aeroloop.dashboard.scene import View
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.trails import Trail
from aeroloop.world.relief import mesh
from aeroloop.world.terrain import Grid, Incline


def scenario(name: str) -> Scenario:
    return scenarios.load(scenarios.find(name))


def plan(name: str, vehicle: int = 0) -> list[Vec3]:
    flown = scenario(name)
    return family_page.of(flown).plan(flown, vehicle)


def add(store: Store, stream: str, **values: float) -> None:
    store.add(MULTIROTOR[stream], tuple(values.get(name, 0.0) for name in MULTIROTOR[stream].names))


def fly(store: Store, t_s: float, vehicle: int = 0) -> None:
    add(store, "truth", t_s=t_s, vehicle=vehicle, x_m=t_s, z_m=5.0, qw=1.0)
    speeds = {f"speed_{i}_rad_s": 550.0 if i <= 4 else math.nan for i in range(1, 9)}
    add(store, "effort", t_s=t_s, vehicle=vehicle, **speeds)


class TestTrail:
    def test_it_grows_by_what_is_new(self) -> None:
        trail = Trail()
        first = trail.feed([(0.0, 0.0, 0.0, 0.0), (0.1, 1.0, 0.0, 0.0)])
        second = trail.feed([(0.2, 2.0, 0.0, 0.0)])
        assert first is not None and first.deed == "add" and len(first.points) == 2
        assert second is not None and second.points == [(2.0, 0.0, 0.0)]

    def test_standing_still_and_numbers_that_are_none_add_nothing(self) -> None:
        trail = Trail()
        trail.feed([(0.0, 0.0, 0.0, 0.0)])
        assert trail.feed([(0.1, 0.001, 0.0, 0.0), (0.2, math.nan, 0.0, 0.0)]) is None
        assert trail.t_s == 0.2  # and they are not read again

    def test_a_small_plant_has_a_finer_trail(self) -> None:
        rows = [(0.1 * i, 0.0025 * i, 0.0, 0.0) for i in range(5)]
        coarse, fine = Trail(), Trail(finest_m=0.002)
        for trail in (coarse, fine):
            trail.feed(rows)
        assert len(coarse.points) == 1
        assert [x for x, _, _ in fine.points] == pytest.approx([0.0, 0.0025, 0.005, 0.0075, 0.01])

    def test_a_long_flight_keeps_its_whole_way_in_few_points(self) -> None:
        trail = Trail(most=100)
        for i in range(5000):
            trail.feed([(0.02 * i, 0.1 * i, 0.0, 0.0)])
            assert len(trail.points) <= 100
        assert trail.points[0][0] < 20.0
        assert trail.points[-1][0] > 480.0

    def test_what_is_older_than_minutes_goes(self) -> None:
        trail = Trail(most=100, kept_s=10.0)
        for i in range(5000):
            trail.feed([(0.2 * i, 1.0 * i, 0.0, 0.0)])
        assert trail.points[0][0] > 4800.0

    @pytest.mark.parametrize("most", [50, 51])
    def test_a_browser_that_follows_the_changes_has_the_same_points(self, most: int) -> None:
        trail, drawn = Trail(most=most), []
        for i in range(1000):
            change = trail.feed([(0.1 * i, 0.3 * i, math.sin(0.1 * i), 0.0)])
            if change is not None:
                assert change.points[-1][0] == pytest.approx(0.3 * i)  # thinning never takes the newest
                drawn = change.points if change.deed == "set" else drawn + change.points
            assert drawn == trail.points


class TestPlan:
    def test_the_tiltrotors_is_its_reference_path(self) -> None:
        path = plan("tiltrotor-spiral")
        assert path[0] == pytest.approx((2.0, 0.0, 0.5))
        assert path[-1][2] == pytest.approx(10.5)

    def test_each_aircraft_of_a_swarm_has_its_own_from_where_it_starts(self) -> None:
        first, third = (plan("quad-swarm", vehicle) for vehicle in (0, 2))
        assert [x for x, _, _ in third] == [x + 16.0 for x, _, _ in first]

    def test_there_is_none_where_somebody_outside_decides(self) -> None:
        assert plan("quad-px4") == plan("tiltrotor-joystick") == []


class TestReadings:
    def test_heading_and_nose_are_a_pilots(self) -> None:
        pose = Pose(0.0, (0.0, 0.0, 0.0), (3.0, 4.0, 1.0), quat_from_euler(0.1, -0.2, math.pi / 2), ())
        assert pose.roll_rad == pytest.approx(0.1)
        assert pose.nose_up_rad == pytest.approx(0.2)
        assert pose.heading_deg == pytest.approx(0.0)  # facing north
        assert pose.speed_m_s == pytest.approx(5.0)

    def test_rotors_turn_their_way_slowed_and_stand_when_they_stand(self) -> None:
        store, quad = Store(), scenario("quad-hover")
        assert readings.shown_rates(store, quad, 0, [1.0, -1.0]) == [0.0, 0.0]
        add(store, "effort", t_s=1.0, speed_1_rad_s=550.0, speed_2_rad_s=550.0, speed_3_rad_s=math.nan)
        assert readings.shown_rates(store, quad, 0, [1.0, -1.0, 1.0, 1.0]) == [10.0, -10.0, 0.0, 0.0]

    def test_rotors_of_the_tiltrotor_follow_their_thrust(self) -> None:
        store, spiral = Store(), scenario("tiltrotor-spiral")
        effort = TILTROTOR["effort"]
        thrusts_N = {"thrust_right_N": 9.0, "thrust_left_N": 0.0}
        store.add(effort, tuple({"t_s": 1.0, **thrusts_N}.get(name, 0.0) for name in effort.names))
        right, left = readings.shown_rates(store, spiral, 0, [-1.0, 1.0])
        assert right < 0.0 and left == 0.0

    def test_a_pose_that_is_no_number_is_none(self) -> None:
        store = Store()
        add(store, "truth", t_s=1.0, x_m=math.nan, qw=1.0)
        assert readings.pose(store, scenario("quad-hover"), 0) is None

    def test_the_wind_is_named_by_where_it_comes_from(self) -> None:
        assert facts(None, Status(), (3.0, 0.0, 0.0))["wind"] == "3.0 m/s from 270°"
        assert facts(None, Status(), (0.0, 0.0, 0.0))["wind"] == "calm"


def test_the_factor_is_simulated_seconds_a_second() -> None:
    factor = Factor()
    assert math.isnan(factor.feed(100.0, 5.0))
    assert factor.feed(102.0, 6.0) == pytest.approx(0.5)
    assert math.isnan(factor.feed(103.0, 0.0))  # another flight


class TestGround:
    def test_the_mesh_has_the_terrains_heights_and_reaches_beyond_its_edge(self) -> None:
        heights = np.zeros((11, 11))
        heights[5, 5] = 4.0
        hill = Grid(heights, spacing_m=2.0, corner_m=(-10.0, -10.0))
        relief = ground.relief(hill)
        points = [point for row in relief.coordinates for point in row if point is not None]
        assert len(relief.coordinates) == len(relief.coordinates[0]) == ground.POINTS
        for x, y, z in points[::37]:
            assert z == pytest.approx(hill.height_m(x, y), abs=0.03)
        assert max(x for x, _, _ in points) > 300.0
        assert relief.picture_url.startswith("data:image/png;base64,")

    def test_a_slope_towards_the_sun_is_lighter(self) -> None:
        def brightness(east: float) -> float:
            slope = Incline(east, 0.0)
            return float(ground.picture(*mesh(slope, ground.POINTS)).mean())

        assert brightness(0.5) > brightness(-0.5)  # the sun stands in the south-west

    def test_level_ground_needs_no_mesh(self) -> None:
        assert ground.of_scenario(scenario("quad-hover")) is None
        assert ground.of_scenario(scenario("quad-terrain")) is not None


class Spy(View):
    """With a record of what would travel."""

    sent: list[list[list[Any]]]

    def _send(self, calls: list[list[Any]]) -> None:
        if calls:
            self.sent.append(calls)


@pytest.fixture
def view() -> Iterator[Spy]:
    client = Client(page("/"), request=None)
    with client:
        spy = Spy(ui.scene(grid=False))
        spy.sent = []
        yield spy
    client.delete()


class TestView:
    def test_the_camera_does_not_follow_a_robot_and_follows_the_next_aircraft(self, view: Spy) -> None:
        view.show(scenario("rrr-circle"))
        assert view.camera == "free"
        view.show(scenario("quad-hover"))
        assert view.camera == "follow"
        view.look("top")
        view.show(scenario("quad-swarm"))
        assert view.camera == "top", "as somebody chose it"

    def test_all_aircraft_travel_in_one_message(self, view: Spy) -> None:
        store = Store()
        for vehicle in range(4):
            fly(store, 1.0, vehicle)
        view.show(scenario("quad-swarm"))
        view.update(store)
        (message,) = view.sent
        poses = [call for call in message if call[2] == "pose"]
        assert len({call[1] for call in poses}) == 4
        place, attitude, tilts, rates = poses[0][3:]
        assert place == [1.0, 0.0, 5.0] and attitude == [1.0, 0.0, 0.0, 0.0] and tilts == []
        assert sorted(rates) == [-10.0, -10.0, 10.0, 10.0]

    def test_what_flies_beside_is_drawn_where_its_world_lies(self, view: Spy) -> None:
        own, other = Store(), Store()
        fly(own, 1.0)
        fly(other, 2.0)
        view.show(scenario("quad-hover"), [(scenario("quad-wind"), (100.0, -20.0, 3.0))])
        view.update(own, [other])
        (message,) = view.sent
        places = [call[3] for call in message if call[2] == "pose"]
        assert places == [[1.0, 0.0, 5.0], [102.0, -20.0, 8.0]]
        trails = [call[3] for call in message if call[2] in ("add", "set")]
        assert [(102.0, -20.0, 8.0)] in trails
        assert view._own is not None and view._stage is not None
        assert view._stage.args[4] == view._own.crafts[0].id, "the camera follows the part that is shown"

    def test_nothing_travels_when_nothing_is_new(self, view: Spy) -> None:
        store = Store()
        fly(store, 1.0)
        view.show(scenario("quad-hover"))
        for _ in range(8):
            view.update(store)
        assert len(view.sent) == 1

    def test_a_browser_that_sets_up_its_scene_anew_is_told_again(self, view: Spy) -> None:
        store = Store()
        fly(store, 1.0)
        view.show(scenario("quad-hover"))
        view.update(store)
        view._resend()
        view.update(store)
        assert len(view.sent) == 2

    def test_objects_do_not_pile_up(self, view: Spy) -> None:
        store = Store()
        view.show(scenario("quad-hover"))
        before = len(view.scene.objects)
        for i in range(400):
            fly(store, 0.05 * i)
            view.update(store)
        assert len(view.scene.objects) == before
        view.show(scenario("quad-hover"))
        assert len(view.scene.objects) == before
        view.show(None)
        assert len(view.scene.objects) < before

    def test_the_mission_is_drawn_changed_and_taken_away(self, view: Spy) -> None:
        view.show(scenario("quad-hover"))
        before = len(view.scene.objects)
        view.show_mission([(1.0, 2.0, 3.0)])
        assert len(view.scene.objects) == before + 2  # a mark and its number
        view.show_mission([(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)])
        assert len(view.scene.objects) == before + 5  # and the way between them
        drawn = set(view.scene.objects)
        view.show_mission([(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)])
        assert set(view.scene.objects) == drawn
        view.show_mission([])
        assert len(view.scene.objects) == before
        view.show_mission([(1.0, 2.0, 3.0)])
        view.show(scenario("quad-hover"))
        assert len(view.scene.objects) == before

    def test_the_camera_survives_a_scene_that_is_set_up_anew(self, view: Spy) -> None:
        view.show(scenario("quad-swarm"))
        view.follow(2)
        view.look("top")
        assert view._stage is not None and view._own is not None
        assert view._stage.args[3:5] == ["top", view._own.crafts[2].id]
