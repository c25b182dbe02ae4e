"""The control bar of the simulation in the header of every page: pause, step, speed, restart."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

from nicegui import ui

from aeroloop.core.errors import AeroloopError
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.flight.flight_control import FlightControl
from aeroloop.realtime.flight_clock import ClockState

SPEEDS = {"0.01": "0.01x", "0.1": "0.1x", "0.25": "0.25x", "0.5": "0.5x", "1": "1x", "2": "2x", "4": "4x"}
FASTEST = "max"
STEPS = (1, 10, 100)


def speed_key(state: ClockState) -> str:
    """The option that stands for a speed; any other speed gets its own."""
    return FASTEST if state.speed == math.inf else f"{state.speed:g}"


def paused_words(state: ClockState | None) -> str:
    """For the chip; empty while time goes on at its usual speed."""
    if state is None:
        return ""
    if state.paused:
        return "paused"
    return "" if state.speed in (1.0, math.inf) else f"{state.speed:g}x"


def simulation_bar(watched: WatchedFlight) -> Callable[[], None]:
    """Greyed out for viewers and without a flight; returns the function that shows the present state."""
    return _Bar(watched).refresh


class _Bar:
    def __init__(self, watched: WatchedFlight) -> None:
        self._watched = watched
        self._shown: str | None = None  # speed that the selection was set to by the program
        with ui.row().classes("items-center gap-1 no-wrap").props('role=group aria-label="simulation"'):
            self._pause = self._button("pause", "sim-pause", "pause or resume", self._toggle)
            self._step = self._button("skip_next", "sim-step", "one step of the simulation", lambda: self._steps(1))
            with self._step:
                ui.tooltip("one step; with the arrow beside it more")
            self._more = self._button("arrow_drop_down", "sim-steps", "several steps", lambda: None)
            self._more.classes("al-wide")
            with self._more, ui.menu():
                for count in STEPS[1:]:
                    ui.menu_item(f"{count} steps", lambda count=count: self._steps(count)).props(
                        f'data-testid="sim-step-{count}"'
                    )
            self._speed = ui.select({**SPEEDS, FASTEST: FASTEST}, on_change=lambda event: self._choose(event.value))
            self._speed.props('dense outlined options-dense data-testid="sim-speed" aria-label="speed"')
            self._speed.style("min-width:5em")
            self._restart = self._button("restart_alt", "sim-restart", "restart", self._ask_restart)
        self._dialog = self._restart_dialog()
        self.refresh()

    def _button(self, icon: str, testid: str, label: str, action: Callable[[], Any]) -> ui.button:
        button = ui.button(icon=icon, on_click=action)
        return button.props(f'flat dense round color=inherit data-testid="{testid}" aria-label="{label}"')

    def _restart_dialog(self) -> ui.dialog:
        with ui.dialog() as dialog, ui.card().classes("al-card").style("max-width:380px"):
            ui.label("Restart this flight?").classes("text-weight-bold")
            ui.label("It ends now, and the same plan is flown again from its start, into another folder.")
            with ui.row():
                yes = ui.button("Restart", on_click=self._do_restart)
                yes.props('color=negative data-testid="sim-restart-yes"')
                ui.button("Cancel", on_click=dialog.close).props("flat")
        return dialog

    def _ask_restart(self) -> None:
        self._dialog.open()

    async def _do_restart(self) -> None:
        self._dialog.close()
        await self._do(FlightControl.restart)

    async def _toggle(self) -> None:
        state = self._watched.clock
        await self._do(FlightControl.resume if state is not None and state.paused else FlightControl.pause)

    async def _steps(self, count: int) -> None:
        await self._do(lambda control: control.step(count))

    async def _choose(self, wanted: object) -> None:
        if not isinstance(wanted, str) or wanted == self._shown:
            return
        self._shown = wanted
        if not await self._do(lambda control: control.set_speed(wanted)):
            self._shown = None

    async def _do(self, action: Callable[[FlightControl], Any]) -> bool:
        """In a thread: a flight that waits for its controller stops later."""
        try:
            control = self._watched.control()
            await asyncio.to_thread(action, control)
        except AeroloopError as error:
            ui.notify(str(error), type="negative", multi_line=True)
            return False
        self.refresh()
        return True

    def refresh(self) -> None:
        watched, state = self._watched, self._watched.clock
        able = watched.running and watched.may_command and state is not None
        paused = state is not None and state.paused
        self._pause.props(f"icon={'play_arrow' if paused else 'pause'}")
        for element in (self._pause, self._step, self._more, self._speed, self._restart):
            element.set_enabled(able)
        if state is None or speed_key(state) == self._speed.value:
            return
        key = self._shown = speed_key(state)
        self._speed.set_options({**SPEEDS, key: SPEEDS.get(key, f"{key}x"), FASTEST: FASTEST}, value=key)
