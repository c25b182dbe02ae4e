"""A pose board behind its two links: on the host (mil, sil) or in the emulator (pil, lockstep)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from aeroloop.boards.config import Fault
from aeroloop.boards.emulated import GrantedBoard, StepPipe
from aeroloop.control.board_law import BoardLaw
from aeroloop.controllers.law.request_tables import injected
from aeroloop.controllers.law.values_board import HostLaw
from aeroloop.controllers.pose.board_settings import BoardSettings, settings_of
from aeroloop.controllers.pose.driver_table import ROW_SIZES
from aeroloop.controllers.pose.drivers import Drivers
from aeroloop.controllers.pose.front import FrontEnd
from aeroloop.controllers.pose.law import pose_law, shape_of
from aeroloop.controllers.pose.native import NativeDrivers, library
from aeroloop.controllers.pose.tables import PoseScenario
from aeroloop.core.frames import Vec
from aeroloop.core.signals import NS
from aeroloop.links.base import Link
from aeroloop.protocols import values


class PoseBoard(Protocol):
    def start(self, uptime_ms: int) -> bytes: ...
    def period(self, chunk: bytes, came: Sequence[values.Values], line: bytes) -> tuple[bytes, bytes]:
        """A control period: bytes of the first line, the values in them, bytes of the second line -> what the board
        sends on each."""

    def close(self) -> None: ...


class HostPoseBoard(HostLaw):
    """Drivers and law on this host: in Python on mil, as C on sil."""

    def __init__(self, law: BoardLaw, rung: str, settings: BoardSettings) -> None:
        super().__init__(law, rung, shape_of(law))
        drivers = NativeDrivers(library(settings)) if rung == "sil" else Drivers(settings)
        self._period_us = round(law.period_s * 1e6)
        self._front_end = FrontEnd(drivers, self._period_us)
        self._row_numbers = {name: len(law.tells) + index for index, name in enumerate(ROW_SIZES)}
        self._kept = [0.0] * law.measured  # values of the first line
        self._line, self._now_us = b"", 0

    def period(self, chunk: bytes, came: Sequence[values.Values], line: bytes) -> tuple[bytes, bytes]:
        self._line += line
        runs = self._runs
        first = self.step(chunk, came)
        return first, self._front_end.actuators(self._command) if self._runs > runs else b""

    def _front(self, measured: Vec, fresh: Vec) -> bytes:
        groups = sum(1 << index for index, new in enumerate(fresh) if new)
        for index, place in enumerate(self._places):
            if groups >> index & 1:
                self._kept[place] = measured[place].tolist()
        line, self._line = self._line, b""
        read = self._front_end.read(self._now_us, line, self._kept, groups)
        self._now_us += self._period_us
        measured[:], fresh[:] = read.measured, read.fresh
        events = b"".join(self._end.event(event, value) for event, value in read.events)
        return events + b"".join(self._end.row(self._row_numbers[name], row) for name, row in read.rows)


class EmulatedPoseBoard:
    """Rung pil in lockstep: the firmware in the emulator, granted one control period of its time after the other."""

    def __init__(self, law: BoardLaw, image: Path, shift: int, folder: Path, faults: Sequence[Fault] = ()) -> None:
        self._period_ns, self._t_ns = round(law.period_s * NS), 0
        self._board = GrantedBoard(StepPipe(image, shift, folder), self._period_ns)
        self._faults = sorted(faults, key=lambda fault: fault.at_s, reverse=True)

    def start(self, uptime_ms: int) -> bytes:
        return self._board.start

    def period(self, chunk: bytes, came: Sequence[values.Values], line: bytes) -> tuple[bytes, bytes]:
        due = self._faults and self._faults[-1].at_s * NS <= self._t_ns
        self._t_ns += self._period_ns
        sent = self._board.step(chunk, line, fault=self._faults.pop().kind if due else "")
        return sent.hils, sent.comm

    def close(self) -> None:
        self._board.close()


def build_board(scenario: PoseScenario, image: str, folder: Path) -> PoseBoard:
    law = pose_law(scenario)
    if scenario.loop == "pil":
        return EmulatedPoseBoard(law, Path(image), scenario.controller.emulator.shift, folder, injected(scenario))
    return HostPoseBoard(law, scenario.loop, settings_of(scenario))


class PoseServer:
    """A board behind its links, period by period. The plant sends poses before the values of a period."""

    def __init__(self, board: PoseBoard, link: Link, pose_link: Link, shape: values.Shape) -> None:
        self._board, self._link, self._pose_link = board, link, pose_link
        self._listener = values.BoardEnd(shape)
        self._waiting = b""

    @property
    def addressed(self) -> bool:
        """Whether a frame of the plant was received."""
        return self._listener.counters.frames_in > 0

    def send_start(self, uptime_ms: int = 0) -> None:
        self._link.send(self._board.start(uptime_ms))

    def serve(self) -> None:
        """Take what has come; with the values of a period in it, do that period's work."""
        chunk = self._link.poll()
        self._waiting += chunk
        came = self._listener.receive(chunk)
        if not came:
            return
        period, self._waiting = self._waiting, b""
        first, second = self._board.period(period, came, self._pose_link.poll())
        if second:
            self._pose_link.send(second)
        self._link.send(first + self._listener.done(came[-1].cycle))
