"""Recent IMU integrals, so that a late measurement can be compared with the state of its time."""

from __future__ import annotations

from collections import deque

from aeroloop.core.signals import NS

Moment = tuple[float, ...]
"""A time in ns, then velocity and position integrated from the IMU alone."""


class History:
    """The last `length` moments, in the order of time."""

    def __init__(self, length: int) -> None:
        self._moments: deque[Moment] = deque(maxlen=length)

    def append(self, moment: Moment) -> None:
        self._moments.append(moment)

    def clear(self) -> None:
        self._moments.clear()

    def since(self, t_ns: int, now: Moment) -> tuple[float, ...] | None:
        """Age of a measurement in s, and the inertial changes since (see `ekf.py`); None if it is older than the
        history."""
        tau_s = (now[0] - t_ns) / NS
        after = now
        for before in reversed(self._moments):
            if before[0] <= t_ns:
                break
            after = before
        else:
            return None
        span = after[0] - before[0]
        part = (t_ns - before[0]) / span if span else 0.0
        then = [b + part * (a - b) for b, a in zip(before[1:], after[1:], strict=True)]
        dv = [now[1 + i] - then[i] for i in range(3)]
        dp = [now[4 + i] - then[3 + i] - tau_s * then[i] for i in range(3)]
        return (tau_s, *dv, *dp)
