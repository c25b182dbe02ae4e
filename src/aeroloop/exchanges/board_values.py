"""Exchange with a board of any family: values are sent once per control period, commands return
(`protocols/values.py`).

In lockstep, time advances when the board reports that the period's work is done; a law slower than its period then
answers in a later one. Over an impaired link the plant waits by a baton, since messages of the board may be lost or
late. There and at a wall-clock pace the latest command is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from aeroloop.control.board_law import Source
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event
from aeroloop.core.waiting import readable
from aeroloop.exchanges.board_faults import passed_on
from aeroloop.exchanges.wire import Wire
from aeroloop.protocols import values
from aeroloop.protocols.board import BoardReport, MissingReports, Start
from aeroloop.protocols.handshake import Claim, Presence, objection
from aeroloop.sim.exchange import Row, Stopped

PATIENCE_S = 10.0
"""Wall time after which a board that does not answer in lockstep counts as hung."""
POLL_S = 0.1
COUNTERS_PERIOD_NS = NS
NOT_WHILE_WAITING = (
    "in lockstep, time waits for every message, so none may be lost or late; give the scenario an impairment to switch "
    "from, or fly with --pace real"
)


class Flown(Protocol):
    """The part of a vehicle that this exchange uses."""

    t_ns: int
    ended: str

    def log_event(self, event: Event, value: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    shape: values.Shape
    period_ns: int
    end_ns: int
    waits: bool  # for the board's message that a period's work is done
    silence_ns: int = NS  # simulated time without a message after which a board that is not waited for has failed
    expected_image: int = 0  # image hash that the board must report; 0 accepts any
    board: str = "board"
    logs: tuple[str, ...] = ("sensors", "command")  # streams of the values sent and of the command received
    counters: tuple[str, ...] = ()  # columns of the stream `link`
    unknown: Mapping[str, int] = field(default_factory=dict)  # columns of a stream that the law does not report


class BoardValues:
    """One board on one link. Rows go to `sensors`, `command` and `link`; the board's reports go to streams of the same
    name, if the family has them."""

    cuts = True  # a control period need not be a multiple of the vehicle's step
    over = False
    locked = True

    def __init__(
        self,
        vehicle: Flown,
        wire: Wire,
        settings: Settings,
        source: Source,
        publish: Mapping[str, Callable[..., None]],
    ) -> None:
        self._vehicle, self._settings, self._source = vehicle, settings, source
        self._link, self._bare, self._faults, self._barrier = wire.link, wire.bare, wire.faults, wire.barrier
        self._publish = publish
        self._end = values.PlantEnd(settings.shape)
        self._presence = Presence(settings.period_ns)
        self.command: Row | None = None
        self._cycle = self._answered = self._done = -1
        self._next_ns = self._received_ns = self._counters_ns = 0
        self._started = False

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        """Wait for the start message. A board repeats it until it gets values, so at a wall-clock pace queued bytes are
        stale."""
        deadline_s = time.monotonic() + timeout_s
        if self._barrier is not None:
            self._barrier.begin()
        elif not self._settings.waits:
            while self._bare.poll() and time.monotonic() < deadline_s:
                pass
        while not self._started and not stopped():
            self._receive(self._bare.poll())
            if not self._started and time.monotonic() > deadline_s:
                raise LinkError(
                    f"no start message from the {self._settings.board} over {self._link.url} within {timeout_s:g} s; "
                    "is it running?"
                )
            self._wait()

    def next_ns(self) -> int:
        if self._barrier is not None:
            return min(self._next_ns, self._barrier.next_ns(self._vehicle.t_ns))
        return self._next_ns

    def fileno(self) -> int:
        return -1  # what arrives between two steps applies from the next step on

    def wake(self, t_ns: int) -> None: ...
    def receive(self, t_ns: int) -> None:
        if not self._settings.waits:
            self._receive(self._link.poll())

    def serve(self) -> None:
        t_ns, settings = self._vehicle.t_ns, self._settings
        if self._barrier is not None:
            self._receive(self._link.poll())
        elif not settings.waits and t_ns - self._received_ns > settings.silence_ns:
            raise LinkError(
                f"the {settings.board} has sent nothing on {self._link.url} for {settings.silence_ns / NS:g} s"
            )
        if t_ns >= self._counters_ns:
            self._counters_ns = (t_ns // COUNTERS_PERIOD_NS + 1) * COUNTERS_PERIOD_NS
            self._note_counters()
        if t_ns < self._next_ns or self._vehicle.ended or t_ns >= settings.end_ns:
            return
        self._next_ns += settings.period_ns
        if self._cycle >= 0 and self._answered < self._cycle:
            self._vehicle.log_event(Event.SENSORS_LOST, self._cycle)
        groups = self._source(t_ns)
        if groups is None:
            return
        self._cycle += 1
        self._link.send(self._end.values(self._cycle, groups))
        if "sensors" in settings.logs:
            self._write("sensors", tuple(value for group in groups if group is not None for value in group))

    def settle(self, stopped: Stopped) -> None:
        if self._barrier is not None and not self._vehicle.ended and self._vehicle.t_ns < self._settings.end_ns:
            self._barrier.settle(self._vehicle.t_ns)
        deadline_s = time.monotonic() + PATIENCE_S
        while self._settings.waits and self._done < self._cycle and not stopped():
            self._receive(self._link.poll())
            if self._done < self._cycle:
                if time.monotonic() > deadline_s:
                    raise LinkError(
                        f"the {self._settings.board} has not ended control period {self._cycle} within {PATIENCE_S:g} s"
                    )
                self._wait()

    def switch(self, switch: Switch) -> Switched:
        if self._faults is None:
            raise ConfigError(f"{switch.target}: {NOT_WHILE_WAITING}")
        return self._faults.switch(switch)

    @property
    def boards_fail(self) -> bool:
        return self._barrier is not None

    def switch_board(self, switch: Switch) -> Switched:
        return passed_on(switch, self._barrier)

    def finish(self) -> None:
        self._note_counters()
        if self._barrier is not None:
            self._barrier.close()

    def _note_counters(self) -> None:
        counters = self._end.counters
        self._write("link", tuple(float(getattr(counters, name, 0)) for name in self._settings.counters))

    def close(self) -> None:
        self._link.close()

    def _wait(self) -> None:
        if self._link.fileno() >= 0:
            readable([self._link.fileno()], POLL_S)

    def _receive(self, chunk: bytes) -> None:
        for message in self._end.receive(chunk):
            self._take(message)
            if not isinstance(message, Start):
                self._received_ns = self._vehicle.t_ns

    def _take(self, message: values.FromBoard) -> None:
        match message:
            case values.Command(cycle, command):
                if (number := self._number(cycle)) > self._answered:
                    self._answered, self.command = number, command
                    if "command" in self._settings.logs:
                        self._write("command", command)
            case values.Done(cycle):
                self._done = max(self._done, self._number(cycle))
            case BoardReport(stream, row):
                self._write(stream, (*row, *(math.nan,) * self._settings.unknown.get(stream, 0)))
            case MissingReports(count):
                self._vehicle.log_event(Event.MESSAGES_LOST, count)
            case Start(Claim() as claim):
                self._check_start(claim)

    def _number(self, cycle: int) -> int:
        """The number of a control period from its last sixteen bits; -1 if that period has not begun."""
        behind = (self._cycle - cycle) % values.CYCLES
        return self._cycle - behind if behind < values.CYCLES // 2 else -1

    def _check_start(self, claim: Claim) -> None:
        """Check the start message of a board; a second one from the same board is a restart."""
        reason = objection(values.INTERFACE, claim, self._settings.expected_image)
        if reason:
            raise LinkError(reason)
        self._started = True
        if self._presence.restarted(claim, self._vehicle.t_ns):
            self._end.new_board()
            self._vehicle.log_event(Event.BOARD_RESTARTED, claim.cause)

    def _write(self, stream: str, row: Row) -> None:
        if stream in self._publish:
            self._publish[stream](self._vehicle.t_ns / NS, *row)
