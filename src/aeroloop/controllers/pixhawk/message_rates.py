"""Which telemetry messages are due on one link; time is an argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from aeroloop.core.signals import NS

_NEVER = 1 << 62


class Rated(Protocol):
    """A message sent at a rate, or on request only (0 Hz)."""

    @property
    def msg_id(self) -> int: ...
    @property
    def rate_Hz(self) -> float: ...
    @property
    def group(self) -> int: ...


R = TypeVar("R", bound=Rated)


class MessageRates(Generic[R]):
    """Interval and next time of every message of a table; other rates requested on a link apply to that link only."""

    def __init__(self, table: Sequence[R]) -> None:
        self._table = tuple(table)
        self._default_ns = [round(NS / row.rate_Hz) if row.rate_Hz > 0 else 0 for row in self._table]
        self._interval_ns = list(self._default_ns)
        self._at_ns = [0 if interval else _NEVER for interval in self._interval_ns]
        self._next_ns = 0
        self._index = {row.msg_id: index for index, row in enumerate(self._table)}

    def due(self, t_ns: int) -> list[R]:
        """The messages due now, in the table's order, each at most once: missed messages are not sent in a burst."""
        if t_ns < self._next_ns:
            return []
        rows = []
        at_ns = self._at_ns
        for index, row in enumerate(self._table):
            if at_ns[index] <= t_ns:
                rows.append(row)
                later = at_ns[index] + self._interval_ns[index]
                at_ns[index] = later if later > t_ns else t_ns + self._interval_ns[index]
        self._next_ns = min(at_ns)
        return rows

    def interval_us(self, msg_id: int) -> int | None:
        """As in MESSAGE_INTERVAL: -1: not sent; None: unknown message."""
        index = self._index.get(msg_id)
        if index is None:
            return None
        return self._interval_ns[index] // 1000 or -1

    def set_interval(self, msg_id: int, interval_us: float, t_ns: int) -> bool:
        """As in SET_MESSAGE_INTERVAL: 0: default rate; negative: not sent. False if the message is unknown."""
        index = self._index.get(msg_id)
        if index is None:
            return False
        self._set(index, self._default_ns[index] if interval_us == 0 else round(max(0.0, interval_us) * 1000), t_ns)
        return True

    def set_group(self, group: int, rate_Hz: int, t_ns: int) -> None:
        """As in the old REQUEST_DATA_STREAM: group 0: all; 0 Hz: none."""
        for index, row in enumerate(self._table):
            if row.group and group in (0, row.group):
                self._set(index, NS // rate_Hz if rate_Hz else 0, t_ns)

    def _set(self, index: int, interval_ns: int, t_ns: int) -> None:
        self._interval_ns[index] = interval_ns
        self._at_ns[index] = t_ns if interval_ns else _NEVER
        self._next_ns = min(self._next_ns, self._at_ns[index])
