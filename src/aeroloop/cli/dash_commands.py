"""`aeroloop dash`: the control application's pages, in a browser."""

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

import typer

from aeroloop.cli.console import notes, run_program, say
from aeroloop.core.errors import ConfigError
from aeroloop.realtime.setup import die_with_parent, end

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")

LOOPBACK, DEFAULT_PORT = "127.0.0.1", 8080
ANNOUNCED = "dashboard: "
"""What the first line of output begins with; then comes the address."""
PATIENCE_S = 5.0

EPILOG = (
    "Examples:\n\n`aeroloop dash`\n\n`aeroloop dash --port 0 --open`\n\n"
    "`aeroloop dash --host 0.0.0.0` (others on the network can watch and fly with the printed token)"
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
    token: Annotated[str, typer.Option(help="Token that browsers must send; generated if needed and not given.")] = "",
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Folder of past runs.")] = Path("runs"),
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = False,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """Watch and fly running flights in a browser, watch routers, and look at past runs."""
    if with_parent:
        die_with_parent(signal.SIGTERM)
    if importlib.util.find_spec("nicegui") is None:
        raise ConfigError("the dashboard needs nicegui, which is not installed: pip install 'aeroloop[dash]'")
    from aeroloop.dashboard.listening import address, bound_socket
    from aeroloop.dashboard.security import is_loopback, token_for

    asked = token_for(host, token)
    listener = bound_socket(host, port)
    url = address(listener, host, asked)
    if not is_loopback(host):
        notes.print(
            f"[yellow]warning:[/] others on the network can reach this dashboard on {host}, and whoever has its token "
            "can fly; the connection is not encrypted",
            highlight=False,
            soft_wrap=True,
        )
    typer.echo(f"{ANNOUNCED}{url}")
    sys.stdout.flush()
    if open_browser:
        webbrowser.open(url)
    from aeroloop.dashboard.app import serve
    from aeroloop.dashboard.watched_flight import WatchedFlight
    from aeroloop.flight import routing, running

    known = [running.flight_id(orders) for orders in running.flights()] + [place.id for place in routing.places()]
    if flight and not with_parent and flight not in known:
        now = ", ".join(dict.fromkeys(known)) or "nothing"
        say(f"{flight} is not running yet: waiting for it; running now: {now}")
    ended_by = serve(WatchedFlight(runs, flight, routing.places), listener, host=host, token=asked)
    raise typer.Exit(128 + ended_by if ended_by else 0)


@contextmanager
def beside(flight_id: str, runs: Path, port: int | None) -> Iterator[str]:
    """A dashboard for one flight in a process of its own, gone when the context is left; its address.

    No port: the usual one, or any that is free where another dashboard has it.
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
    """A dashboard that dies costs the flight nothing, but somebody may be waiting for the page."""
    code = process.wait()
    if not over.is_set():
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        say(f"the dashboard {how}; the flight continues; to restart it: aeroloop dash --flight {flight_id}")


def _checked(port: int) -> int:
    """ConfigError here, in the words of the one who asked, rather than from the process that finds it taken."""
    from aeroloop.dashboard.listening import bound_socket

    bound_socket(LOOPBACK, port).close()
    return port


def _usual_port() -> int:
    try:
        return _checked(DEFAULT_PORT)
    except ConfigError:
        return 0


def main() -> None:
    """`python -m aeroloop.cli.dash_commands`: the same by itself, for a flight that brings its dashboard along."""
    run_program(app)


if __name__ == "__main__":
    main()
