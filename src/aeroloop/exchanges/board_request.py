"""Exchange with a board that has its own timer: it requests the sensors, and the plant answers at the time of the
request.

In lockstep the baton carries the time of a request; in wall time it is the moment at which its bytes arrived. In both
cases the vehicle's step is cut there, so that a delay of 6 ms is 6 ms and not 8.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event
from aeroloop.core.waiting import readable
from aeroloop.exchanges.wire import Wire
from aeroloop.protocols.board import Actuators, BoardReport, FromBoard, MissingReports, PlantEnd, Request, Start
from aeroloop.protocols.handshake import Presence, objection
from aeroloop.protocols.interface import TILTROTOR, Interface
from aeroloop.protocols.plausible import Bounds
from aeroloop.sim.exchange import NEVER_NS, Row, Stopped

Publish = Callable[..., None]
COUNTERS_PERIOD_NS = NS
START_POLL_S = 0.1
MOST_STALE_B, MOST_STALE_READS = 1_000_000, 300
"""Limits on what is read before the flight starts: a board that exceeds them never stops sending. Reads are counted,
not time: a process that was stopped for a second has bytes of a second to read, not an endless sender."""


class RefusedError(LinkError):
    """The board must not fly: another interface, or another image."""


class Flown(Protocol):
    """The part of a vehicle that this exchange uses."""

    t_ns: int
    ended: str

    def measured(self) -> Row | None: ...
    def log_event(self, event: Event, value: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """Board settings known before its first message."""

    bounds: Bounds  # of a plausible command
    first_command: Row
    period_ns: int
    end_ns: int
    silence_ns: int  # timeout of the board in simulated time, which stops while the plant waits
    speed: float = 1.0  # simulated seconds a second
    expected_image: int = 0  # image hash that the board must report; 0 accepts any
    board: str = "board"
    notify: Callable[[str], None] = lambda text: None  # message to the user


class BoardRequest:
    """One board on one link. Rows go to `sensors`, `command`, `cycle` and `link`; the board's reports go to streams of
    the same name."""

    cuts = True
    over = False
    locked = True

    def __init__(self, vehicle: Flown, wire: Wire, settings: Settings, publish: Mapping[str, Publish]) -> None:
        self._vehicle, self._link, self._bare = vehicle, wire.link, wire.bare
        self._settings, self._publish = settings, publish
        self._faults, self._barrier = wire.faults, wire.barrier
        self._presence = Presence(settings.period_ns)
        self.protocol = PlantEnd(settings.bounds, self._suspect, settings.first_command)
        self.command: Row | None = None
        self._received_ns = self._counters_ns = self._woken_ns = 0
        self._request_wall_ns = 0

    def _suspect(self, index: int) -> None:
        self._vehicle.log_event(Event.IMPLAUSIBLE_COMMAND, index)

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        """In wall time, simulated time starts with the board's start message; in lockstep the baton waits.

        A board repeats start and request in every cycle until it is answered, so the bytes received since then are
        stale: the first start message followed by half a cycle without bytes is new.
        """
        if self._barrier is not None:
            return
        began_s, asked, stale_B, reads = time.monotonic(), False, 0, 0
        quiet_s = self._settings.period_ns / NS / self._settings.speed / 2
        start: Start | None = None
        while not stopped():
            chunk = self._bare.poll()
            if chunk:
                stale_B, reads = stale_B + len(chunk), reads + 1
                for message in self.protocol.receive(chunk):
                    asked = asked or isinstance(message, Request)
                    start = message if isinstance(message, Start) else start
            endless = stale_B > MOST_STALE_B or reads > MOST_STALE_READS
            if start is not None and (endless or not self._readable(quiet_s)):
                if endless:
                    self._settings.notify(
                        f"the {self._settings.board} on {self._bare.url} has not paused for half a control period in "
                        f"{stale_B} bytes ({reads} reads); the flight starts, and may answer stale requests"
                    )
                self._check_start(start)
                return
            if start is None:
                if time.monotonic() - began_s > timeout_s:
                    hint = "it sends requests, so reset it" if asked else "is it connected, powered and running?"
                    where = self._bare.url
                    raise LinkError(f"no start message from the board over {where} within {timeout_s:g} s; {hint}")
                self._readable(START_POLL_S)

    def _readable(self, timeout_s: float) -> bool:
        return bool(readable([self._bare.fileno()], timeout_s))

    def next_ns(self) -> int:
        if self._barrier is not None:
            return self._barrier.next_ns(self._vehicle.t_ns)
        due_ns = self._link.next_due_ns()
        woken_ns = self._woken_ns if self._woken_ns > self._vehicle.t_ns else NEVER_NS
        return woken_ns if due_ns is None else min(woken_ns, max(due_ns, self._vehicle.t_ns))

    def fileno(self) -> int:
        return self._link.fileno()

    def wake(self, t_ns: int) -> None:
        self._woken_ns = t_ns

    def receive(self, t_ns: int) -> None: ...

    def serve(self) -> None:
        """Answer the messages that have arrived."""
        t_ns = self._vehicle.t_ns
        if t_ns >= self._counters_ns:
            self._counters_ns = (t_ns // COUNTERS_PERIOD_NS + 1) * COUNTERS_PERIOD_NS
            self._note_counters()
        chunk = self._received()
        messages = self.protocol.receive(chunk) if chunk else []
        if self._barrier is None:
            messages = self._newest(messages)
        if messages:
            self._received_ns = t_ns
            read_ns = time.monotonic_ns()
            for message in messages:
                self._take(message, read_ns)
        elif self._barrier is None and t_ns - self._received_ns > self._settings.silence_ns:
            self._silent()

    def _received(self) -> bytes:
        return self._link.poll()

    def _silent(self) -> None:
        raise LinkError(
            f"the {self._settings.board} has sent nothing on {self._link.url} for "
            f"{self._settings.silence_ns / NS:g} s (at {self._vehicle.t_ns / NS:.2f} s of the flight)"
        )

    def _newest(self, messages: list[FromBoard]) -> list[FromBoard]:
        """The newest of several queued requests: the present sensors answer no older one."""
        requests = [message for message in messages if isinstance(message, Request)]
        if len(requests) < 2:
            return messages
        self.protocol.counters.late += len(requests) - 1
        stale = {id(request) for request in requests[:-1]}
        return [message for message in messages if id(message) not in stale]

    def settle(self, stopped: Stopped) -> None:
        vehicle = self._vehicle
        if self._barrier is not None and not vehicle.ended and vehicle.t_ns < self._settings.end_ns:
            self._barrier.settle(vehicle.t_ns)

    def switch(self, switch: Switch) -> Switched:
        if self._faults is None:
            raise ConfigError(f"{switch.target}: nothing can be switched on this link")
        return self._faults.switch(switch)

    def finish(self) -> None:
        self._note_counters()
        if self._barrier is not None:
            self._barrier.close()

    def close(self) -> None:
        self._link.close()

    def _take(self, message: FromBoard, read_ns: int) -> None:
        t_s = self._vehicle.t_ns / NS
        match message:
            case Request():
                late_s = self._presence.late_s(self._vehicle.t_ns)
                if late_s is not None:
                    self._vehicle.log_event(Event.LATE_CYCLE, late_s)
                self._answer(read_ns)
            case Actuators(command):
                self.command = command
                self._publish["command"](t_s, *command)
            case Start():
                self._check_start(message)
            case BoardReport(stream, row) if stream in self._publish:
                self._publish[stream](t_s, *row)
            case MissingReports(count):
                self._vehicle.log_event(Event.MESSAGES_LOST, count)

    def _check_start(self, start: Start) -> None:
        """Answer a start message with ours, and fly only if both match."""
        claim = start.claim
        if claim is None:
            return
        reason = objection(self._interface(), claim, self._settings.expected_image)
        if reason:
            raise RefusedError(reason)
        self._link.send(self.protocol.hello())
        if self._presence.restarted(claim, self._vehicle.t_ns):
            self.protocol.new_board()
            self._vehicle.log_event(Event.BOARD_RESTARTED, claim.cause)

    def _interface(self) -> Interface:
        return TILTROTOR

    def _sensed(self) -> Row | None:
        return self._vehicle.measured()

    def _before_answer(self) -> bytes:
        """Messages to the board ahead of the sensors."""
        return b""

    def _answer(self, read_ns: int) -> None:
        period_s = (read_ns - self._request_wall_ns) / NS if self._request_wall_ns else math.nan
        self._request_wall_ns = read_ns
        sensors = self._sensed()
        if sensors is None:
            return
        self._link.send(self._before_answer() + self.protocol.answer(sensors))
        sent_ns = time.monotonic_ns()
        t_s = self._vehicle.t_ns / NS
        self._publish["sensors"](t_s, *sensors)
        self._publish["cycle"](t_s, period_s, (sent_ns - read_ns) / NS)

    def _note_counters(self) -> None:
        self._publish["link"](self._vehicle.t_ns / NS, *self.protocol.counters.row())
