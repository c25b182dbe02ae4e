"""Who commands the aircraft over the flight's router: one line at a time, and another only when it takes over."""

from __future__ import annotations

from aeroloop.core.errors import LinkError
from aeroloop.dashboard import family_page
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.router import control
from aeroloop.router.config import COMMANDS


def bench_link(watched: WatchedFlight) -> str:
    """The router's link that our commands take; empty where the aircraft takes none."""
    commands = family_page.of(watched.scenario).commands if watched.scenario is not None else None
    return commands.bench_link if commands is not None else ""


def other_commander(watched: WatchedFlight) -> str:
    """Who commands instead of us; empty when we do, or nobody.

    Other programs of the bench share our line: that one of them commands, we learn when it refuses us.
    """
    for row in watched.store.newest("line", ("line",)):
        number = int(row["line"])
        if row["role"] >= COMMANDS and row["up"]:
            name = watched.lines[number].name if 0 <= number < len(watched.lines) else f"line {number}"
            if name != bench_link(watched):
                return name
            return watched.station.holder if watched.station is not None else ""
    return ""


def take_command(watched: WatchedFlight) -> None:
    """CommandError, LinkError or ConfigError with a sentence when the router will not."""
    if watched.orders is None:
        raise LinkError("no flight is running")
    if watched.station is not None:
        watched.station.take_command()
        return
    control.take_over(watched.orders.folder_path, bench_link(watched))
