"""A board with a family's law, behind its link: on the host (mil, sil) or in the emulator (pil, lockstep)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from aeroloop.boards.cadence import Cadence
from aeroloop.boards.config import Fault
from aeroloop.boards.emulated import GrantedBoard, StepPipe
from aeroloop.codegen.host import on_rung
from aeroloop.control.board_law import BoardLaw
from aeroloop.control.flown_law import flown_law
from aeroloop.control.host_law import Run
from aeroloop.controllers.law.values_tables import ValuesScenario
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import value_at
from aeroloop.core.signals import NS, Event, ResetCause
from aeroloop.exchanges.failing_board import FailingTurns
from aeroloop.links.base import Link
from aeroloop.protocols import values
from aeroloop.protocols.handshake import host_claim
from aeroloop.realtime.flight_clock import ClockIn
from aeroloop.realtime.lockstep import BEFORE_NS, WorkTurns

LARGEST_SENT = 3.4e38
"""Larger values are infinite in the single precision of the messages."""


def law_of(scenario: ValuesScenario) -> BoardLaw:
    return flown_law(scenario)


def shape_of(law: BoardLaw) -> values.Shape:
    rows = tuple((row.stream, row.size) for row in law.tells)
    return values.Shape(law.sizes, law.commands, rows, law.restarts)


class Board(Protocol):
    def start(self, uptime_ms: int) -> bytes:
        """Its start message: it identifies the board to the plant, and over UDP its address."""

    def step(self, chunk: bytes, came: Sequence[values.Values]) -> bytes:
        """A control period: its bytes, and the values in them -> the bytes that the board sends in it."""

    def prepare(self) -> None:
        """Work ahead, once its bytes have been sent."""

    def fail(self, kind: str) -> bool:
        """Whether it hangs or resets by itself, with its next period."""

    def restart(self, cause: ResetCause) -> bytes:
        """Start again without memory; its start message."""

    def close(self) -> None: ...


class HostLaw:
    """The law interpreted, or as C in double precision. A command that is NaN or infinite is not used: the previous one
    is held."""

    def __init__(self, law: BoardLaw, rung: str, shape: values.Shape | None = None) -> None:
        self._law = law
        build = on_rung(rung)
        self.hosted = law.host(build) if law.host else None
        self._run: Run = self.hosted or build(law.whole)
        self._shape = shape or shape_of(law)
        ends = [sum(law.sizes[: index + 1]) for index in range(len(law.sizes))]
        self._places = [slice(end - size, end) for end, size in zip(ends, law.sizes, strict=True)]
        self._forget()

    def _forget(self) -> None:
        self._end = values.BoardEnd(self._shape)
        self._fallback = 0.0
        self._command = (0.0,) * self._law.commands
        self._runs = 0
        self._cycle = -1

    def start(self, uptime_ms: int) -> bytes:
        return self._end.start(host_claim(values.INTERFACE, uptime_ms))

    def fail(self, kind: str) -> bool:
        return False

    def restart(self, cause: ResetCause) -> bytes:
        for row in self._run.inputs:
            row[:] = 0.0
        self._forget()
        return self._end.start(host_claim(values.INTERFACE, 0, cause))

    def step(self, chunk: bytes, came: Sequence[values.Values]) -> bytes:
        """A duplicated message does not lengthen a period."""
        out = b""
        for row in came:
            if row.cycle != self._cycle:
                self._cycle = row.cycle
                out += self._answer(row)
        return out

    def _answer(self, came: values.Values) -> bytes:
        bad = self._not_finite(came) if self._law.restarts else None
        out = b"" if bad is None else self._end.event(Event.IMPLAUSIBLE_SENSORS, bad)
        if not self._runs:
            out += self._end.event(Event.STARTED, came.cycle)
        if bad is None:
            out += self._control(came)
        else:
            self._run.inputs[2][:] = 0.0
        self._runs += 1
        answer = self._end.command(values.Command(came.cycle, self._command, 0.0))
        return answer + out + self._rows(self._run.outputs[2].tolist())

    def _not_finite(self, came: values.Values) -> int | None:
        """Index of the first value that is NaN or infinite, among those of all groups."""
        groups = zip(self._places, came.groups, strict=True)
        every = ((place.start + i, v) for place, group in groups for i, v in enumerate(group or ()))
        return next((index for index, value in every if not abs(value) <= LARGEST_SENT), None)

    def _control(self, came: values.Values) -> bytes:
        """Run the law; the events of this period."""
        run = self._run
        measured, fresh, memory = run.inputs
        for index, group in enumerate(came.groups):
            fresh[index] = group is not None
            if group is not None:
                measured[self._places[index]] = group
        out = self._front(measured, fresh)
        run()
        command, memory_next = run.outputs[:2]
        bad = [i for row in (memory_next, command) for i, value in enumerate(row) if not abs(value) <= LARGEST_SENT]
        if bad:
            out += self._end.event(Event.LAW_NOT_FINITE, bad[-1])
            memory[:] = 0.0 if self._law.restarts else memory
        else:
            memory[:] = memory_next
            self._command = tuple(command.tolist())
        return out + self._status()

    def _status(self) -> bytes:
        """A host law's change between its solution, its last good command, and its fallback."""
        level = float(self.hosted.outputs[3][0]) if self.hosted else 0.0
        changed, self._fallback = level != self._fallback, level
        return self._end.event(Event.LAW_FALLBACK, level) if changed else b""

    def _front(self, measured: Vec, fresh: Vec) -> bytes:
        """What a board with drivers of its own makes of the values before the law reads them; what it reports."""
        return b""

    def _rows(self, told: list[float]) -> bytes:
        out, at = b"", 0
        for index, row in enumerate(self._law.tells):
            if self._runs % row.every == 0:
                out += self._end.row(index, told[at : at + row.size])
            at += row.size
        return out

    def prepare(self) -> None:
        if self.hosted and self.hosted.clock_ns:  # in lockstep it does the same when it is called
            self.hosted.prepare()

    def close(self) -> None: ...


