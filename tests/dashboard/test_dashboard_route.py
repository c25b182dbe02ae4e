"""The trajectory page without a browser: its state, its drawings, and what it sends to a flight."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flight_command_rig import SimStation
from tiltrotor_scenarios import tiltrotor

from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.dashboard import route_drawing, route_state
from aeroloop.dashboard.map import View
from aeroloop.dashboard.route_scene import SMALLEST_M, span_m
from aeroloop.dashboard.route_state import RouteState
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.families.tiltrotor.page_sticks import route_source
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.flight.route_saving import Base
from aeroloop.ground.config import GroundStationSettings
from aeroloop.ground.route_offer import joining_s
from aeroloop.ground.trajectories import REST, Point


@pytest.fixture
def state(tmp_path: Path) -> RouteState:
    state = RouteState(tmp_path / "trajectories")
    state.choose("tiltrotor-spiral")
    for place in ((-4.0, -3.0), (4.0, -3.0), (4.0, 4.0)):
        assert not state.new_point(*place, 2.0, 1.0)
    return state


def beyond(chart: dict[str, Any]) -> list[list[dict[str, float]]]:
    """Times that a chart marks."""
    areas: list[list[dict[str, float]]] = chart["series"][0]["markArea"]["data"]
    return areas


def test_points_are_added_moved_changed_and_removed(state: RouteState) -> None:
    assert not state.move(1, 5.0, -3.0) and not state.change(1, up_m=3.0) and not state.change(1, speed_m_s=1.5)
    assert state.points[1] == ((5.0, -3.0, 3.0), 1.5)
    state.remove(0)
    assert [point.pos_W[:2] for point in state.points] == [(5.0, -3.0), (4.0, 4.0)]
    state.remove(7)
    assert not state.move(7, 0.0, 0.0) and not state.change(-1, up_m=1.0), "another page has removed it"
    state.clear()
    assert not state.points and state.evaluated().route is None


def test_a_bad_point_is_refused_and_changes_nothing(state: RouteState) -> None:
    before, revision = list(state.points), state.revision
    assert "point 4: its height is 0.1 m; expected at least 0.3 m" in state.new_point(0.0, 0.0, 0.1, 1.0)
    assert "point 2: it is" in state.move(1, 900.0, 0.0)
    assert "coordinates" in state.change(1, up_m=math.nan)
    assert "speed_m_s: expected" in state.change(1, speed_m_s=-1.0)
    assert state.move(2, 4.0, -3.0) == "point 3: point 2 is at the same place"
    assert state.points == before and state.revision > revision, "the page shows the old value again"


def test_what_is_beyond_a_limit_is_red_on_map_and_charts(state: RouteState) -> None:
    good = state.evaluated()
    assert good is state.evaluated(), "computed once"
    assert not good.violations and "route-beyond" not in route_drawing.curve(View(), good)
    assert not any(beyond(chart) for chart in route_drawing.charts(good))
    state.fit = False
    state.change(1, speed_m_s=3.0)
    bad = state.evaluated()
    assert {each.name for each in bad.violations} == {"speed", "acceleration"}
    assert "route-beyond" in route_drawing.curve(View(), bad)
    speed, acceleration, height = route_drawing.charts(bad, None)
    assert beyond(speed) and beyond(acceleration) and not beyond(height)
    assert speed["series"][0]["markLine"]["data"] == [{"yAxis": 2.0}]
    json.dumps([speed, acceleration, height], allow_nan=False)


def test_a_violation_covers_its_own_times_on_the_chart(state: RouteState) -> None:
    state.fit = False
    state.change(1, speed_m_s=3.0)
    found = state.evaluated()
    (fast,) = [each for each in found.violations if each.name == "speed"]
    ((begin, end),) = beyond(route_drawing.charts(found)[0])
    assert begin["xAxis"] <= fast.from_s and end["xAxis"] >= fast.to_s
    assert end["xAxis"] - begin["xAxis"] < fast.to_s - fast.from_s + 0.1


def test_it_is_saved_in_its_own_folder_and_opened_again(state: RouteState) -> None:
    before = list(state.points)
    written = state.save("mine", ".toml")
    assert [path.name for path in written] == ["mine.toml", "mine.csv"] and written[0].parent == state.folder
    state.save("mine", ".motion.csv")
    assert state.files() == ["mine"]
    state.clear()
    state.open("mine")
    assert state.points == before
    for name in ("", "../other", "a/b", "x" * 49, ".hidden", "two words", "a\nb"):
        with pytest.raises(ConfigError, match="name: expected"):
            state.save(name, ".csv")
    with pytest.raises(ConfigError, match="expected a file that ends in"):
        state.save("mine", ".plan")
    with pytest.raises(ConfigError, match="no such route"):
        state.open("../mine")


def test_every_aircraft_that_takes_routes_can_be_chosen(tmp_path: Path) -> None:
    names = route_state.base_names()
    assert {"tiltrotor-spiral", "quad-mission", "quad-law-hover", "fixedwing-hierarchical"} <= {*names}
    assert not {"rrr-circle", "mixed-fleet"} & {*names}
    state = RouteState(tmp_path)
    state.choose("rrr-circle")
    assert "takes no trajectory" in state.refused and "takes no trajectory" in state.new_point(0.0, 0.0, 1.0, 1.0)
    state.choose("fixedwing-hierarchical")
    for east_m in (-2000.0, -1000.0):
        assert not state.new_point(east_m, 1000.0, 900.0, 20.0)
        assert state.points[-1].pos_W[2] == 900.0, "above the sea, not above the ground"
    assert state.new_point(0.0, 0.0, 900.0, 20.0) == "fixedwing takes at most 2 points"
    found = state.evaluated()
    assert found.route is not None and not found.quantities and not route_drawing.charts(found)


def test_the_dashboard_has_one_route_beside_its_runs(tmp_path: Path) -> None:
    watched = WatchedFlight(tmp_path / "runs")
    watched.scenario = load(find("quad-mission"))
    state = route_state.state_of(watched)
    assert state is route_state.state_of(watched) and state.base_name == "quad-mission"
    assert state.folder == tmp_path / "trajectories"
    assert route_state.state_of(WatchedFlight(tmp_path)).base_name == "tiltrotor-spiral"


def launch(folder: Path, **control: Any) -> LaunchSettings:
    flown = tiltrotor(name="test", ground=GroundStationSettings(source="external"), pace="real", **control)
    return LaunchSettings(scenario=flown, folder=str(folder), log="", supervisor_pid=1, core_draw=0)


def test_the_base_station_of_the_page_joins_the_route_and_stays_at_its_end(state: RouteState, tmp_path: Path) -> None:
    here = Point((0.0, 0.0, 2.0), 0.0, REST, 0.0)
    route = state.for_flight(Base.of_flight(launch(tmp_path).scenario))
    source = route_source(route, launch(tmp_path), here, 100.0)
    begins_s = 100.0 + joining_s(5.0)
    assert source(100 * NS).pos_W == here.pos_W
    for since_s in (0.0, 3.0, 7.5):
        flown = source(round((begins_s + since_s) * NS))
        assert flown.pos_W == pytest.approx(route.timed.at(since_s).pos_W, abs=1e-6)
        assert flown.vel_W == pytest.approx(route.timed.at(since_s).vel_W, abs=1e-6)
    assert source(1000 * NS).pos_W == pytest.approx(route.points[-1].pos_W)
    state.heading = "along"
    with pytest.raises(ConfigError, match="the law dlqr of this flight is valid near yaw 0"):
        route_source(state.for_flight(Base.of_flight(launch(tmp_path).scenario)), launch(tmp_path), here, 0.0)


def test_a_route_beyond_the_limits_of_the_flight_is_not_sent(state: RouteState, tmp_path: Path) -> None:
    state.fit = False
    state.change(1, speed_m_s=3.0)
    with pytest.raises(ConfigError, match="not sent: speed: 2"):
        state.for_flight(Base.of_flight(launch(tmp_path).scenario))


def test_a_route_is_uploaded_as_a_mission_to_a_virtual_pixhawk(state: RouteState) -> None:
    base = Base.of_flight(load(find("quad-mission")))
    items, _ = base.offer.mission(base.scenario, state.for_flight(base))  # type: ignore[misc]
    station = SimStation()
    station.vehicle.upload_mission(items)
    aboard = station.vehicle.download_mission()
    assert [item.command for item in aboard] == [item.command for item in items]
    assert np.array([item.lat_deg for item in aboard[1:3]]) == pytest.approx(
        np.array([item.lat_deg for item in items[1:3]]), abs=1e-7
    )


def test_the_extent_of_a_route_is_bounded() -> None:
    assert span_m([]) == span_m([(0.0, 0.0, 1.0)]) == SMALLEST_M
    assert span_m([(0.0, 0.0, 1.0), (40.0, 3.0, 1.0)]) == 40.0
