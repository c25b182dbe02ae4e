"""Planned faults of a board in lockstep, for boards without their own: the same interface around the board.

reset   it starts again at once, without memory: integrators, references and mode are lost
hang    the same, after the watchdog has waited for it
slow    its commands leave later by a time; a cycle that is still at work at the next timer is skipped
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from aeroloop.boards.host import Done, Say
from aeroloop.core.faults import INSTANT, PlannedFault
from aeroloop.core.signals import NS, Event, Mode, ResetCause

Restart = Callable[[int, ResetCause], None]
"""(t_ns, cause)"""
CAUSES = {"hang": ResetCause.WATCHDOG, "reset": ResetCause.COMMANDED}


class Steps(Protocol):
    mode: Mode

    @property
    def next_timer_ns(self) -> int: ...
    def skip(self, cycles: int) -> None: ...
    def step(self, t_ns: int, references: bytes, timer_ns: int | None, link: bytes) -> Done: ...


class FaultyBoard:
    def __init__(
        self, board: Steps, faults: Sequence[PlannedFault], period_ns: int, restart: Restart | None, say: Say | None
    ) -> None:
        """`restart`: None for a board that has its own hangs and resets. `say`: None if its events are its own."""
        self._board, self._period_ns, self._restart, self._say = board, period_ns, restart, say
        once = (fault for fault in faults if fault.kind in INSTANT)
        self._once = sorted(once, key=lambda fault: fault.from_s) if restart else []
        self._slow = [fault for fault in faults if fault.kind == "slow"]
        self.skip = board.skip

    @property
    def mode(self) -> Mode:
        return self._board.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._board.mode = mode

    @property
    def next_timer_ns(self) -> int:
        return self._board.next_timer_ns

    def step(self, t_ns: int, references: bytes, timer_ns: int | None, link: bytes) -> Done:
        if self._restart and self._once and round(self._once[0].from_s * NS) <= t_ns:
            self._restart(t_ns, CAUSES[self._once.pop(0).kind])
            return Done(b"", b"", answered=False)
        done = self._board.step(t_ns, references, timer_ns, link)
        late_ns = self._late_ns(t_ns)
        if not (done.answered and late_ns):
            return done
        busy_ns = done.busy_ns + late_ns
        if self._say and busy_ns > self._period_ns:
            self._say(t_ns, Event.OVERRUN, busy_ns / NS)
        return replace(done, busy_ns=busy_ns, delayed=True)

    def _late_ns(self, t_ns: int) -> int:
        active = (f for f in self._slow if round(f.from_s * NS) <= t_ns and (f.to_s is None or t_ns < f.to_s * NS))
        return sum(round(fault.switch(on=True).values[0] * NS) for fault in active)
