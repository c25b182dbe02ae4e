"""The controller as a host program: the four activities of the paper's Figure 8, on a 12 ms timer.

    timer ─▶ get references ─▶ get sensors ─▶ control ─▶ send actuators

`HostBoard` is the logic without clock or link: its inputs are time and bytes, its outputs bytes. Without sensors it
holds its last command for `sensor_hold_s`, then sends the safe command. Without references it holds the last one. Both
cases are reported in `board_event`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from aeroloop.boards.config import Board as Config
from aeroloop.core.signals import NS, WATCHDOG_PERIODS, Command, Event, Mode, Reference, ResetCause, Sensors
from aeroloop.protocols.board import BoardEnd, Suspect
from aeroloop.protocols.handshake import host_claim
from aeroloop.protocols.plausible import Bounds
from aeroloop.protocols.reference import ReferenceEnd

Law = Callable[[Sensors, Reference], Command]
Say = Callable[[int, Event, float], None]
"""(t_ns, event, value)"""

POWER_ON_CYCLE = -1
"""Before the first cycle."""
LARGEST_SENT = 3.4e38
"""Larger values are infinite on the wire, which is single precision."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Parameters of the aircraft and of the board's behaviour."""

    period_ns: int
    hover_command: Command
    safe_command: Command
    bounds: Bounds
    config: Config
    integrators: int = 0  # at the beginning of the law's memory; where several boards fly they are aligned


@dataclass(frozen=True, slots=True)
class Done:
    """Output of a board in one step of lockstep."""

    now: bytes  # to send
    opening: bytes  # opens the cycle of the timer; the request alone may have been sent in advance
    answered: bool  # sensors arrived, and their command is in `now`
    busy_ns: int = 0  # execution time, on a processor whose time counts
    delayed: bool = False  # `now` leaves after the execution time, however short that is


