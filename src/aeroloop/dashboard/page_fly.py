"""The fly page: commands to the aircraft, a map to point at, its parameters, and sticks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.elements.button import Button

from aeroloop.core.errors import AeroloopError
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page, readings
from aeroloop.dashboard.camera_panel import CameraPanel
from aeroloop.dashboard.fly_commands import (
    GO_HEIGHTS_M,
    TAKEOFF_M,
    checked,
    connected,
    impossible,
    in_air,
    no_aircraft,
    other_commander,
    take_command,
    takeoff_height,
)
from aeroloop.dashboard.fly_page_state import Entry, FlyPageState, state_of
from aeroloop.dashboard.layout import card, chip, every, set_chip, vehicle_picker
from aeroloop.dashboard.map_panel import MapPanel
from aeroloop.dashboard.parameters_panel import ParametersPanel
from aeroloop.dashboard.plan_panel import PlanPanel
from aeroloop.dashboard.stick_panel import StickPanel
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.ground.missions import Item

REFRESH_S = 0.25
MOST_SHOWN = 30
CSS = """
.fly-grid { display:grid; grid-template-columns:minmax(0,1.6fr) minmax(330px,1fr); gap:12px; width:100%;
        align-items:start; }
.fly-grid > .nicegui-column { gap:12px; min-width:0; }
.fly-buttons { display:grid; grid-template-columns:repeat(auto-fit,minmax(88px,1fr)); gap:8px; width:100%; }
.fly-five { grid-template-columns:repeat(5,minmax(0,1fr)); gap:6px; }
.fly-buttons .q-btn { min-height:42px; padding:4px 6px; }
.fly-grid .q-btn.disabled { filter:grayscale(1) opacity(.65); }
.fly-grid .q-btn .on-left { margin-right:6px; }
.fly-log { max-height:260px; overflow-y:auto; width:100%; font-size:13px; line-height:1.5; overflow-wrap:anywhere; }
@media (max-width:899px) {
  .fly-grid { grid-template-columns:minmax(0,1fr); } .fly-grid > .nicegui-column { display:contents; } }
