"""A board that works by the plant's clock: every control period it gets numbered sensors, and answers with commands.

Where the plant waits (lockstep, and an emulated board at any pace), time goes on when the board says that the period's
work is done. Otherwise the latest command counts, and a period without any is counted.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event
from aeroloop.core.wing_signals import Step
from aeroloop.exchanges.line_faults import LineFaults
from aeroloop.links.base import Link
from aeroloop.protocols.board import Missing, Start, Told
from aeroloop.protocols.handshake import Claim, Presence, objection
from aeroloop.protocols.interface import WING
from aeroloop.protocols.wing import CYCLES, Done, FromBoard, Goal, PlantEnd, Servos
from aeroloop.sensors.collect import Readings
from aeroloop.sim.exchange import Row, Stopped

Publish = Callable[..., None]
COUNTERS_PERIOD_NS = NS
PATIENCE_S = 30.0
"""Wall time after which a board that does not end a control period in lockstep counts as hung."""
POLL_S = 0.2
MOST_COMMANDED = 3
"""How often the ground repeats a goal that nobody has taken up."""
COMMAND_AGAIN_NS = NS
NOT_WHILE_WAITING = (
    "in lockstep and on pil time waits for every message, so none may be lost or late; fly mil or sil with --pace real"
)


class Flown(Protocol):
    """What it needs of a vehicle."""

    t_ns: int
    ended: str

    def tap(self) -> list[Any]: ...
    def say(self, event: Event, value: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Errand:
    """What the ground sends, and how long the flight goes on at the goal."""

    goal_m: tuple[float, float]
    command_at_ns: int
    linger_ns: int


@dataclass(frozen=True, slots=True)
class Settings:
    period_ns: int
    end_ns: int
    waits: bool  # for the end of the board's work, each period
    paced: bool  # by the wall
    silence_ns: int = NS  # of simulated time, after which a board that is not waited for has failed
    wanted_image: int = 0  # what the board must say it runs; 0 takes any
    board: str = "board"


def _await_bytes(link: Link) -> float:
    """Wait for a moment, or until there is something to read; how long that was, in s."""
    began_s = time.monotonic()
    select.select([link.fileno()], [], [], POLL_S)
    return min(time.monotonic() - began_s, POLL_S)  # while the whole bench is suspended nobody waits


class BoardPeriod:
    """One board on one link. Rows go to `sensors`, `command`, `link`, and what the board tells by its name."""

    cuts = True  # a control period need not be a multiple of the vehicle's step

    def __init__(
        self,
        vehicle: Flown,
        link: Link,
        settings: Settings,
        errand: Errand,
        readings: Readings,
        publish: Mapping[str, Publish],
        *,
        line: LineFaults | None = None,
        bare: Link | None = None,
    ) -> None:
        """`line` changes the link's impairments in flight; `bare` is the link without them, which begin with the
        flight."""
        self._line = line
        self._vehicle, self._link, self._bare = vehicle, link, bare or link
        self._settings, self._errand, self._readings, self._publish = settings, errand, readings, publish
        self._inbox = vehicle.tap()
        self.locked = True
        self.over = False
        self.protocol = PlantEnd()
        self._presence = Presence(settings.period_ns)
        self._started = False
        self.command: Row | None = None
        self.cycle = -1  # the control period that goes on
        self._next_ns = 0
        self._woken_ns = 0
        self._answered = self._done = -1
        self._goals = 0
        self._command_ns = errand.command_at_ns
        self._step = Step.LOITER
        self._arrived_ns = -1
        self._heard_ns = self._counters_ns = 0

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        """Nothing moves before the board's start message: on some links it cannot be reached until then."""
        waited_s = 0.0
        while not self._started and not stopped():
            if self._hear(self._bare.poll()):
                continue
            if waited_s >= timeout_s:
                raise LinkError(
                    f"no start message from the {self._settings.board} over {self._bare.url} within {timeout_s:g} s; "
                    "is it running?"
                )
            waited_s += _await_bytes(self._bare)

    def next_ns(self) -> int:
        wanted_ns = self._next_ns
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

    def hear(self, t_ns: int) -> None: ...

    def serve(self) -> None:
        """A control period begins: the sensors go out, and what the ground has to say. Of a board that keeps its own
        time, what the link has brought."""
        t_ns, settings = self._vehicle.t_ns, self._settings
        self._readings.add(self._inbox)
        self._inbox.clear()
        if t_ns >= self._counters_ns:
            self._counters_ns = (t_ns // COUNTERS_PERIOD_NS + 1) * COUNTERS_PERIOD_NS
            self._note_counters()
        if not settings.waits and not self._hear(self._link.poll()) and t_ns - self._heard_ns > settings.silence_ns:
            raise LinkError(
                f"the {settings.board} has been silent on {self._link.url} for {settings.silence_ns / NS:g} s "
                f"(at {t_ns / NS:.2f} s of the flight)"
            )
        if t_ns >= self._next_ns and not self._vehicle.ended and t_ns < settings.end_ns:
            # It has loitered at the goal for long enough; asked where a period ends, whoever else shares its time.
            self.over = self._arrived_ns >= 0 and t_ns - self._arrived_ns >= self._errand.linger_ns
            if not self.over:
                self._next_ns += settings.period_ns
                self._speak(t_ns)

    def settle(self, stopped: Stopped) -> None:
        """Nothing moves before the board says that it has done this period's work."""
        waited_s = 0.0
        while self._settings.waits and self._done < self.cycle and not stopped():
            if self._hear(self._link.poll()):
                waited_s = 0.0
            elif waited_s >= PATIENCE_S:
                raise LinkError(
                    f"the {self._settings.board} has not ended control period {self.cycle} within {PATIENCE_S:g} s "
                    f"(at {self._vehicle.t_ns / NS:.2f} s of the flight)"
                )
            else:
                waited_s += _await_bytes(self._link)

    def switch(self, switch: Switch) -> Switched:
        if self._line is None:
            raise ConfigError(f"{switch.target}: {NOT_WHILE_WAITING}")
        return self._line.switch(switch)

    def finish(self) -> None:
        self._note_counters()

    def close(self) -> None:
        self._link.close()

    def _speak(self, t_ns: int) -> None:
        if self.cycle >= 0 and self._answered < self.cycle:
            self._vehicle.say(Event.SENSORS_LOST, self.cycle)
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
        # The sensors end what a period's bytes are: who has them has all.
        self._link.send(self._goal(t_ns) + out)

    def _goal(self, t_ns: int) -> bytes:
        """The user's command; again while the board has not gone beyond its first circle, as over a radio."""
        due = t_ns >= self._command_ns and self._goals < MOST_COMMANDED and self._step == Step.LOITER
        if not due:
            return b""
        self._goals += 1
        self._command_ns = t_ns + COMMAND_AGAIN_NS
        return self.protocol.goal(Goal(0, *self._errand.goal_m))

    def _hear(self, chunk: bytes) -> bool:
        """Whether there was any message in it. Bytes alone are no sign of life, nor is a board that still starts: we
        have not reached it."""
        messages = self.protocol.receive(chunk) if chunk else []
        for message in messages:
            self._take(message)
            if not isinstance(message, Start):
                self._heard_ns = self._vehicle.t_ns
        return bool(messages)

    def _take(self, message: FromBoard) -> None:
        t_s = self._vehicle.t_ns / NS
        match message:
            case Servos(cycle, command, latency_s):
                if (number := self._number(cycle)) > self._answered:
                    self._answered, self.command = number, command
                    self._publish["command"](t_s, *command, number, latency_s)
            case Done(cycle, _):
                self._done = max(self._done, self._number(cycle))
            case Told(stream, row):
                self._publish[stream](t_s, *row)
                if stream == "mission_step":
                    self._note_mission(Step(int(row[0])))
            case Missing(count):
                self._vehicle.say(Event.MESSAGES_LOST, count)
            case Start(Claim() as claim):
                self._greet(claim)

    def _greet(self, claim: Claim) -> None:
        """A board says what it is, and flies only if that fits; one that we know already has started anew."""
        reason = objection(WING, claim, self._settings.wanted_image)
        if reason:
            raise LinkError(reason)
        self._started = True
        if self._presence.restarted(claim, self._vehicle.t_ns):
            self.protocol.new_board()
            self._vehicle.say(Event.BOARD_RESTARTED, claim.cause)

    def _number(self, cycle: int) -> int:
        """A control period's number from its last sixteen bits; one that has not begun is none."""
        behind = (self.cycle - cycle) % CYCLES
        return self.cycle - behind if behind < CYCLES // 2 else -1

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
