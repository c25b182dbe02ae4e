"""The 3-RRR robot on its page: legs that move, errors and weights of its joints, and disturbances by button."""

from __future__ import annotations

import pytest
from browser import Desk
from playwright.sync_api import expect

from aeroloop.core.faults import KINDS, TARGETS

FLIGHT = ("rrr-circle", "--no-report", "--pace", "real", "--set", "duration_s=600", "--set", "checks=[]")
SEEN = """() => {
    const view = getElement(Number(document.querySelector('.nicegui-scene').id.slice(1)));
    const things = [...view.objects.values()].map(each => each.component);
    const robot = things.find(each => each?.hinges);
    const paths = things.filter(each => each?.points?.length > 1);
    return robot?.mesh.visible && robot.hinges.length === 6 && robot.to?.tilts.every(angle => angle !== 0)
        && paths.length === 3;
}"""
SWITCHED = (
    ("joint-load-joint1", "joint1: load -0.6 N m"),
    ("joint-friction", "joint: friction 0.25 N m"),
    ("platform-payload", "platform: payload 1 kg, 0.05 m, 0 m"),
    ("rotor-weak-motor1", "motor1: weak 0.5"),
    ("encoder-noise-angle", "encoders: noise of the joint angles 0.0001 rad"),
)


# Short ones stand for it: switches and cards in tests/dashboard/test_dashboard_faults.py, rows by hand and by plan in
# tests/flight/test_planned_faults.py, the legs in tests/families/test_rrr_flights.py.
@pytest.mark.soak
def test_the_robot_moves_and_is_disturbed_by_buttons(desk: Desk) -> None:
    desk.serve()
    flight = desk.fly("robot", *FLIGHT)
    watcher = desk.watch()
    watcher.open("/")
    watcher.page.wait_for_function(SEEN)
    watcher.shot("view-robot")
    watcher.open("/faults")
    for name, words in SWITCHED:
        watcher.find(f"fault-{name}").click()
        expect(watcher.find("fault-log")).to_contain_text(f"{words} on")
    watcher.shot("faults-robot", whole=True)
    watcher.find("faults-off").click()
    expect(watcher.find("faults-on")).to_have_text("none on")
    watcher.open("/charts")
    for signal in ("joints.sync_error_1_rad", "joint_law.w_p_3"):
        expect(watcher.find("legend").filter(has_text=signal)).to_have_count(1)
    watcher.shot("charts-robot", whole=True)
    watcher.assert_clean()
    flight.end()
    rows = flight.log().rows["fault"]
    kinds = [(TARGETS[int(row[2])], KINDS[int(row[3])], bool(row[4])) for row in rows]
    assert kinds[:3] == [("joint", "load", True), ("joint", "friction", True), ("platform", "payload", True)]
    assert len(kinds) == 2 * len(SWITCHED) and not any(on for *_, on in kinds[len(SWITCHED) :])
