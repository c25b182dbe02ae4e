"""Ctrl-C and SIGTERM: recorded where work must not be interrupted, and raised as `Interrupted` elsewhere."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from aeroloop.core.errors import EXIT_INTERRUPTED, EXIT_TERMINATED

if TYPE_CHECKING:
    from aeroloop.realtime.controls import Ender

HEEDED = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM; like KeyboardInterrupt it is not caught by handlers of `Exception`."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = exit_code(number)


def exit_code(number: int) -> int:
    """Exit code as in shells."""
    return EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_TERMINATED


def ender(number: int) -> Ender:
    return "ctrl-c" if number == signal.SIGINT else "sigterm"


def interrupt(number: int, _: FrameType | None) -> None:
    """A handler."""
    raise Interrupted(number)


@contextmanager
def noted(most: int | None = None) -> Iterator[list[int]]:
    """Signals in this context are recorded in order; one more than `most` is raised.

    Outside the main thread, where no handler can be set, none are recorded.
    """
    numbers: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        numbers.append(number)
        if most is not None and len(numbers) > most:
            raise Interrupted(number)

    with handled(note):
        yield numbers


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in HEEDED}
    try:
        yield
    finally:
        for number, each in before.items():
            signal.signal(number, each)
