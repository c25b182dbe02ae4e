"""Progress of a flight: a bar on a terminal, otherwise a line on standard error every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aeroloop.cli.console import notes, print_note
from aeroloop.core.fleet import Plan

LINE_PERIOD_S = 5.0

Told = Callable[[float], None]
"""Called with the simulated time reached, in s."""


@contextmanager
def shown(plan: Plan) -> Iterator[Told]:
    if not notes.is_terminal:
        yield ProgressLines(plan)
        return
    from aeroloop.api.progress import bar

    with bar(plan, notes) as told:
        yield told


class ProgressLines:
    """For a file or a CI log, where a bar is not readable."""

    def __init__(
        self, plan: Plan, tell: Callable[[str], None] = print_note, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._tell, self._now_s = plan.name, tell, now_s
        self._of = f"at most {plan.duration_s:g} s" if plan.open_ended else f"of {plan.duration_s:g} s"
        self._next_s = now_s() + LINE_PERIOD_S

    def __call__(self, flown_s: float) -> None:
        now_s = self._now_s()
        if now_s >= self._next_s:
            self._next_s = now_s + LINE_PERIOD_S
            self._tell(f"{self._name}: {flown_s:.1f} s flown, {self._of}")


@contextmanager
def counted(name: str, count: int, what: str) -> Iterator[Callable[[int, str], None]]:
    """Of several flights: gives a function of how many are done, and which was the last."""
    if not notes.is_terminal:
        yield CountedLines(name, count, what)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=notes, transient=True) as shown_bar:
        task = shown_bar.add_task(name, total=count)
        yield lambda done, last: shown_bar.update(task, completed=done, description=f"{name}: {last}")


class CountedLines:
    """The same for a file or a CI log."""

    def __init__(
        self,
        name: str,
        count: int,
        what: str,
        tell: Callable[[str], None] = print_note,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._of, self._tell, self._now_s = name, f"of {count} {what}", tell, now_s
        self._next_s = now_s() + LINE_PERIOD_S

    def __call__(self, done: int, last: str) -> None:
        now_s = self._now_s()
        if now_s >= self._next_s:
            self._next_s = now_s + LINE_PERIOD_S
            self._tell(f"{self._name}: {done} {self._of}, last {last}")


@contextmanager
def steps(name: str, what: str) -> Iterator[Callable[[int, int], None]]:
    """Of work whose size is known when it begins: gives a function of how much is done, and of how much."""
    if not notes.is_terminal:
        lines = StreamLines(name)
        yield lambda done, count: lines(f"{done} of {count} {what}")
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=notes, transient=True) as shown_bar:
        task = shown_bar.add_task(name, total=None)
        yield lambda done, count: shown_bar.update(task, completed=done, total=count)


class StreamLines:
    """Of something without a known end: the newest words, every few seconds."""

    def __init__(
        self, name: str, tell: Callable[[str], None] = print_note, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._tell, self._now_s = name, tell, now_s
        self._next_s = now_s() + LINE_PERIOD_S

    def __call__(self, words: str) -> None:
        now_s = self._now_s()
        if now_s >= self._next_s:
            self._next_s = now_s + LINE_PERIOD_S
            self._tell(f"{self._name}: {words}")
