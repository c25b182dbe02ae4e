"""Every page in a browser: on a screen and on a phone, in light and in dark, and what finished runs offer."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from browser import DESKTOP, HANG_S, PHONE, Desk, Flight, Watcher, until
from playwright.sync_api import Locator, expect

PAGES = {
    "view": "/",
    "charts": "/charts",
    "links": "/links",
    "fly": "/fly",
    "faults": "/faults",
    "trajectory": "/trajectory",
    "runs": "/runs",
}
HOSTILE = "<img src=x onerror=alert(1)>"
DRAWN_MS = 120_000  # in a process of its own
AGAIN, SHOWN_MS = 4, 30_000
WINDOWS = {"screen-light": (DESKTOP, False), "phone-dark": (PHONE, True)}
OPENED = tuple(("screen-light", name) for name in ("links", "fly", "faults", "trajectory", "runs"))
"""Behind `make soak`: other tests open these pages on such a screen, and assert that they are clean."""


@pytest.fixture(scope="module")
def finished(desk: Desk) -> Flight:
    flight = desk.fly(
        "finished", "tiltrotor-spiral", "--pace", "lockstep", "--set", "duration_s=2", "--set", "checks=[]"
    )
    assert flight.process.wait(60) == 0, flight.said
    return flight


@pytest.fixture(scope="module")
def airborne(desk: Desk, finished: Flight) -> Flight:
    """A quadrotor in the air, in real time, with the dashboard on it."""
    desk.serve()
    return desk.fly("airborne", "quad-hover", "--no-report", "--set", "duration_s=600", "--pace", "real")


@pytest.fixture(scope="module")
def window(request: pytest.FixtureRequest, desk: Desk, airborne: Flight) -> Iterator[tuple[str, Watcher]]:
    """One after the other for all pages: a browser that knows the scripts already is quicker."""
    size, dark = WINDOWS[request.param]
    watcher = desk.watch(size, dark)
    yield request.param, watcher
    watcher.context.close()


@pytest.mark.parametrize(
    ("window", "name"),
    [
        pytest.param(kind, name, marks=pytest.mark.soak if (kind, name) in OPENED else ())
        for kind in WINDOWS
        for name in PAGES
    ],
    indirect=["window"],
)
def test_a_page_opens(window: tuple[str, Watcher], name: str) -> None:
    """Without an error, a request to another machine, or anything beyond the edge of the window."""
    kind, watcher = window
    dark = WINDOWS[kind][1]
    page = watcher.open(PAGES[name])
    expect(watcher.head("running")).to_have_text("live")
    expect(watcher.head(f"tab-{name}")).to_have_attribute("aria-current", "page")
    expect(page.locator("body")).to_have_class(re.compile("body--dark" if dark else "body--light"))
    page.wait_for_timeout(700)  # what the page does by itself, its timers included
    assert watcher.overflow_px() <= 0
    watcher.shot(f"{name}-{kind}", whole=True)
    watcher.assert_clean()


def test_the_lines_page_shows_the_lines_and_how_time_is_kept(desk: Desk, airborne: Flight) -> None:
    watcher = desk.watch()
    page = watcher.open("/links")
    expect(watcher.find("line-pixhawk-0")).to_contain_text("up")  # the router's
    expect(watcher.find("line-autopilot")).to_contain_text("up")  # the plant's own
    expect(watcher.find("line-autopilot")).to_contain_text("250")
    watcher.find("line-autopilot").locator(".ln-name").click()
    expect(watcher.find("messages-autopilot")).to_contain_text("IMU")
    counted = _counted(watcher.find("period-words").inner_text())
    page.wait_for_function(
        "before => { const words = document.querySelector('[data-testid=period-words]').innerText;"
        " return Number(words.match(/([\\d,]+) counted/)[1].replaceAll(',', '')) > before }",
        arg=counted,
    )
    expect(watcher.find("period-histogram").locator("canvas")).to_be_visible()
    watcher.shot("links")
    watcher.assert_clean()


def test_after_a_stall_the_page_goes_on_with_its_charts(desk: Desk, airborne: Flight) -> None:
    watcher = desk.watch()
    watcher.open("/charts")
    watcher.find("add-chart").click()
    expect(watcher.find("chart")).to_have_count(4)  # an empty one, which is not remembered
    watcher.stall()
    watcher.fly_on(1.0)
    assert not watcher.loaded_anew
    expect(watcher.find("chart")).to_have_count(4)
    watcher.assert_clean()


def drawn(chart: Locator) -> dict[str, Any]:
    """What the browser has in a chart: its signals, the ends of its time axis, the times of its first curve."""
    found: dict[str, Any] = chart.evaluate(
        """card => {
            const element = card.querySelector('.nicegui-echart');
            const option = getElement(Number(element.id.slice(1))).chart.getOption();
            return {
                names: option.series.map(each => each.name),
                ends_s: [option.xAxis[0].min, option.xAxis[0].max],
                times_s: (option.series[0]?.data || []).map(point => point[0]),
            };
        }"""
    )
    return found


def held_still(watcher: Watcher, chart: Locator) -> dict[str, Any]:
    """What is drawn once nothing is on its way any more, though the flight goes on."""

    def unchanged() -> dict[str, Any] | None:
        before = drawn(chart)
        watcher.fly_on(1.0)
        return before if drawn(chart) == before else None

    found: dict[str, Any] = until(unchanged, HANG_S, "the chart stands still")
    return found


def grown(chart: Locator, end_s: float) -> dict[str, Any]:
    """What is drawn when the chart has curves and has gone on beyond this time."""

    def beyond() -> dict[str, Any] | None:
        now = drawn(chart)
        return now if now["times_s"] and now["ends_s"][1] > end_s else None

    found: dict[str, Any] = until(beyond, HANG_S, "the chart goes on")
    return found


def test_a_chart_is_chosen_by_name_held_still_and_looked_at_closely(desk: Desk, airborne: Flight) -> None:
    watcher = desk.watch()
    page = watcher.open("/charts")
    watcher.choose(watcher.find("window"), watcher.option("10 s"))
    watcher.fly_on(11.0 - watcher.clock_s())
    watcher.find("add-chart").click()
    page.get_by_test_id("search-signals").fill("pace.lateness_s")
    # Named: what is typed narrows the list only when the server has answered.
    found = page.get_by_test_id("signals").locator(".q-tree__node-header", has_text="pace.lateness_s")
    found.get_by_role("checkbox").click()
    expect(found.get_by_role("checkbox")).to_be_checked()
    page.get_by_test_id("show-signals").click()
    chart = watcher.find("chart").last
    expect(chart.get_by_test_id("legend")).to_contain_text("pace.lateness_s")
    live = grown(chart, watcher.clock_s())
    assert live["names"] == ["pace.lateness_s"]
    assert live["times_s"][-1] - live["times_s"][0] > 8.0, "from before the page asked for it"

    watcher.find("pause").click()
    expect(watcher.find("pause")).to_contain_text("Resume")
    held = held_still(watcher, chart)
    watcher.find("pause").click()
    grown(chart, held["ends_s"][1])

    expect(chart.get_by_test_id("live")).to_be_hidden()
    chart.locator("canvas").hover()
    page.mouse.wheel(0, -300)
    expect(chart.get_by_test_id("live")).to_be_visible()
    close = held_still(watcher, chart)
    assert close["times_s"][-1] - close["times_s"][0] < 0.98 * (live["times_s"][-1] - live["times_s"][0])
    watcher.shot("charts-zoomed")
    chart.get_by_test_id("live").click()
    grown(chart, close["ends_s"][1])
    watcher.assert_clean()


def test_a_router_that_stands_alone_is_shown_until_it_ends(desk: Desk, airborne: Flight) -> None:
    """In one page, which stays open; and what a stranger named is no markup."""
    router = desk.route(HOSTILE, "radio", "station")
    router.says("has 2 endpoints")
    watcher = desk.watch()
    watcher.open("/links")
    choose(watcher, f"router {HOSTILE}", shows="line-radio")
    expect(watcher.find("line-radio")).to_contain_text("down")  # so the router itself says: nobody is there
    expect(watcher.find("line-autopilot")).not_to_be_attached()
    watcher.shot("links-router")
    router.end()
    expect(watcher.head("running")).to_have_text("ended")
    watcher.head("tab-faults").click()
    expect(watcher.find("no-faults")).to_contain_text(f"{HOSTILE} runs without a flight")
    choose(watcher, "quad-hover")
    expect(watcher.find("no-faults")).not_to_be_attached()
    expect(watcher.head("running")).to_have_text("live")
    watcher.assert_clean()


def choose(watcher: Watcher, name: str, shows: str = "") -> None:
    """Again, where it does not show that: a page that loses its connection on a busy machine is loaded anew, and then
    shows the newest flight."""
    for _ in range(AGAIN):
        watcher.page.wait_for_function("() => window.socket && window.socket.connected")
        watcher.choose(watcher.head("flight"), watcher.page.get_by_role("option").filter(has_text=name))
        if not shows:
            return
        with suppress(AssertionError):
            expect(watcher.find(shows)).to_be_attached(timeout=SHOWN_MS)
            return


def _counted(words: str) -> int:
    found = re.search(r"([\d,]+) counted", words)
    assert found, words
    return int(found[1].replace(",", ""))


def test_a_finished_run_offers_its_report(desk: Desk, airborne: Flight, finished: Flight) -> None:
    watcher = desk.watch()
    watcher.open("/runs")
    run = watcher.page.get_by_role("row").filter(has_text="tiltrotor-spiral")
    expect(run.get_by_test_id("verdict")).to_have_text("passed")
    with watcher.context.expect_page() as opened:
        run.get_by_test_id("report").click()
    report = opened.value
    expect(report.get_by_role("heading", level=1)).to_contain_text("tiltrotor-spiral")
    expect(report.locator("body")).to_contain_text("flown_s")
    report.screenshot(path=watcher.shot("report"))
    watcher.assert_clean()


def test_two_runs_are_compared(desk: Desk, airborne: Flight, finished: Flight) -> None:
    shutil.copytree(finished.folder, finished.folder.with_name("flown-again"))
    watcher = desk.watch()
    watcher.open("/runs")
    runs = watcher.page.get_by_role("row").filter(has_text="tiltrotor-spiral")
    expect(runs).to_have_count(2)
    expect(watcher.find("compare")).to_be_disabled()
    for number in range(2):
        runs.nth(number).get_by_role("checkbox").click()
    watcher.find("compare").click()
    link = watcher.page.get_by_test_id("comparison")
    expect(link).to_be_visible(timeout=DRAWN_MS)
    with watcher.context.expect_page() as opened:
        link.click()
    comparison = opened.value
    for name in ("finished", "flown-again"):
        expect(comparison.locator("body")).to_contain_text(name)
    comparison.screenshot(path=watcher.shot("comparison"))
    watcher.assert_clean()
