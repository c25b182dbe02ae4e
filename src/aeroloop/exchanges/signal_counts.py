"""How often signals cross a link: what was set, what came, and in how much wall time."""

from __future__ import annotations

import time
from collections.abc import Callable

from aeroloop.core.signals import LINK_SIGNALS, NS

Send = Callable[..., None]


class SignalCounts:
    """One aircraft's signals at one end; a row each, once a second of simulated time and at the end."""

    def __init__(self, vehicle: int, set_hz: dict[str, float], send: Send) -> None:
        self._vehicle, self._set_hz, self._send = vehicle, set_hz, send
        self._counts = dict.fromkeys(set_hz, 0)
        self._newest_ns = dict.fromkeys(set_hz, 0)
        self._first_ns: dict[str, int] = {}
        self._numbers = {name: LINK_SIGNALS.index(name) for name in set_hz}

    def count(self, name: str) -> None:
        now_ns = time.monotonic_ns()
        self._first_ns.setdefault(name, now_ns)
        self._counts[name] += 1
        self._newest_ns[name] = now_ns

    def tell(self, t_ns: int) -> None:
        for name, count in self._counts.items():
            if count:
                wall_s = (self._newest_ns[name] - self._first_ns[name]) / NS
                self._send(t_ns / NS, self._vehicle, self._numbers[name], self._set_hz[name], count, wall_s)
