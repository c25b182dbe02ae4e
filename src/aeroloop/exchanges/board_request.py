"""A board that owns its timer and asks: a sensor request marks a cycle, the plant answers it at the request's own time.

In lockstep the time of a request comes with the baton; in wall time it is the moment at which its bytes arrived. Either
way the vehicle's step is cut there, so that a delay of 6 ms is 6 ms and not 8.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aeroloop.core.errors import LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event
from aeroloop.exchanges.barriers import BatonBarrier
from aeroloop.exchanges.line_faults import LineFaults
from aeroloop.links.base import Link
from aeroloop.protocols.board import Actuators, FromBoard, Missing, PlantEnd, Request, Start, Told
from aeroloop.protocols.handshake import Presence, objection
from aeroloop.protocols.interface import TILTROTOR
from aeroloop.protocols.plausible import Bounds
from aeroloop.sim.exchange import NEVER_NS, Row, Stopped

Publish = Callable[..., None]
COUNTERS_PERIOD_NS = NS
START_POLL_S = 0.1
MOST_STALE_B, MOST_STALE_S = 1_000_000, 1.0
"""A board that has sent more than this, or longer, before it is heard is sending for ever."""


class Flown(Protocol):
    """What it needs of a vehicle."""

    t_ns: int
    ended: str

    def measured(self) -> Row | None: ...
    def say(self, event: Event, value: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """What is known of the board before it speaks."""

    bounds: Bounds  # of a plausible command
    first_command: Row
    period_ns: int
    end_ns: int
    silence_ns: int  # of simulated time, which a plant that stands still does not spend; then the board has failed
    speed: float = 1.0  # simulated seconds a second
    wanted_image: int = 0  # what the board must say it runs; 0 takes any
    board: str = "board"


class BoardRequest:
    """One board on one link. Rows go to `sensors`, `command`, `cycle`, `link`, and what the board tells by its name."""

    cuts = True
    over = False
    locked = True

    def __init__(
        self,
        vehicle: Flown,
        link: Link,
        settings: Settings,
        publish: Mapping[str, Publish],
        *,
        line: LineFaults,
        bare: Link | None = None,
        barrier: BatonBarrier | None = None,
    ) -> None:
        """`line` changes the link's impairments in flight; `bare` is the link without them: they begin with the flight.
        Without a `barrier` nobody waits."""
        self._line = line
        self._vehicle, self._link, self._bare = vehicle, link, bare or link
        self._settings, self._publish, self._barrier = settings, publish, barrier
        self._presence = Presence(settings.period_ns)
        self.protocol = PlantEnd(settings.bounds, self._suspect, settings.first_command)
        self.command: Row | None = None
        self._heard_ns = self._counters_ns = self._woken_ns = 0
        self._request_wall_ns = 0

    def _suspect(self, index: int) -> None:
        self._vehicle.say(Event.IMPLAUSIBLE_COMMAND, index)

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        """In wall time nothing moves before the board's start message; in lockstep the baton waits.

        A board repeats start and request in every cycle until it is answered, so what has piled up since it began is
        stale: the first start message behind which the line falls silent for half a cycle is new.
        """
        if self._barrier is not None:
            return
        began_s, asked, stale_B = time.monotonic(), False, 0
        quiet_s = self._settings.period_ns / NS / self._settings.speed / 2
        start: Start | None = None
        while not stopped():
            waited_s = time.monotonic() - began_s
            endless = stale_B > MOST_STALE_B or waited_s > MOST_STALE_S
            chunk = self._bare.poll()
            if chunk:
                stale_B += len(chunk)
                for message in self.protocol.receive(chunk):
                    asked = asked or isinstance(message, Request)
                    start = message if isinstance(message, Start) else start
            if start is not None and (endless or not self._readable(quiet_s)):
                self._greet(start)
                return
            if start is None:
                if waited_s > timeout_s:
                    hint = "it sends requests, so reset it" if asked else "is it connected, powered and running?"
                    where = self._bare.url
                    raise LinkError(f"no start message from the board over {where} within {timeout_s:g} s; {hint}")
                self._readable(START_POLL_S)

    def _readable(self, timeout_s: float) -> bool:
        return bool(select.select([self._bare.fileno()], [], [], timeout_s)[0])

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

    def hear(self, t_ns: int) -> None: ...

    def serve(self) -> None:
        """Answer what the link has brought."""
        t_ns = self._vehicle.t_ns
        if t_ns >= self._counters_ns:
            self._counters_ns = (t_ns // COUNTERS_PERIOD_NS + 1) * COUNTERS_PERIOD_NS
            self._note_counters()
        chunk = self._link.poll()
        messages = self.protocol.receive(chunk) if chunk else []
        if self._barrier is None:
            messages = self._newest(messages)
        if messages:
            self._heard_ns = t_ns
            read_ns = time.monotonic_ns()
            for message in messages:
                self._take(message, read_ns)
        elif self._barrier is None and t_ns - self._heard_ns > self._settings.silence_ns:
            raise LinkError(
                f"the {self._settings.board} has been silent on {self._link.url} for "
                f"{self._settings.silence_ns / NS:g} s (at {t_ns / NS:.2f} s of the flight)"
            )

    def _newest(self, messages: list[FromBoard]) -> list[FromBoard]:
        """Of several requests that have piled up, the newest: the sensors of now answer no other."""
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
        return self._line.switch(switch)

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
                    self._vehicle.say(Event.LATE_CYCLE, late_s)
                self._answer(read_ns)
            case Actuators(command):
                self.command = command
                self._publish["command"](t_s, *command)
            case Start():
                self._greet(message)
            case Told(stream, row) if stream in self._publish:
                self._publish[stream](t_s, *row)
            case Missing(count):
                self._vehicle.say(Event.MESSAGES_LOST, count)

    def _greet(self, start: Start) -> None:
        """A board that says what it is gets the same from us, and flies only if that fits."""
        claim = start.claim
        if claim is None:
            return
        reason = objection(TILTROTOR, claim, self._settings.wanted_image)
        if reason:
            raise LinkError(reason)
        self._link.send(self.protocol.hello())
        if self._presence.restarted(claim, self._vehicle.t_ns):
            self.protocol.new_board()
            self._vehicle.say(Event.BOARD_RESTARTED, claim.cause)

    def _answer(self, read_ns: int) -> None:
        period_s = (read_ns - self._request_wall_ns) / NS if self._request_wall_ns else math.nan
        self._request_wall_ns = read_ns
        sensors = self._vehicle.measured()
        if sensors is None:
            return
        self._link.send(self.protocol.answer(sensors))
        sent_ns = time.monotonic_ns()
        t_s = self._vehicle.t_ns / NS
        self._publish["sensors"](t_s, *sensors)
        self._publish["cycle"](t_s, period_s, (sent_ns - read_ns) / NS)

    def _note_counters(self) -> None:
        self._publish["link"](self._vehicle.t_ns / NS, *self.protocol.counters.row())
