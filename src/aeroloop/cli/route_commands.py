"""`aeroloop route`: forward messages between links, and show the state of each."""

from __future__ import annotations

import math
import signal
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from aeroloop.cli.console import print_note, program, run_program
from aeroloop.core.errors import ConfigError
from aeroloop.flight import routing
from aeroloop.flight.processes.common import stop
from aeroloop.router.config import COMMANDS, ROLES
from aeroloop.router.statistics import LinkInfo, LinkMessage, LinkState

DEFAULT = "run"
DRAWN_HZ = 4.0
BUSIEST = 5
"""Number of messages shown for each link and direction."""
MOST_COLUMNS = 1000
COUNTERS = ("lost", "bad", "twice", "refused", "dropped", "queued")
GREEN_FROM, AMBER_FROM = 0.95, 0.8
"""Relative to the set rate."""
AMBER_LOAD_PCT, RED_LOAD_PCT = 70.0, 90.0


class FileOrCommand(TyperGroup):
    """`aeroloop route FILE` runs the file; its other functions are subcommands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


app = program(
    cls=FileOrCommand,
    help="The router: forward MAVLink, board frames and pose packets between serial ports, UDP, TCP and ptys, and show "
    "the state of every link. `aeroloop route FILE` is short for `aeroloop route run FILE`.",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The router's .toml file; see examples/router.toml.")]
Which = Annotated[str, typer.Option("--router", metavar="ID", help="Id or name of the router, if several are running.")]


@app.command(epilog="Examples:\n\n`aeroloop route examples/router.toml`\n\n`aeroloop route bench.toml --watch`")
def run(
    file: File,
    watch: Annotated[bool, typer.Option("--watch", help="Show a live table of all links.")] = False,
    duration: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after this time; otherwise on Ctrl-C.")
    ] = None,
) -> None:
    """Run the router that FILE describes until Ctrl-C."""
    if duration is not None and not (math.isfinite(duration) and duration > 0):
        raise ConfigError(f"--duration {duration:g}: expected a number of seconds above 0")
    config = routing.check(file)
    interrupts = _count_interrupts()
    if watch:
        with routing.in_background(file, duration) as (folder, words):
            _watch(folder, words)
    else:
        with routing.folder_of_its_own() as folder:
            routing.route(config, folder, duration, print_note)
    if interrupts:
        raise typer.Exit(128 + interrupts[0])


@app.command()
def check(file: File) -> None:
    """Check a router file without running it."""
    config = routing.check(file)
    table = Table("endpoint", "URL", "protocol", "role", box=None, header_style="bold")
    for endpoint in config.endpoints:
        table.add_row(endpoint.name, Text(endpoint.url), endpoint.protocol, endpoint.role)
    screen = Console()
    screen.print(table)
    screen.print(f"{len(config.forward)} rules, {len(config.rates)} set rates: {file} is valid", highlight=False)


@app.command()
def watch(router: Which = "") -> None:
    """Show a live table of the links of a router that runs elsewhere on this machine, or in a flight."""
    place = routing.find(router)
    interrupts = _count_interrupts()
    _watch(place.folder, deque())
    if interrupts:
        raise typer.Exit(128 + interrupts[0])


@app.command("take-over", epilog="Example:\n\n`aeroloop route take-over qgc`")
def take_over(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Endpoint to give command to; its role is `command`.")],
    router: Which = "",
) -> None:
    """Give command to another endpoint."""
    place = routing.take_over(name, router)
    Console().print(f"{name} has control at router {place.id} ({place.name})", highlight=False, markup=False)


def _count_interrupts() -> list[int]:
    """The signals received."""
    got: list[int] = []

    def count(number: int, frame: Any) -> None:
        got.append(number)
        stop.request(number, frame)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, count)
    return got


def _watch(folder: Path, words: Sequence[str]) -> None:
    watched = routing.RouterStatus(folder)
    try:
        with Live(console=Console(), auto_refresh=False, vertical_overflow="crop") as live:
            while not stop.requested and watched.look():
                live.update(view(watched.infos, watched.links, watched.messages, words), refresh=True)
                time.sleep(1 / DRAWN_HZ)
    finally:
        watched.close()


def view(
    infos: Sequence[LinkInfo],
    lines: dict[int, LinkState],
    messages: dict[tuple[int, int, int, int, int], LinkMessage],
    words: Sequence[str] = (),
) -> RenderableType:
    """All links, the most frequent messages on each, and the last messages of the router."""
    wide = Table(
        *("link", "URL", "role", "up", "in/s", "out/s", "load in", "load out", *COUNTERS, "round trip", "seen"),
        header_style="bold",
        box=None,
    )
    narrow = Table(
        *("link", "role", "up", "in/s", "out/s", "load", "round trip", "seen", "counted"), header_style="bold", box=None
    )
    kinds = Table("link", "", "sender", "message", "rate/s", "set/s", "count", header_style="bold", box=None)
    for number, info in enumerate(infos):
        on_line = [message for key, message in messages.items() if key[0] == number]
        if number in lines:
            wide.add_row(*_line_cells(info, lines[number], on_line))
            narrow.add_row(*_few_cells(info, lines[number], on_line))
        else:
            wide.add_row(Text(info.name), Text(info.url), info.role, "…")
            narrow.add_row(Text(info.name), info.role, "…")
        for outbound in (0, 1):
            chosen = sorted((m for m in on_line if m.outbound == outbound), key=lambda m: (-m.rate_hz, m.message))
            for message in chosen[:BUSIEST]:
                kinds.add_row(*_message_cells(info, message))
    return Group(Fitting(wide, narrow), Text(), kinds, *(Text(line, style="dim") for line in words))


class Fitting:
    """The wide table if the terminal is wide enough, otherwise the narrow one: truncated numbers are useless."""

    def __init__(self, wide: Table, narrow: Table) -> None:
        self._wide, self._narrow = wide, narrow

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        needed = Measurement.get(console, options.update(max_width=MOST_COLUMNS), self._wide).maximum
        yield self._wide if needed <= options.max_width else self._narrow


def _line_cells(info: LinkInfo, line: LinkState, messages: Sequence[LinkMessage]) -> list[RenderableType]:
    return [
        Text(info.name),
        Text(info.url),
        *_role_and_rates(line, messages),
        _load(line.load_in_pct),
        _load(line.load_out_pct),
        *(_count(value) for value in _counts(line)[:-1]),
        str(line.queued),
        *_times(line),
    ]


def _few_cells(info: LinkInfo, line: LinkState, messages: Sequence[LinkMessage]) -> list[RenderableType]:
    """Only the counters above zero."""
    told = ", ".join(f"{value} {name}" for name, value in zip(COUNTERS, _counts(line), strict=True) if value)
    busier_pct = max(line.load_in_pct, line.load_out_pct)
    return [
        Text(info.name),
        *_role_and_rates(line, messages),
        _load(busier_pct),
        *_times(line),
        Text(told, "yellow"),
    ]


def _role_and_rates(line: LinkState, messages: Sequence[LinkMessage]) -> list[RenderableType]:
    return [
        ROLES[line.role % COMMANDS] + (", commands" if line.role >= COMMANDS else ""),
        Text("yes", "green") if line.up else Text("no", "red"),
        Text(f"{line.rate_in_hz:.0f}", _worst(messages, outbound=0)),
        Text(f"{line.rate_out_hz:.0f}", _worst(messages, outbound=1)),
    ]


def _counts(line: LinkState) -> tuple[int, ...]:
    """In the names of COUNTERS."""
    return (line.lost, line.bad_checksums, line.duplicates, line.refused, line.dropped, line.queued)


def _times(line: LinkState) -> list[RenderableType]:
    return [
        "" if math.isnan(line.round_trip_s) else f"{1000 * line.round_trip_s:.1f} ms",
        "" if math.isnan(line.last_seen_s) else f"{line.last_seen_s:.1f} s",
    ]


def _message_cells(info: LinkInfo, message: LinkMessage) -> list[RenderableType]:
    from aeroloop.router.messages import name_of  # imported here: it loads every dialect, which only the table needs

    return [
        Text(info.name),
        "out" if message.outbound else "in",
        f"{message.system}/{message.component}",
        name_of(info.protocol, message.message),
        Text(f"{message.rate_hz:.1f}", colour(message.rate_hz, message.set_hz)),
        f"{message.set_hz:g}" if message.set_hz else "",
        str(message.count),
    ]


def colour(rate_hz: float, set_hz: float) -> str:
    """Green at the set rate, amber somewhat below, red far below; none if no rate is set."""
    if not set_hz:
        return ""
    share = rate_hz / set_hz
    return "green" if share >= GREEN_FROM else "yellow" if share >= AMBER_FROM else "red"


def _worst(messages: Sequence[LinkMessage], outbound: int) -> str:
    found = {colour(m.rate_hz, m.set_hz) for m in messages if m.outbound == outbound}
    return next((each for each in ("red", "yellow", "green") if each in found), "")


def _load(percent: float) -> Text:
    if math.isnan(percent):
        return Text("")
    return Text(
        f"{percent:.0f} %", "red" if percent >= RED_LOAD_PCT else "yellow" if percent >= AMBER_LOAD_PCT else "green"
    )


def _count(value: float) -> Text:
    return Text(str(value), "yellow" if value else "")


def main() -> None:
    """`aeroloop route` as a program of its own."""
    run_program(app)


if __name__ == "__main__":
    main()
