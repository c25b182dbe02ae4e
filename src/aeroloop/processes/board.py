"""The board process: a control law behind a link, on its own 12 ms timer.

Rungs mil (Python), sil (C on this host) and, in lockstep, pil (the firmware on the emulated board).
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import casadi as ca

from aeroloop.boards.emulated import EmulatedBoard, StepPipe
from aeroloop.boards.host import Behaviour, Done, HostBoard, Say
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.paths import cache_dir
from aeroloop.processes.common import Line, Orders, run_process, stop
from aeroloop.protocols.board import REQUEST_FRAME
from aeroloop.protocols.framing import FrameCutter
from aeroloop.realtime.lockstep import Baton, PeerGoneError, Reply, StampedLink
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_realtime, share_core
from aeroloop.realtime.topics import Topics
from aeroloop.scenario import Impairment, Scenario
from aeroloop.signals import NS, WATCHDOG_PERIODS, Command, Event, Mode, Reference, Sensors
from aeroloop.streams import STREAMS, writes
from aeroloop.vehicles.tiltrotor.design import design, flight_law, parameter_file

READS = ("board link", "reference link")
WRITES = tuple(s.name for s in STREAMS if s.producer == "board")


class TimedLaw:
    """The law with its memory, and how long its last call took: on the clock, and in processor time."""

    def __init__(self, law: ca.Function, rung: str) -> None:
        self._run = Evaluator(compiled(law, cache_dir()) if rung == "sil" else law)
        self.took_ns = self.worked_ns = 0

    def __call__(self, sensors: Sensors, reference: Reference) -> Command:
        began_ns, idle_ns = time.perf_counter_ns(), time.thread_time_ns()
        run = self._run
        run.inputs[0][:] = sensors
        run.inputs[1][:] = reference.row()
        run()
        run.inputs[2][:] = run.outputs[1]
        command: Command = tuple(run.outputs[0].tolist())
        self.took_ns, self.worked_ns = time.perf_counter_ns() - began_ns, time.thread_time_ns() - idle_ns
        return command


def build_host_board(scenario: Scenario, say: Say) -> tuple[HostBoard, TimedLaw]:
    plan = design(scenario.vehicle.parameters, scenario.control.weights, scenario.control.period_s)
    law = TimedLaw(flight_law(scenario.control, plan), scenario.loop)
    behaviour = Behaviour(
        period_ns=round(scenario.control.period_s * NS),
        hover_command=tuple(plan.u_eq.tolist()),
        safe_command=plan.safe_command(scenario.board.safe_thrust_ratio),
        bounds=parameter_file().plausible.sensors,
        config=scenario.board,
    )
    return HostBoard(law, behaviour, say), law


class Worked(Protocol):
    took_ns: int


class LockstepBoard(Protocol):
    """What lockstep needs of a board, on whichever rung."""

    mode: Mode

    @property
    def next_timer_ns(self) -> int: ...
    def skip(self, cycles: int) -> None: ...
    def step(self, t_ns: int, references: bytes, timer_ns: int | None, link: bytes) -> Done: ...


class Shell:
    """What lockstep and wall time share: topics, and what is logged each cycle."""

    def __init__(self, orders: Orders) -> None:
        self.scenario = orders.scenario
        self.period_ns = round(self.scenario.control.period_s * NS)
        self._topics = Topics(orders.folder_path, wait=self.scenario.lockstep)
        streams = writes("board", self.scenario.loop)
        self._publish = {stream.name: self._topics.publisher(stream).send for stream in streams}
        self._counted_s = -1
        self.host: HostBoard | None = None
        self.law: TimedLaw | None = None
        self._pipe: StepPipe | None = None
        self.board: LockstepBoard
        self._worked: Worked
        if self.scenario.loop == "pil":
            emulator = self.scenario.emulator
            self._pipe = StepPipe(Path(orders.image), emulator.shift, orders.folder_path)
            self.board = self._worked = EmulatedBoard(self._pipe, self.period_ns, WATCHDOG_PERIODS, emulator.faults)
        else:
            self.host, self.law = build_host_board(self.scenario, self._say)
            self.board, self._worked = self.host, self.law

    def note_work(self, t_ns: int, period_wall_ns: int) -> None:
        """In wall time a law may take too long; a busy machine is not the law's fault, so processor time counts."""
        if self.law and self.law.worked_ns > period_wall_ns:
            self._say(t_ns, Event.OVERRUN, self.law.worked_ns / NS)

    def _say(self, t_ns: int, event: Event, value: float) -> None:
        self._publish["board_event"](t_ns / NS, event, value)

    def close(self) -> None:
        self.note_counters()
        if self._pipe:
            self._pipe.close()

    def dress_references(self, link: Link, now_ns: Callable[[], int]) -> Link:
        impairment = self.scenario.ground.impair
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
        if int(t_s) > self._counted_s:
            self._counted_s = int(t_s)
            self.note_counters()

    def note_counters(self) -> None:
        """Of our own ends; a board with firmware tells its counters itself."""
        if self.host:
            t_s = self.host.next_timer_ns / NS
            self._publish["board_link"](t_s, *self.host.link.counters.row())
            self._publish["reference_link"](t_s, *self.host.references.counters.row())