"""


def build(watched: WatchedFlight) -> None:
    scenario = watched.scenario
    own = family_page.of(scenario).fly if scenario is not None else None
    if scenario is None:
        _nothing(watched, watched.flight_id)
    elif own is not None:
        own(watched, scenario)
    else:
        FlyPage(watched, scenario)


def _nothing(watched: WatchedFlight, shown: str) -> None:
    with card():
        ui.label(watched.why_nothing_flies).props('data-testid="no-commands"')
    every(REFRESH_S, lambda: ui.navigate.reload() if watched.flight_id != shown else None)


@dataclass(frozen=True, slots=True)
class Switchable:
    """A button that is disabled while its command is not available, and shows the reason."""

    command: str
    button: Button


class FlyPage:
    """One browser's fly page; the shared state is in `fly_state`."""

    def __init__(self, watched: WatchedFlight, scenario: Scenario) -> None:
        self._watched, self._scenario = watched, scenario
        self._page = family_page.of(scenario)
        self._commands = self._page.commands
        self._earth = self._commands.earth(scenario) if self._commands is not None else None
        self._fly_state: FlyPageState = state_of(watched)
        self._can_command = self._commands is not None and watched.may_command
        self._chosen = 0  # selected aircraft
        self._buttons: list[Switchable] = []
        self._pending: set[str] = set()
        self._shown = -1
        ui.add_css(CSS)
        with ui.element("div").classes("fly-grid"):
            with ui.column():
                self._plan_panel = PlanPanel(self._fly_state, self._items, read_only=not self._can_command)
                self._map()
                if self._can_command:
                    self._plan_panel.build_list(self._button)
            with ui.column():
                self._commands_card()
                CameraPanel(watched).style("order:2")
                if self._page.sticks is not None and watched.may_command:
                    StickPanel(watched, self._fly_state, self._page.sticks, self._vehicle, self.send)
                self._log_card()
        if self._commands is not None:
            ParametersPanel(watched, self._fly_state, self._commands, self._vehicle, self.send)
        elif self._page.no_parameters:
            with card():
                ui.label("Parameters").classes("text-weight-bold")
                ui.label(self._page.no_parameters).classes("al-soft").props('data-testid="param-none"')
        every(REFRESH_S, self._refresh)

    def _vehicle(self) -> int:
        return self._chosen

    def _items(self) -> tuple[Item, ...]:
        """The plan as the selected aircraft's mission."""
        commands, earth = self._commands, self._earth
        if commands is None or earth is None:
            return ()
        start_m = commands.start_m(self._scenario, self._chosen)
        return self._fly_state.items(lambda pos_W: earth.geodetic(pos_W)[:2], start_m)

    def _map(self) -> None:
        with card().style("order:2"):
            self._plan_panel.build_tools()
            self.map = MapPanel(
                self._watched,
                waypoints=lambda: [point.pos_m[:2] for point in self._fly_state.plan],
                target=lambda: self._fly_state.target,
                on_tap=self._plan_panel.tap,
                on_carry=self._plan_panel.carry,
                vehicle=self._vehicle,
                m_per_px=self._page.map_m_per_px,
            )

    def _commands_card(self) -> None:
        with card().style("order:1"):
            with ui.row().classes("items-center w-full gap-2"):
                ui.label("Aircraft").classes("text-weight-bold")
                self._connected = chip(testid="connected")
                self._armed = chip(testid="armed")
                self._mode_chip = chip(testid="mode-now")
                ui.space()
                vehicle_picker(self._watched, self._choose)
            self._numbers = ui.label().classes("al-num al-soft").props('data-testid="numbers"')
            self._why = (
                ui.label()
                .classes("al-soft" if self._commands is None else "al-warn")
                .props('data-testid="no-commands"')
            )
            if self._commands is None or not self._can_command:
                return
            self._command_row()
            with ui.element("div").classes("fly-buttons fly-five"):
                self._button("arm", "Arm", "power_settings_new", lambda aircraft: aircraft.arm()).props("stack")
                self._button("disarm", "Disarm", "power_off", None, press=self._disarm).props("stack")
                self._button("land", "Land", "flight_land", lambda aircraft: aircraft.land()).props("stack")
                self._button("return", "Return", "home", lambda aircraft: aircraft.return_home()).props("stack")
                self._button("hold", "Hold", "pause", lambda aircraft: aircraft.hold()).props("stack")
            with ui.row().classes("items-center w-full no-wrap gap-2"):
                self._height = ui.number(label="height, m", value=TAKEOFF_M, min=0.5, max=80, step=0.5)
                self._height.props('dense outlined data-testid="takeoff-height"').classes("col")
                self._button("takeoff", "Take off", "flight_takeoff", None, press=self._take_off).classes("col")
            with ui.row().classes("items-center w-full no-wrap gap-2"):
                modes = list(self._commands.modes)
                self._mode = ui.select(modes, value="hold" if "hold" in modes else modes[0], label="mode")
                self._mode.props('dense outlined options-dense data-testid="mode"').classes("col")
                self._button("set-mode", "Change mode", "tune", None, press=self._set_mode).classes("col")
            self._button("goto", "Go to the target", "near_me", None, press=self._go_to).classes("w-full")

    def _choose(self, number: int) -> None:
        self._chosen = number

    def _command_row(self) -> None:
        """Only one link has command: others must take it over."""
        self._command = ui.button("Take command", icon="swap_horiz", on_click=self._take_command)
        self._command.props('outline no-caps data-testid="take-command"').classes("w-full")
        self._command.set_visibility(False)

    async def _take_command(self) -> None:
        entry = self._fly_state.begin(self._watched.store.t_s, "take command")
        await self._done(entry, asyncio.to_thread(take_command, self._watched))

    def _button(
        self,
        command: str,
        words: str,
        icon: str,
        action: Callable[[Any], Any] | None,
        *,
        press: Callable[[], Any] | None = None,
    ) -> Button:
        async def pressed() -> None:
            if command in self._pending:
                return
            self._pending.add(command)
            button.props("loading")
            try:
                if press:
                    await press()
                elif action:
                    await self.send(command.replace("-", " "), action)
            finally:
                self._pending.discard(command)
                button.props(remove="loading")

        button = ui.button(words, icon=icon, on_click=pressed).props(f'no-caps data-testid="{command}"')
        self._buttons.append(Switchable(command, button))
        return button

    async def send(self, words: str, action: Callable[[Any], Any]) -> Any:
        """Send a command to the aircraft and record the result; None if it failed."""
        entry = self._fly_state.begin(self._watched.store.t_s, words)
        return await self._done(entry, self._watched.command(action, self._chosen))

    async def _done(self, entry: Entry, action: Any) -> Any:
        try:
            result = await action
        except (AeroloopError, ValueError) as error:
            self._fly_state.finish(entry, str(error), "bad")
            ui.notify(f"{entry.command}: {error}", type="negative", multi_line=True)
            return None
        self._fly_state.finish(entry, "accepted", "ok")
        ui.notify(f"{entry.command}: accepted", type="positive", timeout=1500)
        return True if result is None else result

    def _refuse(self, words: str, error: ValueError) -> None:
        self._fly_state.finish(self._fly_state.begin(self._watched.store.t_s, words), str(error), "bad")
        ui.notify(str(error), type="negative")

    async def _take_off(self) -> None:
        try:
            height_m = takeoff_height(self._height.value)
        except ValueError as error:
            self._refuse("take off", error)
            return
        await self.send(f"take off to {height_m:g} m", lambda aircraft: aircraft.takeoff(height_m))

    async def _set_mode(self) -> None:
        mode = self._mode.value
        if self._commands is not None and mode in self._commands.modes:
            await self.send(f"mode {mode}", lambda aircraft: aircraft.set_mode(mode))

    async def _go_to(self) -> None:
        target, earth = self._fly_state.target, self._earth
        if target is None or earth is None:
            return
        try:
            height_m = checked(self._plan_panel.height.value, GO_HEIGHTS_M, "height in m")
        except ValueError as error:
            self._refuse("go to", error)
            return
        lat_deg, lon_deg, alt_m = earth.geodetic((*target, height_m))
        words = f"go to {target[0]:.1f} m east, {target[1]:.1f} m north, {height_m:g} m up"
        await self.send(words, lambda aircraft: aircraft.go_to(lat_deg, lon_deg, alt_m))

    async def _disarm(self) -> None:
        state = self._watched.state(self._chosen)
        if state is None or not in_air(state):
            await self.send("disarm", lambda aircraft: aircraft.disarm())
        elif await self._sure():
            await self.send("disarm in the air", lambda aircraft: aircraft.disarm(force=True))

    async def _sure(self) -> bool:
        with ui.dialog() as dialog, card().style("max-width:380px"):
            ui.label("Disarm in the air?").classes("text-h6")
            ui.label("The motors stop immediately and the aircraft falls.")
            with ui.row().classes("w-full justify-end"):
                ui.button("Keep flying", on_click=lambda: dialog.submit(False)).props(
                    'no-caps data-testid="keep-flying"'
                )
                ui.button("Stop the motors", color="negative", on_click=lambda: dialog.submit(True)).props(
                    'no-caps data-testid="disarm-anyway"'
                )
        answer = await dialog
        dialog.delete()
        return answer is True

    def _log_card(self) -> None:
        with card().style("order:5"):
            ui.label("Commands").classes("text-weight-bold")
            self._log = ui.column().classes("fly-log gap-0 al-num").props('data-testid="order-log" role=log')

    def _refresh(self) -> None:
        if self._fly_state.flight_id != self._watched.flight_id:
            ui.navigate.reload()  # another flight: other aircraft, other pages
            return
        state = self._watched.state(self._chosen)
        self._show_state(state)
        self._show_buttons(state)
        if self._fly_state.revision != self._shown:
            self._shown = self._fly_state.revision
            self._log.clear()
            with self._log:
                if not self._fly_state.log:
                    ui.label("none yet").classes("al-soft")
                for entry in list(self._fly_state.log)[:MOST_SHOWN]:
                    ui.label(str(entry)).classes(f"al-{entry.severity}" if entry.severity != "info" else "al-soft")
            self._plan_panel.show()

    def _show_state(self, state: Any) -> None:
        watched = self._watched
        none = no_aircraft(watched, state)
        self._why.set_text(none)
        self._why.set_visibility(bool(none))
        if self._commands is None:
            pose = readings.pose(watched.store, self._scenario, self._chosen)
            set_chip(self._connected, "flying" if watched.running else "no flight", "ok" if watched.running else "info")
            set_chip(self._armed, "", "info")
            set_chip(self._mode_chip, "", "info")
            self._numbers.set_text("{:.2f} m E, {:.2f} m N, {:.2f} m up".format(*pose.pos_W) if pose else "")
            return
        there = connected(state)
        set_chip(self._connected, "connected" if there else "not connected", "ok" if there else "warn")
        set_chip(
            self._armed,
            ("armed" if state.armed else "disarmed") if there else "",
            "warn" if there and state.armed else "info",
        )
        set_chip(self._mode_chip, state.mode if there else "", "info")
        self._numbers.set_text(_numbers(state) if there else "")
        if self._can_command:
            self._command.set_visibility(bool(other_commander(watched)))

    def _show_buttons(self, state: Any) -> None:
        none = no_aircraft(self._watched, state)
        other = other_commander(self._watched)
        if other:
            none = none or f"{other} has command: take command first"
        for each in self._buttons:
            why = none or impossible(
                each.command, state, waypoints=len(self._fly_state.plan), target=self._fly_state.target is not None
            )
            if each.command == "plan-clear":
                why = "" if self._fly_state.plan else "there are no waypoints"
            each.button.set_enabled(not why)
            if each.button.props.get("title") != why:
                each.button.props["title"] = why
                each.button.update()


def _tenths(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"  # no minus before a zero


def _numbers(state: Any) -> str:
    """The most important values for a pilot."""
    parts = []
    if state.height_m is not None:
        parts.append(f"{_tenths(state.height_m)} m up")
    if state.ground_speed_m_s is not None:
        parts.append(f"{state.ground_speed_m_s:.1f} m/s")
    if state.climb_m_s is not None:
        parts.append(f"{_tenths(state.climb_m_s)} m/s climb")
    if state.battery_remaining is not None:
        parts.append(f"battery {100 * state.battery_remaining:.0f} %")
    if state.mission_count:
        parts.append(f"mission {state.mission_current} of {state.mission_count}")
    return ", ".join(parts)
