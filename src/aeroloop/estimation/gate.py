"""Who decides whether a measurement is believed: surprises are refused, but not for ever; nor is what never changes."""

from __future__ import annotations

from aeroloop.core.signals import NS


class Gate:
    """Of one kind of measurement."""

    def __init__(self, limit_sigmas: float, reset_s: float) -> None:
        self._limit2 = limit_sigmas**2
        self._reset_ns = round(reset_s * NS)
        self.ratio = 0.0
        """Of the last surprise to the greatest that is believed, squared: above 1 it was refused."""
        self.accepted_ns: int | None = None
        self.refused_since_ns: int | None = None

    def passes(self, t_ns: int, normalised2: float) -> bool:
        self.ratio = normalised2 / self._limit2
        if self.ratio <= 1.0:  # NaN is refused
            self.accept(t_ns)
            return True
        if self.refused_since_ns is None:
            self.refused_since_ns = t_ns
        return False

    def accept(self, t_ns: int) -> None:
        self.accepted_ns, self.refused_since_ns = t_ns, None

    def recent(self, t_ns: int, within_ns: int) -> bool:
        return self.accepted_ns is not None and t_ns - self.accepted_ns <= within_ns

    def overdue(self, t_ns: int) -> bool:
        """Refused for so long that we are more likely to be wrong than the sensor."""
        return self.refused_since_ns is not None and t_ns - self.refused_since_ns >= self._reset_ns


class Stuck:
    """Notices a receiver that gives its last report again and again: a filter would follow it anywhere.

    One without noise does so too when it does not move. So the first reports, at standstill, tell whether it jitters,
    and only one that does can hang.
    """

    def __init__(self, most: int = 10) -> None:
        self._most = most  # of the same reports, one after the other, that are still believed
        self._last: tuple[float, ...] | None = None
        self._heard = self._changes = self._same = 0

    def again(self, report: tuple[float, ...]) -> bool:
        """Whether this report is one too many of its kind."""
        same, self._last = report == self._last, report
        self._same = self._same + 1 if same else 0
        if self._heard < self._most:
            self._heard += 1
            self._changes += not same
        return self._same >= self._most and self._changes >= 0.8 * self._most
