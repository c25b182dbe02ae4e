"""Who waits for whom in lockstep, apart from what the bytes mean: here, batons beside the link.

A baton says how many bytes its sender has put on the link by a simulated time (`realtime/lockstep.py`), so that a
flight depends neither on how the kernel delivers bytes nor on what the scenario does to them on the way.
"""

from __future__ import annotations

from typing import Protocol

from aeroloop.realtime.lockstep import Reply, StampedLink, Stepped

GROUND_AHEAD_CYCLES = 64
"""How far the ground may work ahead: references depend on time alone, so nobody need wait for them."""


class BoardBaton(Protocol):
    def pass_on(self, *numbers: int) -> None: ...
    def take(self) -> tuple[int, ...]: ...
    def close(self) -> None: ...


class GroundBaton(Protocol):
    def pass_on(self, *numbers: int) -> None: ...
    def close(self) -> None: ...


class BatonBarrier:
    """Time goes to the next byte or timer as soon as the board has answered for everything before it."""

    def __init__(
        self,
        wire: StampedLink,
        link: Stepped,
        board: BoardBaton,
        ground: GroundBaton | None,
        *,
        period_ns: int,
        end_ns: int,
    ) -> None:
        """`wire` is where bytes are counted, `link` the same with its impairments."""
        self._wire, self._link = wire, link
        self._board, self._ground = board, ground
        self._wake_ns = 0
        self._told_bytes = 0
        self._ahead_ns = GROUND_AHEAD_CYCLES * period_ns
        self._end_ns = end_ns
        self._granted_ns = -1

    def close(self) -> None:
        """The flight is over, for board and ground too."""
        self._board.close()
        if self._ground:
            self._ground.close()

    def next_ns(self, t_ns: int) -> int:
        """When bytes are due, or the board's timer is."""
        due_ns = self._link.next_due_ns()
        return max(t_ns, self._wake_ns if due_ns is None else min(due_ns, self._wake_ns))

    def settle(self, t_ns: int) -> None:
        """Hand the baton to the board if it has anything to do at t_ns, and wait until it comes back."""
        if self._wire.bytes_sent == self._told_bytes and t_ns < self._wake_ns:
            return
        self._told_bytes = self._wire.bytes_sent
        self._board.pass_on(t_ns, self._told_bytes)
        reply = Reply(*self._board.take())
        if self._ground and reply.cycle_ns > self._granted_ns:
            self._granted_ns = min(reply.cycle_ns + self._ahead_ns, self._end_ns)
            self._ground.pass_on(self._granted_ns)
        self._wire.take(reply.now_bytes, t_ns)
        self._wire.take(reply.total_bytes, max(t_ns, reply.cycle_ns))
        self._wake_ns = reply.wake_ns
