"""Run times of a board whose timer is the arrival of samples, on a link that may lose or delay them."""

from __future__ import annotations


class Cadence:
    """The board runs when a sample has arrived, at most once per period; without a sample for a period it runs without
    one. So on average it runs once per period, and at the sample's own time as long as samples arrive."""

    def __init__(self, period_ns: int) -> None:
        self._period_ns = period_ns
        self._free_ns = 0  # end of the current period

    def due(self, t_ns: int, *, sampled: bool) -> bool:
        """Whether it runs now; if so, its next period begins."""
        if t_ns < self.wake_ns(sampled=sampled):
            return False
        self._free_ns += self._period_ns
        return True

    def resume(self, t_ns: int) -> None:
        """Its next period begins at this time at the earliest; those before are not made up for."""
        self._free_ns = max(self._free_ns, t_ns)

    def wake_ns(self, *, sampled: bool) -> int:
        """When it runs if no sample arrives before."""
        return self._free_ns if sampled else self._free_ns + self._period_ns
