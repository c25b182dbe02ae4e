"""The board process: a control law behind a link, on its own 12 ms timer. Rungs mil (Python) and sil (C)."""

from __future__ import annotations

import select
import time
from collections.abc import Callable

import casadi as ca

from aeroloop.boards.host import Behaviour, HostBoard
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.errors import LinkError
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.links.open import open_link
from aeroloop.paths import cache_dir
from aeroloop.processes.common import Line, Orders, run_process, stop
from aeroloop.protocols.board import REQUEST_FRAME
from aeroloop.protocols.framing import FrameCutter
from aeroloop.realtime.lockstep import Baton, PeerGoneError, Reply, StampedLink
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_realtime, share_core
from aeroloop.realtime.topics import Topics
from aeroloop.reference.trajectories import build as build_path
from aeroloop.scenario import Impairment, Scenario
from aeroloop.signals import NS, Command, Event, Reference, Sensors
from aeroloop.streams import STREAMS
from aeroloop.vehicles.tiltrotor.design import design, parameter_file

READS = ("board link", "reference link")
WRITES = tuple(s.name for s in STREAMS if s.producer == "board")


class TimedLaw:
    """The law with its memory, and how long its last call took."""

    def __init__(self, law: ca.Function, rung: str) -> None:
        self._run = Evaluator(compiled(law, cache_dir()) if rung == "sil" else law)
        self.took_ns = 0

    def __call__(self, sensors: Sensors, reference: Reference) -> Command:
        began_ns = time.perf_counter_ns()
        run = self._run
        run.inputs[0][:] = sensors
        run.inputs[1][:] = reference.row()
        run()
        run.inputs[2][:] = run.outputs[1]
        command: Command = tuple(run.outputs[0].tolist())
        self.took_ns = time.perf_counter_ns() - began_ns
        return command


def build_board(scenario: Scenario, say: Callable[[int, Event, float], None]) -> tuple[HostBoard, TimedLaw]:
    plan = design(scenario.vehicle.parameters, scenario.control.weights, scenario.control.period_s)
    law = TimedLaw(plan.law(scenario.control.law), scenario.loop)
    start = build_path(scenario.ground.trajectory)(0.0)
    behaviour = Behaviour(
        period_ns=round(scenario.control.period_s * NS),
        hover_command=tuple(plan.u_eq.tolist()),
        safe_command=plan.safe_command(scenario.board.safe_thrust_ratio),
        start=Reference(
            0, scenario.world.start_pos_W or start.pos_W, scenario.world.start_yaw_rad, (0.0, 0.0, 0.0), 0.0
        ),
        bounds=parameter_file().plausible.sensors,
        config=scenario.board,
    )
    return HostBoard(law, behaviour, say), law


class Shell:
    """What lockstep and wall time share: the board, its topics, and what is logged each cycle."""

    def __init__(self, orders: Orders) -> None:
        self.scenario = orders.scenario
        self.period_ns = round(self.scenario.control.period_s * NS)
        self._topics = Topics(orders.folder_path, wait=self.scenario.lockstep)
        self._publish = {s.name: self._topics.publisher(s).send for s in STREAMS if s.producer == "board"}
        self.board, self._law = build_board(
            self.scenario, lambda t_ns, event, value: self._publish["board_event"](t_ns / NS, event, value)
        )
        self._counted_s = -1

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

    def note_cycle(self, t_ns: int, round_trip_ns: int, late_ns: int) -> None:
        t_s = t_ns / NS
        self._publish["board_cycle"](t_s, round_trip_ns / NS, self._law.took_ns / NS, late_ns / NS, self.board.mode)
        if int(t_s) > self._counted_s:
            self._counted_s = int(t_s)
            self.note_counters()

    def note_counters(self) -> None:
        t_s = self.board.next_timer_ns / NS
        self._publish["board_link"](t_s, *self.board.link.counters.row())
        self._publish["reference_link"](t_s, *self.board.references.counters.row())


def run_lockstep(shell: Shell, link: Link, references: Link, plant: Baton, ground: Baton | None) -> None:
    """The timer is the plant's baton; the next cycle's request goes out with this cycle's actuators.

    That request belongs to the next timer, and the plant treats it so: it is promised, not early.
    """
    board = shell.board
    now_ns, sent_bytes, sent_at_ns = 0, 0, time.monotonic_ns()
    wire, radio = StampedLink(link, lambda: now_ns), StampedLink(references, lambda: now_ns)
    dressed = shell.dress_references(radio, lambda: now_ns)
    promised = reference_due = False
    cycle_ns = 0
    while not stop():
        try:
            now_ns, plant_bytes, *_ = plant.take()
            wire.take(plant_bytes, now_ns)
            if ground and reference_due:
                reference_ns, ground_bytes, *_ = ground.take()
                radio.take(ground_bytes, reference_ns)
                reference_due = False
            board.get_references(dressed.poll(), now_ns)
            if promised and now_ns >= board.next_timer_ns:
                board.on_timer(board.next_timer_ns)
                promised = False
            out = board.on_link(wire.poll(), now_ns)
            ahead = b""
            if out:
                shell.note_cycle(now_ns, time.monotonic_ns() - sent_at_ns, 0)
            if out and now_ns < board.next_timer_ns:
                ahead, promised, cycle_ns = REQUEST_FRAME, True, board.next_timer_ns
                reference_due = True
            elif not promised and now_ns >= board.next_timer_ns:
                closing, opening = board.on_timer(now_ns)
                out, cycle_ns = out + closing + opening, now_ns
                reference_due = True
            if out or ahead:
                link.send(out + ahead)
            sent_at_ns = time.monotonic_ns()
            sent_bytes += len(out)
            plant.pass_on(*Reply(sent_bytes, cycle_ns, sent_bytes + len(ahead), cycle_ns + shell.period_ns))
            sent_bytes += len(ahead)
        except PeerGoneError:
            break


def run_wall(shell: Shell, link: Link, references: Link) -> None:
    """The timer is the monotonic clock; a timer missed by a whole period is skipped, not made up for."""
    board, scenario = shell.board, shell.scenario
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


class ReferencePort:
    """The server's end of the reference link: when its driver leaves, it is there for the next one."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._link = open_link(url)

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, data: bytes) -> None:
        self._link.send(data)

    def poll(self) -> bytes:
        try:
            return self._link.poll()
        except LinkError:
            self._link.close()
            self._link = open_link(self.url)
            return b""

    def next_due_ns(self) -> int | None:
        return self._link.next_due_ns()

    def close(self) -> None:
        self._link.close()


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    shell = Shell(orders)
    line.await_order("open")
    references = ReferencePort(orders.reference_server)
    link = open_link(orders.link_client)
    line.tell("ready")
    line.await_order("start")
    try:
        if orders.scenario.lockstep:
            share_core(orders.core_draw)
            ground = Baton(batons["ground"], "ground") if "ground" in batons else None
            run_lockstep(shell, link, references, Baton(batons["plant"], "plant"), ground)
        else:
            for refused in enter_realtime(BOARD_PRIORITY):
                line.tell("say", message=f"board: {refused}")
            run_wall(shell, link, references)
        line.tell("done")
    finally:  # also when the plant has closed the link before we were told to stop
        shell.note_counters()
        link.close()
        references.close()


if __name__ == "__main__":
    run_process(main)
