"""The camera panel of a page: the images of the shown flight's cameras, or of a replay; hidden without cameras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.element import Element

from aeroloop.dashboard.camera_images import infos
from aeroloop.dashboard.layout import card, every
from aeroloop.dashboard.watched_flight import WatchedFlight

REFRESH_S = 0.1
LIVE_URL = "/camera/"
CSS = Path(__file__).with_name("camera_panel.css").read_text(encoding="utf-8")


class CameraView(Element, component="camera_panel.js"):
    """Fetches and shows images."""


class CameraPanel:
    def __init__(self, watched: WatchedFlight) -> None:
        self._watched = watched
        ui.add_css(CSS)
        with card() as self._card:
            self._view = CameraView()
        self._shown: dict[str, Any] = {}
        self._view.props["cameras"] = []
        self.refresh()
        every(REFRESH_S, self.refresh)

    def style(self, css: str) -> None:
        self._card.style(css)

    def refresh(self) -> None:
        """Tell the browser what to show, if that has changed."""
        told = shown(self._watched)
        self._card.set_visibility(bool(told["cameras"]))
        if told != self._shown:
            self._shown = told
            self._view.props.update(told)
            self._view.update()


def shown(watched: WatchedFlight) -> dict[str, Any]:
    """The properties of the browser's part."""
    scenario, replay_url = watched.scenario, watched.replay_url
    cameras = infos(scenario.cameras, scenario.speed) if scenario is not None else []
    told: dict[str, Any] = {"cameras": [camera.plain() for camera in cameras]}
    if replay_url and scenario is not None:
        return {**told, "replay_url": replay_url, "part": scenario.name, "t_s": round(watched.store.t_s, 2)}
    return {**told, "live_url": LIVE_URL, "part": watched.flight_id, "running": watched.running}
