"""Events of an exchange, held until the next step: those that arrive while simulated time is stopped belong to it."""

from __future__ import annotations

from typing import Protocol

from aeroloop.core.signals import Event


class EventRows(Protocol):
    def event(self, t_ns: int, event: Event, value: float, /) -> None: ...


class HeldEvents:
    def __init__(self, rows: EventRows | None) -> None:
        """Without `rows` nothing is logged."""
        self._rows = rows
        self.held: list[tuple[Event, float]] = []

    def add(self, event: Event, value: float) -> None:
        if self._rows is not None:
            self.held.append((event, value))

    def log(self, t_ns: int) -> None:
        """Log all of them with this time."""
        if self.held and self._rows is not None:
            for event, value in self.held:
                self._rows.event(t_ns, event, value)
            self.held.clear()
