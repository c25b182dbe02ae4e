"""Exchange with a board of any family: values are sent once per control period, commands return
(`protocols/values.py`).

In lockstep the plant waits by `exchanges/numbered_periods.py`; a law slower than its period then answers in a later
one. Over an impaired link and at a wall-clock pace the latest command is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aeroloop.control.board_law import Source
from aeroloop.core.signals import NS, Event
from aeroloop.exchanges.numbered_periods import Flown, NumberedPeriods, PeriodSettings, await_bytes
from aeroloop.exchanges.wire import Wire
from aeroloop.protocols import values
from aeroloop.protocols.board import BoardReport, MissingReports, Start
from aeroloop.protocols.handshake import Claim
from aeroloop.sim.exchange import Row, Stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(PeriodSettings):
    shape: values.Shape
    logs: tuple[str, ...] = ("sensors", "command")  # streams of the values sent and of the command received
    counters: tuple[str, ...] = ()  # columns of the stream `link`
    unknown: Mapping[str, int] = field(default_factory=dict)  # columns of a stream that the law does not report


class BoardValues(NumberedPeriods[Settings, values.PlantEnd]):
    """One board on one link. Rows go to `sensors`, `command` and `link`; the board's reports go to streams of the same
    name, if the family has them."""

    interface = values.INTERFACE
    patience_s = 10.0
    unswitchable = (
        "in lockstep, time waits for every message, so none may be lost or late; give the scenario an impairment to "
        "switch from, or fly with --pace real"
    )

    def __init__(
        self,
        vehicle: Flown,
        wire: Wire,
        settings: Settings,
        source: Source,
        publish: Mapping[str, Callable[..., None]],
    ) -> None:
        super().__init__(vehicle, wire, settings, values.PlantEnd(settings.shape))
        self._source, self._publish = source, publish

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
                raise self._no_start(timeout_s)
            if not self._started:
                await_bytes(self._bare)

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
        elif not settings.waits:
            self._check_silence()
        self._count_each_second()
        if t_ns < self._next_ns or self._vehicle.ended or t_ns >= settings.end_ns:
            return
        self._next_ns += settings.period_ns
        self._note_unanswered()
        groups = self._source(t_ns)
        if groups is None:
            return
        self.cycle += 1
        self._link.send(self.protocol.values(self.cycle, groups))
        if "sensors" in settings.logs:
            self._write("sensors", tuple(value for group in groups if group is not None for value in group))

    def _note_counters(self) -> None:
        counters = self.protocol.counters
        self._write("link", tuple(float(getattr(counters, name, 0)) for name in self._settings.counters))

    def _receive(self, chunk: bytes) -> bool:
        messages = self.protocol.receive(chunk)
        for message in messages:
            self._take(message)
            if not isinstance(message, Start):
                self._received_ns = self._vehicle.t_ns
        return bool(messages)

    def _take(self, message: values.FromBoard) -> None:
        match message:
            case values.Command(cycle, command):
                if self._answers(cycle):
                    self.command = command
                    if "command" in self._settings.logs:
                        self._write("command", command)
            case values.Done(cycle):
                self._ends(cycle)
            case BoardReport(stream, row):
                self._write(stream, (*row, *(math.nan,) * self._settings.unknown.get(stream, 0)))
            case MissingReports(count):
                self._vehicle.log_event(Event.MESSAGES_LOST, count)
            case Start(Claim() as claim):
                self._check_start(claim)

    def _write(self, stream: str, row: Row) -> None:
        if stream in self._publish:
            self._publish[stream](self._vehicle.t_ns / NS, *row)
