"""The autopilot's parameters: shown, searched, and changed in flight."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from aeroloop.core.errors import AeroloopError
from aeroloop.core.parameter_numbers import by_number
from aeroloop.dashboard import from_browser
from aeroloop.dashboard.family_page import Commands, Parameter
from aeroloop.dashboard.fly_commands import connected
from aeroloop.dashboard.fly_page_state import FlyPageState
from aeroloop.dashboard.layout import card, chip, every, set_chip
from aeroloop.dashboard.watched_flight import WatchedFlight

REFRESH_S = 0.5
MOST_SHOWN = 40
MOST_ROWS = 250
"""Maximum number of rows: an autopilot may have a thousand; the search finds the others."""
STEP = 1.1
NUDGES = (("−10 %", 1 / STEP, "param-less"), ("+10 %", STEP, "param-more"))
Send = Callable[[str, Callable[[Any], Any]], Awaitable[Any]]
"""Sends a command of that name to the aircraft; None if it was refused, which all pages show."""

BODY = """
<q-tr :props="props" :data-testid="'param-' + props.row.name" @click="$parent.$emit('pick', props.row.name)"
      style="cursor:pointer" :class="props.row.picked ? 'al-picked' : ''">
  <q-td key="name" :props="props">
    <b v-if="props.row.gain" title="a gain of the control law">▸ </b>{{ props.row.name }}</q-td>
  <q-td key="value" :props="props"><b :class="props.row.changed ? 'al-warn' : ''">{{ props.row.value }}</b>
    {{ props.row.unit }}<span v-if="props.row.changed" title="not its default"> ●</span></q-td>
  <q-td key="default" :props="props">{{ props.row.default }}</q-td>
  <q-td key="range" :props="props">{{ props.row.range }}</q-td>
  <q-td key="meaning" :props="props" style="white-space:normal">{{ props.row.meaning }}</q-td>
