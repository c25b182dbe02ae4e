"""Routes as files and missions: what is written is read again, and bad files are refused in one sentence."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink import mavwp
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario_files import find, load
from aeroloop.flight.route_saving import Base, endings, save
from aeroloop.ground import route_files, route_missions, waypoint_lists
from aeroloop.ground.config import Route
from aeroloop.ground.missions import ABOVE_HOME, Item, read_plan
from aeroloop.ground.route_offer import DrawnRoute
from aeroloop.ground.trajectories import build, moved
from aeroloop.planning.route import RoutePoint
from aeroloop.planning.route_limits import Limits

HEADER = "x_m,y_m,z_m,speed_m_s\n"
POINTS = (RoutePoint((0.0, 0.0, 5.0), 2.0), RoutePoint((12.5, 0.0, 6.0), 4.0), RoutePoint((12.5, -7.25, 5.0)))
numbers = st.floats(-1e4, 1e4).map(lambda value: round(value, 3))
points = st.builds(RoutePoint, st.tuples(numbers, numbers, numbers), st.floats(0, 50).map(lambda v: round(v, 2)))


def drawn(scenario: str = "quad-mission", **how: object) -> tuple[Base, DrawnRoute]:
    base = Base.of_file(find(scenario))
    return base, DrawnRoute(POINTS, base.offer.limits(base.scenario), **how)  # type: ignore[arg-type]


@settings(max_examples=30, deadline=None)
@given(st.lists(points, min_size=1, max_size=20))
def test_points_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, given_: list[RoutePoint]
) -> None:
    file = tmp_path_factory.getbasetemp() / "points.csv"
    file.write_text(route_files.points_text(given_))
    assert list(route_files.read(file)) == given_


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: (HEADER + text).encode())))
def test_any_bytes_are_points_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    for name, read in (("any.csv", route_files.read), ("any.waypoints", waypoint_lists.read)):
        file = tmp_path_factory.getbasetemp() / name
        file.write_bytes(content if name == "any.csv" else b"QGC WPL 110\n" + content)
        try:
            read(file)
        except ConfigError as refused:
            assert "\n" not in str(refused)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t_s,x_m\n", "line 1: expected the header x_m,y_m,z_m[,speed_m_s]"),
        (HEADER, "line 2: expected at least one point"),
        (HEADER + "0,0,nan,1\n", "line 2: z_m: expected a number within"),
        (HEADER + "0,0,1\n", "line 2: expected 4 values"),
        (HEADER + "0,0,1,0\n" * 201, "line 202: expected at most 200 points"),
        (HEADER + "0,0,1,0\n0,0,1,0\n", "point 2: expected at least 0.05 m from point 1, not 0 m"),
        (HEADER + "0,0,1,0\n5,0,1,-2\n", "point 2: speed_m_s: expected 0 to 100 m/s, not -2"),
        (HEADER + "0,0,1,0\n", "expected 2 to 200 points, not 1"),
    ],
)
def test_a_scenario_with_bad_points_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        build(Route(file=str(file)))
    assert str(refused.value).startswith(str(file)) and words in str(refused.value)


def test_a_route_is_a_trajectory_with_its_own_rest_and_offset(tmp_path: Path) -> None:
    file = tmp_path / "line.csv"
    file.write_text("x_m,y_m,z_m\n0,0,1\n8,0,1\n")
    path = build(moved(Route(file=str(file), start_s=2.0, yaw_rad=0.3), 100.0))
    assert path(0.0).pos_W == path(2.0).pos_W == (100.0, 0.0, 1.0)
    assert path(3.0).pos_W == pytest.approx((100.5, 0.0, 1.0)) and path(3.0).vel_W == pytest.approx((1.0, 0.0, 0.0))
    assert path(99.0).pos_W == pytest.approx((108.0, 0.0, 1.0)) and path(99.0).yaw_rad == 0.3


def test_the_motion_as_a_table_is_the_motion(tmp_path: Path) -> None:
    _, route = drawn()
    lines = route_files.motion_text(route.timed).splitlines()
    rows = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
    assert lines[0].split(",")[:4] == ["t_s", "x_m", "y_m", "z_m"]
    assert rows[-1, 0] == pytest.approx(route.timed.duration_s)
    assert rows[17, 1:4] == pytest.approx(route.timed.at(rows[17, 0]).pos_W, abs=1e-6)


def test_a_mission_has_the_points_and_the_speeds_of_the_legs(tmp_path: Path) -> None:
    base, route = drawn(ending="land")
    (items, home) = base.offer.mission(base.scenario, route)  # type: ignore[misc]
    commands = [item.command for item in items]
    waypoint, speed = mavlink.MAV_CMD_NAV_WAYPOINT, mavlink.MAV_CMD_DO_CHANGE_SPEED
    assert commands == [
        mavlink.MAV_CMD_NAV_TAKEOFF, waypoint, speed, waypoint, speed, waypoint, mavlink.MAV_CMD_NAV_LAND
    ]  # fmt: skip
    assert [item.params[1] for item in items if item.command == speed] == [2.0, 4.0]
    assert home[:2] == pytest.approx((items[0].lat_deg, items[0].lon_deg), abs=1e-9)
    east_m = (items[3].lon_deg - home[1]) * math.cos(math.radians(home[0])) * 111_319.5
    assert east_m == pytest.approx(12.5, rel=2e-3) and items[3].alt_m == 6.0


def test_a_mission_along_the_curve_has_points_no_farther_apart(tmp_path: Path) -> None:
    _, route = drawn(every_m=1.5)
    found = route_missions.mission_points(route)
    steps = [math.dist(a.pos_W, b.pos_W) for a, b in pairwise(found)]
    assert max(steps) <= 1.5 and len(found) > 12
    assert found[0].pos_W == POINTS[0].pos_W and found[-1].pos_W == pytest.approx(POINTS[-1].pos_W)
    with pytest.raises(ConfigError, match="expected a distance that gives at most 400"):
        route_missions.mission_points(DrawnRoute(POINTS, Limits(), every_m=0.01))


def test_saved_missions_are_read_by_us_and_by_pymavlink(tmp_path: Path) -> None:
    base, route = drawn()
    (plan,) = save(base, route, tmp_path / "drawn.plan")
    (listed,) = save(base, route, tmp_path / "drawn.waypoints")
    items, _ = base.offer.mission(base.scenario, route)  # type: ignore[misc]
    assert json.loads(plan.read_text())["fileType"] == "Plan"
    for found in (read_plan(plan), waypoint_lists.read_mission(listed), waypoint_lists.read_mission(plan)):
        assert [item.command for item in found] == [item.command for item in items]
        for one, other in zip(found, items, strict=True):
            assert (one.lat_deg, one.lon_deg, one.alt_m) == pytest.approx(
                (other.lat_deg, other.lon_deg, other.alt_m), abs=1e-7
            )
    loader = mavwp.MAVWPLoader()
    assert loader.load(str(listed)) == len(items) + 1
    assert loader.wp(3).param2 == 2.0 and loader.wp(1).command == mavlink.MAV_CMD_NAV_TAKEOFF


def test_a_bad_list_of_waypoints_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad.waypoints"
    good = waypoint_lists.text([Item(16, 47.0, 8.0, 5.0)], (47.0, 8.0, 400.0))
    for text, words in (
        ("QGC WPL 100\n", "line 1: expected 'QGC WPL 110'"),
        (good.splitlines()[0] + "\n", "expected home and 1 to 1000 mission items, not 0 lines"),
        (good + "1 2 3\n", "line 4: expected 12 numbers, not 3"),
        (good.replace("47.00000000", "nan", 2), "expected numbers within"),
        (good.replace("47.00000000", "147", 2), "expected latitude and longitude in degrees, not 147, 8"),
        (good.replace("\t16\t", "\tx\t"), "expected 12 numbers, the first four of them whole"),
        (good + good.splitlines()[2] * 0 + (good.splitlines()[2] + "\n") * 1000, "not 1002 lines"),
    ):
        file.write_text(text)
        with pytest.raises(ConfigError) as refused:
            waypoint_lists.read(file)
        assert words in str(refused.value), str(refused.value)
    file.write_text(good)
    (item,) = waypoint_lists.read(file)
    assert item.frame == ABOVE_HOME


@pytest.mark.parametrize(
    ("scenario", "place", "words"),
    [
        ("tiltrotor-spiral", (5.0, 0.0, 0.1), "point 3: its height is 0.1 m; expected at least 0.3 m there"),
        ("tiltrotor-spiral", (500.0, 0.0, 2.0), "point 3: it is 500.0 m from the origin; expected less than 200 m"),
        ("quad-terrain", (60.0, 0.0, 1.0), "point 3: its height is 1 m; expected at least"),
    ],
)
def test_points_outside_the_world_are_not_saved(
    tmp_path: Path, scenario: str, place: tuple[float, float, float], words: str
) -> None:
    base = Base.of_file(find(scenario))
    route = DrawnRoute((*POINTS[:2], RoutePoint(place)), base.offer.limits(base.scenario))
    for ending in endings(base):
        with pytest.raises(ConfigError) as refused:
            save(base, route, tmp_path / f"drawn{ending}")
        assert words in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_wing_takes_a_goal_that_its_own_check_accepts(tmp_path: Path) -> None:
    base = Base.of_file(find("fixedwing-hierarchical"))
    limits = base.offer.limits(base.scenario)
    high, free = RoutePoint((1000.0, 2500.0, 660.0)), RoutePoint((-2000.0, 1000.0, 660.0))
    with pytest.raises(ConfigError, match=r"mission.goal_m: the circle of 150 m around 1000, 2500 leads over blocked"):
        save(base, DrawnRoute((high,), limits), tmp_path / "goal.toml")
    (file,) = save(base, DrawnRoute((free,), limits), tmp_path / "goal.toml")
    assert load(file).aircraft.mission.goal_m == (-2000.0, 1000.0)
    with pytest.raises(ConfigError, match="fixedwing takes 1 to 2 points, not 3"):
        save(base, DrawnRoute((free, high, free), limits), tmp_path / "more.toml")
    assert ".plan" not in endings(base) and ".plan" in endings(Base.of_file(find("fixedwing-px4")))


def test_a_saved_scenario_keeps_the_files_of_its_base_and_replaces_nothing_unasked(tmp_path: Path) -> None:
    base, route = drawn("quad-terrain")
    (file, *_) = save(base, route, tmp_path / "over-the-hill.toml")
    scenario = load(file)
    assert scenario.name == "over-the-hill" and Path(scenario.files()["world.terrain.file"]).is_file()
    with pytest.raises(ConfigError, match="exists; expected another name"):
        save(base, route, file)
    save(base, route, file, replace=True)
    with pytest.raises(ConfigError, match=r"expected a file that ends in \.csv, \.motion\.csv, \.toml, \.plan"):
        save(base, route, tmp_path / "route.kml")
    with pytest.raises(ConfigError, match="rrr takes no trajectory"):
        save(Base.of_file(find("rrr-circle")), route, tmp_path / "robot.toml")


def test_a_route_of_a_running_flight_is_saved_with_its_whole_table(tmp_path: Path) -> None:
    base = Base.of_flight(load(find("tiltrotor-joystick")))
    (file, points_file) = save(base, DrawnRoute(POINTS, Limits()), tmp_path / "drawn.toml")
    scenario = load(file)
    assert scenario.lockstep and scenario.controller.ground.trajectory.file == str(points_file)
