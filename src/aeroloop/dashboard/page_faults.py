"""The fault page: switches faults of sensors, actuators and links on and off in flight, and changes wind, mass and
battery."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from nicegui import ui

from aeroloop.core.errors import AeroloopError
from aeroloop.core.fault_offers import Offer, offers, words
from aeroloop.core.faults import (
    ACTUATOR_TARGETS,
    BOARD_TARGETS,
    CAMERA,
    CHANNELLED,
    LARGEST,
    LINE_TARGETS,
    RANGES,
    RANGES_OF_THREE,
    ROBOT_TARGETS,
)
from aeroloop.core.stream import KEYS
from aeroloop.dashboard import from_browser, readings
from aeroloop.dashboard.changes_panel import ChangesPanel
from aeroloop.dashboard.layout import card, chip, every, set_chip, vehicle_picker
from aeroloop.dashboard.watched_flight import Fault, WatchedFlight
from aeroloop.flight.process_table import roles

REFRESH_S = 0.25
PATIENCE_S = 2.0
"""A plant confirms a switch faster than this; afterwards the switch shows the actual state."""
MOST_SHOWN = 40
NO_FAULTS = "This aircraft has no faults that can be switched in flight."
ICONS = {
    **dict.fromkeys(LINE_TARGETS, "cable"),
    "rotor": "air",
    "servo": "settings_input_component",
    "battery": "battery_alert",
    "joint": "precision_manufacturing",
    "platform": "scale",
    "camera": "photo_camera",
    "pad": "crop_free",
    **dict.fromkeys(BOARD_TARGETS, "developer_board"),
}
CSS = """
.fault-grid { display:grid; grid-template-columns:repeat(auto-fill,minmax(340px,1fr)); gap:12px; width:100%;
        align-items:start; }
.fault-row { width:100%; display:grid; grid-template-columns:minmax(0,1fr) 96px 44px; align-items:center; gap:8px;
        padding:2px 4px; }
.fault-row .q-toggle { justify-self:end; }
.fault-row .q-slider { grid-column:1 / -1; padding:0 8px; }
.fault-row--on { background:rgba(179,38,30,.12); border-radius:6px; }
.fault-log { max-height:260px; overflow-y:auto; width:100%; font-size:13px; }
@media (max-width:599px) { .fault-grid { grid-template-columns:minmax(0,1fr); gap:6px; } }
"""


@dataclass(frozen=True, slots=True)
class Amount:
    """How a fault's value is shown and typed."""

    unit: str
    scale: float  # displayed number per unit of the fault
    low: float
    high: float
    step: float

    def value(self, typed: object) -> float | None:
        """In the fault's own unit; None if it is not a number in range."""
        shown = from_browser.number(typed, self.low, self.high)
        return None if shown is None else shown / self.scale


def amount(offer: Offer) -> Amount | None:
    """None for a fault without a value."""
    match offer.kind:
        case "silent" | "frozen" | "no_fix" | "dead" | "stuck" | "dark" | "hide" | "cover":
            return None
        case "hang" | "reset" | "babbling" | "nan" | "unaligned" | "wrong_image":
            return None
        case "delay_s" | "jitter_s" | "slow":
            return Amount("ms", 1000.0, 0.0, 10_000.0, 1.0)
        case "baud":
            return Amount("Bd", 1.0, 1200.0, 12_000_000.0, 100.0)
        case "sag":
            return Amount("%", 100.0, 0.0, 100.0 * RANGES["sag"][1], 1.0)
        case "loss" | "corrupt" | "duplicate" | "reorder" | "weak" | "effectiveness":
            return Amount("%", 100.0, 0.0, 100.0, 0.1)
        case "noise" | "clipped":
            return Amount(offer.unit, 1.0, 0.0, LARGEST, 0.0)
        case "load_sine" | "payload" | "vibration":  # the first of three numbers; the others are the usual ones
            low, high = next(iter(RANGES_OF_THREE[offer.kind].values()))
            return Amount(offer.unit.partition(",")[0], 1.0, low, high, 0.0)
        case "friction":
            return Amount(offer.unit, 1.0, *RANGES["friction"], 0.0)
        case _:
            return Amount(offer.unit, 1.0, -LARGEST, LARGEST, 0.0)


def element_id(offer: Offer) -> str:
    """`fault-gnss-silent`, `fault-imu-bias-gyro`, `fault-to_board-loss`."""
    return "-".join(("fault", offer.target, offer.kind, *offer.channels))


def keys(known: Iterable[Offer]) -> dict[tuple[str, str, int], Offer]:
    """Each offer by its key in the log: target, kind and the number of the sensor's channel."""
    numbered: dict[tuple[str, str, int], Offer] = {}
    for offer in known:
        number = sum(1 for target, kind, _ in numbered if (target, kind) == (offer.target, offer.kind))
        numbered[offer.target, offer.kind, number] = offer
    return numbered


