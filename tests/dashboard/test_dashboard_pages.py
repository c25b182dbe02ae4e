"""The pages as they are built for a browser: freed when it has gone, and what strangers named is never markup."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from nicegui import Client, core, ui
from nicegui.page import page
from starlette.requests import Request

from aeroloop.core import scenario_files as scenarios
from aeroloop.core.fault_offers import Offer, offers
from aeroloop.core.router_streams import ROUTER_STREAMS
from aeroloop.core.streams import streams_of
from aeroloop.dashboard import app, layout, page_links
from aeroloop.dashboard.app import PAGES
from aeroloop.dashboard.layout import frame
from aeroloop.dashboard.page_faults import amount
from aeroloop.dashboard.past_runs import read_run
from aeroloop.dashboard.watched_flight import LinkInfo, WatchedFlight

HOSTILE = "<img src=x onerror=alert(1)>"


def watching(tmp_path: Path, scenario: str | None) -> WatchedFlight:
    watched = WatchedFlight(tmp_path)
    watched.flight_id, watched.running = "one", True
    if scenario is None:
        watched.router = HOSTILE
    else:
        watched.scenario = scenarios.load(scenarios.find(scenario))
    watched.links = [LinkInfo(i, f"{HOSTILE}{i}", HOSTILE, HOSTILE, "mavlink", 0) for i in range(2)]
    own = streams_of(watched.scenario) if watched.scenario is not None else ()
    names = ("router_link", "router_message", "truth", "autopilot_state", "board_cycle", "link")
    for stream in (each for each in {*ROUTER_STREAMS, *own} if each.name in names):
        for t_s in (1.0, 1.5):
            watched.take(stream, tuple({"t_s": t_s, "qw": 1.0, "up": 1.0}.get(each, 0.0) for each in stream.names))
    watched.notice(HOSTILE, "bad")
    return watched


def built(watched: WatchedFlight, show: Callable[[WatchedFlight], None], after: Callable[[Client], Any]) -> Any:
    """A browser opens the page, something is done with it, and the browser goes."""

    async def visit() -> Any:
        core.loop = asyncio.get_running_loop()
        client = Client(
            page("/"),
            request=Request({"type": "http", "path": "/", "root_path": "", "query_string": b"", "headers": []}),
        )
        with client, frame(watched, "/", ()):
            show(watched)
        await asyncio.sleep(0)
        try:
            done = after(client)
            return await done if inspect.isawaitable(done) else done
        finally:
            client.delete()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0)

    try:
        return asyncio.run(visit())
    finally:
        core.loop = None


@pytest.mark.parametrize("scenario", ["quad-hover", "tiltrotor-spiral", None])
def test_nothing_is_kept_of_a_browser_that_has_gone(tmp_path: Path, scenario: str | None) -> None:
    watched = watching(tmp_path, scenario)
    before = len(Client.instances)
    visitors = []
    for each in PAGES:
        visitors.append(built(watched, each.build, weakref.ref))
    gc.collect()
    assert len(Client.instances) == before
    assert layout._hidden_clients == set()
    assert [visitor() for visitor in visitors] == [None] * len(PAGES)


def test_a_flight_is_ended_by_its_button_after_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched, ended = watching(tmp_path, "quad-hover"), []
    monkeypatch.setattr(watched, "_launch", SimpleNamespace(aircraft_before=0))
    monkeypatch.setattr(watched, "end", lambda: ended.append(True))

    def press(client: Client) -> tuple[bool, list[bool]]:
        by_name = {element.props.get("data-testid"): element for element in client.elements.values()}
        first, sure = by_name["end-flight"], by_name["end-flight-yes"]
        for button in (first, sure):
            assert not ended
            for listener in button._event_listeners.values():
                button._handle_event({"listener_id": listener.id, "args": []})
        return first.visible, list(ended)

    assert built(watched, PAGES[0].build, press) == (True, [True])
    watched.running = False
    assert (
        built(
            watched,
            PAGES[0].build,
            lambda client: next(
                element.visible
                for element in client.elements.values()
                if element.props.get("data-testid") == "end-flight"
            ),
        )
        is False
    )


def markup(client: Client) -> list[str]:
    return [element.content for element in client.elements.values() if isinstance(element, ui.html)]


def test_what_strangers_named_is_text_not_markup(tmp_path: Path) -> None:
    for scenario in ("quad-hover", None):
        watched = watching(tmp_path, scenario)
        for each in PAGES:
            told = built(watched, each.build, lambda client: (markup(client), _props(client)))
            assert not any("<img" in html for html in told[0]), each.title
            assert not any("onerror" in name for name in told[1]), each.title
    assert "&lt;img" in page_links._matrix([HOSTILE], {})


def _props(client: Client) -> list[str]:
    return [name for element in client.elements.values() for name in element.props]


def test_a_router_alone_shows_its_lines_and_other_pages_say_what_is_missing(tmp_path: Path) -> None:
    watched = watching(tmp_path, None)
    words = {each.title: built(watched, each.build, _words) for each in PAGES}
    for title in ("View", "Fly", "Faults"):
        assert any("runs without a flight" in word for word in words[title]), title
    assert any(word.startswith("2 links") for word in words["Links"])


def _words(client: Client) -> list[str]:
    return [element.text for element in client.elements.values() if isinstance(element, ui.label)]


def test_refused_requests_are_told_on_the_lines_page(tmp_path: Path) -> None:
    watched = watching(tmp_path, "quad-hover")
    assert "This dashboard has refused no request." in built(watched, page_links.build, _words)
    watched.refused.update(token=3, origin=1)
    assert "This dashboard has refused 4 requests: origin 1, token 3." in built(watched, page_links.build, _words)


def test_a_share_has_a_slider_that_moves_with_its_number(tmp_path: Path) -> None:
    watched = watching(tmp_path, "quad-free")
    offered = offers(watched.scenario)  # type: ignore[arg-type]
    shares = [offer for offer in offered if _is_share(offer)]

    def look(client: Client) -> None:
        sliders = [element for element in client.elements.values() if isinstance(element, ui.slider)]
        assert len(sliders) == len(shares) > 0
        first = sliders[0]
        (entry,) = (
            element
            for element in client.elements.values()
            if isinstance(element, ui.number)
            and element.props.get("data-testid") == first.props["data-testid"].replace("-slider", "-value")
        )
        first.value = 12.5
        assert entry.value == 12.5
        entry.value = 40.0
        assert first.value == 40.0
        entry.value = None  # half typed
        assert first.value == 40.0 and entry.value is None

    built(watched, PAGES[4].build, look)


def _is_share(offer: Offer) -> bool:
    typed = amount(offer)
    return typed is not None and typed.unit == "%"


def test_what_a_browser_is_to_remember_fits_into_its_cookie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(ui, "run_javascript", sent.append)
    layout.remember("charts", ['"' * 500])
    assert len(sent) == 1
    layout.remember("charts", ['"' * 2000])  # fits as text, but not as a browser keeps it
    assert len(sent) == 1 and len(json.dumps(['"' * 2000])) > layout.LONGEST_MEMORY // 2


def test_the_head_of_every_page_links_to_the_report_of_a_flight_that_has_ended(tmp_path: Path) -> None:
    watched = watching(tmp_path, "quad-hover")

    def link(client: Client) -> tuple[bool, str]:
        (found,) = (each for each in client.elements.values() if each.props.get("data-testid") == "flight-report")
        return found.visible, str(found.props["href"])

    assert built(watched, lambda _: None, link) == (False, "")
    run = tmp_path / "a <run>"
    run.mkdir()
    (run / "report.html").write_text("")
    (run / "summary.json").write_text('{"scenario": "quad-hover", "ok": true}')
    watched.running, watched._run, watched.outcome = False, run, read_run(run)
    assert built(watched, lambda _: None, link) == (True, "/runs/a%20%3Crun%3E/report.html")
    assert "passed" in built(watched, lambda _: None, _words)


def test_pages_that_nobody_can_look_at_are_refused_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_PAGES", len(Client.instances))
    watched = watching(tmp_path, "quad-hover")
    shown = app._shown(watched, PAGES[2], ())
    assert built(watched, lambda _: None, lambda _: shown()).status_code == 503
    assert watched.refused == {"pages": 1}
