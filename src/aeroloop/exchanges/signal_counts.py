"""Counts how often each signal crosses a link: configured rate, received rate and wall time."""

from __future__ import annotations

from aeroloop.core.signals import LINK_SIGNALS, NS
from aeroloop.core.stream import Publish


class Signal:
    """Count and wall-clock times of one signal."""

    __slots__ = ("count", "first_ns", "newest_ns")

    def __init__(self) -> None:
        self.count = self.first_ns = self.newest_ns = 0

    def crossed(self, now_ns: int, times: int = 1) -> None:
        if not self.count:
            self.first_ns = now_ns
        self.newest_ns = now_ns
        self.count += times


class SignalCounts:
    """The signals of one aircraft at one end; one row each per simulated second and at the end."""

    def __init__(self, set_hz: dict[str, float], send: Publish) -> None:
        self._set_hz, self._send = set_hz, send
        self._signals = {name: Signal() for name in set_hz}
        self._numbers = {name: LINK_SIGNALS.index(name) for name in set_hz}

    def __getitem__(self, name: str) -> Signal:
        return self._signals[name]

    def publish(self, t_ns: int) -> None:
        for name, signal in self._signals.items():
            if signal.count:
                wall_s = (signal.newest_ns - signal.first_ns) / NS
                self._send(t_ns / NS, self._numbers[name], self._set_hz[name], signal.count, wall_s)