def log(watched: WatchedFlight) -> list[str]:
    """What was switched and when, newest first."""
    store = watched.store
    several = readings.vehicles(watched.scenario) > 1
    known = offers(watched.scenario) if watched.scenario else ()
    rows = []
    for vehicle in store.vehicles("fault"):
        whose = f"aircraft {vehicle + 1}, " if several else ""
        kept = store.rows("fault", vehicle)[-MOST_SHOWN:].tolist()
        rows += [(row[0], f"{row[0]:.1f} s {whose}{words(row[len(KEYS) :], known)}") for row in kept]
    return [text for _, text in sorted(rows, key=lambda row: row[0], reverse=True)][:MOST_SHOWN]


def build(watched: WatchedFlight) -> None:
    FaultPage(watched)


class FaultPage:
    def __init__(self, watched: WatchedFlight) -> None:
        self._watched = watched
        self._flight = watched.flight_id
        self._vehicle = 0
        self._rows: list[_FaultRow] = []
        self._logged: list[str] | None = None
        known = offers(watched.scenario) if watched.scenario else ()
        self._keys = keys(known)
        ui.add_css(CSS)
        with card(), ui.row().classes("items-center w-full gap-2"):
            ui.label("Faults in flight").classes("text-weight-bold")
            self._count = chip(testid="faults-on")
            ui.space()
            vehicle_picker(self._watched, self._choose)
            self._off = ui.button("All off", icon="healing", on_click=self._all_off)
            self._off.props('no-caps data-testid="faults-off"')
        if not known:
            ui.label(watched.why_nothing_flies or NO_FAULTS).classes("al-soft").props('data-testid="no-faults"')
        self._changes = ChangesPanel(watched, lambda: self._vehicle)
        with ui.element("div").classes("fault-grid"):
            for (target, *_), of_target in groupby(self._keys.items(), key=lambda item: card_of(item[1])):
                self._target_card(target, list(of_target))
        self._process_card()
        with card():
            ui.label("Fault log").classes("text-weight-bold")
            self._log = ui.column().classes("fault-log gap-0 al-num").props('data-testid="fault-log" role=log')
        every(REFRESH_S, self._refresh)

    def _choose(self, number: int) -> None:
        self._vehicle = number
        self._refresh()

    def _target_card(self, target: str, of_target: list[tuple[tuple[str, str, int], Offer]]) -> None:
        name = of_target[0][1].words.partition(":")[0]
        with card().classes("gap-1"):
            with ui.row().classes("items-center gap-2"):
                ui.icon(ICONS.get(target, "sensors")).classes("al-soft")
                ui.label((name[:1].upper() + name[1:]).replace("_", " ")).classes("text-weight-bold")
            for key, offer in of_target:
                self._rows.append(_FaultRow(offer, partial(self._fault, key), self._switch))

    def _process_card(self) -> None:
        """The processes that the flight goes on without: what happens when one dies is part of what is tested."""
        scenario = self._watched.scenario
        dispensable = [role for role in roles(scenario) if not role.vital] if scenario is not None else []
        self._kills: list[ui.button] = []
        if not dispensable:
            return
        with card():
            ui.label("Processes").classes("text-weight-bold")
            for role in dispensable:
                with ui.row().classes("items-center w-full gap-2"):
                    ui.label(f"{role.name}: without it the flight has no {role.without}").classes("col")
                    button = ui.button("Kill", icon="dangerous", on_click=partial(self._kill, role.name))
                    button.props(f'no-caps outline color=negative data-testid="kill-{role.name}"')
                    self._kills.append(button)

    def _kill(self, name: str) -> None:
        try:
            self._watched.kill(name)
        except AeroloopError as error:
            ui.notify(str(error), type="negative", multi_line=True)

    def _fault(self, key: tuple[str, str, int]) -> Fault:
        return Fault(self._vehicle, *key)

    def _switch(self, offer: Offer, on: bool, value: float | None) -> bool:
        try:
            self._watched.switch(offer.switch(on=on, value=value, vehicle=self._vehicle))
        except AeroloopError as error:
            ui.notify(str(error), type="negative", multi_line=True)
            return False
        return True

    def _all_off(self) -> None:
        """Of every aircraft."""
        try:
            for fault in list(self._watched.faults_on):
                offer = self._keys.get((fault.target, fault.kind, fault.channel))
                if offer:
                    self._watched.switch(offer.switch(on=False, vehicle=fault.vehicle))
        except AeroloopError as error:
            ui.notify(str(error), type="negative", multi_line=True)

    def _refresh(self) -> None:
        watched = self._watched
        if watched.flight_id != self._flight:
            ui.navigate.reload()
            return
        on = len(watched.faults_on)
        set_chip(self._count, f"{on} on" if on else "none on", "bad" if on else "ok")
        able = watched.running and watched.may_command
        self._off.set_enabled(bool(on) and able)
        for button in self._kills:
            button.set_enabled(able)
        self._changes.show(able=able)
        for row in self._rows:
            row.show(watched.faults_on, able=able)
        logged = log(watched)
        if logged != self._logged:
            self._logged = logged
            self._log.clear()
            with self._log:
                if not logged:
                    ui.label("none yet").classes("al-soft")
                for text in logged:
                    ui.label(text).classes("al-bad" if text.endswith(" on") else "al-ok")


