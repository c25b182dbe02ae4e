"""Log rows that all vehicles have in common; a family adds the rows of its own steps."""

from __future__ import annotations

from collections.abc import Mapping

from aeroloop.core.signals import NS, Event
from aeroloop.core.stream import Publish
from aeroloop.sim.exchange import Row


class CommonRows:
    def __init__(self, publish: Mapping[str, Publish]) -> None:
        """`publish` logs the rows of one aircraft, without its number."""
        self._publish = publish

    def event(self, t_ns: int, event: Event, value: float) -> None:
        self._publish["event"](t_ns / NS, event, value)

    def fault(self, t_ns: int, row: Row) -> None:
        self._publish["fault"](t_ns / NS, *row)

    def change(self, t_ns: int, row: Row) -> None:
        self._publish["change"](t_ns / NS, *row)

    def pace(self, t_ns: int, lateness_s: float, missed: int) -> None:
        self._publish["pace"](t_ns / NS, lateness_s, missed)

    def balance(self, t_ns: int, row: Row) -> None:
        """With `log.balance`; a family that offers it names the stream in its row."""
        self._publish["balance"](t_ns / NS, *row)
