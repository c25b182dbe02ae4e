"""A flight among houses and trees, held by the bar of the page's head: paused, stepped, slowed down and restarted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from browser import HANG_S, Desk, Watcher, until
from playwright.sync_api import expect

from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS
from aeroloop.dashboard import world_objects
from aeroloop.flight.results import SUMMARY
from aeroloop.realtime.flight_clock import FILE, ClockIn, ClockState

NAME = "quad-street"
FLIGHT = (NAME, "--no-report", "--pace", "real", "--set", "duration_s=600", "--set", "checks=[]")
STEP_NS = round(0.004 * NS)
WORLD = """wanted => {
    const view = getElement(Number(document.querySelector('.nicegui-scene').id.slice(1)));
    const things = [...view.objects.values()].map(each => each.component).filter(each => each?.mesh && each.rotors);
    const placed = things.filter(each => !each.rotors.length);
    if (things.length !== placed.length + 1 || placed.length !== wanted.placed) return false;
    if (!things.every(each => each.mesh.visible)) return false;
    let parts = 0;
    placed.forEach(each => each.mesh.traverse(drawn => { parts += drawn.isMesh ? 1 : 0; }));
    const places = JSON.stringify(placed.map(each => each.mesh.position.toArray()));
    return parts >= wanted.parts && places !== wanted.left && { ...wanted, left: places };
}"""
"""One aircraft, and all of the world's objects with all their parts, which are drawn one after another; the moving ones
have left where they were."""


def test_it_is_held_by_the_bar_and_flies_among_the_objects_of_its_world(desk: Desk) -> None:
    desk.serve()
    flight = desk.fly("street", *FLIGHT)
    watcher = desk.watch()
    watcher.open("/")
    expect(watcher.head("flight")).to_contain_text(NAME)
    seen = see_the_world(watcher)
    pause_and_step(watcher, desk)
    watcher.page.wait_for_function(WORLD, arg=seen)
    slow_down(watcher, desk)
    restart(watcher, desk)
    see_the_map(watcher)
    watcher.assert_clean()
    flight.end()
    again = flight.folder.with_name(f"{flight.folder.name}-restart1")
    ended = [json.loads((folder / SUMMARY).read_text())["ended"] for folder in (flight.folder, again)]
    assert ended == ["ended by user (restart)", "ended by user (Ctrl-C)"]


def see_the_world(watcher: Watcher) -> Any:
    """In the 3D view what stands is one thing, what moves is one each."""
    things = world_objects.of_scenario(load(find(NAME)))
    moving = [thing for thing in things if thing.moving]
    assert {"crane hook", "sign"} <= {thing.name for thing in things} and moving
    wanted = {"placed": 1 + len(moving), "parts": sum(len(thing.parts) for thing in things), "left": ""}
    seen = watcher.page.wait_for_function(WORLD, arg=wanted).json_value()
    watcher.shot("view-street")
    return seen


def see_the_map(watcher: Watcher) -> None:
    watcher.head("tab-fly").click()
    expect(watcher.page.locator(".map-object.map-house").first).to_have_attribute("points", re.compile(r"\d"))
    expect(watcher.page.locator(".map-object.map-tree").first).to_have_attribute("points", re.compile(r"\d"))


def clock(desk: Desk, wanted: Callable[[ClockState], bool], what: str) -> ClockState:
    """The flight's own clock, once it is as wanted."""

    def found() -> ClockState | None:
        states = [ClockIn(path.parent).state for path in desk.runtime.rglob(FILE)]
        return next((state for state in states if wanted(state)), None)

    state: ClockState = until(found, HANG_S, what)
    return state


def pause_and_step(watcher: Watcher, desk: Desk) -> None:
    """One step, and a hundred from the menu."""
    watcher.head("sim-pause").click()
    expect(watcher.head("paused")).to_have_text("paused")
    t_ns = clock(desk, lambda state: state.paused, "paused").t_ns
    for clicked, steps in (("sim-step", 1), ("sim-steps", 100)):
        watcher.head(clicked).click()
        if steps > 1:
            watcher.page.get_by_test_id(f"sim-step-{steps}").click()
        t_ns += steps * STEP_NS
        clock(desk, lambda state, at=t_ns: state.paused and state.t_ns == at, f"{steps} steps")  # type: ignore[misc]


def slow_down(watcher: Watcher, desk: Desk) -> None:
    watcher.choose(watcher.head("sim-speed"), watcher.option("0.25x"))
    clock(desk, lambda state: state.paused and state.speed == 0.25, "slow, and still paused")
    watcher.head("sim-pause").click()
    clock(desk, lambda state: not state.paused, "goes on")
    expect(watcher.head("paused")).to_have_text("0.25x")
    watcher.fly_on(0.5)


def restart(watcher: Watcher, desk: Desk) -> None:
    """Its page shows the flight that takes its place."""
    before = watcher.head("flight").inner_text()
    watcher.head("sim-restart").click()
    watcher.page.get_by_test_id("sim-restart-yes").click()
    expect(watcher.head("flight")).not_to_have_text(before)
    expect(watcher.head("flight")).to_contain_text(NAME)
    clock(desk, lambda state: state.speed == 1.0, "at its own speed again")
    watcher.fly_on(0.5)
