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

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import BOARD, LINE_TARGETS, SIGHT_TARGETS, Switch, Switched, log_row
from aeroloop.core.frames import Vec3
from aeroloop.core.shape import Shape
from aeroloop.sim.encounters import encounters
from aeroloop.sim.exchange import Exchange, Row, Stopped
from aeroloop.sim.fault_plan import FaultPlan
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


@dataclass
class Craft:
    """One aircraft: vehicle, exchanges, selection of the commanding exchange, end time and fault plan."""

    vehicle: Vehicle[Any, Any]
    exchanges: Sequence[Exchange]
    end_ns: int
    select: Select = first
    name: str = ""  # added to the end reason when several aircraft fly
    plan: FaultPlan = field(default_factory=FaultPlan)
    sight: Callable[[Switch], Switched] = no_cameras  # faults of cameras, which act in the camera process
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
        """Switch a fault of the aircraft or of its link manually; ConfigError if that is not possible."""
        if switch.target == BOARD:
            raise ConfigError(f"board: {switch.kind} can be planned in [[faults]], not switched manually")
        if switch.target in SIGHT_TARGETS:
            return self.sight(switch)
        return self.exchanges[0].switch(switch) if switch.target in LINE_TARGETS else self.vehicle.switch(switch)

    def switch_planned(self) -> None:
        """Switch the faults planned for the step that begins now."""
        if self.plan.next_ns > self.vehicle.t_ns:
            return
        for switch in self.plan.due(self.vehicle.t_ns):
            # An emulated board has its own fault plan; only the row is logged here.
            switched = Switched() if switch.target == BOARD else self.switch(switch)
            self.vehicle.note_fault(log_row(switch, switched))


class Pace(Protocol):
    def until(self, fleet: Sequence[Craft], stopped: Stopped) -> int:
        """Time to advance to now: the earliest time an exchange requests, or the wall clock's."""


def run(fleet: Sequence[Craft], pace: Pace, stopped: Stopped, attend: Callable[[], str | None] = lambda: None) -> str:
    """Fly all aircraft on one clock until every flight has ended; return the reason. `attend` is called once per round
    for external input (manual faults) and timing statistics; if it returns a reason, the flight ends."""
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
        if ended := attend():
            return ended
        for craft in tuple(flying):
            if craft.vehicle.ended:
                return f"{craft.vehicle.ended}: {craft.name}" if craft.name else craft.vehicle.ended
            if craft.over:
                flying.remove(craft)
            elif craft.plan.next_ns <= craft.vehicle.t_ns:
                craft.switch_planned()
    return "completed"