</q-tr>
"""
CSS = """
.al-picked { background:rgba(31,95,168,.14); }
.al-params td, .al-params th { padding:4px 8px !important; }
@media (max-width:599px) { .al-params td:nth-child(n+3), .al-params th:nth-child(n+3) { display:none; } }
"""


@dataclass(frozen=True, slots=True)
class Change:
    t_s: float
    name: str
    old: float
    new: float

    def __str__(self) -> str:
        return f"{self.t_s:.1f} s {self.name} {self.old:.6g} → {self.new:.6g}"


def problem(row: Parameter | None, value: object) -> str:
    """Why this value cannot be set; empty if it can. The autopilot decides."""
    if from_browser.number(value, -math.inf, math.inf) is None:
        return "expected a number"
    assert isinstance(value, int | float)
    if row is None:
        return "" if abs(value) < 3.4e38 else "expected a number that a float can hold"
    if row.kind == "int" and value != int(value):
        return f"{row.name}: expected a whole number"
    if not row.minimum <= value <= row.maximum:
        return f"{row.name}: expected {row.minimum:g} to {row.maximum:g} {row.unit}".rstrip()
    return ""


def changes(watched: WatchedFlight, known: Mapping[str, Parameter], vehicle: int) -> list[Change]:
    """Changes in flight by any program, newest first."""
    names = by_number(known)
    found = []
    for t_s, _, number, old, new in watched.store.rows("parameter_change", vehicle)[-MOST_SHOWN:].tolist():
        if 0 <= number < len(names):
            found.append(Change(t_s, names[int(number)], old, new))
    return found[::-1]


def table_rows(
    commands: Commands[Any], values: dict[str, float], search: str = "", picked: str = ""
) -> list[dict[str, Any]]:
    """The rows of the table; with a search, every word must be in the name or the meaning."""
    table = commands.parameters()
    names = [name for name in table if name in values] + sorted(set(values) - set(table))
    words = search.lower().split()
    shown = []
    for name in names:
        row, value = table.get(name), values[name]
        if not all(word in f"{name} {row.meaning if row else ''}".lower() for word in words):
            continue
        shown.append(
            {
                "name": name,
                "value": f"{value:.7g}",
                "unit": row.unit if row and row.unit != "-" else "",
                "default": f"{row.default:.7g}" if row else "",
                "range": f"{row.minimum:g} to {row.maximum:g}" if row else "",
                "meaning": row.meaning if row else "",
                "changed": bool(row and not math.isclose(value, row.default, rel_tol=1e-6, abs_tol=1e-9)),
                "gain": name in commands.gains,
                "picked": name == picked,
            }
        )
    return shown


class ParametersPanel:
    """One table for the selected aircraft, and one input row for the selected parameter."""

    def __init__(
        self,
        watched: WatchedFlight,
        fly_state: FlyPageState,
        commands: Commands[Any],
        vehicle: Callable[[], int],
        send: Send,
    ) -> None:
        self._watched, self._fly_state, self._vehicle, self._send = watched, fly_state, vehicle, send
        self._commands, self._known = commands, commands.parameters()
        self._picked = ""
        self._seen: tuple[object, ...] = ()
        self._applied_s: dict[int, float] = {}
        self._loading = False
        ui.add_css(CSS)
        with card():
            with ui.row().classes("items-center w-full"):
                ui.label("Parameters").classes("text-weight-bold")
                self._count = chip()
                ui.space()
                self._reload = ui.button("Read again", icon="refresh", color=None, on_click=self._load).props(
                    'flat dense no-caps data-testid="param-load"'
                )
                self._reload.set_visibility(watched.may_command)
            if watched.may_command:
                self._editor()
            self._search = ui.input(placeholder="search by name or meaning", on_change=self._show).props(
                'dense outlined clearable data-testid="param-search"'
            )
            self._search.classes("w-full")
            columns = [
                {"name": name, "label": label, "field": name, "align": align}
                for name, label, align in (
                    ("name", "name", "left"),
                    ("value", "value", "left"),
                    ("default", "default", "left"),
                    ("range", "range", "left"),
                    ("meaning", "meaning", "left"),
                )
            ]
            self._table = ui.table(rows=[], columns=columns, row_key="name", pagination={"rowsPerPage": 0})
            self._table.props("dense flat hide-pagination").classes("w-full al-params")
            self._table.style("max-height:420px; background:transparent")
            self._table.add_slot("body", BODY)
            self._table.on("pick", self._pick)
            ui.label("Changed in this flight").classes("al-soft text-caption")
            self._log = ui.column().classes("gap-0 w-full al-num").props('data-testid="param-log"')
        every(REFRESH_S, self._refresh)

    def _editor(self) -> None:
        with ui.column().classes("w-full gap-1") as self._edit:
            self._title = ui.label().classes("al-num").style("overflow-wrap:anywhere")
            with ui.row().classes("items-center w-full gap-2"):
                self._value = ui.number(label="new value", step=0.01).props('dense outlined data-testid="param-value"')
                self._value.classes("col").on("keydown.enter", self._set)
                for words, factor, test_id in NUDGES:
                    ui.button(words, color=None, on_click=lambda factor=factor: self._nudge(factor)).props(
                        f'outline dense no-caps data-testid="{test_id}"'
                    )
                ui.button("Default", color=None, on_click=self._default).props(
                    'outline dense no-caps data-testid="param-default"'
                )
                ui.button("Set", icon="check", on_click=self._set).props('no-caps data-testid="param-set"')
            self._trouble = ui.label().classes("al-bad text-caption")
        self._edit.set_visibility(False)

    @property
    def _values(self) -> dict[str, float]:
        return self._fly_state.parameters.get(self._vehicle(), {})

    def _refresh(self) -> None:
        vehicle = self._vehicle()
        state = self._watched.state(vehicle)
        unread = connected(state) and vehicle not in self._fly_state.parameters
        if unread and not self._loading and self._watched.may_command:
            self._loading = True
            ui.timer(0, self._load, once=True)
        self._hear_changes(vehicle)
        newest = (
            vehicle,
            len(self._values),
            self._fly_state.revision,
            len(self._watched.store.rows("parameter_change", vehicle)),
        )
        if newest != self._seen:
            self._seen = newest
            self._show()

    def _hear_changes(self, vehicle: int) -> None:
        """Other programs change parameters too."""
        for change in reversed(changes(self._watched, self._known, vehicle)):
            if change.t_s > self._applied_s.get(vehicle, -1.0) and vehicle in self._fly_state.parameters:
                self._applied_s[vehicle] = change.t_s
                self._fly_state.parameters[vehicle][change.name] = change.new

    def _show(self) -> None:
        values = self._values
        words = from_browser.words(self._search.value, 80)
        self._table.rows = table_rows(self._commands, values, words, self._picked)[:MOST_ROWS]
        self._table.update()
        changed = sum(row["changed"] for row in table_rows(self._commands, values))
        said = f"{len(values)}, {changed} not at default" if values else "not read yet"
        set_chip(self._count, said, "info")
        if self._watched.may_command:
            self._show_editor(values)
        self._log.clear()
        with self._log:
            for change in changes(self._watched, self._known, self._vehicle())[:12]:
                ui.label(str(change))

    def _show_editor(self, values: dict[str, float]) -> None:
        row = self._known.get(self._picked)
        self._edit.set_visibility(self._picked in values)
        if self._picked in values:
            unit = f" {row.unit}" if row and row.unit != "-" else ""
            told = f": {row.meaning}; {row.minimum:g} to {row.maximum:g}{unit}, default {row.default:g}" if row else ""
            self._title.set_text(f"{self._picked} is {values[self._picked]:.7g}{unit}{told}")

    def _pick(self, event: GenericEventArguments) -> None:
        name = from_browser.words(event.args, 16)
        if name in self._values and self._watched.may_command:
            self._picked = name
            self._value.set_value(self._values[name])
            self._trouble.set_text("")
            self._show()

    def _nudge(self, factor: float) -> None:
        now = from_browser.number(self._value.value, -1e30, 1e30)
        row = self._known.get(self._picked)
        if now is None:
            return
        value = now * factor
        if row:
            value = min(max(value, row.minimum), row.maximum)
            if row.kind == "int":
                value = min(max(now + math.copysign(1.0, factor - 1.0), row.minimum), row.maximum)
        self._value.set_value(float(f"{value:.4g}"))

    def _default(self) -> None:
        row = self._known.get(self._picked)
        if row:
            self._value.set_value(row.default)

    async def _load(self) -> None:
        vehicle = self._vehicle()
        self._loading = True
        self._reload.props("loading")
        try:
            values = await self._watched.command(_read_all, vehicle)
            self._fly_state.parameters[vehicle] = values
        except AeroloopError as error:
            if self._watched.running:  # at the end of a flight the link closes, and parameters are not waited for
                ui.notify(f"{error}", type="negative")
        finally:
            self._loading = False
            self._reload.props(remove="loading")
        self._show()

    async def _set(self) -> None:
        name, value, vehicle = self._picked, self._value.value, self._vehicle()
        trouble = problem(self._known.get(name), value)
        self._trouble.set_text(trouble)
        if trouble or name not in self._values:
            return
        stands = await self._send(f"set {name} to {value:g}", lambda aircraft: _set_and_read(aircraft, name, value))
        if stands is not None:
            self._fly_state.parameters[vehicle][name] = stands
            self._value.set_value(stands)
        self._fly_state.touched()
        self._show()


def _read_all(aircraft: Any) -> dict[str, float]:
    return {name: float(value) for name, value in aircraft.parameters().items()}


def _set_and_read(aircraft: Any, name: str, value: float) -> float:
    """The resulting value."""
    return float(aircraft.set_parameter(name, value))
