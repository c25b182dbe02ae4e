"""`aeroloop live`: a running flight for Foxglove."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from aeroloop.cli.console import notes, print_note

LOOPBACK, DEFAULT_PORT = "127.0.0.1", 8765
EPILOG = (
    "Examples, with a flight in another terminal (`aeroloop fly quad-free --pace real`):\n\n"
    "`aeroloop live`\n\n"
    "`aeroloop live --port 9000`"
)


def live(
    flight: Annotated[
        str, typer.Option(metavar="ID", help="Which flight, if several are running; by default the newest.")
    ] = "",
    host: Annotated[str, typer.Option(help="Address to listen on; there is no password.")] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any that is free.")
    ] = DEFAULT_PORT,
) -> None:
    """Serve running flights to Foxglove over a WebSocket, with the topics of their logs."""
    from aeroloop.flight.live import LiveServer, is_loopback, serve

    server = LiveServer(host, port)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    if not is_loopback(host):
        notes.print(
            f"[yellow]warning:[/] anyone on the network can watch the flight on {host}; "
            "the connection has no password and is not encrypted",
            highlight=False,
            soft_wrap=True,
        )
    typer.echo(f"live: ws://{host}:{server.port}")
    print_note(f"open it in Foxglove: {server.app_url}")
    try:
        serve(server, flight, stopped, print_note)
    finally:
        server.close()
