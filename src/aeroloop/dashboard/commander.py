"""Who commands the aircraft over the flight's router: one line at a time, and another only when it takes over."""

from __future__ import annotations

from aeroloop.dashboard.subject import Subject
from aeroloop.errors import LinkError
from aeroloop.router import control
from aeroloop.router.config import COMMANDS
from aeroloop.vehicles.quadrotor.lines import BENCH


def other_commander(subject: Subject) -> str:
    """The line that commands instead of ours; empty when ours does, or nobody."""
    for row in subject.store.newest("line", ("line",)):
        number = int(row["line"])
        if row["role"] >= COMMANDS and row["up"]:
            name = subject.lines[number].name if 0 <= number < len(subject.lines) else f"line {number}"
            if name != BENCH:
                return name
    return ""


def take_command(subject: Subject) -> None:
    """LinkError or ConfigError with a sentence when the router will not."""
    if subject.orders is None:
        raise LinkError("no flight is running")
    control.take_over(subject.orders.folder_path, BENCH)
