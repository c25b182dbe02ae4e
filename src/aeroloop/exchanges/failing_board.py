"""The board's end of its faults, for boards that are called with the time of each turn: the same around any of them.

reset   it starts again at once, without memory
hang    its control task does not return; the same once the watchdog has waited for WATCHDOG_PERIODS control periods
slow    what it sends leaves later by a time; a period that begins while it is at work is skipped, with its samples

The plant passes a fault on with the baton (`board_faults.encoded`), planned or by hand. Firmware hangs and resets by
itself, so that its own watchdog ends a hang.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from aeroloop.boards.cadence import Cadence
from aeroloop.core.signals import NS, WATCHDOG_PERIODS, ResetCause
from aeroloop.exchanges.board_faults import decoded
from aeroloop.realtime.lockstep import BEFORE_NS, StampedLink, Stepped, WorkTurns

CAUSES = {"hang": ResetCause.WATCHDOG, "reset": ResetCause.COMMANDED}


class Board(Protocol):
    """A board with its link."""

    def turn(self, cadence: Cadence, t_ns: int) -> int:
        """Work if a period is due; returns the time of the next turn without bytes."""

    def skip_samples(self) -> None:
        """Read what has arrived in a period that is skipped."""

    def fail(self, kind: str) -> bool:
        """Whether its firmware hangs or resets by itself, with its next period."""

    def restart(self, t_ns: int, cause: ResetCause) -> None:
        """Start again without memory, and send the start message."""


class HeldLine:
    """The link of a board whose messages may leave later."""

    def __init__(self, link: StampedLink) -> None:
        self.url, self.poll, self.fileno = link.url, link.poll, link.fileno
        self.next_due_ns, self.close = link.next_due_ns, link.close
        self._link = link
        self.holds = False
        self.held = b""

    def send(self, data: bytes) -> None:
        if self.holds:
            self.held += data
        else:
            self._link.send(data)

    def release(self) -> None:
        held, self.held = self.held, b""
        if held:
            self._link.send(held)


B = TypeVar("B", bound=Board)


class FailingTurns(WorkTurns, Generic[B]):
    """Turns of a board; it must read and write on `line`."""

    def __init__(self, link: Stepped, period_ns: int, board: Callable[[HeldLine], B]) -> None:
        super().__init__(link)
        self.line = HeldLine(self.link)
        self.board = board(self.line)
        self.work = self._turn
        self._period_ns, self._cadence = period_ns, Cadence(period_ns)
        self._slow_ns = 0
        self._failure = ""  # that begins with this turn
        self._cause: ResetCause | None = None  # of the restart that is due
        self._back_ns = 0
        self._begun_ns = self._busy_until_ns = self._resume_ns = BEFORE_NS

    def inject(self, code: int) -> None:
        kind, on, value = decoded(code)
        if kind == "slow":
            self._slow_ns = round(value * NS) if on else 0
        elif not self.board.fail(kind):
            self._failure = kind

    def _turn(self, t_ns: int) -> int:
        if self._failure:
            self._begin_failure(t_ns)
        if self._cause is not None:
            return self._dead(t_ns, self._cause)
        if t_ns < self._resume_ns:
            return self._at_work(t_ns)
        self.line.release()
        self.line.holds = self._slow_ns > 0 and t_ns >= 0
        wake_ns = self.board.turn(self._cadence, t_ns)
        self.line.holds = False
        if not self.line.held:
            return wake_ns
        self._begun_ns, self._busy_until_ns = t_ns, t_ns + self._slow_ns
        self._resume_ns = t_ns + (self._slow_ns // self._period_ns + 1) * self._period_ns
        self._cadence.resume(self._resume_ns)
        return self._busy_until_ns

    def _begin_failure(self, t_ns: int) -> None:
        self._cause = CAUSES[self._failure]
        dead_ns = WATCHDOG_PERIODS * self._period_ns if self._cause is ResetCause.WATCHDOG else 0
        self._back_ns, self._failure = t_ns + dead_ns, ""
        self.line.held, self._resume_ns = b"", t_ns

    def _dead(self, t_ns: int, cause: ResetCause) -> int:
        self.line.poll()  # nobody reads it
        if t_ns < self._back_ns:
            return self._back_ns
        self._cause, self._cadence = None, Cadence(self._period_ns)
        self.board.restart(t_ns, cause)
        self._cadence.resume(t_ns + 1)
        return self._cadence.wake_ns(sampled=False)

    def _at_work(self, t_ns: int) -> int:
        if t_ns >= self._busy_until_ns:
            self.line.release()
        if t_ns >= self._begun_ns + self._period_ns:
            self.board.skip_samples()
        return self._busy_until_ns if self.line.held else self._resume_ns
