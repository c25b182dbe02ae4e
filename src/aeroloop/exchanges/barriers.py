"""Lockstep by batons beside the link, independent of the message content.

A baton carries the number of bytes its sender has put on the link by a simulated time (`realtime/lockstep.py`), so that
a flight depends neither on how the kernel delivers bytes nor on the impairments of the link.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from aeroloop.realtime.lockstep import BEFORE_NS, Reply, StampedLink, Stepped

GROUND_AHEAD_CYCLES = 64
"""Control periods that the ground may work ahead: references depend on time alone, so there is nothing to wait for."""


class BoardBaton(Protocol):
    def pass_on(self, *numbers: int) -> None: ...
    def take(self) -> tuple[int, ...]: ...
    def close(self) -> None: ...


class GroundBaton(Protocol):
    def pass_on(self, *numbers: int) -> None: ...
    def close(self) -> None: ...


class BatonBarrier:
    """Time advances to the next byte or timer as soon as the board has answered everything before it."""

    def __init__(
        self,
        wire: StampedLink,
        link: Stepped,
        board: BoardBaton,
        ground: GroundBaton | None = None,
        *,
        number: int = 0,
        period_ns: int = 0,
        end_ns: int = 0,
    ) -> None:
        """`wire` counts the bytes, `link` is the same with its impairments; `number` is the board's index if one
        process runs several. The ground works ahead by periods, to the end."""
        self._wire, self._link, self._number = wire, link, number
        self._board, self._ground = board, ground
        self._wake_ns = BEFORE_NS
        self._told_bytes = 0
        self._ahead_ns = GROUND_AHEAD_CYCLES * period_ns
        self._end_ns = end_ns
        self._granted_ns = -1
        self._faults: deque[int] = deque()  # for the board

    def close(self) -> None:
        """End the flight for board and ground."""
        self._board.close()
        if self._ground:
            self._ground.close()

    def drop(self) -> None:
        """End the board, and go on without it."""
        self._board.close()

    def fail(self, code: int) -> None:
        """A fault for the board (`exchanges.board_faults`), with its next baton; one baton carries one."""
        self._faults.append(code)

    def begin(self) -> None:
        """Pass the baton to the board before the flight: its start message crosses the link before impairments
        start."""
        self.settle(BEFORE_NS)

    def next_ns(self, t_ns: int) -> int:
        """Time of the next bytes or of the board's timer."""
        due_ns = self._link.next_due_ns()
        return max(t_ns, self._wake_ns if due_ns is None else min(due_ns, self._wake_ns))

    def settle(self, t_ns: int) -> None:
        """Pass the baton to the board if it has anything to do at t_ns, and wait for its return."""
        if self._wire.bytes_sent == self._told_bytes and t_ns < self._wake_ns:
            return
        self._told_bytes = self._wire.bytes_sent
        fault = self._faults.popleft() if self._faults else 0
        self._board.pass_on(t_ns, self._told_bytes, self._number, fault)
        reply = Reply(*self._board.take())
        if self._ground and reply.cycle_ns > self._granted_ns:
            self._granted_ns = min(reply.cycle_ns + self._ahead_ns, self._end_ns)
            self._ground.pass_on(self._granted_ns)
        self._wire.take(reply.now_bytes, t_ns)
        self._wire.take(reply.total_bytes, max(t_ns, reply.cycle_ns))
        self._wake_ns = reply.wake_ns
