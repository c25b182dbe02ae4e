"""The paces: who says how far simulated time may go. The loop is the same at each of them."""

from __future__ import annotations

import select
import time
from typing import Protocol

from aeroloop.core.signals import NS
from aeroloop.realtime.lockstep import Baton, Reply, StampedLink, Stepped

GROUND_AHEAD_CYCLES = 64
"""How far the ground may work ahead in lockstep: references depend on time alone, so nobody need wait for them."""

BEFORE_START_NS = 24 * 3600 * NS
"""How far below zero a wall clock begins while the board is awaited: the start must not set it back."""


class Pace(Protocol):
    missed_deadlines: int
    lateness_s: float

    def start(self) -> None:
        """The board is there: time zero is now."""

    def now_ns(self) -> int:
        """Simulated time."""

    def wait(self, t_ns: int) -> int:
        """From simulated time t_ns, wait until something is to be done, and say when that is."""


class LockstepPace:
    """Time goes to the next byte or timer as soon as the board has answered for everything before it."""

    def __init__(
        self, wire: StampedLink, link: Stepped, board: Baton, ground: Baton | None, *, period_ns: int, end_ns: int
    ) -> None:
        self.missed_deadlines = 0
        self.lateness_s = 0.0
        self._wire = wire
        self._link = link
        self._board = board
        self._ground = ground
        self._now_ns = 0
        self._wake_ns = 0
        self._told_bytes = 0
        self._ahead_ns = GROUND_AHEAD_CYCLES * period_ns
        self._end_ns = end_ns
        self._granted_ns = -1

    def start(self) -> None:
        pass

    def now_ns(self) -> int:
        return self._now_ns

    def wait(self, t_ns: int) -> int:
        if self._wire.bytes_sent != self._told_bytes or t_ns >= self._wake_ns:
            self._exchange(t_ns)
        due_ns = self._link.next_due_ns()
        self._now_ns = max(t_ns, self._wake_ns if due_ns is None else min(due_ns, self._wake_ns))
        return self._now_ns

    def _exchange(self, t_ns: int) -> None:
        self._told_bytes = self._wire.bytes_sent
        self._board.pass_on(t_ns, self._told_bytes)
        reply = Reply(*self._board.take())
        if self._ground and reply.cycle_ns > self._granted_ns:
            self._granted_ns = min(reply.cycle_ns + self._ahead_ns, self._end_ns)
            self._ground.pass_on(self._granted_ns)
        self._wire.take(reply.now_bytes, t_ns)
        self._wire.take(reply.total_bytes, max(t_ns, reply.cycle_ns))
        self._wake_ns = reply.wake_ns


class WallPace:
    """Absolute deadlines on the monotonic clock, `speed` simulated seconds a second.

    A deadline missed by more than a step is counted and simulated time slips by the steps missed: the plant
    never runs a burst to catch up.
    """

    def __init__(self, link: Stepped, step_ns: int, speed: float) -> None:
        self.missed_deadlines = 0
        self.lateness_s = 0.0
        self._link = link
        self._step_ns = step_ns
        self._speed = speed
        self._origin_ns = time.monotonic_ns()
        self._now_ns: int | None = None

    def start(self) -> None:
        self._origin_ns = time.monotonic_ns()
        self._now_ns = 0

    def now_ns(self) -> int:
        """The loop's time, which a slip does not set back; before the start it runs below zero."""
        return self._elapsed_ns() - BEFORE_START_NS if self._now_ns is None else self._now_ns

    def wait(self, t_ns: int) -> int:
        self._now_ns = self._wait(t_ns)
        return self._now_ns

    def _wait(self, t_ns: int) -> int:
        step_ns = (t_ns // self._step_ns + 1) * self._step_ns
        due_ns = self._link.next_due_ns()
        target_ns = step_ns if due_ns is None else max(t_ns, min(step_ns, due_ns))
        early_ns = self._wall_ns(target_ns) - time.monotonic_ns()
        if early_ns > 0:
            readable, _, _ = select.select([self._link.fileno()], [], [], early_ns / NS)
            if readable:
                return max(t_ns, min(target_ns, self._elapsed_ns()))
        if target_ns == step_ns:
            self._note_lateness(time.monotonic_ns() - self._wall_ns(step_ns))
        return target_ns

    def _elapsed_ns(self) -> int:
        return int((time.monotonic_ns() - self._origin_ns) * self._speed)

    def _wall_ns(self, t_ns: int) -> int:
        return self._origin_ns + int(t_ns / self._speed)

    def _note_lateness(self, late_ns: int) -> None:
        self.lateness_s = late_ns / NS
        period_ns = self._step_ns / self._speed
        slipped = int(late_ns / period_ns)
        if slipped > 0:
            self.missed_deadlines += slipped
            self._origin_ns += int(slipped * period_ns)
