"""Several aircraft in one simulated time: all make their step, then all autopilots' answers are awaited.

So the autopilots work at the same time, and no aircraft is ever a step ahead of another. `lockstep`: as fast as the
answers come; at the wall's pace while one of the autopilots has not answered yet. `real`, `4x`: every step at its
absolute deadline on the monotonic clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS

ASK_S = 0.2
"""Whoever wants to stop is heard at least as often as this."""

Ended = Literal["time", "stopped", "diverged"]


class Flown(Protocol):
    """What a fleet needs of an aircraft's loop."""

    t_ns: int
    step_ns: int
    diverged: bool

    @property
    def settled(self) -> bool: ...
    def hear(self) -> None: ...
    def advance(self) -> None: ...
    def settle(self, stopped: Callable[[], bool]) -> None: ...


class FleetPace:
    """When the next step may begin. A missed deadline is counted, and what it lost is never made up for in a burst."""

    def __init__(
        self,
        step_ns: int,
        *,
        speed: float = 1.0,
        lockstep: bool = False,
        now_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`speed` is simulated seconds a second. In lockstep it holds only while an autopilot has not answered."""
        self.lockstep = lockstep
        self.missed_deadlines = 0
        self.lateness_s = 0.0  # of the last step
        self._step_ns, self._speed = step_ns, speed
        self._period_ns = round(step_ns / speed)
        self._now_ns, self._sleep = now_ns, sleep
        self._origin_ns = 0
        self._due_ns = -1

    def until(self, t_ns: int, stopped: Callable[[], bool]) -> bool:
        """Wait for the deadline of the step that ends at t_ns; False if there was a wish to stop."""
        if t_ns != self._due_ns:  # the first, or lockstep ran on meanwhile: its time was not the wall's
            self._origin_ns = self._now_ns() + self._period_ns - int(t_ns / self._speed)
        self._due_ns = t_ns + self._step_ns
        deadline_ns = self._origin_ns + int(t_ns / self._speed)
        while (early_ns := deadline_ns - self._now_ns()) > 0:
            if stopped():
                return False
            self._sleep(min(early_ns / NS, ASK_S))
        self.lateness_s = -early_ns / NS
        missed = -early_ns // self._period_ns
        if missed > 0:
            self.missed_deadlines += missed
            self._origin_ns += missed * self._period_ns
        return not stopped()


def fly_together(
    loops: Sequence[Flown],
    until_ns: int,
    pace: FleetPace,
    stopped: Callable[[], bool] = lambda: False,
    attend: Callable[[], None] = lambda: None,
) -> Ended:
    """To a simulated time, or until somebody wants to stop, or one of the aircraft is out of control.

    `attend` is called between steps, for orders in flight.
    """
    times = {(loop.t_ns, loop.step_ns) for loop in loops}
    if len(times) != 1:
        raise ConfigError(f"aircraft that fly together need one time and one step, not {sorted(times)} (ns)")
    ((t_ns, step_ns),) = times
    while t_ns < until_ns:
        t_ns += step_ns
        owing = [loop for loop in loops if not loop.settled]
        if owing or not pace.lockstep:
            if not pace.until(t_ns, stopped):
                return "stopped"
            for loop in owing:
                loop.hear()
        elif stopped():
            return "stopped"
        for loop in loops:
            loop.advance()
        if any(loop.diverged for loop in loops):
            return "diverged"
        for loop in loops:
            loop.settle(stopped)
        attend()
    return "time"
