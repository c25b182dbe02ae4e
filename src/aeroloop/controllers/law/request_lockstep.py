"""A board in lockstep, the same on every rung: the plant passes the baton, the board works, the baton returns."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

from aeroloop.boards.host import Done
from aeroloop.controllers.law.request_shell import Failing, Shell
from aeroloop.core.signals import NS
from aeroloop.exchanges import board_faults
from aeroloop.flight.processes.common import stop
from aeroloop.links.base import Link
from aeroloop.protocols.board import REQUEST_FRAME
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.interface import REFERENCE
from aeroloop.realtime.lockstep import Baton, Reply, StampedLink, take_turns


class Turn:
    """The board's turns in lockstep, between taking the plant's baton and passing it on.

    The timer is the plant's baton; the next cycle's request is sent with this cycle's actuators. The plant handles that
    request at the time of the next timer.
    """

    def __init__(self, shell: Shell) -> None:
        self._board = shell.board
        self._shell = shell
        self._counts_time = shell.scenario.controller.emulator.timed
        self._promised = False
        self._busy_until_ns = 0
        self._held = b""  # bytes that a board which is still busy will have sent by then
        self.cycle_ns = 0
        self.ahead = b""
        self._slow_ns = 0  # added to the execution time of each cycle
        self._references = BiasedReferences()

    def inject(self, code: int) -> None:
        """A fault of one of several boards, which the plant switches."""
        kind, on, value = board_faults.decoded(code)
        if kind == "slow":
            self._slow_ns = round(value * NS) if on else 0
        elif kind == "reference_bias":
            self._references.bias_m = value if on else 0.0
        elif isinstance(self._board, Failing):
            self._board.inject(kind)

    def take(self, now_ns: int, references: bytes, link: bytes, round_trip_ns: int) -> bytes:
        """The bytes that the board sends now; `ahead` is the request of its next cycle, if it is already known."""
        board, self.ahead = self._board, b""
        out, self._held = self._held, b""
        timer_ns = board.next_timer_ns if self._promised and now_ns >= board.next_timer_ns else None
        if timer_ns is not None:
            self._promised = False
        done = board.step(now_ns, self._references.changed(references), timer_ns, link)
        if done.answered:
            if self._slow_ns:
                done = replace(done, busy_ns=done.busy_ns + self._slow_ns, delayed=True)
            self._shell.note_cycle(now_ns, round_trip_ns, 0, done.busy_ns)
            if done.delayed or done.busy_ns > self._shell.period_ns or self._counts_time:
                self._hold(done, now_ns)
                return out
        out += done.now
        if (done.answered or out) and now_ns < board.next_timer_ns:
            self._promise()
        elif not self._promised and now_ns >= board.next_timer_ns:
            self.cycle_ns = now_ns
            begun = board.step(now_ns, b"", board.next_timer_ns, b"")
            out += begun.now + begun.opening
        return out

    def busy(self, now_ns: int) -> bool:
        return now_ns < self._busy_until_ns

    @property
    def wake_ns(self) -> int:
        if self._held:
            return self._busy_until_ns
        return self._board.next_timer_ns + (self._shell.period_ns if self._promised else 0)

    def _promise(self) -> None:
        self.ahead, self._promised, self.cycle_ns = REQUEST_FRAME, True, self._board.next_timer_ns

    def _hold(self, done: Done, now_ns: int) -> None:
        self._held, self._busy_until_ns = done.now, now_ns + done.busy_ns
        missed_ns = self._busy_until_ns - self._board.next_timer_ns
        if missed_ns >= 0:  # a board that is still busy at its timer skips that cycle
            self._board.skip(missed_ns // self._shell.period_ns + 1)


class BiasedReferences:
    """The references that one of several boards receives, moved east by a fault."""

    def __init__(self) -> None:
        self.bias_m = 0.0
        self._deframer = Deframer(REFERENCE.size, Counters())

    def changed(self, chunk: bytes) -> bytes:
        if not self.bias_m or not chunk:
            return chunk
        moved = b""
        for data in self._deframer.feed(chunk):
            t_ms, x_m, *rest = REFERENCE.unpack(data)
            moved += encode(REFERENCE.pack(int(t_ms), x_m + self.bias_m, *rest))
        return moved


class GroundBaton(Protocol):
    def take(self) -> tuple[int, ...]:
        """Time of the next reference, and the number of bytes of references sent up to it."""


class LockstepTurns:
    """The board between its links: its work when the plant passes the baton."""

    def __init__(self, shell: Shell, link: Link, references: Link, ground: GroundBaton | None) -> None:
        self._turn, self._link, self._ground = Turn(shell), link, ground
        self._now_ns = self._sent_bytes = 0
        self._sent_at_ns = time.monotonic_ns()
        self._wire = StampedLink(link, lambda: self._now_ns)
        self._radio = StampedLink(references, lambda: self._now_ns)
        self._references = shell.dress_references(self._radio, lambda: self._now_ns)
        self._referred_ns = self._announced_ns = -1
        # The ground sends no references for cycles after the flight.
        self._last_ns = round(shell.scenario.duration_s * NS) // shell.period_ns * shell.period_ns

    def inject(self, code: int) -> None:
        self._turn.inject(code)

    def take(self, t_ns: int, plant_bytes: int) -> Reply:
        """Take the plant's baton; returns the reply."""
        now_ns = self._now_ns = t_ns
        self._wire.take(plant_bytes, now_ns)
        while self._ground and self._referred_ns < self._announced_ns:  # one for every cycle, also for a skipped one
            self._referred_ns, ground_bytes, *_ = self._ground.take()
            self._radio.take(ground_bytes, self._referred_ns)
        turn, out, ahead = self._turn, b"", b""
        if not turn.busy(now_ns):
            round_trip_ns = time.monotonic_ns() - self._sent_at_ns
            out = turn.take(now_ns, self._references.poll(), self._wire.poll(), round_trip_ns)
            ahead = turn.ahead
        if out or ahead:
            self._link.send(out + ahead)
        self._sent_at_ns = time.monotonic_ns()
        now_bytes = self._sent_bytes + len(out)
        self._sent_bytes = now_bytes + len(ahead)
        self._announced_ns = min(turn.cycle_ns, self._last_ns)
        return Reply(now_bytes, turn.cycle_ns, self._sent_bytes, turn.wake_ns)


def run_lockstep(shell: Shell, link: Link, references: Link, plant: Baton, ground: Baton | None) -> None:
    take_turns(plant, [LockstepTurns(shell, link, references, ground)], stop)
