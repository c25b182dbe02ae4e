"""What tests of the emulated board share: its flights, the emulator's process, and programs that play another."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aeroloop.boards.qemu import PROGRAM
from aeroloop.core.errors import EXIT_INTERRUPTED
from aeroloop.recording.log import Log

if TYPE_CHECKING:
    from conftest import Bench, Ended, Running

PIL = ("fly", "tiltrotor-spiral", "--no-report", "--set", 'loop="pil"')
LAWS = Path(__file__).resolve().parents[2] / "examples" / "laws"
NO_CHECKS = ("--set", "checks=[]")
"""Of their own: those that every flight has remain. For flights too short for the spiral's."""


@dataclass(frozen=True)
class Flown:
    ended: Ended
    summary: dict[str, Any]
    log: Log
    folder: Path

    @property
    def metrics(self) -> dict[str, float]:
        values: dict[str, float] = self.summary["metrics"]
        return values

    def said(self, source: str) -> list[tuple[str, float, float]]:
        """The events of one side: name, time in s, value."""
        events = self.summary["events"]
        return [(e["event"], e["t_s"], e["value"]) for e in events if e["source"] == source]

    def names(self, source: str) -> list[str]:
        return [name for name, _, _ in self.said(source)]

    def failed_checks(self) -> set[str]:
        return {check["name"] for check in self.summary["checks"] if not check["ok"]}


def fly(bench: Bench, run: str, *args: str, code: int | None = 0) -> Flown:
    """One flight to its end; None takes any exit code."""
    ended = bench.run(*args, "--out", run)
    assert code is None or ended.code == code, ended.out + ended.err
    assert "Traceback" not in ended.err, ended.err
    folder = bench.folder / run
    return Flown(ended, json.loads((folder / "summary.json").read_bytes()), bench.log(run), folder)


def fly_in_time(bench: Bench, run: str, *args: str, times: int = 10) -> Flown:
    """A flight in real time to its end; again where the machine stalled, so that the board was without sensor data."""
    for number in range(times):
        flown = fly(bench, f"{run}-{number}", *args, code=None)
        if flown.ended.code == 0:
            break
        assert flown.metrics["sensor_losses"] > 0, flown.ended.out + flown.ended.err
    assert flown.ended.code == 0, flown.ended.out + flown.ended.err
    return flown


def pil(bench: Bench, run: str, duration_s: float, *settings: str, code: int | None = 0) -> Flown:
    """A part of the spiral on the emulated board."""
    chosen = [word for setting in (f"duration_s={duration_s:g}", *settings) for word in ("--set", setting)]
    return fly(bench, run, *PIL, *NO_CHECKS, *chosen, code=code)


def emulators(parent: int) -> Iterator[int]:
    """Process ids of the emulators that a process has started."""
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdecimal() or PROGRAM.encode() not in (entry / "cmdline").read_bytes():
                continue
            if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                yield int(entry.name)
        except OSError:
            continue  # it has ended meanwhile


def serve(bench: Bench, *args: str) -> tuple[Running, str]:
    """A board on a pty, and the link on which to fly it."""
    board = bench.start("board", "run", *args)
    board.says("the emulated board is on ")
    found = re.search(r"is on (serial://\S+);", board.err)
    assert found, board.err
    return board, found[1]


def end(bench: Bench, board: Running) -> None:
    """Ctrl-C, and nothing is left."""
    (emulator,) = emulators(board.process.pid)
    board.process.send_signal(signal.SIGINT)
    ended = board.wait()
    assert ended.code == EXIT_INTERRUPTED, ended.err
    assert "Traceback" not in ended.err
    bench.await_gone([emulator])


def play_program(folder: Path, name: str, script: str) -> None:
    """A shell script in place of a program."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def without_programs(folder: Path, *names: str) -> str:
    """A PATH that has everything this machine has, but for these programs."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if program.name not in names and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)
