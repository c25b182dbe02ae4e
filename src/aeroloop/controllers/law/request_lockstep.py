"""A board in lockstep, the same on every rung: the plant's baton comes, the board works, the baton goes back."""

from __future__ import annotations

import time

from aeroloop.boards.host import Done
from aeroloop.controllers.law.request_shell import Shell
from aeroloop.core.signals import NS
from aeroloop.flight.processes.common import stop
from aeroloop.links.base import Link
from aeroloop.protocols.board import REQUEST_FRAME
from aeroloop.realtime.lockstep import Baton, PeerGoneError, Reply, StampedLink


class Turn:
    """The board's turns in lockstep, between taking the plant's baton and passing it on.

    The timer is the plant's baton; the next cycle's request goes out with this cycle's actuators. That request
    belongs to the next timer, and the plant treats it so: it is promised, not early.
    """

    def __init__(self, shell: Shell) -> None:
        self._board = shell.board
        self._shell = shell
        self._counts_time = shell.scenario.emulator.timed
        self._promised = False
        self._busy_until_ns = 0
        self._held = b""  # what a board that is still busy will have sent by then
        self.cycle_ns = 0
        self.ahead = b""

    def take(self, now_ns: int, references: bytes, link: bytes, round_trip_ns: int) -> bytes:
        """What the board sends now; `ahead` is the request of its next cycle, when that can be told already."""
        board, self.ahead = self._board, b""
        out, self._held = self._held, b""
        timer_ns = board.next_timer_ns if self._promised and now_ns >= board.next_timer_ns else None
        if timer_ns is not None:
            self._promised = False
        done = board.step(now_ns, references, timer_ns, link)
        if done.answered:
            self._shell.note_cycle(now_ns, round_trip_ns, 0, done.busy_ns)
            if done.busy_ns > self._shell.period_ns or self._counts_time:
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
        if missed_ns >= 0:  # a board that is still at work when its timer comes leaves that cycle out
            self._board.skip(missed_ns // self._shell.period_ns + 1)


def run_lockstep(shell: Shell, link: Link, references: Link, plant: Baton, ground: Baton | None) -> None:
    now_ns, sent_bytes, sent_at_ns = 0, 0, time.monotonic_ns()
    wire, radio = StampedLink(link, lambda: now_ns), StampedLink(references, lambda: now_ns)
    dressed = shell.dress_references(radio, lambda: now_ns)
    turn = Turn(shell)
    referred_ns = announced_ns = -1
    last_ns = round(shell.scenario.duration_s * NS) // shell.period_ns * shell.period_ns
    while not stop():
        try:
            now_ns, plant_bytes, *_ = plant.take()
            wire.take(plant_bytes, now_ns)
            while ground and referred_ns < announced_ns:  # one reference for every cycle, also one that is left out
                referred_ns, ground_bytes, *_ = ground.take()
                radio.take(ground_bytes, referred_ns)
            if turn.busy(now_ns):
                out, ahead = b"", b""
            else:
                out = turn.take(now_ns, dressed.poll(), wire.poll(), time.monotonic_ns() - sent_at_ns)
                ahead = turn.ahead
            if out or ahead:
                link.send(out + ahead)
            sent_at_ns = time.monotonic_ns()
            sent_bytes += len(out)
            announced_ns = min(turn.cycle_ns, last_ns)  # the ground sends none for cycles after the flight
            plant.pass_on(*Reply(sent_bytes, turn.cycle_ns, sent_bytes + len(ahead), turn.wake_ns))
            sent_bytes += len(ahead)
        except PeerGoneError:
            break