class EmulatedLaw:
    """Rung pil in lockstep: the firmware in the emulator, granted one control period of its time after the other."""

    def __init__(self, law: BoardLaw, image: Path, shift: int, folder: Path, faults: Sequence[Fault] = ()) -> None:
        self._period_ns, self._t_ns = round(law.period_s * NS), 0
        self._board = GrantedBoard(StepPipe(image, shift, folder), self._period_ns)
        self._faults = sorted(faults, key=lambda fault: fault.at_s, reverse=True)
        self._failure = ""

    def start(self, uptime_ms: int) -> bytes:
        return self._board.start  # its processor is stopped until the plant sends values

    def step(self, chunk: bytes, came: Sequence[values.Values]) -> bytes:
        if self._faults and self._faults[-1].at_s * NS <= self._t_ns:
            self._failure = self._faults.pop().kind
        self._t_ns += self._period_ns
        failure, self._failure = self._failure, ""
        return self._board.step(chunk, fault=failure).bytes

    def fail(self, kind: str) -> bool:
        self._failure = kind
        return True

    def restart(self, cause: ResetCause) -> bytes:
        raise NotImplementedError("its watchdog does that")

    def prepare(self) -> None: ...

    def close(self) -> None:
        self._board.close()


def build_board(scenario: ValuesScenario, image: str, folder: Path) -> Board:
    law = law_of(scenario)
    if scenario.loop == "pil":
        own = value_at(scenario, "emulator.faults") or ()
        return EmulatedLaw(law, Path(image), scenario.controller.emulator.shift, folder, own)
    board = HostLaw(law, scenario.loop)
    if board.hosted and not scenario.lockstep:
        board.hosted.clock_ns = ClockIn(folder, scenario.speed).now_ns
    return board


class ValuesServer:
    """A board behind its link, one period at a time."""

    def __init__(self, board: Board, link: Link, shape: values.Shape) -> None:
        self._board, self._link = board, link
        self._listener = values.BoardEnd(shape)
        self._waiting = b""
        self._came: list[values.Values] = []  # in the queue

    @property
    def addressed(self) -> bool:
        """The plant has sent a message."""
        return self._listener.counters.frames_in > 0

    def send_start(self, uptime_ms: int = 0) -> None:
        self._link.send(self._board.start(uptime_ms))

    def serve(self) -> None:
        """Read what has arrived; if it contains the values of a period, do that period's work."""
        self._take()
        if self._came:
            self._work()

    def turn(self, cadence: Cadence, t_ns: int) -> int:
        """A turn by the baton: a period's work with the values, or without those that did not arrive; returns the time
        of the next."""
        if t_ns == BEFORE_NS:
            self.send_start()
        self._take()
        if cadence.due(t_ns, sampled=bool(self._came)):
            self._work()
        return cadence.wake_ns(sampled=bool(self._came))

    def skip_samples(self) -> None:
        """Values of a period that is skipped are lost."""
        self._link.poll()

    def fail(self, kind: str) -> bool:
        return self._board.fail(kind)

    def restart(self, t_ns: int, cause: ResetCause) -> None:
        self._waiting, self._came = b"", []
        self._link.send(self._board.restart(cause))

    def _take(self) -> None:
        chunk = self._link.poll()
        self._waiting += chunk
        self._came += self._listener.receive(chunk)

    def _work(self) -> None:
        period, self._waiting = self._waiting, b""
        came, self._came = self._came, []
        out = self._board.step(period, came)
        if came:
            out += self._listener.done(came[-1].cycle)
        if out:
            self._link.send(out)
        self._board.prepare()


def by_baton(scenario: ValuesScenario) -> bool:
    """Whether the board alternates with the plant by a baton, since values and commands may be lost or late."""
    return scenario.lockstep and scenario.alternates


def turns(scenario: ValuesScenario, board: Board, link: Link) -> WorkTurns:
    """Serve the board behind its link by a baton."""
    law = law_of(scenario)
    return FailingTurns(link, round(law.period_s * NS), lambda line: ValuesServer(board, line, shape_of(law)))
