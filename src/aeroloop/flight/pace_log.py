"""How well the plant keeps time, into the log: a row fifty times a second, and an event for every deadline missed."""

from __future__ import annotations

from typing import Protocol

from aeroloop.core.signals import NS, Event
from aeroloop.sim.pace import Pace

PERIOD_NS = NS // 50


class Timed(Protocol):
    t_ns: int

    def say(self, event: Event, value: float) -> None: ...
    def note_pace(self, lateness_s: float, missed: int) -> None: ...


class PaceLog:
    """Told with the rows of one aircraft, since all share one time."""

    def __init__(self, pace: Pace, vehicle: Timed) -> None:
        self._pace, self._vehicle = pace, vehicle
        self._largest_s = 0.0
        self._next_ns = self._missed = 0

    def attend(self) -> None:
        if self._pace.lockstep:
            return
        self._largest_s = max(self._largest_s, self._pace.lateness_s)
        missed = self._pace.missed_deadlines
        if missed != self._missed:
            self._vehicle.say(Event.DEADLINE_MISSED, missed - self._missed)
            self._missed = missed
        if self._vehicle.t_ns >= self._next_ns:
            self._next_ns = (self._vehicle.t_ns // PERIOD_NS + 1) * PERIOD_NS
            self._vehicle.note_pace(self._largest_s, missed)
            self._largest_s = 0.0
