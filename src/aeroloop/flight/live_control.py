"""Work of the plant between two steps: control commands received in flight, and logging of its timing.

Each fault switched is logged and reported once; user commands go to the board; a request to end ends the flight.
Lateness is logged fifty times a second, and every deadline missed is an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import Switch, Switched, log_row
from aeroloop.core.signals import NS, Event
from aeroloop.realtime.controls import ControlPort, End, Ender, Kill, Operate
from aeroloop.sim.pace import Pace

PERIOD_NS = NS // 50
"""Rate of the stream `pace`."""
MOST_REFUSALS = 8
"""Number of refusals that are reported; further ones are only counted."""

ENDED: Mapping[Ender, str] = {
    "ctrl-c": "ended by user (Ctrl-C)",
    "sigterm": "ended by user (SIGTERM)",
    "command": "ended by user (aeroloop cmd end)",
    "page": "ended by user (dashboard)",
}
"""End reason `ended` of a flight that the user ended."""

PilotAction = Callable[[Switch], Switched]
"""Switches a fault; ConfigError if that is not possible."""


def _no_operator(request: Operate) -> None:
    raise ConfigError("this aircraft's board takes no user commands")


class FaultControl:
    def __init__(
        self,
        port: ControlPort,
        action: PilotAction,
        *,
        note: Callable[..., None],
        remark: Callable[[str], None],
        notice: Callable[[str], None],
        kill: Callable[[str], None] = lambda process: None,
        operate: Callable[[Operate], None] = _no_operator,
    ) -> None:
        """`note` gets vehicle and row; `remark` a message for the outcome, `notice` one that is shown at once; `kill`
        the name of a process; `operate` sends a user command to a board, or raises ConfigError."""
        self._port, self._action, self._note = port, action, note
        self._remark, self._notice, self._kill, self._operate = remark, notice, kill, operate
        self._bad = self._refusals = self._done = self._operated = 0

    def attend(self) -> str:
        """Read and execute requests; nearly free if there are none. Returns the end reason, or an empty string."""
        ended = ""
        for request in self._port.poll():
            if isinstance(request, End):
                ended = ended or ENDED[request.end]
            elif isinstance(request, Kill):
                self._kill(request.kill)
            elif isinstance(request, Operate):
                self._send_order(request)
            else:
                self._switch_fault(request)
        if self._port.refused != self._bad:
            if not self._bad:
                self._notice("an invalid command was received on the flight's control socket and refused")
            self._bad = self._port.refused
        return ended

    def _send_order(self, request: Operate) -> None:
        try:
            self._operate(request)
        except ConfigError as error:
            self._refusals += 1
            if self._refusals <= MOST_REFUSALS:
                self._notice(f"user command not sent: {error}")
            return
        self._operated += 1
        if self._operated == 1:
            self._remark(
                "user commands were given by hand; a lockstep flight is repeated with those of its log in [[operator]]"
            )

    def _switch_fault(self, switch: Switch) -> None:
        try:
            switched = self._action(switch)
        except ConfigError as error:
            self._refusals += 1
            if self._refusals <= MOST_REFUSALS:
                self._notice(f"fault not switched: {error}")
            return
        self._note(switch.vehicle, log_row(switch, switched))
        self._done += 1
        if self._done == 1:
            self._remark("faults were switched manually in flight: this flight cannot be repeated exactly")


class Timed(Protocol):
    t_ns: int

    def log_event(self, event: Event, value: float) -> None: ...
    def note_pace(self, lateness_s: float, missed: int) -> None: ...


class PaceLog:
    """Logged for one aircraft, since all share one clock."""

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
            self._vehicle.log_event(Event.DEADLINE_MISSED, missed - self._missed)
            self._missed = missed
        if self._vehicle.t_ns >= self._next_ns:
            self._next_ns = (self._vehicle.t_ns // PERIOD_NS + 1) * PERIOD_NS
            self._vehicle.note_pace(self._largest_s, missed)
            self._largest_s = 0.0
