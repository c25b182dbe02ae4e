"""What the loop knows of a controller at the end of a link: four calls a round, and when it wants the next.

Request-driven, period-driven, sample-driven and alternating protocols differ only behind this interface; so does who
waits for whom. The calls come in this order each round: `next_ns`, `hear`, `serve`, `settle`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from aeroloop.core.faults import Switch, Switched

Row = tuple[float, ...]
Stopped = Callable[[], bool]
NEVER_NS = 1 << 62
"""A time that does not come: only bytes can wake the one who names it."""


class Exchange(Protocol):
    """One controller at the end of one link."""

    @property
    def over(self) -> bool:
        """Nothing more is to be done for this controller, though the flight's time may not be up."""

    @property
    def command(self) -> Row | None:
        """The latest one accepted; None: none yet, or its sender has gone, or this is no controller."""

    @property
    def locked(self) -> bool:
        """False: nobody answers yet, so that even in lockstep the wall sets the pace."""

    @property
    def cuts(self) -> bool:
        """Its bytes have an exact time, at which the vehicle's step is cut. Otherwise `next_ns` lies on the vehicle's
        grid, or time would never get there."""

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        """Before time begins, on the bare link: drain it, then wait for the first message; LinkError says why not."""

    def next_ns(self) -> int:
        """When it wants to be served."""

    def fileno(self) -> int:
        """What a wall pace sleeps on besides its deadline; -1: nothing."""

    def wake(self, t_ns: int) -> None:
        """Bytes have come at this time, between two deadlines."""

    def hear(self, t_ns: int) -> None:
        """Time may go to t_ns. Commands that must be in before that step; never waits."""

    def serve(self) -> None:
        """At the vehicle's time: samples out, commands and telemetry in. Never waits."""

    def settle(self, stopped: Stopped) -> None:
        """Wait by its barrier until all that belongs to this instant is here; bounded by its patience."""

    def switch(self, switch: Switch) -> Switched:
        """A fault of the link from now on, or no longer; ConfigError says why not."""

    def finish(self) -> None:
        """The flight is over: the last rows."""

    def close(self) -> None:
        """Close the link; only once the log is complete, since PX4 spins when its link ends."""
