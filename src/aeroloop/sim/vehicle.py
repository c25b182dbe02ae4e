"""One aircraft without its controller: actuators, body, surroundings, sensors. No I/O, no wall clock.

Its stages are chosen once, when the flight is built (`families/*/build.py`). A step ends on the vehicle's own step
grid; a step cut by a message moves the body only, and sensors, checks and logging run at the next grid point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from aeroloop.actuators.battery import Battery
from aeroloop.actuators.faults import ActuatorFaults
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import ACTUATOR_TARGETS, Switch, Switched
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Air, Event, Place
from aeroloop.sensors.rangefinder import Beam
from aeroloop.sim.collisions import Collisions, Solid
from aeroloop.sim.exchange import Row
from aeroloop.world.obstacles import Obstacles

E = TypeVar("E")
S = TypeVar("S", bound="Placed")
E_co = TypeVar("E_co", covariant=True)
E_contra = TypeVar("E_contra", contravariant=True)
S_co = TypeVar("S_co", covariant=True)

AIRBORNE_NS = NS // 5
"""Shorter hops over the ground cause no event."""


class Placed(Protocol):
    """The part of the state that all vehicles have in common."""

    @property
    def pos_W(self) -> Vec3: ...
    @property
    def vel_W(self) -> Vec3: ...


class Actuators(Protocol[E_co]):
    def step(self, command: Row, dt_ns: int, /) -> E_co:
        """Actuator outputs over the next dt."""


class Body(Protocol[E_contra, S_co]):
    def step(self, effort: E_contra, dt_ns: int, /) -> None: ...
    def state(self, t_ns: int, /) -> S_co: ...


class Motion(Protocol[E_co, S_co]):
    """Actuators and body together, for vehicles that step both in one call."""

    def drive(self, command: Row, dt_ns: int, /) -> E_co:
        """Move for dt with the command held; returns the actuator outputs."""

    def state(self, t_ns: int, /) -> S_co: ...


class Driven(Generic[E, S]):
    """Actuators, then the body that they drive."""

    def __init__(self, actuators: Actuators[E], body: Body[E, S]) -> None:
        self._actuators, self._body = actuators, body
        self.state = body.state

    def drive(self, command: Row, dt_ns: int) -> E:
        effort = self._actuators.step(command, dt_ns)
        self._body.step(effort, dt_ns)
        return effort


class Surroundings(Protocol):
    """The earth and air at the aircraft's position."""

    @property
    def place(self) -> Place: ...
    @property
    def air(self) -> Air: ...
    @property
    def ground_m(self) -> float: ...  # height of the ground below it

    def move(self, t_ns: int, dt_ns: int, pos_W: Vec3, vel_W: Vec3, /) -> None: ...


class Rows(Protocol[E_contra]):
    """Logs the vehicle's rows to its family's streams."""

    def step(self, vehicle: Vehicle[Any, Any], effort: E_contra, samples: list[Any], /) -> None: ...
    def event(self, t_ns: int, event: Event, value: float, /) -> None: ...
    def fault(self, t_ns: int, row: Row, /) -> None: ...
    def change(self, t_ns: int, row: Row, /) -> None: ...
    def pace(self, t_ns: int, lateness_s: float, missed: int, /) -> None: ...


@dataclass(frozen=True)
class Stages(Generic[E, S]):
    """The components of a vehicle."""

    motion: Motion[E, S]
    surroundings: Surroundings | None  # None: no air, and the earth has no effect
    sense: Callable[[S, E], list[Any]]  # the samples that arrive in this step
    lost: Callable[[S], bool]  # out of bounds or out of control; NaN counts as lost
    contact: Callable[[int, S], str | None]  # ground contact in this step: the end reason, "" if the flight continues
    switch: Callable[[Switch], Switched]  # switches a fault of a sensor
    rows: Rows[E]
    measure: Callable[[S], Row | None] = lambda state: None  # state sensors, on request; None during a dropout
    actuators: ActuatorFaults = field(default_factory=lambda: ActuatorFaults(()))  # those that can fail
    changes: Mapping[str, Callable[[Row], None]] = field(default_factory=dict)  # sets a quantity in flight, by its key
    restart: Callable[[], None] | None = None  # puts actuators and body back to the start, at the present time
    see: Callable[[Beam], None] = lambda beam: None  # lets range finders see objects
    battery: Battery | None = None  # a simulated one, which a controller may measure
    solid: Solid | None = None  # flies on after a collision with an object; None: the flight ends as crashed


class TouchDown:
    """Ground contact that does not end the flight: causes an event if the aircraft was airborne for `AIRBORNE_NS`."""

    def __init__(self, touching: Callable[[], bool]) -> None:
        self._touching = touching
        self._touched_ns = 0

    def contact(self, t_ns: int, state: Placed) -> str | None:
        if not self._touching():
            return None
        was_ns, self._touched_ns = self._touched_ns, t_ns
        return "" if t_ns - was_ns > AIRBORNE_NS else None

    __call__ = contact  # a bound method is quicker to call, and an object is shorter to write


