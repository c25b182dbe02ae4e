"""The emulated board in lockstep: the firmware image in QEMU, one step packet at a time.

The board reads a packet (time, bytes that have come, whether its timer is due), works, and writes what it sends: its
tasks, its scheduler and its code are those of the board on a desk, only time and bytes reach it another way.

`EmulatedBoard` works in no time. `GrantedBoard` has one control period of processor time for each step: what it does
not finish goes on in the next one, below what the new bytes wake; what it does not need is skipped. So a slow processor
costs simulated time and no more wall time than its instructions take.
"""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass
from pathlib import Path

from aeroloop.boards.config import Fault
from aeroloop.boards.host import Done
from aeroloop.boards.qemu import Emulator, lockstep_command
from aeroloop.boards.steps import LONGEST_REPLY, MOST_BYTES, MOST_GRANTED_BYTES, Boot, Reply, Step, unpack
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS, Mode, ResetCause

PATIENCE_S = 5.0
"""Wall time after which an emulator that says nothing counts as hung; less than its peers' patience with us."""


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
                raise LinkError("the emulated board did not say that it started", root_cause=True)
        except BaseException:
            self.close()
            raise
        self.boot = boot

    def exchange(self, step: Step) -> Reply | Boot:
        os.write(self._in, step.pack())
        return self._read()

    def _read(self) -> Reply | Boot:
        """The board writes a record at once, so that one read has the whole of it."""
        ready = self._poll.poll(PATIENCE_S * 1000)
        if (self._out, select.POLLIN) in ready:
            return unpack(os.read(self._out, LONGEST_REPLY))
        failure = self._emulator.failure()
        if failure:
            raise failure
        raise LinkError(f"the emulator gave no answer within {PATIENCE_S:g} s", root_cause=True)

    def close(self) -> None:
        os.close(self._in)  # the end of its input is the end of a firmware that waits for more
        self._emulator.stop()
        os.close(self._out)


class EmulatedBoard:
    """Looks like a `HostBoard` to lockstep. What it has to tell, it tells the plant itself."""

    def __init__(self, pipe: StepPipe, period_ns: int, dead_periods: int, faults: tuple[Fault, ...]) -> None:
        self._pipe = pipe
        self._period_ns = period_ns
        self._dead_ns = dead_periods * period_ns
        self._faults = sorted(faults, key=lambda fault: fault.at_s, reverse=True)
        self.next_timer_ns = 0
        self.mode = Mode.WAITING
        self.took_ns = 0

    def skip(self, cycles: int) -> None:
        self.next_timer_ns += cycles * self._period_ns

    def step(self, t_ns: int, references: bytes, timer_ns: int | None, link: bytes) -> Done:
        began_ns = time.monotonic_ns()
        if timer_ns is not None:
            self.next_timer_ns += self._period_ns
        while len(references) > MOST_BYTES:  # a flood: it comes in portions
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
        """What it was doing is lost; a watchdog bites only after a while, in which nobody was at home."""
        self.mode = Mode.WAITING
        dead_ns = self._dead_ns if boot.cause is ResetCause.WATCHDOG else 0
        periods = (t_ns + dead_ns) // self._period_ns + 1
        self.next_timer_ns = periods * self._period_ns
        return Done(b"", b"", answered=False)

    def _due_fault(self, t_ns: int) -> str:
        if self._faults and self._faults[-1].at_s * NS <= t_ns:
            return self._faults.pop().kind
        return ""


@dataclass(frozen=True, slots=True)
class Granted:
    """What a board did in one control period."""

    hils: bytes  # to the simulator: servos, and the start message of a board that has just started
    comm: bytes  # to the ground: telemetry
    busy_ns: int = 0
    spent_ns: int = 0
    unfinished: bool = False
    refused: int = 0
    restarted: ResetCause | None = None

    @property
    def bytes(self) -> bytes:
        """Both lines, the simulator's first."""
        return self.hils + self.comm

    @classmethod
    def of(cls, record: Reply | Boot) -> Granted:
        if isinstance(record, Boot):
            return cls(record.sent, b"", restarted=record.cause)
        return cls(*record.sent, record.busy_ns, record.spent_ns, record.unfinished, record.refused)


class GrantedBoard:
    """The image in the emulator, whose files lie in `folder`. An instruction takes 2^shift ns."""

    def __init__(self, image: Path, shift: int, folder: Path, period_ns: int) -> None:
        self._period_ns = period_ns
        self._cycle = 0
        self.overflow = 0
        """Bytes that were more than a line carries in a period."""
        self._pipe = StepPipe(image, shift, folder)
        self.start = self._pipe.boot.sent

    def step(self, hils: bytes, comm: bytes = b"", *, fault: str = "") -> Granted:
        """One control period: what has come on its lines until now; a `fault` is one of `boards.steps`."""
        most = MOST_GRANTED_BYTES
        self.overflow += sum(max(len(line) - most, 0) for line in (hils, comm))
        t_ns = self._cycle * self._period_ns
        self._cycle += 1
        return Granted.of(self._pipe.exchange(Step(t_ns, None, comm[:most], hils[:most], fault, grant=True)))

    def close(self) -> None:
        self._pipe.close()


def _fifo(path: Path) -> int:
    """Open for both directions: opening one alone would wait for the peer."""
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR)
