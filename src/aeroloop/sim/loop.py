"""The simulation loop: advances all aircraft and exchanges messages with their controllers.

    command ─▶ actuators ─▶ body ─▶ state ─▶ sensors ─▶ protocol ─▶ link ─▶ controller
       ▲                     ▲                                                  │
       │          earth, atmosphere, wind, ground                               │
       └──────────────────────── protocol ◀────────── link ◀────────────────────┘

In each round the pace gives the time to advance to; every vehicle applies its controller's command and advances; every
exchange sends the samples and receives what has arrived; every exchange waits for the answers that lockstep requires.
So all aircraft step before the loop waits for any answer, and no flight depends on the other aircraft in the same
simulation until two of them touch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from aeroloop.core.changes import Change, Values
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import BOARD_TARGETS, LINE_TARGETS, SIGHT_TARGETS, Switch, Switched, log_row
from aeroloop.core.frames import Vec3
from aeroloop.core.operator import OperatorCommand
from aeroloop.core.shape import Shape
from aeroloop.sim.encounters import encounters
from aeroloop.sim.exchange import BoardFaults, Exchange, Operated, Row, Stopped
from aeroloop.sim.fault_plan import Action, FaultPlan
from aeroloop.sim.vehicle import Vehicle

Select = Callable[[Sequence[Row | None]], Row | None]
"""Selects the command that flies the aircraft from those of several controllers; None keeps the previous one."""


def first(commands: Sequence[Row | None]) -> Row | None:
    """The first controller that has a command: the only one, or hot standby."""
    for command in commands:
        if command is not None:
            return command
    return None


def no_cameras(switch: Switch) -> Switched:
    raise ConfigError(f"no fault of {switch.target} can be switched in this flight: it has no cameras")


def no_changes(change: Change) -> tuple[int, Values]:
    raise ConfigError(f"{change.key}: cannot be changed in this flight; expected one of: none")


@dataclass
class Craft:
    """One aircraft: vehicle, exchanges, selection of the commanding exchange, end time and plan of faults and
    changes."""

    vehicle: Vehicle[Any, Any]
    exchanges: Sequence[Exchange]
    end_ns: int
    select: Select = first
    name: str = ""  # added to the end reason when several aircraft fly
    plan: FaultPlan = field(default_factory=FaultPlan)
    sight: Callable[[Switch], Switched] = no_cameras  # faults of cameras, which act in the camera process
    check: Callable[[Change], tuple[int, Values]] = no_changes  # number and values of a change that is possible
    # Time of what was done by hand, what it was, and why it was refused; "": it was done.
    by_hand: Callable[[int, Action | OperatorCommand, str], None] = lambda t_ns, action, refused: None
    hull: Shape | None = None  # what other aircraft touch; None: they pass through it
    origin_W: Vec3 = (0.0, 0.0, 0.0)  # of its world, in that of the first aircraft

    @property
    def over(self) -> bool:
        if self.vehicle.t_ns >= self.end_ns:
            return True
        for exchange in self.exchanges:  # noqa: SIM110 - twice as fast as `all`, in every round
            if not exchange.over:
                return False
        return True

    def advance(self, t_ns: int) -> None:
        """Advance to t_ns or the end. A message cuts the step of its own aircraft only: the others stop at their step
        grid."""
        end_ns, vehicle, plan = self.end_ns, self.vehicle, self.plan
        cut = t_ns >= end_ns
        commands = []
        for exchange in self.exchanges:
            cut = cut or (exchange.cuts and exchange.next_ns() <= t_ns)
            exchange.receive(t_ns)
            commands.append(exchange.command)
        command = self.select(commands)
        if command is not None:
            vehicle.command = command
        until_ns = t_ns if t_ns < end_ns else end_ns
        while plan.next_ns < until_ns and not vehicle.ended:
            step_ns = -(-plan.next_ns // vehicle.step_ns) * vehicle.step_ns
            if step_ns >= until_ns:
                break
            vehicle.advance(step_ns, exact=False)
            self.switch_planned()
        vehicle.advance(until_ns, exact=cut)

    def switch(self, switch: Switch) -> Switched:
        """Switch a fault of the aircraft or of its link now; ConfigError if that is not possible."""
        if switch.target in SIGHT_TARGETS:
            return self.sight(switch)
        if switch.target in BOARD_TARGETS:
            return self._switch_board(switch)
        return self.exchanges[0].switch(switch) if switch.target in LINE_TARGETS else self.vehicle.switch(switch)

    def _switch_board(self, switch: Switch) -> Switched:
        """By the exchange that can; any other board has its own fault plan, and only the row is logged here."""
        found = self._failing
        if found is not None:
            return found.switch_board(switch)
        return Switched(0, switch.values if switch.on else ())

    @property
    def _failing(self) -> BoardFaults | None:
        able = (each for each in self.exchanges if isinstance(each, BoardFaults) and each.boards_fail)
        return next(able, None)

    def schedule(self, action: Action) -> None:
        """Done by hand before the next step of the vehicle's grid; ConfigError if that is not possible."""
        if isinstance(action, Change):
            self.check(action)
        elif action.target in BOARD_TARGETS and self._failing is None:
            raise ConfigError(f"{action.target}: {action.kind} can be planned in [[faults]], not switched manually")
        step_ns = self.vehicle.step_ns
        self.plan.add((self.vehicle.t_ns // step_ns + 1) * step_ns, action)

    def operate(self, order: OperatorCommand) -> None:
        """A user command by hand to the board; ConfigError if it takes none."""
        for exchange in self.exchanges:
            if isinstance(exchange, Operated):
                exchange.operate(order, lambda t_ns: self.by_hand(t_ns, order, ""))
                return
        raise ConfigError("this aircraft's board takes no user commands")

    def switch_planned(self) -> None:
        """Faults and changes for the step that begins now, planned or by hand."""
        t_ns = self.vehicle.t_ns
        if self.plan.next_ns > t_ns:
            return
        for due in self.plan.due(t_ns):
            try:
                self._apply(due.action)
            except ConfigError as error:
                if not due.by_hand:
                    raise
                self.by_hand(t_ns, due.action, str(error))
                continue
            if due.by_hand:
                self.by_hand(t_ns, due.action, "")

    def _apply(self, action: Action) -> None:
        if isinstance(action, Change):
            number, values = self.check(action)
            self.vehicle.change(action.key, values)
            self.vehicle.note_change((number, *(*values, 0.0, 0.0)[:3]))
        else:
            self.vehicle.note_fault(log_row(action, self.switch(action)))


class Pace(Protocol):
    def until(self, fleet: Sequence[Craft], stopped: Stopped) -> int:
        """Time to advance to now: the earliest time an exchange requests, or the wall clock's."""


def run(fleet: Sequence[Craft], pace: Pace, stopped: Stopped, attend: Callable[[], str | None] = lambda: None) -> str:
    """Fly all aircraft on one clock until every flight has ended; return the reason. `attend` is called once per round
    for external input (pause, faults and changes by hand) and timing statistics; if it returns a reason, the flight
    ends."""
    flying = list(fleet)
    met = encounters(flying)
    for craft in flying:
        craft.vehicle.begin()
        craft.switch_planned()
    while flying:
        t_ns = pace.until(flying, stopped)
        if stopped():
            return "stopped"
        for craft in flying:
            craft.advance(t_ns)
        if met is not None:
            met.meet(flying)
        for craft in flying:
            for exchange in craft.exchanges:
                exchange.serve()
        for craft in flying:
            for exchange in craft.exchanges:
                exchange.settle(stopped)
        for craft in flying:
            if craft.plan.next_ns <= craft.vehicle.t_ns and not (craft.over or _lost(flying)):
                craft.switch_planned()
        if ended := attend():
            return ended
        if lost := _lost(flying):
            return lost
        for craft in tuple(flying):
            if craft.over:
                flying.remove(craft)
    return "completed"


def _lost(flying: Sequence[Craft]) -> str:
    """Why the flight of all ends early; empty: it goes on."""
    for craft in flying:
        if craft.vehicle.ended:
            return f"{craft.vehicle.ended}: {craft.name}" if craft.name else craft.vehicle.ended
    return ""
