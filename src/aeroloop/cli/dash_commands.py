"""`aeroloop dash`: the dashboard's pages, in a browser."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from aeroloop.cli.console import notes, print_note, run_program
from aeroloop.core.errors import ConfigError
from aeroloop.realtime.setup import die_with_parent, end

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")

LOOPBACK, DEFAULT_PORT = "127.0.0.1", 8080
ANNOUNCED = "dashboard: "
"""Begins the first line of output, followed by the address."""
VIEWED = "view only: "
"""The same for viewers, if they have their own token."""
PATIENCE_S = 5.0

EPILOG = (
    "Examples:\n\n`aeroloop dash`\n\n`aeroloop dash --port 0 --open`\n\n"
    "`aeroloop dash --view-only` (without commands)\n\n"
    "`aeroloop dash --host 0.0.0.0` (prints two addresses: one to command, one to view only)"
)


@app.command(epilog=EPILOG)
def dash(
    flight: Annotated[
        str,
        typer.Option(
            metavar="ID", help="Which flight or router, if several are running; by default the newest flight."
        ),
    ] = "",
    host: Annotated[str, typer.Option(help="Address to listen on; other than loopback requires a token.")] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any that is free.")
    ] = DEFAULT_PORT,
    token: Annotated[str, typer.Option(help="Token that browsers must send to command; generated if needed.")] = "",
    view_token: Annotated[str, typer.Option(help="Token that browsers must send to view; generated if needed.")] = "",
    view_only: Annotated[bool, typer.Option("--view-only", help="Show everything and send no commands.")] = False,
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Folder of past runs.")] = Path("runs"),
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = False,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """Watch and fly running flights in a browser, watch routers, and look at past runs."""
    if with_parent:
        die_with_parent(signal.SIGTERM)
    _require_nicegui()
    from aeroloop.dashboard.listening import address, bound_socket
    from aeroloop.dashboard.security import is_loopback, tokens_for

    tokens = tokens_for(host, token, view_token, view_only=view_only)
    listener = bound_socket(host, port)
    url = address(listener, host, tokens.get("command") or tokens.get("view", ""))
    if not is_loopback(host):
        command = "" if view_only else ", and whoever has its command token can fly"
        notes.print(
            f"[yellow]warning:[/] others on the network can reach this dashboard on {host}{command}; "
            "the connection is not encrypted",
            highlight=False,
            soft_wrap=True,
        )
    typer.echo(f"{ANNOUNCED}{url}")
    if len(tokens) > 1:
        typer.echo(f"{VIEWED}{address(listener, host, tokens['view'])}")
    sys.stdout.flush()
    if open_browser:
        webbrowser.open(url)
    from aeroloop.campaign.live_page import PAGE
    from aeroloop.dashboard.app import serve
    from aeroloop.dashboard.watched_flight import WatchedFlight
    from aeroloop.flight import routing, running

    known = [running.flight_id(launch) for launch in running.flights()] + [place.id for place in routing.places()]
    if flight and not with_parent and flight not in known:
        now = ", ".join(dict.fromkeys(known)) or "nothing"
        print_note(f"{flight} is not running yet: waiting for it; running now: {now}")
    watched = WatchedFlight(runs, flight, routing.places)
    ended_by = serve(watched, listener, host=host, tokens=tokens, view_only=view_only, more=(PAGE,))
    raise typer.Exit(128 + ended_by if ended_by else 0)


def _require_nicegui() -> None:
    if importlib.util.find_spec("nicegui") is None:
        raise ConfigError("the dashboard needs nicegui, which is not installed: pip install 'aeroloop[dash]'")


def replay(run: Path, port: int | None, open_browser: bool) -> None:
    """Replay a past run in a browser: 3D view, instruments and charts with a time slider."""
    _require_nicegui()
    from aeroloop.dashboard.listening import address, bound_socket
    from aeroloop.flight.results import LOG, SCENARIO

    folder = (run.parent if run.name == LOG else run).resolve()
    for name in (LOG, SCENARIO):
        if not (folder / name).is_file():
            raise ConfigError(f"{folder}: no run to replay, it holds no {name}")
    listener = bound_socket(LOOPBACK, _usual_port() if port is None else port)
    url = f"{address(listener, LOOPBACK, '')}replay/{quote(folder.name, safe='')}"
    typer.echo(f"{ANNOUNCED}{url}")
    sys.stdout.flush()
    if open_browser:
        webbrowser.open(url)
    from aeroloop.campaign.live_page import PAGE
    from aeroloop.dashboard.app import serve
    from aeroloop.dashboard.watched_flight import WatchedFlight

    ended_by = serve(WatchedFlight(folder.parent), listener, host=LOOPBACK, tokens={}, more=(PAGE,))
    raise typer.Exit(128 + ended_by if ended_by else 0)


@contextmanager
def beside(flight_id: str, runs: Path, port: int | None) -> Iterator[str]:
    """A dashboard for one flight in its own process, ended with the context; returns its address.

    Without a port: the default one, or any free one if another dashboard uses it.
    """
    port = _usual_port() if port is None else _checked(port)
    command = [sys.executable, "-P", "-m", "aeroloop.cli.dash_commands", "--with-parent", "--flight", flight_id]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--runs", str(runs)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C ends the flight first
    )
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        if not first.startswith(ANNOUNCED):
            raise ConfigError("the dashboard did not start; see its output above")
        over = threading.Event()
        threading.Thread(target=_tell_of_its_end, args=(process, flight_id, over), daemon=True).start()
        try:
            yield first.removeprefix(ANNOUNCED).strip()
        finally:
            over.set()
    finally:
        end(process, PATIENCE_S)
        process.stdout.close()


def _tell_of_its_end(process: subprocess.Popen[str], flight_id: str, over: threading.Event) -> None:
    """A dashboard that fails does not affect the flight, but the user may wait for the page."""
    code = process.wait()
    if not over.is_set():
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        print_note(f"the dashboard {how}; the flight continues; to restart it: aeroloop dash --flight {flight_id}")


def _checked(port: int) -> int:
    """ConfigError here, naming the option, instead of one from the process that cannot use the port."""
    from aeroloop.dashboard.listening import bound_socket

    bound_socket(LOOPBACK, port).close()
    return port


def _usual_port() -> int:
    try:
        return _checked(DEFAULT_PORT)
    except ConfigError:
        return 0


def main() -> None:
    """`python -m aeroloop.cli.dash_commands`: the same standalone, for a flight that starts its own dashboard."""
    run_program(app)


if __name__ == "__main__":
    main()
