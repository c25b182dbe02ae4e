"""The sticks on a page: two for mouse and touch, keys, or a game pad; and the button that takes control."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.dashboard.family_page import Sticks
from aeroloop.dashboard.fly_page_state import FlyPageState
from aeroloop.dashboard.layout import card, chip, every, set_chip
from aeroloop.dashboard.parameters_panel import Send
from aeroloop.dashboard.watched_flight import WatchedFlight

REFRESH_S = 0.25
FIRST_STICKS_S = 0.3
"""An autopilot enters a stick mode only when it receives stick input."""
FIRST_WORD_S = 2.4
"""A page that has sent no stick position by then does not work."""
SETTLED_S = 3.0
"""An autopilot reports a requested mode within this time."""
CSS = Path(__file__).with_name("hand_sticks.css").read_text(encoding="utf-8")
WORDS = (
    "Released sticks are centred: the aircraft holds its position. Keys: W A S D and the arrows; with shift full "
    "deflection."
)


class HandSticks(Element, component="hand_sticks.js"):
    """Emits `hands`: a device and its four axes."""


class StickPanel:
    def __init__(
        self, watched: WatchedFlight, fly_state: FlyPageState, by: Sticks, vehicle: Callable[[], int], send: Send
    ) -> None:
        self._watched, self._fly_state, self._vehicle, self._send = watched, fly_state, vehicle, send
        self._driver, self._modes = by.driver, by.modes
        self._page = ui.context.client.id
        self._said = fly_state.ended
        self._asked_s = 0.0
        ui.add_css(CSS)
        with card().style("order:4"):
            with ui.row().classes("items-center w-full gap-2"):
                ui.label("Sticks").classes("text-weight-bold")
                self._who = chip("not in use", testid="stick-device")
                ui.space()
                self._mode = ui.select(
                    list(self._modes), value=next(iter(self._modes), None), label="mode", on_change=self._change_mode
                )
                self._mode.props('dense outlined options-dense data-testid="stick-mode"').style("min-width:110px")
                self._mode.set_visibility(bool(self._modes))
                self._take = ui.button("Take the sticks", on_click=self._press).props(
                    'no-caps icon=sports_esports data-testid="stick-take"'
                )
            self._sticks = HandSticks()
            self._sticks.props["taken"] = False
            self._sticks.props["up_label"], self._sticks.props["down_label"] = "up", "down"
            self._sticks.on("hands", self._handle)
            ui.label(f"{WORDS} {by.advice}".rstrip()).classes("al-soft text-caption")
        every(REFRESH_S, self._refresh)

    @property
    def _mine(self) -> bool:
        driver = self._fly_state.driver
        return driver is not None and driver.running and self._fly_state.hands.holder == self._page

    def _handle(self, event: GenericEventArguments) -> None:
        self._fly_state.hands.update(self._page, event.args)

    async def _press(self) -> None:
        self._take.disable()
        try:
            await (self._release() if self._mine else self._begin())
        except AeroloopError as error:
            ui.notify(str(error), type="negative")
            self._fly_state.finish(self._fly_state.begin(self._watched.store.t_s, "take the sticks"), str(error), "bad")
        finally:
            self._take.enable()
            self._refresh()

    async def _begin(self) -> None:
        fly_state = self._fly_state
        if fly_state.driver is not None and fly_state.driver.running and fly_state.hands.holder != self._page:
            raise ConfigError("another page has the sticks; release them there first")
        self._asked_s = time.monotonic()
        self._mode.set_value(self._mode.value or next(iter(self._modes), None))
        fly_state.hands.take(self._page)
        try:
            fly_state.driver = await self._driver(self._watched, fly_state.hands, self._vehicle())
        except AeroloopError:
            fly_state.hands.release(self._page)
            raise
        fly_state.driver.start()
        fly_state.finish(fly_state.begin(self._watched.store.t_s, "take the sticks"), "taken", "ok")
        self._refresh()
        if not self._modes:
            return
        for _ in range(round(FIRST_WORD_S / FIRST_STICKS_S)):
            await asyncio.sleep(FIRST_STICKS_S)
            if fly_state.hands.device:
                await self._ask_mode()
                return
        await asyncio.to_thread(fly_state.driver.stop)
        raise ConfigError("no stick input received from this page; sticks released")

    async def _release(self) -> None:
        fly_state = self._fly_state
        state = self._watched.state(self._vehicle())
        if state is not None and state.armed and state.mode in self._modes:
            # To the autopilot, sticks that stop sending are a failure: so it is commanded to hold first.
            await self._send("hold (sticks released)", lambda aircraft: aircraft.hold())
        if fly_state.driver is not None:
            await asyncio.to_thread(fly_state.driver.stop)
        fly_state.hands.release(self._page)

    async def _change_mode(self) -> None:
        state = self._watched.state(self._vehicle())
        chosen = self._mode.value in self._modes and state is not None and state.mode != self._mode.value
        if chosen and self._mine:
            await self._ask_mode()

    async def _ask_mode(self) -> None:
        mode = self._mode.value
        self._asked_s = time.monotonic()
        if mode in self._modes:
            await self._send(f"mode {mode}", lambda aircraft: aircraft.set_mode(mode))

    def _show_mode(self) -> None:
        """Which sticks fly: these, unless the autopilot has left their mode, as after a failsafe."""
        state = self._watched.state(self._vehicle()) if self._modes else None
        left = state is not None and state.mode not in self._modes and time.monotonic() - self._asked_s > SETTLED_S
        if left and state is not None:
            set_chip(self._who, f"autopilot: {state.mode}", "warn")
            self._mode.set_value(None)  # so that the flight continues with any selected mode
        else:
            set_chip(self._who, self._fly_state.hands.device or "these sticks", "ok")

    def _refresh(self) -> None:
        fly_state = self._fly_state
        fly_state.note_end_of_sticks(self._watched.store.t_s)
        mine = self._mine
        driver = fly_state.driver
        if self._sticks.props.get("taken") != mine:
            self._sticks.props["taken"] = mine
            self._sticks.update()
        self._take.set_text("Release" if mine else "Take the sticks")
        self._take.props("color=negative" if mine else "color=primary")
        if mine:
            self._show_mode()
        elif driver is not None and driver.running:
            set_chip(self._who, "in use by another page", "warn")
        else:
            set_chip(self._who, "not in use", "info")
        if fly_state.ended is not self._said:
            self._said = fly_state.ended
            if fly_state.ended is not None and fly_state.ended.failed:
                ui.notify(f"sticks: {fly_state.ended.ended}", type="negative")
