"""The board process of the fixed wing: the autopilot behind its link.

Rungs mil (Python), sil (the firmware as a program of this host) and pil (the firmware on the emulated board). The
plant's sensors are its timer; when the work of a period is done it reports that, and lockstep waits for this message.
If sensors may be lost or late, it alternates with the plant by a baton, and its periods continue without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from aeroloop.boards.cadence import Cadence
from aeroloop.boards.emulated import GrantedBoard, Pipe, StepPipe
from aeroloop.boards.native import NativePipe
from aeroloop.controllers.law.driven_process import serve_board
from aeroloop.controllers.law.period_tables import PeriodScenario, PeriodTables, by_baton
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS, ResetCause
from aeroloop.core.tables import offered
from aeroloop.core.wing_signals import WingCommand, WingSensors
from aeroloop.exchanges.failing_board import FailingTurns
from aeroloop.flight.processes.common import LaunchSettings, SupervisorLink, run_process
from aeroloop.links.base import Link
from aeroloop.protocols import interface
from aeroloop.protocols.framing import FLAG, Counters, Deframer, FrameCutter, encode
from aeroloop.protocols.handshake import Claim, host_claim
from aeroloop.protocols.wing import BoardEnd, Done, Goal, Servos, UserMessage
from aeroloop.realtime.lockstep import BEFORE_NS, WorkTurns

READS = ("board link",)
WRITES = ()

GROUND = tuple(bytes([message.number]) for message in (interface.GOAL, interface.USER) if message.number is not None)
"""First bytes of the ground's messages."""
MS = 1_000_000
MOST_WAITING = 64 * 1024
"""Maximum number of bytes without a control period; more do not come from a plant."""


class Board(Protocol):
    """The board of one of the rungs."""

    def start(self, uptime_ms: int) -> bytes:
        """Its start message: it identifies the board to the plant, and over UDP its address."""

    def step(self, chunk: bytes, t_ms: int) -> tuple[bytes, float]:
        """The bytes of a control period that began at this time -> the bytes that the board sends in it, and its
        execution time in s."""

    def fail(self, kind: str) -> bool:
        """Whether it hangs or resets by itself, with its next period."""

    def restart(self, t_ms: int, cause: ResetCause) -> bytes:
        """Start again without memory; its start message."""

    def close(self) -> None: ...


