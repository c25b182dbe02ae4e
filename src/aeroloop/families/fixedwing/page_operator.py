"""The operator's console on the fly page: a goal by a click on the map, user commands, and parameters of the board.

Values are those that the board reported, never those that the page sent: "–" until it has reported one.
"""

from __future__ import annotations

import html
import math

from nicegui import ui

from aeroloop.core.errors import AeroloopError
from aeroloop.core.operator import COMMANDS, Console, OperatorCommand, ParameterSpec
from aeroloop.core.wing_signals import UserAnswer, UserCommand
from aeroloop.dashboard.layout import card, chip, set_chip
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.families.fixedwing.operating import console
from aeroloop.families.fixedwing.page_path import Place
from aeroloop.families.fixedwing.scenario import FixedWingScenario

MOST_SHOWN = 8
"""Commands in the table."""
TAP = "Click on the map to choose a goal."
BUTTONS = (
    ("loiter", "Loiter here", "radio_button_unchecked"),
    ("resume", "Resume", "play_arrow"),
    ("return", "Return to start", "undo"),
    ("read", "Read parameters", "refresh"),
)
CSS = """
.op-table { width:100%; border-collapse:collapse; font-size:13px; font-variant-numeric:tabular-nums; }
.op-table th { color:var(--al-soft); font-weight:500; text-align:right; padding:2px 6px; }
.op-table td { text-align:right; padding:3px 6px; border-top:1px solid var(--al-line); white-space:nowrap; }
.op-table :is(th,td):first-child, .op-table .op-words { text-align:left; }
.op-table .op-words { white-space:normal; }
@media (max-width:599px) { .op-table :is(th,td) { padding:2px 3px; white-space:normal; overflow-wrap:anywhere; }
        .op-table :is(th,td):nth-child(-n+2) { white-space:nowrap; overflow-wrap:normal; }
        .op-table .op-wide { display:none; } }
"""


class OperatorPanel:
    """Buttons, parameters and answers; the map asks it for the chosen goal."""

    def __init__(self, watched: WatchedFlight, scenario: FixedWingScenario) -> None:
        self._watched, self._console = watched, console(scenario)
        self.goal_m: Place | None = None
        ui.add_css(CSS)
        with card().props('data-testid="operator"'):
            with ui.row().classes("items-center gap-2"):
                ui.label("Operator").classes("text-weight-bold")
                self._last = chip(testid="op-last")
            if watched.may_command:
                self._commands()
            self._values = ui.html(parameters_table(watched.store, self._console), sanitize=False).classes("w-full")
            self._values.props('data-testid="op-parameters"')
            if watched.may_command:
                self._editor()
            self._log = ui.html("", sanitize=False).classes("w-full").props('data-testid="op-commands"')
        self.refresh()

    def tap(self, east_m: float, north_m: float) -> None:
        if self._watched.may_command:
            self.goal_m = (round(east_m, 1), round(north_m, 1))
            self._show_goal()

    def _commands(self) -> None:
        with ui.row().classes("items-center gap-2"):
            self._where = ui.label(TAP).classes("al-soft").props('data-testid="op-goal"')
            self._go = ui.button("Fly there", icon="flag", on_click=self._fly_there)
            self._go.props('no-caps dense data-testid="op-fly-there"')
        self._buttons = [self._go]
        with ui.row().classes("gap-2"):
            for command, words, icon in BUTTONS:
                button = ui.button(words, icon=icon, on_click=lambda _, command=command: self._send(command))
                button.props(f'no-caps dense outline data-testid="op-{command}"')
                self._buttons.append(button)

    def _editor(self) -> None:
        with ui.row().classes("items-center gap-2"):
            names = {number: spec.name for number, spec in enumerate(self._console.parameters)}
            self._name = ui.select(names, value=0, on_change=self._picked)
            self._name.props('dense outlined options-dense data-testid="op-name" aria-label="parameter"')
            self._value = ui.number(value=self._console.parameters[0].default, format="%.6g").classes("w-28")
            self._value.props('dense outlined data-testid="op-value" aria-label="value"')
            button = ui.button("Set", on_click=self._set).props('no-caps dense data-testid="op-set"')
            self._buttons.append(button)

    def _picked(self) -> None:
        """Begin with the value that the board has."""
        number = self._name.value
        if isinstance(number, int) and 0 <= number < len(self._console.parameters):
            known = values(self._watched.store)
            self._value.set_value(known.get(number, self._console.parameters[number].default))

    def _set(self) -> None:
        number, value = self._name.value, self._value.value
        if not isinstance(number, int) or not 0 <= number < len(self._console.parameters):
            return
        if not isinstance(value, int | float) or not math.isfinite(value):
            ui.notify("expected a number", type="negative")
            return
        self._send("set", parameter=self._console.parameters[number].name, value=float(value))

    def _fly_there(self) -> None:
        if self.goal_m is not None and self._send("goal", position_m=self.goal_m):
            self.goal_m = None
            self._show_goal()

    def _send(self, command: str, **more: object) -> bool:
        try:
            self._watched.operate(OperatorCommand(command=command, **more))  # type: ignore[arg-type]
        except (AeroloopError, ValueError) as error:
            ui.notify(str(error), type="negative", multi_line=True)
            return False
        return True

    def _show_goal(self) -> None:
        self._where.set_text(TAP if self.goal_m is None else f"goal {self.goal_m[0]:.0f}, {self.goal_m[1]:.0f} m")

    def refresh(self) -> None:
        watched = self._watched
        if watched.may_command:
            for button in self._buttons:
                button.set_enabled(watched.running)
            self._go.set_visibility(self.goal_m is not None)
        set_chip(self._last, *newest(watched.store, self._console))
        for shown, now in (
            (self._values, parameters_table(watched.store, self._console)),
            (self._log, commands_table(watched.store, self._console)),
        ):
            if shown.content != now:
                shown.set_content(now)


