"""The frame of every page: header with tabs, the flight and its state, and the alert line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from nicegui import ui

from aeroloop.dashboard import readings, theme
from aeroloop.dashboard.end_button import end_button
from aeroloop.dashboard.family_page import Status
from aeroloop.dashboard.simulation_bar import paused_words, simulation_bar
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.watched_flight import WatchedFlight

REFRESH_S = 0.5
LONGEST_MEMORY = 3500  # of a cookie; browsers accept 4096 bytes
YEAR_S = 365 * 86400


@dataclass(frozen=True, slots=True)
class Tab:
    path: str
    title: str
    icon: str


def chip(words: str = "", severity: Severity = "info", testid: str = "") -> ui.label:
    label = ui.label(words).classes(f"al-chip al-chip--{severity}")
    return label.props(f'data-testid="{testid}"') if testid else label


def set_chip(label: ui.label, words: str, severity: Severity = "info") -> None:
    """A chip without text is not shown."""
    label.set_text(words)
    label.classes(remove=" ".join(f"al-chip--{each}" for each in theme.COLOURS if each != severity))
    label.classes(add=f"al-chip--{severity}")
    label.set_visibility(bool(words))


def card() -> ui.column:
    return ui.column().classes("al-card")


def remember(name: str, value: Any) -> None:
    """Store a small value in the browser, for `remembered` on its next visit. In a cookie, so that it is valid for any
    port and available when the page is built."""
    text = json.dumps(value)
    if len(quote(text)) <= LONGEST_MEMORY:
        cookie = (
            f"aeroloop-{name}=${{encodeURIComponent({json.dumps(text)})}}; path=/; max-age={YEAR_S}; SameSite=Strict"
        )
        ui.run_javascript(f"document.cookie = `{cookie}`")


def remembered(name: str) -> Any:
    """None if there is no valid value."""
    request = ui.context.client.request
    text = request.cookies.get(f"aeroloop-{name}", "") if request else ""
    try:
        return json.loads(unquote(text))
    except (ValueError, RecursionError):
        return None


def vehicle_picker(watched: WatchedFlight, chosen: Callable[[int], None]) -> None:
    """Selection of one of several aircraft; nothing if there is one."""
    count = readings.vehicles(watched.scenario)

    def choose(number: object) -> None:
        if isinstance(number, int):
            chosen(number)

    if count > 1:
        options = {number: f"aircraft {number + 1}" for number in range(count)}
        picked = ui.select(options, value=0, on_change=lambda event: choose(event.value))
        picked.props('dense outlined options-dense data-testid="vehicle" aria-label="aircraft"')


def every(period_s: float, refresh: Callable[[], Any]) -> ui.timer:
    """Call it periodically while the page is visible.

    Nothing is sent to a hidden tab, and nothing is kept for a browser that disconnected without notice.
    """
    client = ui.context.client
    hidden = _hidden_clients

    def beat() -> Any:
        return None if client.id in hidden or not client.has_socket_connection else refresh()

    return ui.timer(period_s, beat)


_hidden_clients: set[str] = set()


def _notice_hiding() -> None:
    client = ui.context.client

    def changed(event: Any) -> None:
        if event.args is True:
            _hidden_clients.add(client.id)
        else:
            _hidden_clients.discard(client.id)

    ui.on("al_hidden", changed)
    client.on_delete(lambda: _hidden_clients.discard(client.id))
    ui.add_body_html(
        "<script>document.addEventListener('visibilitychange', () => emitEvent('al_hidden', document.hidden))</script>"
    )


@contextmanager
def frame(watched: WatchedFlight, current: str, tabs: tuple[Tab, ...]) -> Iterator[None]:
    """`with frame(...):` the page's own content follows."""
    ui.add_css(theme.CSS)
    ui.colors(primary=theme.PRIMARY)
    _notice_hiding()
    with ui.header().classes("al-head"):
        with ui.row().classes("al-bar"):
            ui.label("Aeroloop").classes("text-weight-bold al-wide")
            _flight_picker(watched)
            _status(watched)
            if not (watched.may_command or watched.may_choose):
                chip("view only", testid="view-only").tooltip("this page shows everything and sends no commands")
            ui.space()
            every(REFRESH_S, simulation_bar(watched))
            if watched.may_command:
                every(REFRESH_S, end_button(watched))
            _dark_toggle()
        with ui.element("nav").classes("al-tabs").props('aria-label="pages"'):
            for tab in tabs:
                here = 'aria-current="page"' if tab.path == current else ""
                with ui.link(target=tab.path).classes("al-tab").props(f'data-testid="tab-{tab.title.lower()}" {here}'):
                    ui.icon(tab.icon).classes("al-wide").props("aria-hidden=true")
                    ui.label(tab.title)
        _alert_line(watched)
    with ui.column().classes("al-page"):
        yield


