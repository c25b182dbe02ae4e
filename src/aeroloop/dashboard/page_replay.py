"""Replay of a past run: the 3D view, the instruments and the charts at any time of the flight."""

from __future__ import annotations

import time
from typing import Any

from fastapi.responses import PlainTextResponse
from nicegui import ui

from aeroloop.core.errors import AeroloopError
from aeroloop.dashboard import from_browser, page_charts, page_view
from aeroloop.dashboard.layout import Tab, every, frame
from aeroloop.dashboard.past_runs import PastRuns
from aeroloop.dashboard.replay import SPEEDS, Player, Recordings, ReplayedFlight
from aeroloop.dashboard.socket_roles import client_role
from aeroloop.dashboard.watched_flight import WatchedFlight

TICK_S = 0.05
SLIDER_S = 0.2
READING_S = 120.0
"""A large log takes a while to read."""
JUMP_S = 5.0
CSS = """
.al-replay .al-scene { height:calc(100vh - 250px); }
.al-transport { background:var(--al-card) !important; color:var(--al-text) !important; padding:4px 12px;
        border-top:1px solid var(--al-line); gap:8px; flex-wrap:nowrap; align-items:center; }
.al-transport .q-slider { flex:1 1 auto; min-width:80px; }
"""


def register(watched: WatchedFlight, tabs: tuple[Tab, ...]) -> None:
    runs, recordings = PastRuns(watched.runs_dir), Recordings()

    @ui.page("/replay/{name}", title="Replay – Aeroloop", response_timeout=READING_S)
    async def show(name: str) -> PlainTextResponse | None:
        folder, commander = runs.path(name), client_role(ui.context.client) == "command"
        if folder is None:
            return PlainTextResponse("There is no such run.", 404)
        try:
            replayed = ReplayedFlight(await recordings.open(folder), may_write=commander)
        except AeroloopError as error:
            return PlainTextResponse(f"{error}\n", 422)
        ui.page_title(f"{folder.name} – Aeroloop")
        build(replayed, tabs)
        return None


def build(replayed: ReplayedFlight, tabs: tuple[Tab, ...]) -> None:
    ui.add_css(CSS)
    with frame(replayed, "/runs", tabs):
        with ui.element("div").classes("al-replay w-full"):
            page_view.build(replayed)
        page_charts.build(replayed)
    with ui.footer().classes("al-transport"):
        Transport(replayed)


class Transport:
    """Play, pause, speed and the time slider; one for each page."""

    def __init__(self, replayed: ReplayedFlight) -> None:
        self._replayed = replayed
        recording = replayed.recording
        self.player = Player(recording.start_s, recording.end_s)
        self._held = False  # the slider is being dragged
        self._showing = False
        self._button = ui.button(icon="play_arrow", on_click=self._turn)
        self._button.props('round dense data-testid="replay-play" aria-label="play"')
        for icon, words, by_s in (("replay_5", "5 s back", -JUMP_S), ("forward_5", "5 s on", JUMP_S)):
            ui.button(icon=icon, on_click=lambda by_s=by_s: self._seek(self.player.t_s + by_s)).props(
                f'flat round dense color=inherit aria-label="{words}"'
            ).tooltip(words)
        self._slider = ui.slider(
            min=recording.start_s, max=recording.end_s, step=0.01, value=recording.start_s, on_change=self._dragged
        )
        self._slider.props('data-testid="replay-slider" aria-label="time"')
        self._slider.on("pan", self._panned)
        self._time = ui.label().classes("al-num").style("white-space:nowrap").props('data-testid="replay-time"')
        speeds = {speed: f"{speed:g}x" for speed in SPEEDS}
        speed = ui.select(speeds, value=1.0, on_change=lambda event: self._set_speed(event.value))
        speed.props('dense outlined options-dense data-testid="replay-speed" aria-label="speed"')
        self._show()
        every(TICK_S, self._tick)
        every(SLIDER_S, self._show)

    def _turn(self) -> None:
        if self.player.playing:
            self.player.pause()
        else:
            self.player.play(time.monotonic())
        self._show()

    def _seek(self, t_s: float) -> None:
        self.player.seek(t_s)
        self._replayed.seek(self.player.t_s)
        self._show()

    def _dragged(self, event: Any) -> None:
        t_s = from_browser.number(event.value, self.player.start_s, self.player.end_s)
        if t_s is not None and not self._showing:
            self.player.seek(t_s)
            self._replayed.seek(t_s)
            self._tell()

    def _panned(self, event: Any) -> None:
        self._held = event.args == "start"

    def _set_speed(self, speed: object) -> None:
        if speed in SPEEDS:
            self.player.speed = float(speed)

    def _tick(self) -> None:
        if self.player.playing and not self._held:
            self.player.advance(time.monotonic())
            self._replayed.seek(self.player.t_s)
        elif self.player.playing:
            self.player.hold(time.monotonic())

    def _show(self) -> None:
        playing = self.player.playing
        self._button.props(f"icon={'pause' if playing else 'play_arrow'} aria-label={'pause' if playing else 'play'}")
        self._tell()
        if not self._held:
            self._showing = True
            self._slider.set_value(round(self.player.t_s, 2))
            self._showing = False

    def _tell(self) -> None:
        self._time.set_text(f"{self.player.t_s:.1f} / {self.player.end_s:.1f} s")
