"""Exchange with a board that runs on the plant's clock: each control period it gets numbered sensors and returns
commands.

Where the plant waits (lockstep, and an emulated board at any pace), it does so by `exchanges/numbered_periods.py`.
Otherwise the latest command is used, and periods without a command are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aeroloop.core.operator import OperatorCommand
from aeroloop.core.signals import NS, Event
from aeroloop.core.wing_signals import Step
from aeroloop.exchanges.numbered_periods import NumberedPeriods, PeriodSettings, await_bytes
from aeroloop.exchanges.operator import OperatorLine
from aeroloop.exchanges.wire import Wire
from aeroloop.protocols.board import BoardReport, MissingReports, Start
from aeroloop.protocols.handshake import Claim
from aeroloop.protocols.interface import WING
from aeroloop.protocols.wing import Done, FromBoard, Goal, PlantEnd, Servos
from aeroloop.sensors.collect import Readings
from aeroloop.sim.exchange import Stopped

Publish = Callable[..., None]
MOST_COMMANDED = 3
"""Maximum number of times the ground sends a goal while the board keeps loitering."""
COMMAND_AGAIN_NS = NS


class Flown(Protocol):
    """The part of a vehicle that this exchange uses."""

    t_ns: int
    ended: str

    def tap(self) -> list[Any]: ...
    def log_event(self, event: Event, value: float) -> None: ...


@dataclass(frozen=True, slots=True)
class MissionRequest:
    """Messages from the ground, and the time to fly on after the goal is reached."""

    goal_m: tuple[float, float]
    command_at_ns: int
    linger_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(PeriodSettings):
    paced: bool  # by the wall clock


class BoardPeriod(NumberedPeriods[Settings, PlantEnd]):
    """One board on one link. Rows go to `sensors`, `command` and `link`; the board's reports go to streams of the same
    name."""

    interface = WING
    patience_s = 30.0
    unswitchable = (
        "in lockstep and on pil, time waits for every message, so none may be lost or late; give the scenario an "
        "impairment to switch from, or fly mil or sil with --pace real"
    )

    def __init__(
        self,
        vehicle: Flown,
        wire: Wire,
        settings: Settings,
        mission_request: MissionRequest,
        readings: Readings,
        publish: Mapping[str, Publish],
        operator: OperatorLine,
    ) -> None:
        super().__init__(vehicle, wire, settings, PlantEnd())
        self._operator, self._mission_request = operator, mission_request
        self._readings, self._publish = readings, publish
        self._inbox = vehicle.tap()
        self._woken_ns = 0
        self._goals = 0
        self._command_ns = mission_request.command_at_ns
        self._step = Step.LOITER
        self._arrived_ns = -1

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        """Time starts with the board's start message: on some links the board cannot be reached before."""
        waited_s = 0.0
        if self._barrier is not None:
            self._barrier.begin()
        while not self._started and not stopped():
            if self._look_for_start(self._bare.poll()):
                continue
            if waited_s >= timeout_s:
                raise self._no_start(timeout_s)
            waited_s += await_bytes(self._bare)

    def _look_for_start(self, chunk: bytes) -> bool:
        """Whether the bytes contain any message. Other messages belong to a previous flight: an external board may not
        have noticed its end yet."""
        messages = self.protocol.receive(chunk) if chunk else []
        for message in messages:
            if isinstance(message, Start):
                self.protocol.new_board()
                self._take(message)
        return bool(messages)

    def next_ns(self) -> int:
        wanted_ns = self._next_ns
        if self._barrier is not None:
            return min(wanted_ns, self._barrier.next_ns(self._vehicle.t_ns))
        if self._settings.paced:
            if self._woken_ns > self._vehicle.t_ns:
                wanted_ns = min(wanted_ns, self._woken_ns)
            due_ns = self._link.next_due_ns()
            if due_ns is not None:
                wanted_ns = min(wanted_ns, max(due_ns, self._vehicle.t_ns))
        return wanted_ns

    def fileno(self) -> int:
        return self._link.fileno()

    def wake(self, t_ns: int) -> None:
        self._woken_ns = t_ns

    def receive(self, t_ns: int) -> None: ...

    def serve(self) -> None:
        """A control period begins: send the sensors and the ground's messages. From a board that keeps its own time,
        read the link."""
        t_ns, settings = self._vehicle.t_ns, self._settings
        self._readings.add(self._inbox)
        self._inbox.clear()
        self._count_each_second()
        received = not settings.waits and self._receive(self._link.poll())
        if not settings.waits and self._barrier is None and not received:
            self._check_silence()
        if t_ns >= self._next_ns and not self._vehicle.ended and t_ns < settings.end_ns:
            # It has loitered at the goal for long enough; checked at the end of a period, independent of other
            # aircraft.
            self.over = self._arrived_ns >= 0 and t_ns - self._arrived_ns >= self._mission_request.linger_ns
            if not self.over:
                self._next_ns += settings.period_ns
                self._send(t_ns)

    def _send(self, t_ns: int) -> None:
        self._note_unanswered()
        self.cycle += 1
        sensors = self._readings.take(self.cycle, t_ns)
        out = self.protocol.sensors(sensors)
        self._publish["sensors"](
            t_ns / NS,
            *sensors.gyro_B,
            *sensors.accel_B,
            *sensors.field_B,
            sensors.static_Pa,
            sensors.dynamic_Pa,
            sensors.fix,
            sensors.lat_deg,
            sensors.lon_deg,
            sensors.alt_m,
            *sensors.vel_W,
        )
        # The sensors are sent last: a board that has received them has received all messages of the period.
        self._link.send(self._goal(t_ns) + self._user_command(t_ns) + out)

    def _goal(self, t_ns: int) -> bytes:
        """The user's command; repeated until the board has left its first circle, as over a radio."""
        due = t_ns >= self._command_ns and self._goals < MOST_COMMANDED and self._step == Step.LOITER
        if not due or self._operator.moved:
            return b""
        self._goals += 1
        self._command_ns = t_ns + COMMAND_AGAIN_NS
        return self.protocol.goal(Goal(0, *self._mission_request.goal_m))

    def _user_command(self, t_ns: int) -> bytes:
        message = self._operator.due(t_ns)
        return self.protocol.user(message) if message is not None else b""

    def operate(self, order: OperatorCommand, sent: Callable[[int], None]) -> None:
        """A user command by hand, sent with the next control period; ConfigError if it cannot be."""
        self._operator.add(order, sent)

    def _receive(self, chunk: bytes) -> bool:
        """Whether the bytes contain any message. Bytes alone do not prove that the board works, nor do start messages:
        the board has not received ours."""
        messages = self.protocol.receive(chunk) if chunk else []
        for message in messages:
            self._take(message)
            if not isinstance(message, Start):
                self._received_ns = self._vehicle.t_ns
        return bool(messages)

    def _take(self, message: FromBoard) -> None:
        t_s = self._vehicle.t_ns / NS
        match message:
            case Servos(cycle, command, latency_s):
                if self._answers(cycle):
                    self.command = command
                    self._publish["command"](t_s, *command, self._answered, latency_s)
            case Done(cycle, _):
                self._ends(cycle)
            case BoardReport("user_answer", row):
                self._operator.take(self._vehicle.t_ns, row)
            case BoardReport(stream, row):
                self._publish[stream](t_s, *row)
                if stream == "mission_step":
                    self._note_mission(Step(int(row[0])))
            case MissingReports(count):
                self._vehicle.log_event(Event.MESSAGES_LOST, count)
            case Start(Claim() as claim):
                self._check_start(claim)

    def _note_restart(self) -> None:
        self._operator.restarted(self._vehicle.t_ns)

    def _note_mission(self, step: Step) -> None:
        if step == Step.ARRIVED and self._step != Step.ARRIVED:
            self._arrived_ns = self._vehicle.t_ns
        elif step != Step.ARRIVED:
            self._arrived_ns = -1
        self._step = step

    def _note_counters(self) -> None:
        c = self.protocol.counters
        bad = c.bad_checksums, c.malformed + c.implausible, c.lost
        self._publish["link"](self._vehicle.t_ns / NS, c.frames_in, c.frames_out, c.bytes_in, c.bytes_out, *bad)
