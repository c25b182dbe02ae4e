"""`aeroloop cmd board`: one user command to the board of a running flight, and its answer."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Callable
from typing import Annotated, NamedTuple, TypeVar

import typer

from aeroloop.core.errors import ConfigError
from aeroloop.core.operator import COMMANDS, Console, OperatorCommand
from aeroloop.core.tables import made
from aeroloop.flight import running
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.ground.commands.errors import NoAnswerError, RefusedError
from aeroloop.realtime.controls import Controls
from aeroloop.realtime.feed import FeedIn

app = typer.Typer(
    help="User commands to the board of a running flight, such as a fixed wing's: goal, loiter, return, parameters.",
    epilog="Exit codes: 0 accepted, 1 the board refused, 2 bad usage, 3 no answer.",
    no_args_is_help=True,
)
WAIT_S = 0.1
STREAMS = ("user_command", "user_answer", "parameter")
T = TypeVar("T")
NEGATIVE = {"ignore_unknown_options": True}  # -1200 is a place, not an option

Flight = Annotated[str, typer.Option("--flight", metavar="ID", help="Which flight, if several are running.")]
Part = Annotated[str, typer.Option("--aircraft", metavar="NAME", help="Which aircraft of a fleet.")]
Timeout = Annotated[float, typer.Option(metavar="S", min=0.1, max=600, help="Timeout for the answer, in seconds.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


class Answer(NamedTuple):
    """The board's answer to a command, with what is in force now."""

    t_s: float
    answer: int
    x: float
    y: float
    latency_s: float
    values: dict[int, float]  # parameters that the board reported with it


@app.command(context_settings=NEGATIVE, epilog="Example: `aeroloop cmd board goal 1200 -3400`")
def goal(
    east: Annotated[float, typer.Argument(metavar="EAST", help="In m from the middle of the map.")],
    north: Annotated[float, typer.Argument(metavar="NORTH", help="In m from the middle of the map.")],
    flight: Flight = "",
    aircraft: Part = "",
    timeout: Timeout = 10.0,
) -> None:
    """Fly to a new goal; the board checks that it can be reached."""
    _told(OperatorCommand(command="goal", position_m=(east, north)), flight, aircraft, timeout, "new goal")


@app.command()
def loiter(flight: Flight = "", aircraft: Part = "", timeout: Timeout = 10.0) -> None:
    """Fly a circle here, until another command."""
    _told(OperatorCommand(command="loiter"), flight, aircraft, timeout, "loiters")


@app.command("return")
def return_to_start(flight: Flight = "", aircraft: Part = "", timeout: Timeout = 10.0) -> None:
    """Fly back to the start."""
    _told(OperatorCommand(command="return"), flight, aircraft, timeout, "returns to the start")


@app.command()
def resume(flight: Flight = "", aircraft: Part = "", timeout: Timeout = 10.0) -> None:
    """Fly on to the goal, after `loiter`."""
    _told(OperatorCommand(command="resume"), flight, aircraft, timeout, "flies on to its goal")


@app.command("set", context_settings=NEGATIVE, epilog="Example: `aeroloop cmd board set airspeed_m_s 21`")
def set_parameter(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    value: Annotated[float, typer.Argument(metavar="VALUE")],
    flight: Flight = "",
    aircraft: Part = "",
    timeout: Timeout = 10.0,
) -> None:
    """Change a parameter, and print the value that the board applied."""
    answer = _told(_order(command="set", parameter=name, value=value), flight, aircraft, timeout)
    typer.echo(f"{name} {answer.x:g}")


@app.command()
def read(as_json: Json = False, flight: Flight = "", aircraft: Part = "", timeout: Timeout = 10.0) -> None:
    """Print all parameters: their values on the board, units, defaults and limits."""
    console = _console(_launch(flight, aircraft))
    values = _told(OperatorCommand(command="read"), flight, aircraft, timeout).values
    if as_json:
        typer.echo(json.dumps({spec.name: values.get(number) for number, spec in enumerate(console.parameters)}))
        return
    for number, spec in enumerate(console.parameters):
        value = f"{values[number]:g}" if number in values else "-"
        limits = f"{spec.low:.4g} to {spec.high:.4g}"
        typer.echo(f"{spec.name:16} {value:>9} {spec.unit:5} default {spec.default:.4g}, {limits}: {spec.meaning}")