class Vehicle(Generic[E, S]):
    def __init__(self, stages: Stages[E, S], *, step_ns: int, command: Row, first_effort: E | None = None) -> None:
        """`first_effort` is logged at t = 0 if the family has a row then."""
        self._stages = stages
        self._motion, self._rows, self._actuators = stages.motion, stages.rows, stages.actuators
        self._first_effort = first_effort
        self._inboxes: list[list[Any]] = []
        self.step_ns = step_ns
        self.command = command  # held until replaced
        self.t_ns = 0
        self.ended = ""  # "diverged", "crashed"
        self.state: S = stages.motion.state(0)
        self.surroundings = stages.surroundings
        self.solid, self.battery = stages.solid, stages.battery
        self.collisions: Collisions | None = None  # with objects of the world; None: it has none

    def begin(self) -> None:
        """Log the rows of t = 0."""
        if self._first_effort is not None:
            self._rows.step(self, self._first_effort, [])

    def tap(self) -> list[Any]:
        """A new inbox for one reader: collects every sample delivered since the reader last cleared it."""
        self._inboxes.append([])
        return self._inboxes[-1]

    def measured(self) -> Row | None:
        """Current values of the state sensors; None during a dropout."""
        return self._stages.measure(self.state)

    def sensed(self) -> list[Any]:
        """Samples delivered at t = 0, if the family has an effort then."""
        return [] if self._first_effort is None else self._stages.sense(self.state, self._first_effort)

    def add_obstacles(self, obstacles: Obstacles) -> None:
        """Let it collide with objects of the world, and its range finder see them; ConfigError if one is at its
        start."""
        self.collisions = Collisions(obstacles, self.solid)
        self.collisions.check_start(self.state)
        self._stages.see(obstacles.beam_m)

    def restart(self) -> None:
        """Put the aircraft back to its start while time goes on; ConfigError where its family has no such stage."""
        if self._stages.restart is None:
            raise ConfigError("this aircraft cannot be put back to its start in flight")
        self._stages.restart()
        self.state = self._motion.state(self.t_ns)

    def switch(self, switch: Switch) -> Switched:
        """Switch a fault on or off; ConfigError names the faults there are instead."""
        if switch.target in ACTUATOR_TARGETS:
            return self._actuators.switch(switch, self.command)
        return self._stages.switch(switch)

    def note_fault(self, row: Row) -> None:
        self._rows.fault(self.t_ns, row)

    def change(self, key: str, values: Row) -> None:
        """Set a quantity from the next step on; ConfigError lists those that there are."""
        changes = self._stages.changes
        if key not in changes:
            raise ConfigError(f"{key}: this aircraft has none; expected one of: {', '.join(changes) or 'none'}")
        changes[key](values)

    def note_change(self, row: Row) -> None:
        self._rows.change(self.t_ns, row)

    def note_pace(self, lateness_s: float, missed: int) -> None:
        self._rows.pace(self.t_ns, lateness_s, missed)

    def log_event(self, event: Event, value: float) -> None:
        self._rows.event(self.t_ns, event, value)

    def read_state(self) -> None:
        """The state after the motion was changed between two steps."""
        self.state = self._motion.state(self.t_ns)

    def advance(self, until_ns: int, *, exact: bool) -> None:
        """Advance step by step. `exact`: the last step is cut to end at until_ns; else it ends at the grid point
        before."""
        step_ns, motion, actuators = self.step_ns, self._motion, self._actuators
        while (t_ns := self.t_ns) < until_ns and not self.ended:
            end_ns = (t_ns // step_ns + 1) * step_ns
            if end_ns > until_ns:
                if not exact:
                    return
                end_ns = until_ns
            command = self.command
            if actuators.active:
                command = actuators.applied(command, end_ns - t_ns)
            effort = motion.drive(command, end_ns - t_ns)
            self.t_ns = end_ns
            self.state = motion.state(end_ns)
            if end_ns % step_ns == 0:
                self._observe(effort)

    def _observe(self, effort: E) -> None:
        """At each grid point: sample the sensors, check for the end of the flight, and log."""
        if self.collisions is not None:
            self._collide(self.collisions)
        stages, state, t_ns = self._stages, self.state, self.t_ns
        samples: list[Any] = []
        if stages.lost(state):
            self.log_event(Event.DIVERGED, math.hypot(*state.pos_W))
            self.ended = "diverged"
        else:
            if self.surroundings is not None:
                # Sensors and the next step use the air at the aircraft's present position and time.
                self.surroundings.move(t_ns, self.step_ns, state.pos_W, state.vel_W)
            samples = stages.sense(state, effort)
            for inbox in self._inboxes:
                inbox += samples
            met = stages.contact(t_ns, state)
            if met is not None:
                self.log_event(Event.GROUND_CONTACT, state.vel_W[2])
                self.ended = self.ended or met
        self._rows.step(self, effort, samples)

    def _collide(self, collisions: Collisions) -> None:
        """Before the sensors: an accelerometer measures the impact."""
        met = collisions.meet(self.t_ns, self.state)
        for number in met.numbers:
            self.log_event(Event.COLLISION, float(number))
        if met.struck:
            self.read_state()
        self.ended = met.ended
