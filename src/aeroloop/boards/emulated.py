"""The emulated board in lockstep: the firmware image in QEMU, one step packet at a time.

The board reads a packet (time, bytes that have come, whether its timer is due), runs, and writes its messages: tasks,
scheduler and code are those of the real board; only time and bytes arrive by another path.

`EmulatedBoard` takes no simulated time. `GrantedBoard` has one control period of processor time for each step:
unfinished work continues in the next one, at a lower priority than the tasks started by new bytes; idle time is
skipped. So a slow processor costs simulated time and no more wall time than its instructions take.
"""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aeroloop.boards.config import Fault
from aeroloop.boards.host import Done
from aeroloop.boards.qemu import Emulator, lockstep_command
from aeroloop.boards.steps import LONGEST_REPLY, MOST_BYTES, MOST_GRANTED_BYTES, Boot, Reply, Step, unpack
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS, Mode, ResetCause

PATIENCE_S = 5.0
"""Wall time without an answer after which an emulator counts as hung; less than its peers' timeout for us."""


class StepPipe:
    """Packets to the emulated processor and back, through two FIFOs that its firmware opens."""

    def __init__(self, image: Path, shift: int, folder: Path) -> None:
        self._in, self._out = (_fifo(folder / name) for name in ("board.in", "board.out"))
        self._emulator = Emulator(lockstep_command(image, shift), folder)
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._emulator.ended_fd, select.POLLIN)
        try:
            boot = self._read()
            if not isinstance(boot, Boot):
                raise LinkError("the emulated board sent no start message", root_cause=True)
        except BaseException:
            self.close()
            raise
        self.boot = boot

    def exchange(self, step: Step) -> Reply | Boot:
        os.write(self._in, step.pack())
        return self._read()

    def _read(self) -> Reply | Boot:
        """The board writes a record in one piece, so that one read returns the whole record."""
        ready = self._poll.poll(PATIENCE_S * 1000)
        if (self._out, select.POLLIN) in ready:
            return unpack(os.read(self._out, LONGEST_REPLY))
        failure = self._emulator.failure()
        if failure:
            raise failure
        raise LinkError(f"the emulator did not answer within {PATIENCE_S:g} s", root_cause=True)

    def close(self) -> None:
        os.close(self._in)  # the firmware ends at the end of its input
        self._emulator.stop()
        os.close(self._out)


class EmulatedBoard:
    """Lockstep uses it like a `HostBoard`. Its reports go directly to the plant."""

    def __init__(self, pipe: StepPipe, period_ns: int, dead_periods: int, faults: tuple[Fault, ...]) -> None:
        self._pipe = pipe
        self._period_ns = period_ns
        self._dead_ns = dead_periods * period_ns
        self._faults = sorted(faults, key=lambda fault: fault.at_s, reverse=True)
        self._injected = ""
        self.next_timer_ns = 0
        self.mode = Mode.WAITING
        self.took_ns = 0

    def skip(self, cycles: int) -> None:
        self.next_timer_ns += cycles * self._period_ns

    def step(self, t_ns: int, references: bytes, timer_ns: int | None, link: bytes) -> Done:
        began_ns = time.monotonic_ns()
        if timer_ns is not None:
            self.next_timer_ns += self._period_ns
        while len(references) > MOST_BYTES:  # too many bytes for one packet: send them in portions
            self._exchange(Step(t_ns, None, references[:MOST_BYTES]))
            references = references[MOST_BYTES:]
        done = self._exchange(Step(t_ns, timer_ns, references, link[:MOST_BYTES], fault=self._due_fault(t_ns)))
        for begin in range(MOST_BYTES, len(link), MOST_BYTES):
            more = self._exchange(Step(t_ns, None, link=link[begin : begin + MOST_BYTES]))
            done = Done(done.now + more.now, done.opening, done.answered or more.answered, done.busy_ns + more.busy_ns)
        self.took_ns = time.monotonic_ns() - began_ns
        return done

    def _exchange(self, step: Step) -> Done:
        record = self._pipe.exchange(step)
        if isinstance(record, Boot):
            return self._restarted(record, step.t_ns)
        self.mode = record.mode
        return Done(*record.sent, record.answered, record.busy_ns)

    def _restarted(self, boot: Boot, t_ns: int) -> Done:
        """Handle a restart: its work is lost, and it does not run until the watchdog timeout has passed."""
        self.mode = Mode.WAITING
        dead_ns = self._dead_ns if boot.cause is ResetCause.WATCHDOG else 0
        periods = (t_ns + dead_ns) // self._period_ns + 1
        self.next_timer_ns = periods * self._period_ns
        return Done(b"", b"", answered=False)

    def inject(self, kind: str) -> None:
        """A fault of `boards.steps`, with the next step."""
        self._injected = kind

    def _due_fault(self, t_ns: int) -> str:
        if self._injected:
            injected, self._injected = self._injected, ""
            return injected
        if self._faults and self._faults[-1].at_s * NS <= t_ns:
            return self._faults.pop().kind
        return ""


@dataclass(frozen=True, slots=True)
class Granted:
    """Output of a board in one control period."""

    hils: bytes  # to the simulator: servos, and the start message of a board that has just started
    comm: bytes  # to the ground station: telemetry
    busy_ns: int = 0
    spent_ns: int = 0
    unfinished: bool = False
    refused: int = 0
    restarted: ResetCause | None = None

    @property
    def bytes(self) -> bytes:
        """Bytes of both links, the simulator's first."""
        return self.hils + self.comm

    @classmethod
    def of(cls, record: Reply | Boot) -> Granted:
        if isinstance(record, Boot):
            return cls(record.sent, b"", restarted=record.cause)
        return cls(*record.sent, record.busy_ns, record.spent_ns, record.unfinished, record.refused)


class Pipe(Protocol):
    """Step packets to a board's firmware, on any platform."""

    boot: Boot

    def exchange(self, step: Step) -> Reply | Boot: ...
    def close(self) -> None: ...


class GrantedBoard:
    """Firmware with one control period of processor time per step, behind its pipe."""

    def __init__(self, pipe: Pipe, period_ns: int) -> None:
        self._pipe, self._period_ns = pipe, period_ns
        self._next_ns = 0
        self.overflow = 0
        """Number of bytes beyond a link's capacity per period."""
        self.start = pipe.boot.sent

    def step(self, hils: bytes, comm: bytes = b"", *, t_ns: int | None = None, fault: str = "") -> Granted:
        """Run one control period with the bytes received on its links until now; a `fault` is one of `boards.steps`. By
        default it begins when the previous one ended."""
        most = MOST_GRANTED_BYTES
        self.overflow += sum(max(len(line) - most, 0) for line in (hils, comm))
        t_ns = self._next_ns if t_ns is None else t_ns
        self._next_ns = t_ns + self._period_ns
        return Granted.of(self._pipe.exchange(Step(t_ns, None, comm[:most], hils[:most], fault, grant=True)))

    def close(self) -> None:
        self._pipe.close()


def _fifo(path: Path) -> int:
    """Open for both directions: opening one alone would wait for the peer."""
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR)
