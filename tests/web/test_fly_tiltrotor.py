"""The tilt-rotor flown with the page's sticks, in real time; that it flew so is read from its log."""

from __future__ import annotations

import numpy as np
from browser import Desk, Watcher, place
from playwright.sync_api import expect

PUSH_MS = 2000
REST_MS = 2000
FLIGHT_MS = 30_000


def test_with_the_sticks_of_the_page(desk: Desk) -> None:
    desk.serve()
    flight = desk.fly("sticks", "tiltrotor-joystick", "--no-report")
    watcher = desk.watch()
    watcher.open("/fly")
    expect(watcher.find("numbers")).to_contain_text("m up", timeout=FLIGHT_MS)
    watcher.find("stick-take").click()
    expect(watcher.find("stick-take")).to_contain_text("Release")
    expect(watcher.find("stick-device")).to_have_text("on-screen sticks")
    refuse_another(watcher, desk.watch())
    began_s = watcher.clock_s()
    push(watcher, "stick-right", up=0.8, shot="fly-sticks")
    watcher.stall()  # a short one: the pilot keeps the sticks
    watcher.page.wait_for_timeout(REST_MS)
    expect(watcher.find("stick-take")).to_contain_text("Release")
    assert not watcher.loaded_anew
    forward_s = watcher.clock_s()
    push(watcher, "stick-left", up=0.8)
    watcher.page.wait_for_timeout(REST_MS)
    climbed_s = watcher.clock_s()
    watcher.find("stick-take").click()
    expect(watcher.find("stick-device")).to_have_text("nobody flies")
    watcher.assert_clean()
    flight.end()
    log = flight.log()
    before, forward, climbed = (place(log, "truth", t_s) for t_s in (began_s, forward_s, climbed_s))
    assert forward[0] - before[0] > 0.5, (before, forward)
    assert abs(forward[2] - before[2]) < 0.3, (before, forward)
    assert climbed[2] - forward[2] > 0.3, (forward, climbed)
    assert np.hypot(*(climbed - forward)[:2]) < 0.5, (forward, climbed)


def refuse_another(watcher: Watcher, second: Watcher) -> None:
    """A second browser sees the same flight, but the sticks are held by one."""
    second.open("/fly")
    expect(second.find("stick-device")).to_have_text("another page flies")
    second.find("stick-take").click()
    expect(second.find("order-log")).to_contain_text("another page has the sticks")
    before_s = second.clock_s()
    second.page.wait_for_function(
        "before => parseFloat(document.querySelector('[data-testid=time]').innerText) > before", arg=before_s + 0.5
    )
    assert watcher.clock_s() > before_s
    expect(watcher.find("stick-take")).to_contain_text("Release")
    second.assert_clean()
    second.context.close()


def push(watcher: Watcher, stick: str, up: float, shot: str = "") -> None:
    """Hold a stick with the mouse for a while, then let go."""
    box = watcher.find(stick).bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse = watcher.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x, y - up * box["height"] * 78 / 220, steps=4)
    watcher.page.wait_for_timeout(PUSH_MS)
    if shot:
        watcher.shot(shot)
    mouse.up()
