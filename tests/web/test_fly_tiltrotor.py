"""The tilt-rotor flown with the page's sticks and a game pad, and seen as it flies; its log says that it did."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from browser import HANG_S, Desk, Watcher, place, until
from numpy.typing import NDArray
from playwright.sync_api import expect

from aeroloop.core.faults import KINDS, TARGETS

GONE_M, REST_M = 0.6, 0.05
LASTS = ("--set", "duration_s=600")
SLOW = "0.25x"  # a base station that is held up for half a second of the flight brings it down
FLIGHT_MS = 60_000
PAD = "Bench Pad"
SEEN = """from => {
    const view = getElement(Number(document.querySelector('.nicegui-scene').id.slice(1)));
    const craft = [...view.objects.values()].find(each => each.component?.rotors)?.component;
    if (!craft?.mesh.visible) return false;
    // However few frames a slow machine draws: until both have been seen.
    const gone = from && Math.hypot(...craft.mesh.position.toArray().map((at, i) => at - from.place_m[i])) >= 1;
    const turned = from && craft.rotors.every((rotor, i) => Math.abs(rotor.angle - from.turned_rad[i]) >= 1);
    if (from && !(gone && turned)) return false;
    return {
        place_m: craft.mesh.position.toArray(),
        camera_m: view.camera.position.toArray(),
        turned_rad: craft.rotors.map(rotor => rotor.angle),
        tilt: Math.max(...craft.hinges.map(hinge => Math.abs(hinge.arm.quaternion.y))),
    };
}"""

LOOKS = """mode => {
    const view = getElement(Number(document.querySelector('.nicegui-scene').id.slice(1)));
    const stage = [...view.objects.values()].map(each => each.component).find(each => each?.look);
    return stage?.mode === mode && stage.was && !stage.pending;
}"""


@pytest.fixture(scope="module", autouse=True)
def dashboard(desk: Desk) -> str:
    return desk.serve()


def test_with_the_sticks_of_the_page(desk: Desk) -> None:
    flight = desk.fly("sticks", "tiltrotor-joystick", "--no-report", *LASTS)
    watcher = desk.watch()
    watcher.open("/fly")
    expect(watcher.find("numbers")).to_contain_text("m up", timeout=FLIGHT_MS)
    second = desk.watch()
    second.open("/fly")  # now: to set up a page takes much, and sticks that are silent for seconds are taken away
    watcher.find("stick-take").click()
    expect(watcher.find("stick-take")).to_contain_text("Release")
    expect(watcher.find("stick-device")).to_have_text("on-screen sticks")
    refuse_another(watcher, second)
    before_s = rest(watcher)
    push(watcher, "stick-right", up=0.8, axis=0, shot="fly-sticks")
    watcher.stall()  # a short one: the pilot keeps the sticks
    forward_s = rest(watcher)
    expect(watcher.find("stick-take")).to_contain_text("Release")
    assert not watcher.loaded_anew
    push(watcher, "stick-left", up=0.8, axis=2)
    climbed_s = rest(watcher)
    push_pad(watcher)
    padded_s = rest(watcher)
    watcher.find("stick-take").click()
    expect(watcher.find("stick-device")).to_have_text("not in use")
    watcher.assert_clean()
    flight.end()
    log = flight.log()
    before, forward, climbed, padded = (place(log, "truth", t_s) for t_s in (before_s, forward_s, climbed_s, padded_s))
    assert forward[0] - before[0] > GONE_M - REST_M, (before, forward)
    assert abs(forward[2] - before[2]) < 0.3, (before, forward)
    assert climbed[2] - forward[2] > GONE_M - REST_M, (forward, climbed)
    assert np.hypot(*(climbed - forward)[:2]) < 0.5, (forward, climbed)
    assert padded[0] - climbed[0] < -(GONE_M - REST_M), (climbed, padded)


def test_it_is_seen_as_it_flies_and_its_line_fails_from_the_page(desk: Desk) -> None:
    """Its pods tilt, its rotors turn; the camera goes along, or stays."""
    flight = desk.fly("spiral", "tiltrotor-spiral", "--no-report", "--pace", SLOW, *LASTS)
    watcher = desk.watch()
    watcher.open("/")
    expect(watcher.head("flight")).to_contain_text("tiltrotor-spiral")  # no longer what came of the flight before
    expect(watcher.find("fact-tilt")).to_contain_text("right", timeout=FLIGHT_MS)
    following = flown_on(watcher, "follow")
    assert moved_m(following, "camera_m") > 0.5
    assert max(seen["tilt"] for seen in following) > 1e-3
    watcher.find("camera-free").click()
    staying = flown_on(watcher, "free")
    assert moved_m(staying, "camera_m") < 0.05
    fail_the_line(watcher)
    watcher.assert_clean()
    flight.end()
    switched = [(TARGETS[int(row[2])], KINDS[int(row[3])], bool(row[4])) for row in flight.log().rows["fault"]]
    assert switched == [("to_board", "loss", True), ("to_board", "loss", False)]


def flown_on(watcher: Watcher, camera: str) -> list[dict[str, Any]]:
    """What the 3D view shows once its camera does this, and again when the aircraft has gone a metre."""
    watcher.page.wait_for_function(LOOKS, arg=camera)
    before = watcher.page.wait_for_function(SEEN, arg=None).json_value()
    after = watcher.page.wait_for_function(SEEN, arg=before, timeout=FLIGHT_MS).json_value()
    return [before, after]


def moved_m(seen: list[dict[str, Any]], what: str) -> float:
    return float(np.linalg.norm(np.subtract(seen[1][what], seen[0][what])))


def fail_the_line(watcher: Watcher) -> None:
    watcher.head("tab-faults").click()
    watcher.find("fault-to_board-loss-value").fill("5")
    watcher.find("fault-to_board-loss").click()
    expect(watcher.find("faults-on")).to_contain_text("1 on")
    watcher.find("faults-off").click()
    expect(watcher.find("faults-on")).to_contain_text("none on")


def push_pad(watcher: Watcher) -> None:
    """A game pad as browsers have them: pulled back for a while, then let go."""
    watcher.page.evaluate(
        """name => {
            window.pad = { index: 0, id: name, connected: true, mapping: 'standard', buttons: [], axes: [0, 0, 0, 0] };
            Object.defineProperty(navigator, 'getGamepads', { value: () => [null, window.pad] });
        }""",
        PAD,
    )
    expect(watcher.find("stick-device")).to_have_text(f"game pad {PAD}")
    begun = here(watcher)
    watcher.page.evaluate("window.pad.axes[3] = 0.8")
    until(lambda: here(watcher)[0] < begun[0] - GONE_M, HANG_S, "pulled back")
    watcher.page.evaluate("window.pad.axes[3] = 0")


def refuse_another(watcher: Watcher, second: Watcher) -> None:
    """A second browser sees the same flight, but the sticks are held by one."""
    expect(second.find("stick-device")).to_have_text("in use by another page")
    second.find("stick-take").click()
    expect(second.find("order-log")).to_contain_text("another page has the sticks")
    before_s = second.clock_s()
    second.fly_on(0.5)
    assert watcher.clock_s() > before_s
    expect(watcher.find("stick-take")).to_contain_text("Release")
    second.assert_clean()
    second.context.close()


def push(watcher: Watcher, stick: str, up: float, axis: int, shot: str = "") -> None:
    """Hold a stick with the mouse until the aircraft has gone some way, then let go."""
    begun = here(watcher)
    box = watcher.find(stick).bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse = watcher.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x, y - up * box["height"] * 78 / 220, steps=4)
    until(lambda: here(watcher)[axis] > begun[axis] + GONE_M, HANG_S, f"pushed with {stick}")
    if shot:
        watcher.shot(shot)
    mouse.up()


def here(watcher: Watcher) -> NDArray[np.float64]:
    """Where the page shows the aircraft: east, north, up in m."""
    found = re.fullmatch(r"(\S+) m E, (\S+) m N, (\S+) m up", watcher.find("numbers").inner_text())
    assert found
    return np.array([float(word) for word in found.groups()])


def rest(watcher: Watcher) -> float:
    """When the aircraft has come to rest."""

    def unmoved() -> bool:
        before = here(watcher)
        watcher.fly_on(1.0)
        return bool(np.abs(here(watcher) - before).max() < REST_M)

    until(unmoved, HANG_S, "at rest")
    return watcher.clock_s()