class Turn:
    """The board's turns in lockstep, between taking the plant's baton and passing it on.

    The timer is the plant's baton; the next cycle's request goes out with this cycle's actuators. That request
    belongs to the next timer, and the plant treats it so: it is promised, not early.
    """

    def __init__(self, shell: Shell) -> None:
        self._board = shell.board
        self._shell = shell
        self._counts_time = shell.scenario.emulator.timed
        self._promised = False
        self._busy_until_ns = 0
        self._held = b""  # what a board that is still busy will have sent by then
        self.cycle_ns = 0
        self.ahead = b""

    def take(self, now_ns: int, references: bytes, link: bytes, round_trip_ns: int) -> bytes:
        """What the board sends now; `ahead` is the request of its next cycle, when that can be told already."""
        board, self.ahead = self._board, b""
        out = self._released(now_ns)
        timer_ns = board.next_timer_ns if self._promised and now_ns >= board.next_timer_ns else None
        if timer_ns is not None:
            self._promised = False
        done = board.step(now_ns, references, timer_ns, link)
        if done.answered:
            self._shell.note_cycle(now_ns, round_trip_ns, 0, done.busy_ns)
            if done.busy_ns > self._shell.period_ns or self._counts_time:
                self._hold(done, now_ns)
                return out
        out += done.now
        if (done.answered or out) and now_ns < board.next_timer_ns:
            self._promise()
        elif not self._promised and now_ns >= board.next_timer_ns:
            self.cycle_ns = now_ns
            begun = board.step(now_ns, b"", board.next_timer_ns, b"")
            out += begun.now + begun.opening
        return out

    def busy(self, now_ns: int) -> bool:
        return now_ns < self._busy_until_ns

    @property
    def wake_ns(self) -> int:
        if self._held:
            return self._busy_until_ns
        return self._board.next_timer_ns + (self._shell.period_ns if self._promised else 0)

    def _promise(self) -> None:
        self.ahead, self._promised, self.cycle_ns = REQUEST_FRAME, True, self._board.next_timer_ns

    def _hold(self, done: Done, now_ns: int) -> None:
        self._held, self._busy_until_ns = done.now, now_ns + done.busy_ns
        missed_ns = self._busy_until_ns - self._board.next_timer_ns
        if missed_ns >= 0:  # a board that is still at work when its timer comes leaves that cycle out
            self._board.skip(missed_ns // self._shell.period_ns + 1)

    def _released(self, now_ns: int) -> bytes:
        out, self._held = self._held, b""
        return out


def run_lockstep(shell: Shell, link: Link, references: Link, plant: Baton, ground: Baton | None) -> None:
    now_ns, sent_bytes, sent_at_ns = 0, 0, time.monotonic_ns()
    wire, radio = StampedLink(link, lambda: now_ns), StampedLink(references, lambda: now_ns)
    dressed = shell.dress_references(radio, lambda: now_ns)
    turn = Turn(shell)
    referred_ns = announced_ns = -1
    last_ns = round(shell.scenario.duration_s * NS) // shell.period_ns * shell.period_ns
    while not stop():
        try:
            now_ns, plant_bytes, *_ = plant.take()
            wire.take(plant_bytes, now_ns)
            while ground and referred_ns < announced_ns:  # one reference for every cycle, also one that is left out
                referred_ns, ground_bytes, *_ = ground.take()
                radio.take(ground_bytes, referred_ns)
            if turn.busy(now_ns):
                out, ahead = b"", b""
            else:
                out = turn.take(now_ns, dressed.poll(), wire.poll(), time.monotonic_ns() - sent_at_ns)
                ahead = turn.ahead
            if out or ahead:
                link.send(out + ahead)
            sent_at_ns = time.monotonic_ns()
            sent_bytes += len(out)
            announced_ns = min(turn.cycle_ns, last_ns)  # the ground sends none for cycles after the flight
            plant.pass_on(*Reply(sent_bytes, turn.cycle_ns, sent_bytes + len(ahead), turn.wake_ns))
            sent_bytes += len(ahead)
        except PeerGoneError:
            break


def run_wall(shell: Shell, link: Link, references: Link) -> None:
    """The timer is the monotonic clock; a timer missed by a whole period is skipped, not made up for."""
    board, scenario = shell.host, shell.scenario
    assert board is not None, "in wall time the emulated board has a process of its own"
    period_wall_ns = round(shell.period_ns / scenario.speed)
    timer_ns = time.monotonic_ns()
    dressed = shell.dress_references(references, lambda: board.next_timer_ns)
    while not stop():
        late_ns = _wait_until(timer_ns, board, link)
        if late_ns > period_wall_ns:
            skipped = late_ns // period_wall_ns
            timer_ns += skipped * period_wall_ns
            board.skip(skipped)
        t_ns = board.next_timer_ns
        board.get_references(dressed.poll(), t_ns)
        closing, opening = board.on_timer(t_ns)
        link.send(closing + opening)
        sent_ns = time.monotonic_ns()
        timer_ns += period_wall_ns
        while not stop():
            remaining_ns = timer_ns - time.monotonic_ns()
            if remaining_ns <= 0:
                break
            if select.select([link.fileno()], [], [], remaining_ns / NS)[0]:
                out = board.on_link(link.poll(), t_ns)
                if out:
                    link.send(out)
                    shell.note_work(t_ns, period_wall_ns)
                    shell.note_cycle(t_ns, time.monotonic_ns() - sent_ns, late_ns)
                    break


def _wait_until(timer_ns: int, board: HostBoard, link: Link) -> int:
    """Sleep until the timer, counting what comes meanwhile as the duplicates they are; how late it became."""
    while not stop():
        remaining_ns = timer_ns - time.monotonic_ns()
        if remaining_ns <= 0:
            return -remaining_ns
        if select.select([link.fileno()], [], [], remaining_ns / NS)[0]:
            board.on_link(link.poll(), board.next_timer_ns)
    return 0


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    if orders.scenario.lockstep:
        share_core(orders.core_draw)  # with the emulator, which inherits it: it takes turns with us
    shell = Shell(orders)
    line.await_order("open")
    references = LastingServer(orders.reference_server)
    link = open_link(orders.link_client)
    line.tell("ready")
    line.await_order("start")
    try:
        if orders.scenario.lockstep:
            ground = Baton(batons["ground"], "ground") if "ground" in batons else None
            run_lockstep(shell, link, references, Baton(batons["plant"], "plant"), ground)
        else:
            for refused in enter_realtime(BOARD_PRIORITY):
                line.tell("say", message=f"board: {refused}")
            run_wall(shell, link, references)
        line.tell("done")
    finally:  # also when the plant has closed the link before we were told to stop
        shell.close()
        link.close()
        references.close()


if __name__ == "__main__":
    run_process(main)
