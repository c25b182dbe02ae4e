"""A quadrotor flown from the page alone, in real time; that it flew so is read from its log."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browser import Desk, Watcher, place
from playwright.sync_api import expect

from aeroloop.core.faults import KINDS, TARGETS
from aeroloop.core.parameter_numbers import by_number
from aeroloop.families.multirotor.page import known_parameters
from aeroloop.recording.log import Log

HEIGHT_M = 3.0
PLACE_M = (6.0, 4.0)
FAR_M = (15.0, 10.0)
GAIN, NEW_GAIN = "MC_ROLL_P", 7.5
ARRIVED_PX = 8.0
FLIGHT_MS = 60_000


def test_from_arming_to_landing(desk: Desk) -> None:
    desk.serve()
    flight = desk.fly("free", "quad-free", "--no-report")
    watcher = desk.watch()
    watcher.open("/fly")
    take_off(watcher)
    go_to(watcher)
    tune(watcher)
    fly_a_plan(watcher)
    lose_satellites(watcher)
    land(watcher)
    flight.end()
    expect(watcher.head("running")).to_have_text("ended")
    expect(watcher.head("verdict")).to_have_text("passed")  # open-ended: it is judged when somebody ends it
    watcher.assert_clean()
    log = flight.log()
    assert_flown(log)
    assert_tuned(log)
    assert_failed_and_landed(log)


def take_off(watcher: Watcher) -> None:
    expect(watcher.find("connected")).to_have_text("connected", timeout=FLIGHT_MS)
    for _ in range(60):  # it refuses until its estimator has settled, and says so
        watcher.find("arm").click()
        watcher.page.wait_for_timeout(1000)
        if watcher.find("armed").inner_text() == "armed":
            break
    expect(watcher.find("armed")).to_have_text("armed")
    watcher.find("takeoff-height").fill(f"{HEIGHT_M:g}")
    watcher.find("takeoff").click()
    expect(watcher.find("order-log")).to_contain_text(f"take off to {HEIGHT_M:g} m")
    expect(watcher.find("numbers")).to_contain_text(re.compile(r"^(2\.[89]|3\.\d) m up"), timeout=FLIGHT_MS)


def go_to(watcher: Watcher) -> None:
    watcher.find("map-tap").get_by_text("go there").click()
    watcher.find("map-height").fill(f"{HEIGHT_M:g}")
    map_view = watcher.find("map").locator("svg")
    before = map_view.get_attribute("data-view") or ""
    watcher.find("map-fit").click()  # no longer follows the aircraft
    expect(watcher.find("map-follow")).to_have_class(re.compile("bg-blue-grey"))
    expect(map_view).not_to_have_attribute("data-view", before)
    x_px, y_px = watcher.map_pixel(*PLACE_M)
    map_view.click(position={"x": x_px, "y": y_px})
    expect(map_view.locator(".map-target")).to_be_attached()
    watcher.find("goto").click()
    expect(watcher.find("order-log")).to_contain_text("go to 6.0 m east, 4.0 m north")
    watcher.page.wait_for_function(
        """near => {
            const at = kind => document.querySelector(kind)?.transform.baseVal[0]?.matrix;
            const [aircraft, target] = [at('.map-aircraft'), at('.map-target')];
            return aircraft && target && Math.hypot(aircraft.e - target.e, aircraft.f - target.f) < near;
        }""",
        arg=ARRIVED_PX,
        timeout=FLIGHT_MS,
    )
    watcher.fly_on(2.0)  # it brakes
    watcher.shot("fly-arrived")


def tune(watcher: Watcher) -> None:
    watcher.find("param-search").fill(GAIN)
    watcher.find(f"param-{GAIN}").click()
    watcher.find("param-value").fill(f"{NEW_GAIN:g}")
    watcher.find("param-set").click()
    expect(watcher.find("param-log")).to_contain_text(GAIN)
    expect(watcher.find(f"param-{GAIN}")).to_contain_text(f"{NEW_GAIN:g}")


def fly_a_plan(watcher: Watcher) -> None:
    """A waypoint tapped on the map becomes a mission that is begun, and paused far from its end."""
    watcher.find("map-tap").get_by_text("add a waypoint").click()
    map_view = watcher.find("map").locator("svg")
    before = map_view.get_attribute("data-view") or ""
    watcher.find("map-out").click()
    expect(map_view).not_to_have_attribute("data-view", before)
    x_px, y_px = watcher.map_pixel(*FAR_M)
    map_view.click(position={"x": x_px, "y": y_px})
    expect(watcher.find("waypoints")).to_contain_text("15.0 E, 10.0 N")
    watcher.find("mission-upload").click()
    expect(watcher.find("order-log")).to_contain_text(re.compile("upload: accepted", re.IGNORECASE))
    watcher.find("mission-start").click()
    expect(watcher.find("mode-now")).to_have_text("mission")
    watcher.find("mission-pause").click()
    expect(watcher.find("mode-now")).to_have_text("hold")


def lose_satellites(watcher: Watcher) -> None:
    watcher.head("tab-faults").click()
    watcher.find("fault-gnss-silent").click()
    expect(watcher.find("fault-log")).to_contain_text("GNSS", ignore_case=True)
    expect(watcher.find("faults-on")).to_contain_text("1")
    watcher.fly_on(1.5)
    watcher.shot("faults-gnss")
    watcher.find("faults-off").click()
    expect(watcher.find("faults-on")).not_to_contain_text("1")
    watcher.find("fault-to_plant-delay_s-value").fill("5")
    watcher.find("fault-to_plant-delay_s").click()
    expect(watcher.find("faults-on")).to_contain_text("1")
    watcher.find("faults-off").click()
    expect(watcher.find("faults-on")).not_to_contain_text("1")
    watcher.find("fault-rotor-weak-rotor2-value").fill("95")
    watcher.find("fault-rotor-weak-rotor2").click()
    expect(watcher.find("fault-log")).to_contain_text("rotor2: weak 0.95 on")
    watcher.find("faults-off").click()
    expect(watcher.find("fault-log")).to_contain_text("rotor2: weak off")


def land(watcher: Watcher) -> None:
    watcher.head("tab-view").click()
    expect(watcher.find("scene").locator("canvas")).to_be_visible()
    watcher.fly_on(1.5)
    watcher.shot("view-flying")
    watcher.head("tab-fly").click()
    watcher.find("land").click()
    expect(watcher.find("armed")).to_have_text("disarmed", timeout=FLIGHT_MS)
    watcher.shot("fly-landed")


def assert_flown(log: Log) -> None:
    tuned_s = log.column("parameter_change", "t_s")[0]
    arrived = place(log, "truth", tuned_s)
    assert np.hypot(*(arrived[:2] - PLACE_M)) < 1.0, arrived
    assert abs(arrived[2] - HEIGHT_M) < 1.0, arrived


def assert_tuned(log: Log) -> None:
    (change,) = log.rows["parameter_change"]
    assert by_number(known_parameters())[int(change[2])] == GAIN
    assert change[4] == NEW_GAIN != change[3]


def assert_failed_and_landed(log: Log) -> None:
    faults = log.rows["fault"]
    told = [(TARGETS[int(row[2])], KINDS[int(row[3])], bool(row[4])) for row in faults]
    assert told == [
        ("gnss", "silent", True),
        ("gnss", "silent", False),
        ("to_plant", "delay_s", True),
        ("to_plant", "delay_s", False),
        ("rotor", "weak", True),
        ("rotor", "weak", False),
    ]
    assert faults[2, 6] == pytest.approx(0.005)
    assert faults[4, 5:7] == pytest.approx((1.0, 0.95)), "the second rotor"
    measured_s = log.column("gnss", "measured_s")
    assert faults[1, 0] - faults[0, 0] > 1.0
    assert not np.any((measured_s > faults[0, 0]) & (measured_s < faults[1, 0]))
    armed = log.column("autopilot_state", "armed")
    assert armed.max() == 1.0
    assert armed[-1] == 0.0
    assert log.column("truth", "z_m")[-1] < 0.3
