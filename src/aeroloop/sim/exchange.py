"""Interface between the loop and one controller: four calls per round, and the time of the next service.

Request-driven, period-driven, sample-driven and alternating protocols differ only behind this interface; so does the
waiting in lockstep. The call order in each round is `next_ns`, `receive`, `serve`, `settle`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from aeroloop.core.faults import Switch, Switched
from aeroloop.core.operator import OperatorCommand

Row = tuple[float, ...]
Stopped = Callable[[], bool]
NEVER_NS = 1 << 62
"""Later than any flight: an exchange with this deadline is served only when bytes arrive."""


class Exchange(Protocol):
    """One controller at the end of one link."""

    @property
    def over(self) -> bool:
        """The exchange needs no further service, even if the flight's end time is not reached."""

    @property
    def command(self) -> Row | None:
        """The latest accepted command; None: none received yet, its sender has disconnected, or the peer is no
        controller."""

    @property
    def locked(self) -> bool:
        """False: the controller does not answer yet, so that even lockstep runs at wall-clock pace."""

    @property
    def cuts(self) -> bool:
        """Messages have exact times, at which the vehicle's step is cut. Otherwise `next_ns` lies on the vehicle's step
        grid, or time would never reach it."""

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        """Before the flight, on the link without impairments: drain it, then wait for the first message; LinkError on
        failure."""

    def next_ns(self) -> int:
        """Simulated time of the next service."""

    def fileno(self) -> int:
        """File descriptor on which a wall-clock pace waits besides its deadline; -1: none."""

    def wake(self, t_ns: int) -> None:
        """Bytes have arrived at this time, between two deadlines."""

    def receive(self, t_ns: int) -> None:
        """Simulated time may advance to t_ns: read the commands that apply to that step; does not block."""

    def serve(self) -> None:
        """At the vehicle's time: send samples, receive commands and telemetry; does not block."""

    def settle(self, stopped: Stopped) -> None:
        """Wait in lockstep until all messages of this time have arrived; bounded by a timeout."""

    def switch(self, switch: Switch) -> Switched:
        """Switch a fault of the link on or off; ConfigError if that is not possible."""

    def finish(self) -> None:
        """At the end of the flight: log the last rows."""

    def close(self) -> None:
        """Close the link; only once the log is complete, since PX4 spins when its link ends."""


@runtime_checkable
class BoardFaults(Protocol):
    """An exchange that can switch the faults of its boards. A board behind another exchange has its own plan."""

    @property
    def boards_fail(self) -> bool:
        """Whether it switches them in this flight; otherwise the board has its own plan."""

    def switch_board(self, switch: Switch) -> Switched:
        """Switch a fault of a board on or off; ConfigError if that is not possible."""


@runtime_checkable
class Operated(Protocol):
    """An exchange whose controller takes user commands."""

    def operate(self, order: OperatorCommand, sent: Callable[[int], None]) -> None:
        """Send a user command with the next message, and tell `sent` when that was; ConfigError if it cannot be."""
