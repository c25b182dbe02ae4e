"""Work of the plant between two steps: control commands received in flight, and logging of its timing.

A request to end ends the flight; a pause stops simulated time here. Faults and changes are put into the plan of their
aircraft for the next step; each is logged, and reported with its time, so that it can be written to the run's
scenario.toml; so are user commands to a board. Lateness is logged fifty times a second, and every deadline missed is an
event.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from aeroloop.core.changes import Change
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import Switch
from aeroloop.core.operator import OperatorCommand
from aeroloop.core.signals import NS, Event
from aeroloop.realtime.controls import UNLIMITED, Command, ControlPort, End, Ender, Kill, Operate, Pause, Speed, Step
from aeroloop.sim.fault_plan import Action
from aeroloop.sim.loop import Craft
from aeroloop.sim.pace import Pace

PERIOD_NS = NS // 50
"""Rate of the stream `pace`."""
MOST_REFUSALS = 8
"""Number of refusals that are reported; further ones are only counted."""

REFUSED: Mapping[type, str] = {Switch: "fault not switched", Operate: "user command not sent"}

ENDED: Mapping[Ender, str] = {
    "ctrl-c": "ended by user (Ctrl-C)",
    "sigterm": "ended by user (SIGTERM)",
    "command": "ended by user (aeroloop cmd end)",
    "page": "ended by user (dashboard)",
    "restart": "ended by user (restart)",
}
"""End reason `ended` of a flight that the user ended."""


class LiveControl:
    """The commands for one part of the flight, and for the flight as a whole."""

    def __init__(
        self,
        port: ControlPort,
        crafts: Sequence[Craft],
        pace: Pace,
        *,
        notice: Callable[[str], None],
        changed: Callable[[dict[str, Any]], None],
        kill: Callable[[str], None] = lambda process: None,
        fixed_speed: str = "",
    ) -> None:
        """`notice` gets a message that is shown at once, `changed` a fault or change as `recorded` has it, `kill` the
        name of a process. `fixed_speed`: why the speed cannot be changed."""
        self._port, self._crafts, self._pace = port, crafts, pace
        self._notice, self._changed, self._kill = notice, changed, kill
        self._fixed_speed = fixed_speed
        self._bad = self._refusals = 0
        for craft in crafts:
            craft.by_hand = self._done

    def attend(self) -> str:
        """Read and execute requests; nearly free if there are none. Returns the end reason, or an empty string."""
        ended = ""
        for request in self._port.poll():
            try:
                ended = self._obey(request) or ended
            except ConfigError as error:
                self._refuse(request, str(error))
        if self._port.refused != self._bad:
            if not self._bad:
                self._notice("an invalid command was received on the flight's control socket and refused")
            self._bad = self._port.refused
        return ended

    def _obey(self, request: Command) -> str:
        match request:
            case End():
                return ENDED[request.end]
            case Kill():
                self._kill(request.kill)
            case Pause():
                (self._pace.pause if request.pause else self._pace.resume)()
            case Step():
                self._pace.step(request.step)
            case Speed():
                self._set_speed(request.speed)
            case Operate():
                self._craft(request.vehicle).operate(request.order)
            case Switch() | Change():
                self._craft(request.vehicle).schedule(request)
        return ""

    def _craft(self, vehicle: int) -> Craft:
        if vehicle >= len(self._crafts):
            raise ConfigError(f"vehicle {vehicle}: there are {len(self._crafts)}, the first is 0")
        return self._crafts[vehicle]

    def _set_speed(self, speed: float) -> None:
        if self._fixed_speed:
            raise ConfigError(self._fixed_speed)
        if speed == UNLIMITED and not self._pace.lockstep:
            raise ConfigError("speed: only lockstep can fly as fast as possible; expected a number")
        self._pace.set_speed(math.inf if speed == UNLIMITED else speed)

    def _done(self, t_ns: int, action: Action | OperatorCommand, refused: str) -> None:
        if refused:
            self._refuse(action, refused)
        else:
            self._changed(recorded(t_ns, action))

    def _refuse(self, request: Command | OperatorCommand, error: str) -> None:
        self._refusals += 1
        if self._refusals <= MOST_REFUSALS:
            self._notice(f"{REFUSED.get(type(request), 'not changed')}: {error}")


def recorded(t_ns: int, action: Action | OperatorCommand) -> dict[str, Any]:
    """What was done by hand, as an entry of the scenario file under its key."""
    if isinstance(action, OperatorCommand):
        return {"operator": {**msgspec.to_builtins(action), "at_s": t_ns / NS}}
    if isinstance(action, Change):
        entry = {"key": action.key, "at_s": t_ns / NS, "value": action.value, "vehicle": action.vehicle}
        return {"changes": entry}
    fault = msgspec.to_builtins(action)
    on = fault.pop("on")
    return {"faults": {**fault, "from_s": t_ns / NS, "manual": "on" if on else "off"}}


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
