"""Flights of a table in several processes, in the order of its cells."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

C = TypeVar("C")
F = TypeVar("F")


def in_processes(
    fly: Callable[..., F],
    cells: Sequence[C],
    arguments: Sequence[Any],
    *,
    workers: int | None,
    on_progress: Callable[[C], None],
) -> list[F]:
    """`fly(cell, *arguments)` for each. `workers`: processes, by default one for each processor; 1: this process.
    `on_progress` is called after each flight."""
    count = min(workers or len(os.sched_getaffinity(0)), len(cells))
    if count <= 1:
        return [_telling(fly, cell, arguments, on_progress) for cell in cells]
    ours = {*multiprocessing.active_children()}
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_ignore_interrupt) as pool:
        flights: dict[Future[F], C] = {pool.submit(fly, cell, *arguments): cell for cell in cells}
        try:
            for flight in as_completed(flights):
                flight.result()
                on_progress(flights[flight])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in {*multiprocessing.active_children()} - ours:
                child.terminate()
            raise
        return [flight.result() for flight in flights]


def _telling(fly: Callable[..., F], cell: C, arguments: Sequence[Any], on_progress: Callable[[C], None]) -> F:
    flown = fly(cell, *arguments)
    on_progress(cell)
    return flown


def _ignore_interrupt() -> None:
    """Ctrl-C reaches every process of the terminal: the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
