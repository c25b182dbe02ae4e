"""Watching without commanding, in a browser: viewers of a flight, replays of past runs, and figures of reports."""

from __future__ import annotations

from typing import Any

import pytest
from browser import Desk, Flight, Watcher
from playwright.sync_api import Page, expect

TOKEN, VIEW_TOKEN = "a-token-to-command", "a-token-to-view-only"
CATCH = """() => {
    window.caught = null;
    const emit = window.socket.emit.bind(window.socket);
    window.socket.emit = (name, ...rest) => {
        if (name === 'event' && JSON.stringify(rest[0].args).includes('true')) window.caught = rest[0];
        else return emit(name, ...rest);
    };
    window.send_again = () => emit('event', window.caught);
}"""
"""Holds the next event of a switch back, so that it can be sent later, or by somebody else."""


@pytest.fixture(scope="module")
def finished(desk: Desk) -> Flight:
    flight = desk.fly("finished", "quad-hover", "--pace", "lockstep", "--set", "duration_s=8", "--set", "checks=[]")
    assert flight.process.wait(120) == 0, flight.said
    return flight


@pytest.fixture(scope="module")
def served(desk: Desk, finished: Flight) -> str:
    return desk.serve("--token", TOKEN, "--view-token", VIEW_TOKEN)


def let_in(desk: Desk, token: str) -> Watcher:
    watcher = desk.watch()
    watcher.page.goto(f"{desk.url}runs?token={token}")
    return watcher


def test_a_viewer_watches_and_cannot_command(desk: Desk, served: str) -> None:
    desk.fly("airborne", "quad-hover", "--no-report", "--set", "duration_s=600", "--pace", "real")
    viewer = let_in(desk, VIEW_TOKEN)
    viewer.open("/fly")
    expect(viewer.head("running")).to_have_text("live")
    expect(viewer.head("view-only")).to_be_visible()
    expect(viewer.find("connected")).to_have_text("connected")
    expect(viewer.find("arm")).to_have_count(0)
    viewer.open("/faults")
    expect(viewer.find("fault-gnss-silent")).to_have_attribute("aria-disabled", "true")

    commander = let_in(desk, TOKEN)
    page = commander.open("/faults")
    expect(commander.find("faults-on")).to_have_text("none on")
    page.evaluate(CATCH)
    commander.find("fault-gnss-silent").click()
    page.wait_for_function("() => window.caught")
    event: dict[str, Any] = page.evaluate("() => window.caught")
    viewer.page.evaluate("event => window.socket.emit('event', event)", event)  # as if it were the commander's page
    viewer.open("/links")
    expect(viewer.find("refused")).to_contain_text("role 1")
    expect(commander.find("faults-on")).to_have_text("none on")
    page.evaluate("() => window.send_again()")
    expect(commander.find("faults-on")).to_have_text("1 on")


def test_a_past_run_replays_with_slider_and_charts(desk: Desk, served: str) -> None:
    watcher = let_in(desk, VIEW_TOKEN)
    page = watcher.open("/runs")
    row = watcher.find("runs").locator("tr", has_text="finished")
    row.get_by_test_id("replay").click()
    expect(watcher.head("running")).to_have_text("replay")
    page.wait_for_function("() => window.socket && window.socket.connected")
    expect(watcher.find("fact-position")).not_to_be_empty()
    expect(watcher.find("fact-mode")).to_be_empty()  # the autopilot has not told of it yet
    slider = page.get_by_test_id("replay-slider")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
    expect(watcher.find("fact-mode")).to_contain_text("armed")
    expect(watcher.find("chart").first.get_by_test_id("legend")).to_contain_text("truth.z_m")
    watcher.choose(page.get_by_test_id("replay-speed"), watcher.option("0.25x"))
    before = page.get_by_test_id("replay-time").inner_text()
    page.get_by_test_id("replay-play").click()
    expect(page.get_by_test_id("replay-time")).not_to_have_text(before)
    page.get_by_test_id("replay-play").click()
    watcher.find("add-xy").click()
    page.get_by_test_id("show-signals").click()
    expect(watcher.find("chart").last.get_by_test_id("legend")).to_contain_text("truth.y_m")
    watcher.shot("replay")
    watcher.assert_clean()


def over(page: Page, figure: str, x: float, y: float) -> None:
    box = page.locator(f"#{figure} svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])


def test_a_reports_figures_show_values_and_zoom(desk: Desk, served: str) -> None:
    watcher = let_in(desk, VIEW_TOKEN)
    page = watcher.page
    page.goto(f"{desk.url}runs/finished/report.html")
    figure = page.locator("#height")
    figure.scroll_into_view_if_needed()
    over(page, "height", 0.5, 0.5)
    expect(figure.locator(".readout")).to_contain_text("time ")
    expect(figure.locator(".readout")).to_contain_text("flown ")
    page.mouse.down()
    over(page, "height", 0.7, 0.52)
    page.mouse.up()
    expect(figure.locator(".zoomed")).to_have_count(1)
    expect(figure.locator(".ticks text").first).to_be_visible()
    page.locator("#height svg").dblclick()
    expect(figure.locator(".zoomed")).to_have_count(0)
    watcher.assert_clean()
