"""The board process of the fixed wing: the autopilot behind its link.

Rungs mil (Python), sil (the same with its laws as compiled C) and pil (the firmware on the emulated board). The plant's
sensors are its timer; when the work of a period is done it says so, which is what lockstep waits for.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Protocol

import casadi as ca

from aeroloop.boards.emulated import GrantedBoard
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import compiled
from aeroloop.controllers.law.period_tables import PeriodScenario, PeriodTables
from aeroloop.core.errors import LinkError
from aeroloop.core.paths import cache_dir
from aeroloop.core.signals import NS
from aeroloop.core.tables import offered
from aeroloop.core.wing_signals import WingCommand, WingSensors
from aeroloop.flight.processes.common import Line, Orders, run_process, stop
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.protocols import interface
from aeroloop.protocols.framing import FLAG, FrameCutter
from aeroloop.protocols.handshake import host_claim
from aeroloop.protocols.wing import BoardEnd, Done, Goal, Servos
from aeroloop.realtime.setup import BOARD_PRIORITY, enter_lockstep, enter_realtime, share_core

READS = ("board link",)
WRITES = ()

GOAL = interface.GOAL.pack(0, 0.0, 0.0)[:1]
WATCH_S = 0.2
MOST_WAITING = 64 * 1024
"""Bytes without a control period in them; more than that is no plant."""


class Board(Protocol):
    """The board of one of the rungs."""

    def start(self, uptime_ms: int) -> bytes:
        """Its start message: the plant now knows what we are, and over UDP also where."""

    def step(self, chunk: bytes) -> tuple[bytes, float]:
        """The bytes of a control period -> what the board sends in it, and how long it worked, in s."""

    def close(self) -> None: ...


class PeriodServer:
    """A board behind its link, period by period."""

    def __init__(self, board: Board, link: Link) -> None:
        self._board, self._link = board, link
        self._listener = BoardEnd()
        self._waiting = b""

    @property
    def addressed(self) -> bool:
        """The plant has spoken."""
        return self._listener.counters.frames_in > 0

    def greet(self, uptime_ms: int = 0) -> None:
        self._link.send(self._board.start(uptime_ms))

    def serve(self) -> None:
        """Take what has come; with the sensors of a period in it, do that period's work."""
        chunk = self._link.poll()
        self._waiting += chunk
        cycles = [message.cycle for message in self._listener.receive(chunk) if isinstance(message, WingSensors)]
        if cycles:
            period, self._waiting = self._waiting, b""
            out, busy_s = self._board.step(period)
            self._link.send(out + self._listener.done(Done(cycles[-1], busy_s)))
        elif len(self._waiting) > MOST_WAITING:
            raise LinkError(f"{self._link.url}: {len(self._waiting)} bytes came, and no sensors among them")


def run(board: Board, link: Link) -> None:
    """Until it is told to stop; the end of the link is the end of the flight."""
    server = PeriodServer(board, link)
    idle = 0  # times that WATCH_S has passed
    server.greet()
    while not stop():
        if select.select([link.fileno()], [], [], WATCH_S)[0]:
            server.serve()
            continue
        idle += 1
        if not server.addressed:
            server.greet(round(idle * WATCH_S * 1000))


class EmulatedWing:
    """Rung pil: the firmware in the emulator, which has a line each for the simulator and the ground."""

    def __init__(self, scenario: PeriodScenario, image: Path, folder: Path) -> None:
        self._board = GrantedBoard(
            image, scenario.controller.emulator.shift, folder, round(scenario.controller.board.period_s * NS)
        )
        self._cutter = FrameCutter()

    def start(self, uptime_ms: int) -> bytes:
        return self._board.start  # its processor stands still until the plant sends sensors

    def step(self, chunk: bytes) -> tuple[bytes, float]:
        frames = self._cutter.feed(chunk)
        ground = [frame for frame in frames if frame.lstrip(FLAG)[:1] == GOAL]
        simulator = [frame for frame in frames if frame not in ground]
        replied = self._board.step(b"".join(simulator), b"".join(ground))
        return replied.bytes, replied.busy_ns / NS

    def close(self) -> None:
        self._board.close()


class Autopilot(Protocol):
    """The law of a family's row."""

    def step(
        self, sensors: WingSensors, goals: Sequence[tuple[float, float]] = ()
    ) -> tuple[WingCommand, list[tuple[str, tuple[float, ...]]]]:
        """The servos' command of this period, and rows (stream, values) for the ground."""


class HostWing:
    """Rungs mil and sil: the autopilot in Python, its laws interpreted or compiled."""

    def __init__(self, autopilot: Autopilot) -> None:
        self._autopilot = autopilot
        self._end = BoardEnd()
        self._goals: list[tuple[float, float]] = []

    def start(self, uptime_ms: int) -> bytes:
        return self._end.start(host_claim(interface.WING, uptime_ms))

    def step(self, chunk: bytes) -> tuple[bytes, float]:
        out = b""
        for message in self._end.receive(chunk):
            if isinstance(message, Goal):
                self._goals.append((message.x_m, message.y_m))
                continue
            goals, self._goals = self._goals, []
            command, told = self._autopilot.step(message, goals)
            out += self._end.servos(Servos(message.cycle, command, 0.0))
            out += b"".join(self._end.tell(stream, row) for stream, row in told)
        return out, 0.0

    def close(self) -> None: ...


def build_board(scenario: PeriodScenario, image: str, folder: Path) -> Board:
    if scenario.loop == "pil":
        return EmulatedWing(scenario, Path(image), folder)
    return HostWing(offered(scenario.kind, "law", scenario, _compiled if scenario.loop == "sil" else Evaluator))


def _compiled(law: ca.Function) -> Evaluator:
    return Evaluator(compiled(law, cache_dir()))


def main(orders: Orders, line: Line, batons: dict[str, int]) -> None:
    scenario: PeriodScenario = orders.flown_by(PeriodTables)
    if scenario.lockstep:
        share_core(orders.core_draw)  # with the plant, which waits while we work
    with ExitStack() as last, closing(build_board(scenario, orders.image, orders.folder_path)) as board:
        line.await_order("open")
        link = open_link(orders.link_client)
        # After the board, which may take a while when it hangs: a plant that found the link closed meanwhile would
        # take that for the failure.
        last.callback(link.close)
        line.tell("ready")
        line.await_order("start")
        if scenario.lockstep:
            enter_lockstep()
        else:
            for refused in enter_realtime(BOARD_PRIORITY):
                line.tell("say", message=f"board: {refused}")
        run(board, link)
        line.tell("done")


if __name__ == "__main__":
    run_process(main)
