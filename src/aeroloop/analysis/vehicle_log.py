"""One aircraft's part of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from aeroloop.analysis.statistics import Array
from aeroloop.core.signals import Event
from aeroloop.recording.log import Log


class Columns(Protocol):
    """A log, or an aircraft's part of it."""

    def column(self, stream: str, field: str, /) -> Array: ...


class VehicleLog:
    def __init__(self, log: Log, number: int) -> None:
        self.number = number
        self._log = log
        self._rows: dict[str, Array] = {}

    def rows(self, stream: str) -> Array:
        if stream not in self._rows:
            rows = self._log.rows[stream]
            self._rows[stream] = rows[rows[:, 1] == self.number]
        return self._rows[stream]

    def column(self, stream: str, field: str) -> Array:
        return self.rows(stream)[:, self._log.columns[stream].index(field)]

    def columns(self, stream: str, fields: Sequence[str]) -> Array:
        """(rows, fields)"""
        return np.stack([self.column(stream, field) for field in fields], axis=1)


def event_values(log: Columns, event: Event, stream: str = "event") -> Array:
    """The values of an event at the plant, or of one of the board's."""
    return np.asarray(log.column(stream, "value")[log.column(stream, "code") == event])


def happened(log: Columns, event: Event, stream: str = "event") -> float:
    """How often."""
    return float(event_values(log, event, stream).size)
