"""Waypoints: clicked on the map, listed with height and hold, and sent as a mission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from aeroloop.dashboard.fly_commands import GO_HEIGHTS_M, HOLDS_S, TAKEOFF_M, checked
from aeroloop.dashboard.fly_page_state import FlyPageState
from aeroloop.dashboard.layout import card
from aeroloop.ground.missions import Item

TAPS = {"waypoint": "add a waypoint", "target": "go there"}
ENDINGS = {"return": "then return", "land": "then land", "hold": "then hold"}


class PlanPanel:
    """The tools above the map, and the list of waypoints below it."""

    def __init__(self, fly_state: FlyPageState, items: Callable[[], tuple[Item, ...]], *, read_only: bool) -> None:
        self._fly_state, self._items, self._read_only = fly_state, items, read_only
        self._list: ui.column | None = None
        self._listed: tuple[Any, ...] | None = None

    def build_tools(self) -> None:
        with ui.row().classes("items-center w-full gap-2"):
            ui.label("Map").classes("text-weight-bold")
            if self._read_only:
                return
            ui.space()
            ui.label("on click").classes("al-soft al-wide")
            self._taps = ui.toggle(TAPS, value="waypoint").props(
                'dense no-caps unelevated padding="4px 10px" data-testid="map-tap"'
            )
            self.height = ui.number(label="height, m", value=TAKEOFF_M, min=GO_HEIGHTS_M[0], max=GO_HEIGHTS_M[1])
            self.height.props('dense outlined step=0.5 data-testid="map-height"').style("width:96px")

    def tap(self, east_m: float, north_m: float) -> None:
        """The user clicked a position."""
        if self._read_only:
            return
        try:
            height_m = checked(self.height.value, GO_HEIGHTS_M, "height in m")
        except ValueError as error:
            ui.notify(str(error), type="negative")
            return
        if self._taps.value == "target":
            self._fly_state.target = east_m, north_m
            self._fly_state.touched()
        elif not self._fly_state.add_waypoint(east_m, north_m, height_m):
            ui.notify("the plan is full: no more waypoints can be added", type="warning")

    def carry(self, number: int, east_m: float, north_m: float) -> None:
        """The user dragged a waypoint."""
        if not self._read_only:
            self._fly_state.change_waypoint(number, place=(east_m, north_m))

    def build_list(self, button: Callable[..., Any]) -> None:
        with card().style("order:3"):
            with ui.row().classes("items-center w-full gap-2"):
                ui.label("Mission").classes("text-weight-bold")
                ui.space()
                ending = ui.select(
                    ENDINGS, value=self._fly_state.ending, on_change=lambda event: self._end(event.value)
                )
                ending.props('dense outlined options-dense data-testid="mission-ending"')
            self._list = ui.column().classes("w-full gap-1").props('data-testid="waypoints"')
            with ui.element("div").classes("fly-buttons"):
                button("mission-upload", "Upload", "upload", self._upload)
                button("mission-start", "Start", "play_arrow", lambda aircraft: aircraft.start_mission())
                button("mission-pause", "Pause", "pause_circle", lambda aircraft: aircraft.pause_mission())
                button(
                    "mission-clear",
                    "Clear mission on vehicle",
                    "delete_sweep",
                    lambda aircraft: aircraft.clear_mission(),
                )
                button("plan-clear", "Clear plan", "clear_all", None, press=self._clear)
        self.show()

    def show(self) -> None:
        """Show the list; rebuilt only when it has changed."""
        if self._list is None or self._listed == tuple(self._fly_state.plan):
            return
        if self._editing():
            self._listed = tuple(self._fly_state.plan)
            return
        self._listed = tuple(self._fly_state.plan)
        self._list.clear()
        with self._list:
            if not self._fly_state.plan:
                ui.label("No waypoints yet: click the map. Drag one to move it.").classes("al-soft")
            for number, waypoint in enumerate(self._fly_state.plan):
                self._line(number, waypoint)

    def _editing(self) -> bool:
        """Heights and holds change in their own inputs: the same number of waypoints at the same positions."""
        return (
            self._listed is not None
            and len(self._listed) == len(self._fly_state.plan) > 0
            and all(old.pos_m[:2] == new.pos_m[:2] for old, new in zip(self._listed, self._fly_state.plan, strict=True))
        )

    def _line(self, number: int, waypoint: Any) -> None:
        east_m, north_m, height_m = waypoint.pos_m
        with ui.row().classes("items-center w-full no-wrap gap-2"):
            ui.label(f"{number + 1}").classes("text-weight-bold al-num")
            ui.label(f"{east_m:.1f} E, {north_m:.1f} N").classes("col al-num ellipsis")
            for words, value, bounds, name in (
                ("height, m", height_m, GO_HEIGHTS_M, "height_m"),
                ("hold, s", waypoint.hold_s, HOLDS_S, "hold_s"),
            ):
                entry = ui.number(label=words, value=value, min=bounds[0], max=bounds[1])
                entry.props(f'dense outlined data-testid="waypoint-{number + 1}-{name}"').style("width:92px")
                entry.on_value_change(
                    lambda event, name=name, bounds=bounds: self._change(number, name, event.value, bounds)
                )
            remove = ui.button(icon="close", color=None, on_click=lambda: self._fly_state.remove_waypoint(number))
            remove.props(
                f'flat dense round aria-label="remove waypoint {number + 1}" data-testid="waypoint-{number + 1}-remove"'
            )

    def _change(self, number: int, name: str, value: object, bounds: tuple[float, float]) -> None:
        try:
            wanted = checked(value, bounds, name)
        except ValueError:
            return  # partly typed; the old value is kept
        if name == "height_m":
            self._fly_state.change_waypoint(number, height_m=wanted)
        else:
            self._fly_state.change_waypoint(number, hold_s=wanted)

    def _end(self, ending: object) -> None:
        if ending in ENDINGS:
            self._fly_state.ending = ending  # type: ignore[assignment]  # one of the keys

    def _upload(self, aircraft: Any) -> None:
        aircraft.upload_mission(self._items())

    async def _clear(self) -> None:
        self._fly_state.clear_plan()
