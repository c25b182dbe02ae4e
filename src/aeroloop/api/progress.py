"""The progress bar of a flight, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from aeroloop.core.fleet import Plan


@contextmanager
def bar(plan: Plan, console: Console | None = None) -> Iterator[Callable[[float], None]]:
    """Gives a function of the simulated time reached; without a terminal nothing is shown."""
    screen = console or Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:5.1f} / {task.total:.1f} s"),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    ) as shown:
        task = shown.add_task(f"{plan.name} ({plan.loop}, {plan.pace})", total=plan.duration_s)
        yield lambda flown_s: shown.update(task, completed=flown_s)
