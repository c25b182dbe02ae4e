"""The bench as a loop: read this file and you know the project.

    command ─▶ actuators ─▶ world ─▶ truth ─▶ sensors ─▶ protocol ─▶ link ─▶ board
       ▲                                                                       │
       └───────────────────────── protocol ◀────────── link ◀──────────────────┘

A sensor request marks a cycle: the plant advances to the time of the request and then answers. It is the same
loop at every pace; the pace alone decides what the time of the request is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Protocol

from aeroloop.core.errors import LinkError
from aeroloop.core.frames import euler_from_quat
from aeroloop.core.signals import NS, Command, Effort, Event, Sensors, Truth
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.protocols.board import Actuators, FromBoard, Missing, PlantEnd, Request, Start, Told
from aeroloop.protocols.handshake import Presence, objection
from aeroloop.protocols.plausible import Bounds
from aeroloop.sim.stages import LinkStage, PaceStage, Publish

START_POLL_S = 0.002
COUNTERS_PERIOD_NS = NS


class ActuatorStage(Protocol):
    def step(self, command: Command, dt_ns: int) -> Effort: ...


class WorldStage(Protocol):
    @property
    def touching(self) -> bool: ...
    def step(self, effort: Effort, dt_ns: int) -> None: ...
    def truth(self, t_ns: int) -> Truth: ...


class SensorStage(Protocol):
    def sample(self, truth: Truth) -> Sensors | None: ...


def out_of_control(truth: Truth, bound_m: float) -> bool:
    """Beyond the bound, upside down, or a pod turned right round; written so that NaN counts as lost too."""
    _, qx, qy, _ = truth.quat_WB
    upright = qx * qx + qy * qy < 0.5
    pods_sound = all(abs(tilt) < math.pi for tilt in truth.tilt_rad)
    return not (math.hypot(*truth.pos_W) < bound_m and upright and pods_sound)


class Loop:
    """One aircraft, one board, one link."""

    def __init__(
        self,
        *,
        actuators: ActuatorStage,
        world: WorldStage,
        sensors: SensorStage,
        link: LinkStage,
        pace: PaceStage,
        publish: dict[str, Publish],
        bounds: Bounds,
        initial_command: Command,
        scenario: TiltrotorScenario,
        wanted_image: int = 0,
    ) -> None:
        self._actuators, self._world, self._sensors = actuators, world, sensors
        self._link, self._pace = link, pace
        self._publish = publish
        self._command = initial_command
        self._step_ns, self._period_ns = round(scenario.world.step_s * NS), round(scenario.control.period_s * NS)
        self._silence_ns = round(scenario.link.silence_s * NS)
        self._bound_m = scenario.world.bound_m
        self._paced = not scenario.lockstep
        self._board = "emulated board" if scenario.loop == "pil" else "board"
        self._wanted_image = wanted_image
        self._presence = Presence(self._period_ns)
        self.protocol = PlantEnd(bounds, lambda index: self._say(Event.IMPLAUSIBLE_COMMAND, index), initial_command)
        self.t_ns = 0
        self.ended = ""
        self._truth = world.truth(0)
        self._touching = world.touching
        self._missed = 0
        self._heard_ns = 0
        self._request_ns = 0
        self._asked = False

    def fly(self, duration_ns: int, stopped: Callable[[], bool], attend: Callable[[], None] = lambda: None) -> str:
        """Until the end of the flight; says why it ended. `attend` is called between steps, for orders in flight."""
        self._pace.start()
        self._heard_ns = time.monotonic_ns()
        self._note_step(self._actuators.step(self._command, 0))
        while not self.ended:
            if stopped():
                self.ended = "stopped"
            elif self.t_ns >= duration_ns:
                self.ended = "completed"
            else:
                self.advance_to(min(self._pace.wait(self.t_ns), duration_ns))
                self.serve()
                attend()
        self._publish["plant_link"](self.t_ns / NS, *self.protocol.counters.row())
        return self.ended

    def await_board(self, timeout_s: float, stopped: Callable[[], bool]) -> None:
        """In wall time nothing moves before the board's first word."""
        self.protocol.receive(self._link.poll())  # what a board said before we listened is no longer true
        deadline_ns = time.monotonic_ns() + int(timeout_s * NS)
        while not self._hear_start():
            if stopped():
                return
            if time.monotonic_ns() > deadline_ns:
                hint = "it asks for sensors, so reset it" if self._asked else "is it connected, powered and running?"
                raise LinkError(f"no start message from the board over {self._link.url} within {timeout_s:g} s; {hint}")
            time.sleep(START_POLL_S)

    def advance_to(self, t_ns: int) -> None:
        """Tick by tick to t_ns; a tick ends on the step grid or, when a message came in between, at t_ns."""
        while self.t_ns < t_ns and not self.ended:
            grid_ns = (self.t_ns // self._step_ns + 1) * self._step_ns
            self._tick(min(grid_ns, t_ns))

    def _tick(self, until_ns: int) -> None:
        dt_ns = until_ns - self.t_ns
        effort = self._actuators.step(self._command, dt_ns)
        self._world.step(effort, dt_ns)
        self._truth = self._world.truth(until_ns)
        self.t_ns = until_ns
        if until_ns % self._step_ns == 0:
            self._note_step(effort)

    def serve(self) -> None:
        """Answer what the link has brought."""
        chunk = self._link.poll()
        if not chunk:
            self._watch_silence()
            return
        read_ns = time.monotonic_ns()
        for message in self.protocol.receive(chunk):
            self._heard_ns = read_ns
            self._take(message, read_ns)

    def _take(self, message: FromBoard, read_ns: int) -> None:
        match message:
            case Request():
                self._note_request()
                self._answer(read_ns)
            case Actuators(command):
                self._command = command
                self._publish["command"](self.t_ns / NS, *command)
            case Start():
                self._greet(message)
            case Told(stream, row) if stream in self._publish:
                self._publish[stream](self.t_ns / NS, *row)
            case Missing(count):
                self._say(Event.MESSAGES_LOST, count)

    def _greet(self, start: Start) -> None:
        """A board that says what it is gets the same from us, and flies only if that fits."""
        claim = start.claim
        if claim is None:
            return
        reason = objection(claim, self._wanted_image)
        if reason:
            raise LinkError(reason)
        self._link.send(self.protocol.hello())
        if self._presence.restarted(claim, self.t_ns):
            self.protocol.new_board()
            self._say(Event.BOARD_RESTARTED, claim.cause)

    def _note_request(self) -> None:
        late_s = self._presence.late_s(self.t_ns)
        if late_s is not None:
            self._say(Event.LATE_CYCLE, late_s)

    def _answer(self, read_ns: int) -> None:
        period_s = (read_ns - self._request_ns) / NS if self._request_ns else math.nan
        self._request_ns = read_ns
        sensors = self._sensors.sample(self._truth)
        if sensors is None:
            return
        self._link.send(self.protocol.answer(sensors))
        sent_ns = time.monotonic_ns()
        t_s = self.t_ns / NS
        self._publish["sensors"](t_s, *sensors)
        self._publish["cycle"](t_s, period_s, (sent_ns - read_ns) / NS)

    def _hear_start(self) -> bool:
        """A board that asks for sensors without having started is still in another flight: it must start anew."""
        started = False
        for message in self.protocol.receive(self._link.poll()):
            started = started or isinstance(message, Start)
            self._asked = self._asked or isinstance(message, Request)
            if started:
                self._take(message, time.monotonic_ns())
        return started

    def _watch_silence(self) -> None:
        if self._paced and time.monotonic_ns() - self._heard_ns > self._silence_ns:
            raise LinkError(
                f"the {self._board} has been silent on {self._link.url} for {self._silence_ns / NS:g} s "
                f"(at {self.t_ns / NS:.2f} s of the flight)"
            )

    def _note_step(self, effort: Effort) -> None:
        """Everything that is logged once a step, and what ends a flight."""
        truth, t_s = self._truth, self.t_ns / NS
        angles = euler_from_quat(truth.quat_WB)
        self._publish["truth"](
            t_s,
            *truth.pos_W,
            *angles,
            *truth.tilt_rad,
            *truth.vel_W,
            *truth.rate_B,
            *truth.tilt_rate_rad_s,
            *truth.quat_WB,
        )
        self._publish["effort"](t_s, *effort.thrust_N, *effort.tilt_torque_Nm, effort.saturated)
        if self.t_ns % self._period_ns == 0:
            self._publish["clock"](t_s)
        if self.t_ns % COUNTERS_PERIOD_NS == 0:
            self._publish["plant_link"](t_s, *self.protocol.counters.row())
        if self._paced:
            self._note_pace(t_s)
        if out_of_control(truth, self._bound_m):
            self._say(Event.DIVERGED, math.hypot(*truth.pos_W))
            self.ended = "diverged"
        touching = self._world.touching
        if touching and not self._touching:
            self._say(Event.GROUND_CONTACT, truth.vel_W[2])
        self._touching = touching

    def _note_pace(self, t_s: float) -> None:
        missed = self._pace.missed_deadlines
        self._publish["pace"](t_s, self._pace.lateness_s, missed)
        if missed != self._missed:
            self._say(Event.DEADLINE_MISSED, missed - self._missed)
            self._missed = missed

    def _say(self, event: Event, value: float) -> None:
        self._publish["plant_event"](self.t_ns / NS, event, value)
