"""Common part of a board's process on every rung: topics, counters, and the log rows of each cycle."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import casadi as ca

from aeroloop.boards.emulated import EmulatedBoard, StepPipe
from aeroloop.boards.faulty import FaultyBoard
from aeroloop.boards.host import Behaviour, Done, HostBoard, Say
from aeroloop.boards.redundant import RedundantHostBoard
from aeroloop.codegen.host import on_rung
from aeroloop.control.host_law import GuardedLaw, HostLawDesign, Run
from aeroloop.controllers.law.request_tables import RequestScenario, injected
from aeroloop.core.faults import BOARD
from aeroloop.core.impairment import Impairment
from aeroloop.core.signals import NS, WATCHDOG_PERIODS, Command, Event, Mode, Reference, ResetCause, Sensors
from aeroloop.core.tables import offered
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.protocols.framing import FrameCutter


class TimedLaw:
    """The law with its memory, and the time of its last call: wall-clock and processor time."""

    def __init__(self, law: ca.Function | HostLawDesign, rung: str) -> None:
        build = on_rung(rung)
        self.guarded: GuardedLaw | None = None
        self._run: Run
        if isinstance(law, HostLawDesign):
            self._run = self.guarded = GuardedLaw(law, build)
        else:
            self._run = build(law)
        self.took_ns = self.worked_ns = 0
        self.fallback = 0.0  # of a law with a status: 0 while it has a solution

    def forget(self) -> None:
        """As after a start."""
        self._run.inputs[2][:] = 0.0

    def __call__(self, sensors: Sensors, reference: Reference) -> Command:
        began_ns, idle_ns = time.perf_counter_ns(), time.thread_time_ns()
        run = self._run
        run.inputs[0][:] = sensors
        run.inputs[1][:] = reference.row()
        run()
        run.inputs[2][:] = run.outputs[1]
        if len(run.outputs) > 2:
            self.fallback = float(run.outputs[2][0])
        command: Command = tuple(run.outputs[0].tolist())
        self.took_ns, self.worked_ns = time.perf_counter_ns() - began_ns, time.thread_time_ns() - idle_ns
        return command

    def integrators(self, count: int) -> tuple[float, ...]:
        """The first numbers of its memory."""
        return tuple(self._run.inputs[2][:count].tolist())

    def take(self, values: Sequence[float]) -> None:
        """Other numbers at the beginning of its memory."""
        self._run.inputs[2][: len(values)] = values


def build_host_board(scenario: RequestScenario, say: Say) -> tuple[HostBoard, TimedLaw]:
    made: tuple[ca.Function | HostLawDesign, Behaviour] = offered(scenario.kind, "law", scenario)
    function, behaviour = made
    law = TimedLaw(function, scenario.loop)
    if scenario.controller.redundancy is not None:
        return RedundantHostBoard(law, behaviour, say, behaviour.integrators), law
    return HostBoard(law, behaviour, say), law


class CycleWork(Protocol):
    took_ns: int


class LockstepBoard(Protocol):
    """The interface of a board in lockstep, on any rung."""

    mode: Mode

    @property
    def next_timer_ns(self) -> int: ...
    def skip(self, cycles: int) -> None: ...
    def step(self, t_ns: int, references: bytes, timer_ns: int | None, link: bytes) -> Done: ...


@runtime_checkable
class Failing(Protocol):
    """One of several boards, which the plant can make fail."""

    def inject(self, kind: str) -> None:
        """`hang` or `reset`, with its next step."""


class Shell:
    """Common part of lockstep and wall time: the board, and the log rows of each cycle."""

    def __init__(
        self, scenario: RequestScenario, publish: Mapping[str, Callable[..., None]], image: str, folder: Path
    ) -> None:
        """`image` is the firmware of rung pil, `folder` the flight's own."""
        self.scenario, self._publish = scenario, publish
        self.period_ns = round(self.scenario.controller.control.period_s * NS)
        self._counted_s = -1
        self._fallback = 0.0
        self.host: HostBoard | None = None
        self.law: TimedLaw | None = None
        self._pipe: StepPipe | None = None
        self.board: LockstepBoard
        self._worked: CycleWork
        if self.scenario.loop == "pil":
            emulator = self.scenario.controller.emulator
            self._pipe = StepPipe(Path(image), emulator.shift, folder)
            planned = injected(self.scenario) if scenario.controller.redundancy is None else ()
            self.board = self._worked = EmulatedBoard(self._pipe, self.period_ns, WATCHDOG_PERIODS, planned)
        else:
            self.host, self.law = build_host_board(self.scenario, self._say)
            self.board, self._worked = self.host, self.law
        if faults := [fault for fault in self.scenario.faults if fault.target == BOARD]:
            ours = self.host is not None
            restart, say = (self._restart, self._say) if ours else (None, None)
            self.board = FaultyBoard(self.board, faults, self.period_ns, restart, say)

    def _restart(self, t_ns: int, cause: ResetCause) -> None:
        assert self.host is not None
        assert self.law is not None
        self.host.restart(t_ns, cause)
        self.law.forget()

    def note_work(self, t_ns: int, period_wall_ns: int) -> None:
        """In wall time a law may exceed its period; processor time counts, so that a busy machine is not attributed to
        the law."""
        if self.law and self.law.worked_ns > period_wall_ns:
            self._say(t_ns, Event.OVERRUN, self.law.worked_ns / NS)

    def in_wall_time(self, clock_ns: Callable[[], int]) -> None:
        """By the flight's clock a host law may be late."""
        if self.law and self.law.guarded:
            self.law.guarded.clock_ns = clock_ns

    def prepare(self) -> None:
        """After the command was sent: what a host law computes ahead."""
        if self.law and self.law.guarded:
            self.law.guarded.prepare()

    def _say(self, t_ns: int, event: Event, value: float) -> None:
        self._publish["board_event"](t_ns / NS, event, value)

    def close(self) -> None:
        self.note_counters()
        if self._pipe:
            self._pipe.close()

    def dress_references(self, link: Link, now_ns: Callable[[], int]) -> Link:
        impairment = self.scenario.controller.ground.impair
        if not impairment.active:
            return link
        return Impaired(
            link,
            inbound=impairment,
            outbound=Impairment(),
            clock_ns=now_ns,
            seed=self.scenario.seed + 1,
            cut=FrameCutter,
        )

    def note_cycle(self, t_ns: int, round_trip_ns: int, late_ns: int, busy_ns: int = 0) -> None:
        t_s = t_ns / NS
        times_s = (round_trip_ns / NS, self._worked.took_ns / NS, busy_ns / NS, late_ns / NS)
        self._publish["board_cycle"](t_s, *times_s, self.board.mode)
        if self.law and self.law.fallback != self._fallback:
            self._fallback = self.law.fallback
            self._say(t_ns, Event.LAW_FALLBACK, self._fallback)
        if int(t_s) > self._counted_s:
            self._counted_s = int(t_s)
            self.note_counters()

    def note_counters(self) -> None:
        """Counters of our own ends; a board with firmware reports its own."""
        if self.host:
            t_s = self.host.next_timer_ns / NS
            self._publish["board_link"](t_s, *self.host.link.counters.row())
            self._publish["reference_link"](t_s, *self.host.references.counters.row())
