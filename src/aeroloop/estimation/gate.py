"""Who decides whether a measurement is believed: surprises are refused, but not for ever."""

from __future__ import annotations

from aeroloop.signals import NS


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
