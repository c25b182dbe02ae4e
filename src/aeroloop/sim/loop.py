"""The only loop there is: read this file and you know the bench.

    command ─▶ actuators ─▶ body ─▶ state ─▶ sensors ─▶ protocol ─▶ link ─▶ controller
       ▲                     ▲                                                  │
       │          earth, atmosphere, wind, ground                               │
       └──────────────────────── protocol ◀────────── link ◀────────────────────┘

A round: the pace says how far time may go; every vehicle takes its controllers' command and advances; every exchange
sends what was measured and takes what has come; every exchange waits for what lockstep demands. So all aircraft make
their step before any answer is awaited, and no aircraft's flight depends on which others share its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

from aeroloop.sim.exchange import Exchange, Row, Stopped
from aeroloop.sim.vehicle import Vehicle

_over = attrgetter("over")

Select = Callable[[Sequence[Row | None]], Row | None]
"""Which of several controllers' commands flies the aircraft; None leaves the one before."""


def first(commands: Sequence[Row | None]) -> Row | None:
    """The first controller that has a command: the only one, or hot standby."""
    for command in commands:
        if command is not None:
            return command
    return None


@dataclass
class Craft:
    """One aircraft: a vehicle, its exchanges, which of them commands, and when its flight ends."""

    vehicle: Vehicle[Any, Any]
    exchanges: Sequence[Exchange]
    end_ns: int
    select: Select = first

    @property
    def over(self) -> bool:
        return self.vehicle.t_ns >= self.end_ns or all(map(_over, self.exchanges))

    def advance(self, t_ns: int) -> None:
        """To t_ns or the end. A message cuts the step of its own aircraft only: the others stop at their grid."""
        end_ns, vehicle = self.end_ns, self.vehicle
        cut = t_ns >= end_ns
        commands = []
        for exchange in self.exchanges:
            cut = cut or (exchange.cuts and exchange.next_ns() <= t_ns)
            exchange.hear(t_ns)
            commands.append(exchange.command)
        command = self.select(commands)
        if command is not None:
            vehicle.command = command
        vehicle.advance(t_ns if t_ns < end_ns else end_ns, exact=cut)


class Pace(Protocol):
    def until(self, fleet: Sequence[Craft], stopped: Stopped) -> int:
        """How far time may go now: the earliest time that an exchange named, or the wall's."""


def run(fleet: Sequence[Craft], pace: Pace, stopped: Stopped, attend: Callable[[], None] = lambda: None) -> str:
    """All aircraft in one time, to the end of every flight; says why it ended. `attend` is called once a round, for
    what comes from outside: faults by hand, and how well time is kept."""
    flying = list(fleet)
    for craft in flying:
        craft.vehicle.begin()
    while flying:
        t_ns = pace.until(flying, stopped)
        if stopped():
            return "stopped"
        for craft in flying:
            craft.advance(t_ns)
        for craft in flying:
            for exchange in craft.exchanges:
                exchange.serve()
        for craft in flying:
            for exchange in craft.exchanges:
                exchange.settle(stopped)
        attend()
        for craft in tuple(flying):
            if craft.vehicle.ended:
                return craft.vehicle.ended
            if craft.over:
                flying.remove(craft)
    return "completed"
