"""What the plant attends to between two steps: orders in flight, and how well it keeps time.

Every fault that is switched is done, written down, and said once. Lateness goes into the log in a row fifty times a
second, and every deadline missed is an event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import KINDS, TARGETS, Switch, Switched
from aeroloop.core.signals import NS, Event
from aeroloop.realtime.controls import ControlPort
from aeroloop.sim.pace import Pace

PERIOD_NS = NS // 50
"""Of the rows of the pace."""
MOST_SAID = 8
"""Refusals that are said; the others are counted."""

Deed = Callable[[Switch], Switched]
"""Does it; ConfigError with a sentence where it cannot."""


class FaultDesk:
    def __init__(
        self,
        port: ControlPort,
        deed: Deed,
        *,
        note: Callable[..., None],
        remark: Callable[[str], None],
        notice: Callable[[str], None],
    ) -> None:
        """`note` gets vehicle and row; `remark` what stands in the outcome, `notice` what is said at once."""
        self._port, self._deed, self._note = port, deed, note
        self._remark, self._notice = remark, notice
        self._bad = self._said = self._done = 0

    def attend(self) -> None:
        """Look for orders; costs next to nothing when there are none."""
        for switch in self._port.poll():
            self._obey(switch)
        if self._port.refused != self._bad:
            if not self._bad:
                self._notice("an order that is none came to the flight's control socket and was refused")
            self._bad = self._port.refused

    def _obey(self, switch: Switch) -> None:
        try:
            switched = self._deed(switch)
        except ConfigError as error:
            self._said += 1
            if self._said <= MOST_SAID:
                self._notice(f"a fault was not switched: {error}")
            return
        what = TARGETS.index(switch.target), KINDS.index(switch.kind), switch.on, switched.channel
        self._note(switch.vehicle, (*what, *(*switched.values, 0.0, 0.0, 0.0)[:3]))
        self._done += 1
        if self._done == 1:
            self._remark("faults were switched by hand in flight, so no other flight will be the same as this one")


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
