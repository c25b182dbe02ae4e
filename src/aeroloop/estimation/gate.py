"""Innovation gates: reject outliers, but not for ever, and detect measurements that never change."""

from __future__ import annotations

from aeroloop.core.signals import NS

ALARM_AFTER = 3
"""One rejected measurement may be noise."""


class Gate:
    """Gate of one kind of measurement."""

    def __init__(self, limit_sigmas: float, reset_s: float) -> None:
        self._limit2 = limit_sigmas**2
        self._reset_ns = round(reset_s * NS)
        self.ratio = 0.0
        """Squared ratio of the last innovation to the gate: above 1 it was rejected."""
        self.accepted_ns: int | None = None
        self.refused_since_ns: int | None = None
        self._rejected = 0  # in a row
        self.alarms = 0
        """How often ALARM_AFTER measurements in a row were rejected."""

    def passes(self, t_ns: int, normalised2: float) -> bool:
        self.ratio = normalised2 / self._limit2
        if self.ratio <= 1.0:  # NaN is rejected
            self.accept(t_ns)
            return True
        if self.refused_since_ns is None:
            self.refused_since_ns = t_ns
        self._rejected += 1
        self.alarms += self._rejected == ALARM_AFTER
        return False

    def accept(self, t_ns: int) -> None:
        self.accepted_ns, self.refused_since_ns, self._rejected = t_ns, None, 0

    def recent(self, t_ns: int, within_ns: int) -> bool:
        return self.accepted_ns is not None and t_ns - self.accepted_ns <= within_ns

    def overdue(self, t_ns: int) -> bool:
        """Rejected for so long that the filter is more likely wrong than the sensor."""
        return self.refused_since_ns is not None and t_ns - self.refused_since_ns >= self._reset_ns


class Stuck:
    """Detects a receiver that repeats its last report: a filter would follow it anywhere.

    A noise-free receiver does so too at standstill. So the first reports, at standstill, show whether it has noise, and
    only a noisy one can be stuck.
    """

    def __init__(self, most: int = 10) -> None:
        self._most = most  # consecutive equal reports that are still accepted
        self._last: tuple[float, ...] | None = None
        self._heard = self._changes = self._same = 0

    def again(self, report: tuple[float, ...]) -> bool:
        """Whether this report exceeds the number of equal ones."""
        same, self._last = report == self._last, report
        self._same = self._same + 1 if same else 0
        if self._heard < self._most:
            self._heard += 1
            self._changes += not same
        return self._same >= self._most and self._changes >= 0.8 * self._most
