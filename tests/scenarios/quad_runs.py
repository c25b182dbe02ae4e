"""Flights of multirotors through the command line, and an autopilot outside to fly them with."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.controllers.pixhawk.virtual_pixhawk import VirtualPixhawk, parameters
from aeroloop.families.multirotor import airframe
from aeroloop.recording.log import Log, read
from aeroloop.world.earth import Home
from aeroloop.world.magnetic import MagneticModel

FLIGHT_GUARD_S = 240
NO_TELEMETRY = ("--set", "telemetry.url=none")
"""The usual port is that of the other flights of the suite too."""


class Run:
    def __init__(self, folder: Path, exit_code: int, said: str) -> None:
        self.folder, self.exit_code, self.said = folder, exit_code, said

    @property
    def summary(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / "summary.json").read_text())
        return loaded

    @property
    def metrics(self) -> dict[str, Any]:
        told: dict[str, Any] = self.summary["metrics"]
        return told

    @cached_property
    def log(self) -> Log:
        return read(self.folder / "flight.mcap")

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.summary["events"] if event["event"] == name]

    def positions(self) -> np.ndarray:
        return np.stack([self.log.column("truth", name) for name in ("x_m", "y_m", "z_m")], axis=1)


def command(*arguments: str, out: Path) -> list[str]:
    return [sys.executable, "-m", "aeroloop.cli", "fly", "--no-report", *arguments, "--out", str(out)]


def collect(folder: Path, code: int, said: str) -> Run:
    assert folder.is_dir(), said
    return Run(folder, code, said)


class Bench:
    """A flight for an autopilot outside, in the background."""

    def __init__(self, folder: Path, link: str, *arguments: str) -> None:
        self.folder, self._said = folder / "run", folder / "said.txt"
        known = ("quad-px4", "--link", link, "--set", "link.start_timeout_s=60", *NO_TELEMETRY)
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                command(*known, *arguments, out=self.folder),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def says(self, words: str) -> None:
        """Wait until it does."""
        deadline_s = time.monotonic() + FLIGHT_GUARD_S
        while words not in (said := self._said.read_text()):
            assert self.process.poll() is None and time.monotonic() < deadline_s, said
            time.sleep(0.05)

    def end(self) -> Run:
        try:
            self.process.wait(FLIGHT_GUARD_S)
        finally:
            self.process.kill()
        return collect(self.folder, self.process.returncode, self._said.read_text())


@cache
def fly(runs: Path, *arguments: str) -> Run:
    """One flight; equal arguments fly once."""
    folder = runs / f"run-{len(list(runs.iterdir()))}"
    done = subprocess.run(
        command(*arguments, out=folder), capture_output=True, text=True, timeout=FLIGHT_GUARD_S, check=False
    )
    return collect(folder, done.returncode, done.stdout + done.stderr)


def free_port() -> int:
    """Of a pair: the next one is free too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


class Peer(threading.Thread):
    """What is at the other end of a flight's link, for the time of a `with`. At its end nobody is left behind, and what
    went wrong in it is raised."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self._port = port
        self._line: socket.socket | None = None
        self._error: BaseException | None = None

    def talk(self) -> None:
        """Until the bench has gone, or it is `over`."""
        raise NotImplementedError

    def run(self) -> None:
        try:
            self.talk()
        except (ConnectionResetError, BrokenPipeError):
            pass  # the bench has gone, with something of ours unread
        except BaseException as error:
            self._error = error

    def connected(self) -> socket.socket:
        """Tries again and again, as PX4 does, until the bench listens."""
        while not self.over.wait(0.1):
            with suppress(ConnectionRefusedError):
                self._line = socket.create_connection(("127.0.0.1", self._port), timeout=FLIGHT_GUARD_S)
                return self._line
        raise ConnectionResetError(f"nobody listened on port {self._port}")

    def finish(self) -> None:
        """Wait until it ends by itself."""
        self.join(FLIGHT_GUARD_S)
        if self._error is not None:
            raise self._error
        assert not self.is_alive(), f"{type(self).__name__} has not ended"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        if kind is None:
            self.finish()
            return
        if self._line is not None:
            with suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)
        self.join(FLIGHT_GUARD_S)
        if error is not None and self._error is not None:
            error.add_note(f"{type(self).__name__}: {self._error!r}")


class OutsideAutopilot(Peer):
    """A virtual Pixhawk that is nobody's child: it connects over TCP, as PX4 does, and flies what it is told."""

    def __init__(self, port: int, period_s: float = 0.004) -> None:
        super().__init__(port)
        self.pixhawk = VirtualPixhawk(
            airframe.load("iris"),
            parameters({}),
            number=0,
            period_s=period_s,
            runner=Evaluator,
            field_at=MagneticModel(Home().date).field_T,
            lockstep=True,
            ground_links=0,
        )
        self.orders: dict[int, Any] = {}  # time in us -> what to do then

    def talk(self) -> None:
        with self.connected() as line:
            line.sendall(self.pixhawk.first_messages())
            while chunk := line.recv(65536):
                line.sendall(self.pixhawk.receive(chunk, self._step))

    def _step(self, t_ns: int) -> None:
        due = [t_us for t_us in self.orders if t_us * 1000 <= t_ns]
        for t_us in due:
            if self.orders[t_us](self.pixhawk.logic) is None:
                del self.orders[t_us]
