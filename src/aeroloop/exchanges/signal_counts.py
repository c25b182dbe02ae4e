"""How often signals cross a link: what was set, what came, and in how much wall time."""

from __future__ import annotations

from time import monotonic_ns

from aeroloop.core.signals import LINK_SIGNALS, NS
from aeroloop.core.stream import Publish


class _Signal:
    __slots__ = ("count", "first_ns", "newest_ns")

    def __init__(self) -> None:
        self.count = self.first_ns = self.newest_ns = 0


class SignalCounts:
    """One aircraft's signals at one end; a row each, once a second of simulated time and at the end."""

    def __init__(self, set_hz: dict[str, float], send: Publish) -> None:
        self._set_hz, self._send = set_hz, send
        self._signals = {name: _Signal() for name in set_hz}
        self._numbers = {name: LINK_SIGNALS.index(name) for name in set_hz}

    def count(self, *names: str) -> None:
        """What has just crossed, a name each."""
        now_ns = monotonic_ns()
        for name in names:
            signal = self._signals[name]
            if not signal.count:
                signal.first_ns = now_ns
            signal.newest_ns = now_ns
            signal.count += 1

    def tell(self, t_ns: int) -> None:
        for name, signal in self._signals.items():
            if signal.count:
                wall_s = (signal.newest_ns - signal.first_ns) / NS
                self._send(t_ns / NS, self._numbers[name], self._set_hz[name], signal.count, wall_s)
