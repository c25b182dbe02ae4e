"""A board of any family: measured values out once a control period, commands back (`protocols/values.py`).

In lockstep time goes on when the period's command is there. At a wall pace the latest command counts.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS, Event
from aeroloop.links.base import Link
from aeroloop.protocols import values
from aeroloop.sim.exchange import Row, Stopped

PATIENCE_S = 10.0
"""Wall time after which a board that does not answer in lockstep counts as hung."""
POLL_S = 0.1
COUNTERS_PERIOD_NS = NS


class Flown(Protocol):
    """What it needs of a vehicle."""

    t_ns: int
    ended: str

    def measured(self) -> Row | None: ...
    def say(self, event: Event, value: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    measured: int
    commands: int
    period_ns: int
    end_ns: int
    lockstep: bool
    silence_ns: int = NS  # of simulated time at a wall pace, after which the board has failed


class BoardValues:
    """One board on one link. Rows go to the streams `sensors`, `command` and `link`, where the family has them."""

    cuts = True  # a control period need not be a multiple of the vehicle's step
    over = False
    locked = True

    def __init__(
        self, vehicle: Flown, link: Link, settings: Settings, publish: Mapping[str, Callable[..., None]]
    ) -> None:
        self._vehicle, self._link, self._settings, self._publish = vehicle, link, settings, publish
        self._end = values.ValuesEnd(values.COMMAND, settings.commands)
        self.command: Row | None = None
        self._cycle = self._answered = -1
        self._next_ns = self._heard_ns = self._counters_ns = 0
        self._started = False

    def await_ready(self, timeout_s: float, stopped: Stopped) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not self._started and not stopped():
            self._hear()
            if not self._started and time.monotonic() > deadline_s:
                raise LinkError(f"no start message from the board over {self._link.url} within {timeout_s:g} s")
            self._wait()

    def next_ns(self) -> int:
        return self._next_ns

    def fileno(self) -> int:
        return -1  # what comes between two steps counts from the next one on

    def wake(self, t_ns: int) -> None: ...
    def hear(self, t_ns: int) -> None:
        if not self._settings.lockstep:
            self._hear()

    def serve(self) -> None:
        t_ns, settings = self._vehicle.t_ns, self._settings
        if not settings.lockstep and t_ns - self._heard_ns > settings.silence_ns:
            raise LinkError(f"the board has been silent on {self._link.url} for {settings.silence_ns / NS:g} s")
        if t_ns >= self._counters_ns:
            self._counters_ns = (t_ns // COUNTERS_PERIOD_NS + 1) * COUNTERS_PERIOD_NS
            self.finish()
        if t_ns < self._next_ns or self._vehicle.ended or t_ns >= settings.end_ns:
            return
        self._next_ns += settings.period_ns
        if self._cycle >= 0 and self._answered < self._cycle:
            self._vehicle.say(Event.SENSORS_LOST, self._cycle)
        measured = self._vehicle.measured()
        if measured is None:
            return
        self._cycle += 1
        self._link.send(values.numbered(values.VALUES, self._cycle, measured))
        self._end.counters.frames_out += 1
        self._write("sensors", measured)

    def settle(self, stopped: Stopped) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while self._settings.lockstep and self._answered < self._cycle and not stopped():
            self._hear()
            if self._answered < self._cycle:
                if time.monotonic() > deadline_s:
                    raise LinkError(f"the board has not answered control period {self._cycle} within {PATIENCE_S:g} s")
                self._wait()

    def switch(self, switch: Switch) -> Switched:
        raise ConfigError(f"{switch.target}: nothing can be switched on this link")

    def finish(self) -> None:
        self._write("link", self._end.counters.row())

    def close(self) -> None:
        self._link.close()

    def _wait(self) -> None:
        if self._link.fileno() >= 0:
            select.select([self._link.fileno()], [], [], POLL_S)

    def _hear(self) -> None:
        for message in self._end.receive(self._link.poll()):
            self._heard_ns = self._vehicle.t_ns
            match message:
                case values.Started(measured, commands):
                    self._greet(measured, commands)
                case values.Numbered(cycle, command) if cycle == self._cycle % values.CYCLES:
                    self._answered, self.command = self._cycle, command
                    self._write("command", command)

    def _greet(self, measured: int, commands: int) -> None:
        wanted = self._settings.measured, self._settings.commands
        if (measured, commands) != wanted:
            raise LinkError(
                f"the board on {self._link.url} takes {measured} values and gives {commands}, this aircraft measures "
                f"{wanted[0]} and takes {wanted[1]}: it was built for another one"
            )
        self._started = True

    def _write(self, stream: str, row: Row) -> None:
        if stream in self._publish:
            self._publish[stream](self._vehicle.t_ns / NS, *row)
