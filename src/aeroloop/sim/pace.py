"""Pace of simulated time: set by the controllers' answers (lockstep) or by the wall clock, for all aircraft together.

In lockstep, time advances to the earliest time that an exchange requests, as soon as all have answered. At a wall-clock
pace every step of the finest grid has an absolute deadline on the monotonic clock; one that is missed by more than a
step is counted, and simulated time slips by the steps missed: there are no bursts to catch up. Lockstep also runs at
wall-clock pace while a controller has not answered yet.

At every pace the user may pause between two rounds of the loop, advance by single steps, and change the speed; in
lockstep a speed limits how fast time advances. A pause moves the deadlines by its length, and changes no row that is
simulated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from aeroloop.core.signals import NS
from aeroloop.core.waiting import readable
from aeroloop.sim.exchange import NEVER_NS, Exchange, Stopped
from aeroloop.sim.loop import Craft

ASK_S = 0.2
"""Longest wait between two checks for a stop request."""
POLL_S = 0.01
"""Longest wait between two checks for a command while simulated time stands still."""

Wait = Callable[[Sequence[int], float], Sequence[int]]
"""(descriptors, seconds) -> those that are readable, as soon as any is."""


def wait_readable(descriptors: Sequence[int], timeout_s: float) -> Sequence[int]:
    if not descriptors:
        time.sleep(timeout_s)
        return ()
    return readable(descriptors, timeout_s)


class PaceState(NamedTuple):
    """For those who follow the simulation's time."""

    paused: bool
    speed: float  # simulated seconds a second; in lockstep the limit, infinity without one
    t_ns: int  # simulated time


class Pace:
    def __init__(
        self,
        step_ns: int,
        *,
        speed: float = 1.0,
        lockstep: bool = False,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wait: Wait = wait_readable,
        tell: Callable[[PaceState], None] = lambda state: None,
    ) -> None:
        """`step_ns` is the finest step grid of the fleet; `speed` is in simulated seconds per second, in lockstep only
        until all controllers answer. `tell` gets every change of the state."""
        self.lockstep = lockstep
        self.missed_deadlines = 0
        self.lateness_s = 0.0  # of the last step
        self.held_ns = 0  # wall time for which simulated time stood still on request
        self._step_ns, self._speed = step_ns, speed
        self._period_ns = round(step_ns / speed)
        self._now_ns, self._wait, self._tell = now_ns, wait, tell
        self._t_ns = 0
        self._origin_ns: int | None = None  # wall-clock time at t = 0; None: the wall clock does not set the pace
        self._hold_ns = NEVER_NS  # simulated time at which it is paused
        self._limit = math.inf  # of the speed in lockstep
        self._limit_from: tuple[int, int] | None = None  # wall-clock and simulated time since which the limit holds

    @property
    def paused(self) -> bool:
        return self._t_ns >= self._hold_ns

    @property
    def state(self) -> PaceState:
        return PaceState(self.paused, self._limit if self.lockstep else self._speed, self._t_ns)

    def pause(self) -> None:
        self._hold_ns = self._t_ns

    def step(self, count: int = 1) -> None:
        """Advance by steps of the finest grid, then pause."""
        self._hold_ns = (self._t_ns // self._step_ns + count) * self._step_ns

    def resume(self) -> None:
        self._hold_ns = NEVER_NS

    def set_speed(self, speed: float) -> None:
        """Simulated seconds a second from now on; infinity: as fast as lockstep can."""
        if self.lockstep:
            self._limit, self._limit_from = speed, None
        else:
            if self.paused:
                self._origin_ns = None
            elif self._origin_ns is not None:  # what is left to the next deadline goes by the new speed
                now_ns = self._now_ns()
                elapsed_ns = (now_ns - self._origin_ns) * self._speed
                self._origin_ns = now_ns - int(max(elapsed_ns, self._t_ns) / speed)
            self._speed, self._period_ns = speed, round(self._step_ns / speed)
        self._tell(self.state)

    def hold(self, attend: Callable[[], str], stopped: Stopped) -> str:
        """Between two rounds: wait while paused, or in lockstep ahead of the speed's limit. `attend` reads commands
        meanwhile; returns its end reason, or an empty string."""
        ended = attend()
        if not (self.paused or self._limit_from or self._limit < math.inf) or ended:
            return ended
        began_ns, paused = self._now_ns(), False
        while not ended and not stopped() and (wait_s := self._wait_s()) > 0.0:
            if self.paused is not paused:
                paused = self.paused
                self._tell(self.state)
            self._wait((), min(wait_s, POLL_S))
            ended = attend()
        held_ns = self._now_ns() - began_ns
        if paused:
            self.held_ns += held_ns
            self._limit_from = None
            self._tell(self.state)
        if self._origin_ns is not None:
            self._origin_ns += held_ns
        return ended

    def _wait_s(self) -> float:
        """How long simulated time stands still, as far as is known."""
        if self.paused:
            return POLL_S
        if self._limit == math.inf:
            return 0.0
        if self._limit_from is None:
            self._limit_from = self._now_ns(), self._t_ns
        from_ns, from_t_ns = self._limit_from
        late_ns = self._now_ns() - from_ns - (self._t_ns - from_t_ns) / self._limit
        if late_ns > NS:  # slower than the limit: do not catch up later
            self._limit_from = None
        return max(0.0, -late_ns / NS)

    def until(self, fleet: Sequence[Craft], stopped: Stopped) -> int:
        due_ns, locked = self._hold_ns, self.lockstep
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
