"""One of several boards as a host program: a `HostBoard` that sends heartbeats and takes integrators, and can restart.

The firmware does the same where its config.h defines REDUNDANT (firmware/app/crossing.c). `inject` makes it fail as the
emulated board does: `hang` until the watchdog restarts it, `reset` at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from aeroloop.boards.host import LARGEST_SENT, Behaviour, Done, HostBoard, Say
from aeroloop.core.redundancy import Health
from aeroloop.core.signals import Command, Mode, Reference, ResetCause, Sensors
from aeroloop.protocols.board import BoardEnd, Suspect
from aeroloop.protocols.crossing import CrossingBoardEnd
from aeroloop.protocols.plausible import Bounds


class RememberingLaw(Protocol):
    """A law with its memory, of which the first numbers are integrators."""

    def __call__(self, sensors: Sensors, reference: Reference) -> Command: ...
    def integrators(self, count: int) -> tuple[float, ...]: ...
    def take(self, values: Sequence[float]) -> None: ...
    def forget(self) -> None: ...


class RedundantHostBoard(HostBoard):
    def __init__(self, law: RememberingLaw, behaviour: Behaviour, say: Say, count: int) -> None:
        """`count`: integrators at the beginning of the law's memory."""
        self._memory, self._count = law, count
        self._safe_command = behaviour.safe_command
        self._law_failed = self._hung = False
        self._computed_with: tuple[float, ...] = (0.0,) * count
        self._fault = ""
        super().__init__(law, behaviour, say)

    def _end_of_link(self, bounds: Bounds, suspect: Suspect, refer: Callable[[bytes], None]) -> BoardEnd:
        self._crossing = CrossingBoardEnd(bounds, suspect, refer, self._count)
        return self._crossing

    def inject(self, kind: str) -> None:
        """`hang`, with the next sensors, or `reset`, with the next step."""
        self._fault = kind

    def step(self, t_ns: int, references: bytes, timer_ns: int | None, link: bytes) -> Done:
        if self._fault == "reset":
            return self._restart(t_ns, ResetCause.COMMANDED)
        self._hung = False
        done = super().step(t_ns, references, timer_ns, link)
        return self._restart(t_ns, ResetCause.WATCHDOG) if self._hung else done

    def control(self, sensors: Sensors, t_ns: int) -> Command:
        if self._fault == "hang":
            self._hung = True
            return self._command
        if self._crossing.taken is not None:
            self._memory.take(self._crossing.taken)
            self._crossing.taken = None
        self._computed_with = self._memory.integrators(self._count)
        command = super().control(sensors, t_ns)
        self._law_failed = command is self._safe_command
        return command

    def _ended(self, command: Command) -> bytes:
        heartbeat = self._crossing.heartbeat(self.cycle, self._health, self._computed_with)
        values = self._memory.integrators(self._count)
        sent = self._crossing.integrators(self.cycle, values) if all(abs(x) <= LARGEST_SENT for x in values) else b""
        return heartbeat + super()._ended(command) + sent

    @property
    def _health(self) -> Health:
        if self.mode is not Mode.FLYING:
            return Health.NO_SENSORS
        return Health.LAW_FAILED if self._law_failed else Health.GOOD

    def _restart(self, t_ns: int, cause: ResetCause) -> Done:
        """Its work and memory are lost; after a hang it does not run until the watchdog's time has passed."""
        self.restart(t_ns, cause)
        self._memory.forget()
        self._fault, self._law_failed, self._computed_with = "", False, (0.0,) * self._count
        return Done(b"", b"", answered=False)
