"""The points of the trajectory page as a list: height and speed of each, and a button that removes it."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from aeroloop.dashboard import from_browser
from aeroloop.dashboard.layout import card
from aeroloop.dashboard.route_state import RouteState
from aeroloop.planning.route import FASTEST_M_S, REACH_M, RoutePoint

RANGES = {"up_m": (-REACH_M, REACH_M), "speed_m_s": (0.0, FASTEST_M_S)}


class PointList:
    """Rebuilt when points come, go or move; typed numbers change in their own inputs."""

    def __init__(self, state: RouteState, tell: Callable[[str], None], *, read_only: bool) -> None:
        self._state, self._tell, self._read_only = state, tell, read_only
        self._listed: list[RoutePoint] | None = None
        self._entries: list[tuple[ui.number, ui.number]] = []
        with card():
            with ui.row().classes("items-center w-full"):
                ui.label("Points").classes("text-weight-bold")
                ui.space()
                clear = ui.button("Clear", icon="clear_all", on_click=self._clear)
                clear.props('flat dense no-caps data-testid="route-clear"').set_enabled(not read_only)
            self._rows = ui.column().classes("w-full gap-1").props('data-testid="route-points"')
            self._rows.style("max-height:330px;overflow-y:auto;flex-wrap:nowrap")

    def show(self) -> None:
        points = self._state.points
        if self._listed == points:
            return
        same = self._listed is not None and [each.pos_W[:2] for each in self._listed] == [
            each.pos_W[:2] for each in points
        ]
        self._listed = [*points]
        if same:
            for (height, speed), point in zip(self._entries, points, strict=True):
                height.value, speed.value = point.pos_W[2], point.speed_m_s
            return
        self._rows.clear()
        self._entries = []
        with self._rows:
            if not points:
                ui.label("No points yet.").classes("al-soft")
            for number, point in enumerate(points):
                self._line(number, point)

    def _line(self, number: int, point: RoutePoint) -> None:
        x, y, z = point.pos_W
        with ui.row().classes("items-center w-full no-wrap gap-2"):
            ui.label(f"{number + 1}").classes("text-weight-bold al-num").style("min-width:1.4em")
            ui.label(f"{x:.1f} E, {y:.1f} N").classes("col al-num ellipsis")
            height = self._entry(number, "up_m", "up, m", z)
            speed = self._entry(number, "speed_m_s", "speed, m/s", point.speed_m_s)
            self._entries.append((height, speed))
            remove = ui.button(icon="close", color=None, on_click=lambda: self._remove(number))
            remove.props(
                f'flat dense round aria-label="remove point {number + 1}" data-testid="route-{number + 1}-remove"'
            )
            remove.set_enabled(not self._read_only)

    def _entry(self, number: int, name: str, words: str, value: float) -> ui.number:
        entry = ui.number(label=words, value=value, step=0.5)
        entry.props(f'dense outlined debounce=300 data-testid="route-{number + 1}-{name}"').style("width:96px")
        entry.set_enabled(not self._read_only)
        entry.on_value_change(lambda event: self._change(number, name, event.value))
        return entry

    def _change(self, number: int, name: str, value: object) -> None:
        wanted = from_browser.number(value, *RANGES[name])
        if self._read_only or wanted is None or not 0 <= number < len(self._state.points):
            return  # partly typed; the old value is kept
        point = self._state.points[number]
        if wanted == (point.pos_W[2] if name == "up_m" else point.speed_m_s):
            return
        if name == "up_m":
            self._tell(self._state.change(number, up_m=wanted))
        else:
            self._tell(self._state.change(number, speed_m_s=wanted))

    def _remove(self, number: int) -> None:
        if not self._read_only:
            self._state.remove(number)

    def _clear(self) -> None:
        if not self._read_only:
            self._state.clear()