class PeriodServer:
    """A board behind its link, one period at a time."""

    def __init__(self, board: Board, link: Link) -> None:
        self._board, self._link = board, link
        self._listener = BoardEnd()
        self._waiting = b""
        self._sensors: WingSensors | None = None  # the newest in the queue

    @property
    def addressed(self) -> bool:
        """The plant has sent a message."""
        return self._listener.counters.frames_in > 0

    def send_start(self, uptime_ms: int = 0) -> None:
        self._link.send(self._board.start(uptime_ms))

    def serve(self) -> None:
        """Read what has arrived; if it contains the sensors of a period, do that period's work."""
        self._take()
        if self._sensors is not None:
            self._work(self._sensors.t_ms)
        elif len(self._waiting) > MOST_WAITING:
            raise LinkError(f"{self._link.url}: {len(self._waiting)} bytes received, but no sensor message")

    def turn(self, cadence: Cadence, t_ns: int) -> int:
        """A turn by the baton: a period's work with the sensors, or without those that did not arrive; returns the time
        of the next."""
        if t_ns == BEFORE_NS:
            self.send_start()
        self._take()
        if cadence.due(t_ns, sampled=self._sensors is not None):
            self._work(t_ns // MS)
        return cadence.wake_ns(sampled=self._sensors is not None)

    def skip_samples(self) -> None:
        """Sensors of a period that is skipped are lost."""
        self._link.poll()

    def fail(self, kind: str) -> bool:
        return self._board.fail(kind)

    def restart(self, t_ns: int, cause: ResetCause) -> None:
        self._waiting, self._sensors = b"", None
        self._link.send(self._board.restart(t_ns // MS, cause))

    def _take(self) -> None:
        chunk = self._link.poll()
        self._waiting += chunk
        for message in self._listener.receive(chunk):
            if isinstance(message, WingSensors):
                self._sensors = message

    def _work(self, t_ms: int) -> None:
        period, self._waiting = self._waiting, b""
        sensors, self._sensors = self._sensors, None
        out, busy_s = self._board.step(period, t_ms)
        if sensors is not None:
            out += self._listener.done(Done(sensors.cycle, busy_s))
        if out:
            self._link.send(out)


def turns(board: Board, link: Link, period_ns: int) -> WorkTurns:
    """Serve the board behind its link by a baton."""
    return FailingTurns(link, period_ns, lambda line: PeriodServer(board, line))


class FirmwareWing:
    """Rungs sil and pil: the board's firmware, with one link each for the simulator and the ground."""

    def __init__(self, board: GrantedBoard, *, watched: bool = True) -> None:
        """`watched`: it has a watchdog with a time of its own."""
        self._board, self._watched = board, watched
        self._cutter = FrameCutter()
        self._failure = ""

    def start(self, uptime_ms: int) -> bytes:
        """From its start message: its processor is stopped until the plant sends sensors, its clock is not."""
        (said,) = Deframer(interface.START.size, Counters()).feed(self._board.start)
        claim = Claim.of(said)
        assert claim is not None
        return encode(replace(claim, uptime_ms=uptime_ms).data())

    def step(self, chunk: bytes, t_ms: int) -> tuple[bytes, float]:
        frames = self._cutter.feed(chunk)
        ground = [frame for frame in frames if frame.lstrip(FLAG)[:1] in GROUND]
        simulator = [frame for frame in frames if frame not in ground]
        failure, self._failure = self._failure, ""
        replied = self._board.step(b"".join(simulator), b"".join(ground), t_ns=t_ms * MS, fault=failure)
        return replied.bytes, replied.busy_ns / NS

    def fail(self, kind: str) -> bool:
        if self._watched:
            self._failure = kind
        return self._watched

    def restart(self, t_ms: int, cause: ResetCause) -> bytes:
        """Of a program of this host: it starts again at once, and knows no cause."""
        replied = self._board.step(b"", t_ns=t_ms * MS, fault="reset")
        (said,) = Deframer(interface.START.size, Counters()).feed(replied.bytes)
        claim = Claim.of(said)
        assert claim is not None
        return encode(replace(claim, cause=cause).data())

    def close(self) -> None:
        self._board.close()


class Autopilot(Protocol):
    """The law of a family's row."""

    def step(
        self, sensors: WingSensors, goals: Sequence[tuple[float, float]] = (), commands: Sequence[UserMessage] = ()
    ) -> tuple[WingCommand, list[tuple[str, tuple[float, ...]]]]:
        """The servos' command of this period, and telemetry rows (stream, values)."""


class HostWing:
    """Rung mil: the autopilot in Python."""

    def __init__(self, autopilot: Callable[[], Autopilot]) -> None:
        self._new = autopilot
        self._forget()

    def _forget(self) -> None:
        self._autopilot = self._new()
        self._end = BoardEnd()
        self._cycle = -1
        self._goals: list[tuple[float, float]] = []
        self._commands: list[UserMessage] = []

    def start(self, uptime_ms: int) -> bytes:
        return self._end.start(host_claim(interface.WING, uptime_ms))

    def fail(self, kind: str) -> bool:
        return False

    def restart(self, t_ms: int, cause: ResetCause) -> bytes:
        self._forget()
        return self._end.start(host_claim(interface.WING, 0, cause))

    def step(self, chunk: bytes, t_ms: int) -> tuple[bytes, float]:
        out = b""
        for message in self._end.receive(chunk):
            if isinstance(message, Goal):
                self._goals.append((message.x_m, message.y_m))
                continue
            if isinstance(message, UserMessage):
                self._commands.append(message)
                continue
            if message.cycle == self._cycle:
                continue  # a duplicated message does not lengthen a period
            self._cycle = message.cycle
            goals, self._goals = self._goals, []
            commands, self._commands = self._commands, []
            command, told = self._autopilot.step(message, goals, commands)
            out += self._end.servos(Servos(message.cycle, command, 0.0))
            out += b"".join(self._end.report(stream, row) for stream, row in told)
        return out, 0.0

    def close(self) -> None: ...


def build_board(scenario: PeriodScenario, image: str, folder: Path) -> Board:
    tables = scenario.controller
    if scenario.loop == "mil":
        return HostWing(partial(offered, scenario.kind, "law", scenario))
    pipe: Pipe
    if scenario.loop == "sil":
        pipe = NativePipe(Path(image), tables.board.piece_ns, folder)
    else:
        pipe = StepPipe(Path(image), tables.emulator.shift, folder)
    return FirmwareWing(GrantedBoard(pipe, tables.period_ns), watched=scenario.loop == "pil")


def main(launch: LaunchSettings, supervisor: SupervisorLink, batons: dict[str, int]) -> None:
    scenario: PeriodScenario = launch.flown_by(PeriodTables)

    def serving(board: Board, link: Link) -> PeriodServer | WorkTurns:
        if by_baton(scenario):
            return turns(board, link, scenario.controller.period_ns)
        return PeriodServer(board, link)

    def build() -> closing[Board]:
        return closing(build_board(scenario, launch.image, launch.folder_path))

    serve_board(launch, supervisor, batons, build, serving)


if __name__ == "__main__":
    run_process(main)
