"""Pace of simulated time: set by the controllers' answers (lockstep) or by the wall clock, for all aircraft together.

In lockstep, time advances to the earliest time that an exchange requests, as soon as all have answered. At a wall-clock
pace every step of the finest grid has an absolute deadline on the monotonic clock; one that is missed by more than a
step is counted, and simulated time slips by the steps missed: there are no bursts to catch up. Lockstep also runs at
wall-clock pace while a controller has not answered yet.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence

from aeroloop.core.signals import NS
from aeroloop.sim.exchange import NEVER_NS, Exchange, Stopped
from aeroloop.sim.loop import Craft

ASK_S = 0.2
"""Longest wait between two checks for a stop request."""

Wait = Callable[[Sequence[int], float], Sequence[int]]
"""(descriptors, seconds) -> those that are readable, as soon as any is."""


def wait_readable(descriptors: Sequence[int], timeout_s: float) -> Sequence[int]:
    if not descriptors:
        time.sleep(timeout_s)
        return ()
    return select.select(descriptors, [], [], timeout_s)[0]


class Pace:
    def __init__(
        self,
        step_ns: int,
        *,
        speed: float = 1.0,
        lockstep: bool = False,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wait: Wait = wait_readable,
    ) -> None:
        """`step_ns` is the finest step grid of the fleet; `speed` is in simulated seconds per second, in lockstep only
        until all controllers answer."""
        self.lockstep = lockstep
        self.missed_deadlines = 0
        self.lateness_s = 0.0  # of the last step
        self._step_ns, self._speed = step_ns, speed
        self._period_ns = round(step_ns / speed)
        self._now_ns, self._wait = now_ns, wait
        self._t_ns = 0
        self._origin_ns: int | None = None  # wall-clock time at t = 0; None: the wall clock does not set the pace

    def until(self, fleet: Sequence[Craft], stopped: Stopped) -> int:
        due_ns, locked = NEVER_NS, self.lockstep
        for craft in fleet:
            for exchange in craft.exchanges:
                wanted_ns = exchange.next_ns()
                if wanted_ns < due_ns:
                    due_ns = wanted_ns
                locked = locked and exchange.locked
        if locked:
            self._origin_ns = None  # lockstep may run ahead of the wall clock: do not wait for that lead later
            self._t_ns = due_ns
            return due_ns
        self._t_ns = self._wall(fleet, due_ns, stopped)
        return self._t_ns

    def _wall(self, fleet: Sequence[Craft], due_ns: int, stopped: Stopped) -> int:
        t_ns = self._t_ns
        if self._origin_ns is None:
            self._origin_ns = self._now_ns() - int(t_ns / self._speed)
        grid_ns = (t_ns // self._step_ns + 1) * self._step_ns
        target_ns = min(grid_ns, max(t_ns, due_ns))
        awake = [x for craft in fleet for x in craft.exchanges if x.cuts and x.fileno() >= 0]
        deadline_ns = self._origin_ns + int(target_ns / self._speed)
        while (early_ns := deadline_ns - self._now_ns()) > 0:
            if stopped():
                return t_ns
            readable = self._wait([x.fileno() for x in awake], min(early_ns / NS, ASK_S))
            if readable:
                return self._woken([x for x in awake if x.fileno() in readable], t_ns, target_ns)
        if target_ns == grid_ns:
            self._note_lateness(-early_ns)
        return target_ns

    def _woken(self, exchanges: Sequence[Exchange], t_ns: int, target_ns: int) -> int:
        assert self._origin_ns is not None
        elapsed_ns = int((self._now_ns() - self._origin_ns) * self._speed)
        woken_ns = max(t_ns, min(target_ns, elapsed_ns))
        for exchange in exchanges:
            exchange.wake(woken_ns)
        return woken_ns

    def _note_lateness(self, late_ns: int) -> None:
        assert self._origin_ns is not None
        self.lateness_s = late_ns / NS
        missed = late_ns // self._period_ns
        if missed > 0:
            self.missed_deadlines += missed
            self._origin_ns += missed * self._period_ns