def _order(**fields: object) -> OperatorCommand:
    """A value on the command line may be one that no command can have."""
    try:
        return OperatorCommand(**fields)  # type: ignore[arg-type]
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _launch(flight: str, aircraft: str) -> LaunchSettings:
    """The part of the running flight that takes user commands; of several the named one, or the first."""
    chosen = running.chosen(flight)
    parts = [each for each in running.flights() if each.supervisor_pid == chosen.supervisor_pid]
    names = [each.prefix.rstrip("/") for each in parts]
    if aircraft and aircraft not in names:
        raise ConfigError(
            f"--aircraft {aircraft}: not in this flight; expected one of: {', '.join(filter(None, names))}"
        )
    able = [each for each, name in zip(parts, names, strict=True) if not aircraft or name == aircraft]
    found = next((each for each in able if each.scenario.family.operator), None)
    if found is None:
        raise ConfigError("this aircraft's board takes no user commands")
    return found


def _console(launch: LaunchSettings) -> Console:
    found: Console = made(launch.scenario.family.operator, launch.scenario)
    return found


def _told(order: OperatorCommand, flight: str, aircraft: str, timeout_s: float, words: str = "") -> Answer:
    """Send, wait for the answer and print it; a refusal is an error with its reason."""
    launch = _launch(flight, aircraft)
    console = _console(launch)
    console.check(order)
    answer = _CommandLink(launch, console).ask(order, timeout_s)
    if answer.answer == console.silent:
        raise NoAnswerError(f"{order.command}: {console.answers[answer.answer]}")
    if answer.answer:
        raise RefusedError(f"{order.command}: {console.answers[answer.answer]}")
    if words:
        typer.echo(f"{words} ({answer.t_s:.2f} s)")
    return answer


class _CommandLink:
    """Listens to the flight's rows, as a dashboard does. Those of different streams come in any order."""

    def __init__(self, launch: LaunchSettings, console: Console) -> None:
        self._launch, self._console = launch, console
        self._feed = FeedIn(launch.folder_path)
        self._seen: dict[str, list[dict[str, float]]] = {stream: [] for stream in STREAMS}
        self._newest_s = -1.0

    def ask(self, order: OperatorCommand, timeout_s: float) -> Answer:
        until_s = time.monotonic() + timeout_s
        try:
            self._wait(lambda: self._newest_s >= 0.0 or None, until_s, "no data from the flight")
            after_s = self._newest_s
            Controls(self._launch.folder_path).operate(order)
            sent = self._wait(lambda: self._sent(order, after_s), until_s, "command not sent")
            answer = self._wait(lambda: self._answer(sent), until_s, "no answer from the board")
            if order.command == "read" and not answer["answer"]:
                self._wait(lambda: self._whole(sent) or None, until_s, "not all values received")
            values = self._values(sent)
        finally:
            self._feed.close()
        return Answer(answer["t_s"], int(answer["answer"]), answer["x"], answer["y"], answer["latency_s"], values)

    def _sent(self, order: OperatorCommand, after_s: float) -> dict[str, float] | None:
        """Our command, as the plant has sent it."""
        number = self._console.number(order.parameter) if order.command == "set" else 0
        wanted = COMMANDS.index(order.command) + 1, number, *(order.position_m or (order.value or 0.0, 0.0))
        for row in self._seen["user_command"]:
            if row["t_s"] >= after_s and (row["command"], row["parameter"], row["x"], row["y"]) == wanted:
                return row
        return None

    def _answer(self, sent: dict[str, float]) -> dict[str, float] | None:
        for row in self._seen["user_answer"]:
            if row["number"] == sent["number"] and row["t_s"] >= sent["t_s"]:
                return row
        return None

    def _values(self, sent: dict[str, float]) -> dict[int, float]:
        return {int(row["parameter"]): row["value"] for row in self._seen["parameter"] if row["t_s"] >= sent["t_s"]}

    def _whole(self, sent: dict[str, float]) -> bool:
        return len(self._values(sent)) == len(self._console.parameters)

    def _wait(self, found: Callable[[], T | None], until_s: float, failure: str) -> T:
        while time.monotonic() < until_s:
            if (result := found()) is not None:
                return result
            select.select([self._feed.fileno()], [], [], WAIT_S)
            for stream, row in self._feed.rows():
                self._newest_s = max(self._newest_s, row[0])
                if stream.name in self._seen:
                    self._seen[stream.name].append(dict(zip(stream.names, row, strict=True)))
        raise NoAnswerError(f"{failure} within the timeout")
