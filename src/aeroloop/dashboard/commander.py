"""Who commands the aircraft over the flight's router: one line at a time, and another only when it takes over."""

from __future__ import annotations

from aeroloop.core.errors import LinkError
from aeroloop.dashboard import family_page
from aeroloop.dashboard.subject import Subject
from aeroloop.router import control
from aeroloop.router.config import COMMANDS


def bench_link(subject: Subject) -> str:
    """The router's link that our commands take; empty where the aircraft takes none."""
    commands = family_page.of(subject.scenario).commands if subject.scenario is not None else None
    return commands.bench_link if commands is not None else ""


def other_commander(subject: Subject) -> str:
    """Who commands instead of us; empty when we do, or nobody.

    Other programs of the bench share our line: that one of them commands, we learn when it refuses us.
    """
    for row in subject.store.newest("line", ("line",)):
        number = int(row["line"])
        if row["role"] >= COMMANDS and row["up"]:
            name = subject.lines[number].name if 0 <= number < len(subject.lines) else f"line {number}"
            if name != bench_link(subject):
                return name
            return subject.station.holder if subject.station is not None else ""
    return ""


def take_command(subject: Subject) -> None:
    """CommandError, LinkError or ConfigError with a sentence when the router will not."""
    if subject.orders is None:
        raise LinkError("no flight is running")
    if subject.station is not None:
        subject.station.take_command()
        return
    control.take_over(subject.orders.folder_path, bench_link(subject))