def _flight_picker(watched: WatchedFlight) -> None:
    def options() -> dict[str, str]:
        shown = {flight_id: f"{name} · {flight_id}" for flight_id, name in watched.flights()}
        if watched.flight_id and watched.flight_id not in shown:
            shown[watched.flight_id] = f"{watched.name} · {watched.flight_id} (ended)"
        return shown or {"": "no flight is running"}

    picker = ui.select(options(), value=watched.flight_id if watched.flight_id in options() else None)
    picker.props('dense outlined options-dense data-testid="flight" aria-label="flight"').classes("al-picker")
    picker.tooltip("the flight that every page of this dashboard shows")

    def refresh() -> None:
        present = options()
        value = watched.flight_id if watched.flight_id in present else ""
        if present != picker.options or value != picker.value:
            picker.set_options(present, value=value if value in present else None)

    def chosen(event: Any) -> None:
        if event.value and event.value != watched.flight_id:
            watched.choose(event.value)

    picker.on_value_change(chosen)
    picker.set_enabled(watched.may_choose)
    refresh()
    every(REFRESH_S, refresh)


def _status(watched: WatchedFlight) -> None:
    time = ui.label().classes("al-num").props('data-testid="time"').style("min-width:5em")
    how = ui.label().classes("al-soft al-wide").props('data-testid="pace"')
    names = ("running", "paused", "armed", "mode", "failsafe")
    flight, paused, armed, mode, failsafe = (chip(testid=name) for name in names)
    verdict = chip(testid="verdict")
    report = ui.link("report", "", new_tab=True).classes("al-link").props('data-testid="flight-report"')

    def refresh() -> None:
        plan, watching = watched.scenario, bool(watched.flight_id)
        time.set_text(f"{watched.store.t_s:.1f} s" if watching else "")
        how.set_text(f"{plan.loop} · {plan.pace}" if plan else "")
        set_chip(flight, *(watched.state_words if watching else ("", "info")))
        set_chip(paused, paused_words(watched.clock), "warn")
        judged = watched.outcome
        set_chip(verdict, judged.verdict if judged else "", judged.severity if judged else "info")
        report.set_visibility(bool(watched.report_url))
        if report.props.get("href") != watched.report_url:
            report.props["href"] = watched.report_url
            report.update()
        for label, (words, severity) in zip((armed, mode, failsafe), status_chips(watched), strict=True):
            set_chip(label, words, severity)

    refresh()
    every(REFRESH_S, refresh)


def status_chips(watched: WatchedFlight) -> tuple[tuple[str, Severity], tuple[str, Severity], tuple[str, Severity]]:
    """Armed, mode and failsafe of the first aircraft, as chips; empty texts if it has none."""
    status = readings.status(watched.store, watched.scenario, 0) if watched.scenario is not None else Status()
    state = watched.state()
    if not status.mode and state is not None:  # an external autopilot reports it on its link only
        status = Status(mode=state.mode, armed="armed" if state.armed else "disarmed")
    mode: Severity = "bad" if status.mode in ("safe", "holding") or status.mode.startswith("–") else "info"
    return (status.armed, "warn" if status.armed == "armed" else "info"), (status.mode, mode), (status.failsafe, "bad")


DARK_MODES: tuple[tuple[str, bool | None, str], ...] = (
    ("auto", None, "brightness_auto"),
    ("dark", True, "dark_mode"),
    ("light", False, "light_mode"),
)


def _dark_toggle() -> None:
    names = [name for name, _, _ in DARK_MODES]
    kept = remembered("dark")
    now = names.index(kept) if kept in names else 0
    dark = ui.dark_mode(DARK_MODES[now][1])

    def turn() -> None:
        nonlocal now
        now = (now + 1) % len(DARK_MODES)
        name, dark.value, icon = DARK_MODES[now]
        button.props(f'icon={icon} aria-label="colours: {name}"')
        remember("dark", name)

    button = ui.button(icon=DARK_MODES[now][2], on_click=turn).props(
        f'flat round dense color=inherit data-testid="dark" aria-label="colours: {names[now]}"'
    )


def _alert_line(watched: WatchedFlight) -> None:
    line = ui.label().classes("al-alert").props('data-testid="alert" role=status')

    def refresh() -> None:
        newest = watched.notices[-1] if watched.notices else None
        line.set_text(f"{newest.t_s:.1f} s  {newest.words}" if newest else "no notices")
        severity = newest.severity if newest else "info"
        line.classes(remove=" ".join(f"al-{each}" for each in ("ok", "warn", "bad", "soft") if each != severity))
        line.classes(add="al-soft" if severity == "info" else f"al-{severity}")

    with line:
        tip = ui.tooltip().props('data-testid="notices"').style("white-space:pre-line;font-size:13px;max-width:90vw")

    def recent() -> None:
        told = [f"{each.t_s:.1f} s  {each.words}" for each in list(watched.notices)[-12:]]
        tip.set_text("\n".join(told) or "no notices")

    line.on("mouseenter", recent)
    refresh()
    every(REFRESH_S, refresh)