class _FaultRow:
    """One fault: its description, its value, its switch."""

    def __init__(
        self, offer: Offer, fault: Callable[[], Fault], switch: Callable[[Offer, bool, float | None], bool]
    ) -> None:
        self._offer, self._fault, self._send = offer, fault, switch
        self._amount = amount(offer)
        self._asked_s = -PATIENCE_S
        self._asked: bool | None = None
        with ui.element("div").classes("fault-row") as self._row:
            with ui.element("div"):
                ui.label(title(offer))
                if caption(offer):
                    ui.label(caption(offer)).classes("al-soft text-caption")
            self._value = self._value_entry()
            self._switch = ui.switch(on_change=lambda event: self._turn(event.value))
            self._switch.props(f'dense color=negative data-testid="{element_id(offer)}" aria-label="{offer.words}"')
            if self._amount is not None and self._amount.unit == "%":
                self._slider(self._amount)

    def _slider(self, amount: Amount) -> None:
        """Beside the number, for touch screens."""
        slider = ui.slider(min=amount.low, max=amount.high, step=amount.step)
        slider.props(f'dense color=negative data-testid="{element_id(self._offer)}-slider" ')
        slider.props(f'aria-label="{self._offer.words}, in percent"')
        slider.on_value_change(lambda event: self._value.set_value(event.value))
        self._value.on_value_change(lambda event: self._follow(slider, amount, event.value))
        self._follow(slider, amount, self._value.value)
        slider.on("change", self._again)

    def _follow(self, slider: ui.slider, amount: Amount, typed: object) -> None:
        shown = from_browser.number(typed, amount.low, amount.high)
        if shown is not None:  # otherwise it is partly typed
            slider.set_value(shown)

    def _value_entry(self) -> Any:
        if self._amount is None:
            return ui.label("")
        entry = ui.number(value=float(f"{self._offer.value * self._amount.scale:.6g}"), label=self._amount.unit)
        entry.props(f'dense outlined data-testid="{element_id(self._offer)}-value"')
        if self._amount.step:
            entry.props(f"step={self._amount.step}")
        return entry.on("change", self._again)

    def _again(self) -> None:
        """A new value for an active fault applies at once."""
        if self._switch.value:
            self._turn(True)

    def _turn(self, on: object) -> None:
        if on is self._asked:
            return  # the switch was moved by the program
        value = self._amount.value(self._value.value) if self._amount and on else None
        if on and self._amount and value is None:
            ui.notify(
                f"{self._offer.words}: expected {self._amount.low:g} to {self._amount.high:g} {self._amount.unit}",
                type="negative",
            )
            self._set(False)
            return
        if self._send(self._offer, bool(on), value):
            self._asked, self._asked_s = bool(on), time.monotonic()
        else:
            self._set(not on)

    def show(self, faults_on: dict[Fault, Any], *, able: bool) -> None:
        on = self._fault() in faults_on
        waiting = time.monotonic() - self._asked_s < PATIENCE_S
        if self._asked is not None and on == self._asked:
            self._asked = None
        elif not waiting or self._asked is None:
            self._set(on)
        self._switch.set_enabled(able)
        self._row.classes(add="fault-row--on") if on else self._row.classes(remove="fault-row--on")

    def _set(self, on: bool) -> None:
        """Show the state, without sending a request."""
        if self._switch.value != on:
            self._asked = on
            self._switch.set_value(on)
        self._asked = None


def card_of(offer: Offer) -> tuple[str, ...]:
    """The group of a fault: a sensor, a direction of the link, or one actuator or joint."""
    separate = offer.target in (*ACTUATOR_TARGETS, *ROBOT_TARGETS, CAMERA)
    return (offer.target, *offer.channels) if separate else (offer.target,)


def title(offer: Offer) -> str:
    """Its short name; the group has the target's name."""
    return (
        offer.words.partition(": ")[2] if offer.kind in CHANNELLED else offer.kind.removesuffix("_s").replace("_", " ")
    )


def caption(offer: Offer) -> str:
    return "" if offer.kind in CHANNELLED else offer.words.partition(": ")[2]