def values(store: Store) -> dict[int, float]:
    """By number, as the board reported them."""
    rows = store.newest("parameter", ("parameter",))
    return {int(row["parameter"]): row["value"] for row in rows if math.isfinite(row["parameter"])}


def parameters_table(store: Store, known: Console) -> str:
    """Our own names and words, and numbers: safe as markup."""
    told = values(store)
    rows = "".join(_parameter(spec, told.get(number, math.nan)) for number, spec in enumerate(known.parameters))
    heads = '<th>parameter</th><th>on the board</th><th class="op-wide">default</th><th>limits</th>'
    return f'<table class="op-table"><thead><tr>{heads}</tr></thead>{rows}</table>'


def _parameter(spec: ParameterSpec, value: float) -> str:
    changed = math.isfinite(value) and not math.isclose(value, spec.default, rel_tol=1e-6)
    kind = ' class="al-warn"' if changed else ""
    unit = f" {html.escape(spec.unit)}" if spec.unit != "-" else ""
    return (
        f'<tr data-testid="op-{spec.name}" title="{html.escape(spec.meaning)}"><td>{html.escape(spec.name)}</td>'
        f'<td{kind}><b>{_number(value)}</b>{unit}</td><td class="op-wide">{_number(spec.default)}</td>'
        f"<td>{_number(spec.low)} … {_number(spec.high)}</td></tr>"
    )


def commands(store: Store, known: Console) -> list[tuple[str, str, str, float, str]]:
    """The newest commands first: time, command, value, answer's number (NaN: none yet), latency."""
    names = store.names("user_answer")
    answers = [dict(zip(names, row, strict=True)) for row in store.rows("user_answer").tolist()] if names else []
    sent = store.names("user_command")
    shown = []
    for row in reversed(store.rows("user_command").tolist() if sent else []):
        told = dict(zip(sent, row, strict=True))
        answer = next((a for a in answers if a["number"] == told["number"] and a["t_s"] >= told["t_s"]), None)
        number = told["command"]
        name = COMMANDS[int(number) - 1] if number in set(UserCommand) else "?"
        how = answer["answer"] if answer else math.nan
        latency = f"{answer['latency_s']:.2f} s" if answer else "–"
        shown.append((f"{told['t_s']:.1f} s", name, _value(told, known), how, latency))
        if len(shown) == MOST_SHOWN:
            break
    return shown


def _value(told: dict[str, float], known: Console) -> str:
    if told["command"] == UserCommand.GOAL:
        return f"{told['x']:.0f}, {told['y']:.0f}"
    if told["command"] == UserCommand.SET and told["parameter"] in range(len(known.parameters)):
        return f"{known.parameters[int(told['parameter'])].name} = {_number(told['x'])}"
    return ""


def words(answer: float, known: Console) -> str:
    if math.isnan(answer):
        return "waiting"
    return known.answers[int(answer)] if answer in range(len(known.answers)) else "?"


def newest(store: Store, known: Console) -> tuple[str, Severity]:
    """The newest command and its answer, for a chip."""
    shown = commands(store, known)
    if not shown:
        return "", "info"
    _, name, value, answer, _ = shown[0]
    severity: Severity = "ok" if answer == UserAnswer.ACCEPTED else "info" if math.isnan(answer) else "bad"
    return f"{name} {value}".strip() + f": {words(answer, known)}", severity


def commands_table(store: Store, known: Console) -> str:
    shown = commands(store, known)
    if not shown:
        return '<span class="al-soft">No user command yet.</span>'
    heads = (
        "<th>sent</th><th>command</th><th>value</th><th class='op-wide'>latency</th><th class='op-words'>answer</th>"
    )
    rows = "".join(
        f"<tr><td>{at}</td><td>{name}</td><td>{html.escape(value)}</td><td class='op-wide'>{latency}</td>"
        f"<td class='op-words {_kind(answer)}'>{html.escape(words(answer, known))}</td></tr>"
        for at, name, value, answer, latency in shown
    )
    return f'<table class="op-table"><thead><tr>{heads}</tr></thead>{rows}</table>'


def _kind(answer: float) -> str:
    return "al-ok" if answer == UserAnswer.ACCEPTED else "al-soft" if math.isnan(answer) else "al-bad"


def _number(value: float) -> str:
    return "–" if not math.isfinite(value) else f"{value:.4g}"