class HostBoard:
    def __init__(self, law: Law, behaviour: Behaviour, say: Say) -> None:
        self._law = law
        self._behaviour = behaviour
        self._say = say
        self._t_ns = 0
        self._start(POWER_ON_CYCLE)

    def restart(self, t_ns: int, cause: ResetCause) -> None:
        """Start again without memory; after a hang once the watchdog has expired. The law has its own memory."""
        dead_ns = WATCHDOG_PERIODS * self._behaviour.period_ns if cause is ResetCause.WATCHDOG else 0
        self._start((t_ns + dead_ns) // self._behaviour.period_ns)
        self._cause, self._booted_ns = cause, t_ns + dead_ns

    def _start(self, cycle: int) -> None:
        behaviour, say = self._behaviour, self._say
        self._cause, self._booted_ns = ResetCause.POWER_ON, 0
        self.references = ReferenceEnd()
        self.link = self._end_of_link(
            behaviour.bounds,
            lambda index: say(self._t_ns, Event.IMPLAUSIBLE_SENSORS, index),
            lambda data: self._refer(self.references.accept(data), self._t_ns),
        )
        self.mode = Mode.WAITING
        self.cycle = cycle
        self._reference: Reference | None = None
        self._reference_at_ns = max(0, cycle) * behaviour.period_ns
        self._reference_lost = False
        self._command = behaviour.hover_command
        self._sensors_at_ns = 0
        self._answered = True

    def _end_of_link(self, bounds: Bounds, suspect: Suspect, refer: Callable[[bytes], None]) -> BoardEnd:
        return BoardEnd(bounds, suspect, refer)

    @property
    def next_timer_ns(self) -> int:
        return (self.cycle + 1) * self._behaviour.period_ns

    def skip(self, cycles: int) -> None:
        """Skip missed timers: time advanced without them."""
        self.cycle += cycles

    def step(self, t_ns: int, references: bytes, timer_ns: int | None, link: bytes) -> Done:
        """References, then the timer if it is due, then what came over the link."""
        self.get_references(references, t_ns)
        closing, opening = (b"", b"") if timer_ns is None else self.on_timer(timer_ns)
        out = self.on_link(link, t_ns)
        return Done(closing + out, opening, bool(out))

    def on_timer(self, t_ns: int) -> tuple[bytes, bytes]:
        """Begin a cycle: send the end of the last one (actuators) and the start of this one (request)."""
        self._t_ns = t_ns
        closing = b"" if self._answered else self._ended(self._without_sensors(t_ns))
        self.cycle += 1
        self._answered = False
        self._watch_references(t_ns)
        opening = self.link.request()
        if self.mode is Mode.WAITING:
            uptime_ms = (t_ns - self._booted_ns) // 1_000_000
            opening = self.link.start(host_claim(self.link.table, uptime_ms, self._cause)) + opening
        return closing, opening

    def get_references(self, chunk: bytes, t_ns: int) -> None:
        self._refer(self.references.receive(chunk), t_ns)

    def _refer(self, newest: Reference | None, t_ns: int) -> None:
        if newest is None:
            return
        if self._reference_lost:
            self._say(t_ns, Event.REFERENCE_BACK, (t_ns - self._reference_at_ns) / NS)
        self._reference_lost = False
        self._reference = newest
        self._reference_at_ns = t_ns

    def on_link(self, chunk: bytes, t_ns: int) -> bytes:
        """Bytes from the plant: returns the actuators once they complete this cycle's answer."""
        sensors = self.get_sensors(chunk, t_ns)
        if sensors is None:
            return b""
        return self._ended(self.control(sensors, t_ns))

    def _ended(self, command: Command) -> bytes:
        """The messages that end a cycle."""
        return self.link.actuators(command)

    def get_sensors(self, chunk: bytes, t_ns: int) -> Sensors | None:
        self._t_ns = t_ns
        sensors = self.link.receive(chunk)
        if sensors is None or self._answered:
            return None
        self._answered = True
        self._note_sensors(t_ns)
        return sensors

    def control(self, sensors: Sensors, t_ns: int) -> Command:
        if self._reference is None:  # until the first reference, hold the position of the first sensors
            self._reference = Reference(0, (sensors[0], sensors[1], sensors[2]), sensors[5], (0.0, 0.0, 0.0), 0.0)
        command = self._law(sensors, self._reference)
        for index, value in enumerate(command):
            if not abs(value) <= LARGEST_SENT:  # also catches NaN
                self._say(t_ns, Event.LAW_NOT_FINITE, index)
                self._command = self._behaviour.safe_command
                return self._command
        self._command = command
        return command

    def _note_sensors(self, t_ns: int) -> None:
        if self.mode is Mode.WAITING:
            self._say(t_ns, Event.STARTED, self.cycle)
        elif self.mode is not Mode.FLYING:
            self._say(t_ns, Event.SENSORS_BACK, (t_ns - self._sensors_at_ns) / NS)
        self.mode = Mode.FLYING
        self._sensors_at_ns = t_ns

    def _without_sensors(self, t_ns: int) -> Command:
        if self.mode is Mode.WAITING:
            return self._command
        silent_s = (t_ns - self._sensors_at_ns) / NS
        if self.mode is Mode.FLYING:
            self._say(t_ns, Event.SENSORS_LOST, self.cycle)
            self.mode = Mode.HOLDING
        if self.mode is Mode.HOLDING and silent_s > self._behaviour.config.sensor_hold_s:
            self._say(t_ns, Event.SAFE_COMMAND, silent_s)
            self.mode = Mode.SAFE
            self._command = self._behaviour.safe_command
        return self._command

    def _watch_references(self, t_ns: int) -> None:
        silent_s = (t_ns - self._reference_at_ns) / NS
        if silent_s > self._behaviour.config.reference_timeout_s and not self._reference_lost:
            self._reference_lost = True
            # Velocity feed-forward of a stopped reference would move the aircraft away.
            if self._reference is not None:
                self._reference = replace(self._reference, vel_W=(0.0, 0.0, 0.0), yaw_rate_rad_s=0.0)
            self._say(t_ns, Event.REFERENCE_LOST, silent_s)
