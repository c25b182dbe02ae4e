"""The trajectory page: points clicked on the map, moved and removed, beside the limits, saved and opened again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browser import HANG_S, Desk, Watcher, place, until
from playwright.sync_api import expect

from aeroloop.core.scenario_files import load
from aeroloop.ground.route_files import read

PLACES = ((-4.0, -3.0), (4.0, -3.0), (4.0, 4.0))


@pytest.fixture(scope="module", autouse=True)
def dashboard(desk: Desk) -> str:
    return desk.serve()


def click(watcher: Watcher, east_m: float, north_m: float) -> None:
    x, y = watcher.map_pixel(east_m, north_m)
    watcher.find("map").locator("svg").click(position={"x": x, "y": y})


def test_three_points_are_clicked_and_saved(desk: Desk) -> None:
    watcher = desk.watch()
    watcher.open("/trajectory")
    expect(watcher.find("route-takes")).to_contain_text("tiltrotor: takes references of the base station")
    watcher.page.wait_for_function("() => document.querySelector('[data-testid=map] svg')?.dataset.view")
    for number, spot in enumerate(PLACES, 1):
        click(watcher, *spot)
        expect(watcher.find(f"route-{number}-up_m")).to_have_value("2")
    expect(watcher.find("route-numbers")).to_contain_text("3 points, 1")
    expect(watcher.find("route-beyond")).to_have_text("within limits")
    expect(watcher.find("route-chart")).to_have_count(3)
    watcher.find("route-2-up_m").fill("4")
    watcher.find("route-2-speed_m_s").fill("3")
    watcher.find("route-fit").click()
    expect(watcher.find("route-beyond")).to_contain_text("beyond limits")
    expect(watcher.find("route-violations")).to_contain_text("the limit is 2 m/s")
    watcher.shot("trajectory", whole=True)
    watcher.find("route-1-up_m").fill("0.1")
    expect(watcher.page.get_by_text("point 1: its height is 0.1 m; expected at least 0.3 m there")).to_be_visible()
    watcher.find("route-fit").click()
    watcher.find("route-name").fill("three")
    watcher.find("route-save").click()
    expect(watcher.find("route-result")).to_contain_text("saved three.toml and three.csv in")
    folder = Path(watcher.find("route-result").inner_text().split(" aeroloop fly ")[1].strip()).parent
    points = read(folder / "three.csv")
    assert [point.pos_W[2] for point in points] == [2.0, 4.0, 2.0] and points[1].speed_m_s == 3.0
    for point, (east_m, north_m) in zip(points, PLACES, strict=True):
        assert abs(point.pos_W[0] - east_m) < 0.2 and abs(point.pos_W[1] - north_m) < 0.2
    assert load(folder / "three.toml").controller.ground.trajectory.file == str(folder / "three.csv")
    watcher.find("route-2-remove").click()
    expect(watcher.find("route-numbers")).to_contain_text("2 points")
    watcher.choose(watcher.find("route-open"), watcher.option("three"))
    expect(watcher.find("route-numbers")).to_contain_text("3 points")
    in_space(watcher)
    watcher.assert_clean()


def in_space(watcher: Watcher) -> None:
    """A double click on the ground of the 3D view is a point too."""
    watcher.find("route-view").get_by_text("3D").click()
    scene = watcher.page.locator(".nicegui-scene canvas")
    expect(scene).to_be_visible()
    watcher.page.wait_for_selector(".nicegui-scene[data-listens]")
    box = scene.bounding_box()
    assert box is not None
    scene.dblclick(position={"x": 0.5 * box["width"], "y": 0.8 * box["height"]})
    expect(watcher.find("route-4-up_m")).to_have_value("2")
    expect(watcher.find("route-numbers")).to_contain_text("4 points")
    watcher.shot("trajectory-3d")


@pytest.mark.soak
def test_a_route_is_sent_to_a_flight_and_flown(desk: Desk) -> None:
    """The references of a base station; the mathematics is shown in short elsewhere."""
    flight = desk.fly("sent", "tiltrotor-joystick", "--no-report", "--set", "duration_s=600")
    watcher = desk.watch()
    watcher.open("/trajectory")
    expect(watcher.head("flight")).to_contain_text("tiltrotor-joystick")
    watcher.page.wait_for_function("() => document.querySelector('[data-testid=map] svg')?.dataset.view")
    expect(watcher.find("route-clear")).to_be_enabled()
    watcher.find("route-clear").click()
    expect(watcher.find("route-points")).to_contain_text("No points yet.")
    for number, spot in enumerate(((1.0, 0.0), (3.0, 1.0)), 1):
        click(watcher, *spot)
        expect(watcher.find(f"route-{number}-up_m")).to_have_value("2")
    expect(watcher.find("route-send")).to_be_enabled()
    until(lambda: watcher.clock_s() > 3.0, HANG_S, "the flight goes on")
    watcher.find("route-send").click()
    expect(watcher.find("route-result")).to_contain_text("the base station sends it")
    watcher.shot("trajectory-sent")
    watcher.fly_on(12.0)
    watcher.find("route-stop").click()
    expect(watcher.find("route-result")).to_contain_text("stopped")
    ended_s = watcher.clock_s()
    watcher.assert_clean()
    flight.end()
    assert np.hypot(*(place(flight.log(), "truth", ended_s)[:2] - (3.0, 1.0))) < 0.4
