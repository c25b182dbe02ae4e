"""The supervisor: starts the processes a scenario needs, watches them, and takes them down again.

Whatever happens (the end of the flight, Ctrl-C, SIGTERM, a child that dies, a link that vanishes) everything is
down within two seconds, the log is complete up to that point, and the outcome says why. Only a recorder that still
has rows to write may take longer.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from aeroloop.core.errors import EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, EXIT_TERMINATED, AeroloopError, ConfigError
from aeroloop.core.paths import runtime_dir
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import Role
from aeroloop.flight import process_table
from aeroloop.flight.processes.common import Orders, read_supervisor_pid
from aeroloop.flight.results import LOG
from aeroloop.realtime.topics import sweep

STARTUP_TIMEOUT_S = 60.0
GRACE_S = 0.6
"""What plant, board and ground get to end by themselves before they are killed."""
RECORDER_GRACE_S = 5.0
"""The recorder's, since it last wrote something: what has come is worth waiting for."""
BLAME_S = 0.2
"""After a failure, how long to listen for what the others have to say before naming the cause."""


class Interrupted(Exception):  # noqa: N818 - a request, not an error
    """Ctrl-C or SIGTERM."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_TERMINATED


@dataclass
class Child:
    role: Role
    process: subprocess.Popen[bytes]
    line: socket.socket
    messages: list[dict[str, Any]] = field(default_factory=list)
    missed: bool = False  # it has failed in flight, and the flight went on without it

    def said(self, kind: str) -> dict[str, Any] | None:
        return next((message for message in self.messages if message["kind"] == kind), None)

    def taken(self, kind: str) -> list[dict[str, Any]]:
        """What it has said of this kind since the last call."""
        fresh = [message for message in self.messages if message["kind"] == kind]
        self.messages = [message for message in self.messages if message["kind"] != kind]
        return fresh

    @property
    def failed_at_ns(self) -> int:
        """When it said that it failed; one that was killed could not, and comes before all others.

        One that ended in peace comes last: mostly it left because another had failed.
        """
        failed = self.said("failed")
        if failed:
            return int(failed["at_ns"])
        return time.monotonic_ns() if self.process.poll() == 0 else 0

    def listen(self) -> None:
        """Take in what it has said; an ended process may still have last words in the line."""
        while True:
            try:
                packet = self.line.recv(65536, socket.MSG_DONTWAIT)
            except OSError:
                return
            if not packet:
                return
            message = json.loads(packet)
            if message["kind"] == "progress":
                self.messages = [m for m in self.messages if m["kind"] != "progress"]
            self.messages.append(message)

    def order(self, word: str) -> None:
        try:
            self.line.send(word.encode())
        except OSError:
            return  # it has ended: the watch says so

    def verdict(self, *, flying: bool = False) -> AeroloopError | None:
        """What this process did wrong, if anything; in flight, leaving is wrong too."""
        failed = self.said("failed")
        if failed:
            error = AeroloopError(failed["message"])
            error.exit_code = failed["exit_code"]
            return error
        code = self.process.poll()
        if code is None or (code == 0 and not flying):
            return None
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        if code == 0:
            how = "ended before the flight did"
        error = AeroloopError(f"the {self.role.name} process {how}")
        error.exit_code = EXIT_LINK
        return error


@dataclass
class Outcome:
    ended: str
    began: bool = False
    wall_s: float = 0.0
    exit_code: int = EXIT_OK
    error: str | None = None
    remarks: list[str] = field(default_factory=list)


Progress = Callable[[float], None]
"""Called with the simulated time reached, in s."""


class Flight:
    """One flight from start to end; use it as a context manager."""

    def __init__(self, scenario: Scenario, out: Path) -> None:
        self.scenario = scenario
        self.id = secrets.token_hex(4)
        self.folder = runtime_dir() / f"flight-{self.id}"
        self._out = out
        self._children: dict[str, Child] = {}
        self._handlers: dict[int, Any] = {}
        _clear_away_dead_flights()
        self.orders = self._write_orders()

    def __enter__(self) -> Flight:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._handlers[number] = signal.signal(number, _interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        self._take_down()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for child in self._children.values():
            child.line.close()
        sweep(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def fly(
        self,
        progress: Progress,
        ready: Callable[[Orders], None] = lambda _: None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> Outcome:
        """`notice` is for what somebody who waits should read at once; remarks come with the outcome."""
        outcome = Outcome("failed")
        try:
            self._start()
            outcome.began = True
            ready(self.orders)
            outcome.ended = self._watch(progress, notice)
        except Interrupted as interrupted:
            outcome.ended = f"interrupted by {interrupted}"
            outcome.exit_code = interrupted.exit_code
        except AeroloopError as error:
            outcome.error, outcome.exit_code = str(error), error.exit_code
        finally:
            self._take_down()
        done = self._children["plant"].said("done") if "plant" in self._children else None
        outcome.wall_s = done["wall_s"] if done else 0.0
        recorder = self._children.get("recorder")
        if recorder and outcome.exit_code == EXIT_OK and (lost := recorder.verdict()):
            outcome.error, outcome.exit_code = str(lost), lost.exit_code
        outcome.remarks = [
            message["message"]
            for child in self._children.values()
            for message in child.messages
            if message["kind"] == "say"
        ]
        return outcome

    def _write_orders(self) -> Orders:
        orders = Orders(
            scenario=self.scenario,
            folder=str(self.folder),
            log=str(self._out.resolve() / LOG),
            supervisor_pid=os.getpid(),
            core_draw=int(self.id, 16),
            **process_table.launch_settings(self.scenario, self.folder),
        )
        try:
            self.folder.mkdir(mode=0o700)
            # Others look for this file to find the flight: it is there whole, or not at all.
            draft = self.folder / "orders.draft"
            draft.write_bytes(orders.encode())
            draft.rename(self.folder / "orders.json")
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise ConfigError(f"{self.folder}: cannot be written: {error.strerror}") from None
        return orders

    def _start(self) -> None:
        roles = process_table.roles(self.scenario)
        batons = _batons(roles) if self.scenario.lockstep else {role.name: {} for role in roles}
        try:
            for role in roles:
                self._spawn(role, {peer: end.fileno() for peer, end in batons[role.name].items()})
        finally:
            for mine in batons.values():
                for end in mine.values():
                    end.close()
        for role in roles:
            child = self._children[role.name]
            child.order("open")
            self._await_ready(child)
        for child in self._children.values():
            child.order("start")

    def _spawn(self, role: Role, batons: dict[str, int]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",  # a file in the user's folder must not stand in for a library
                    "-m",
                    role.main,
                    str(self.folder / "orders.json"),
                    str(theirs.fileno()),
                    *(f"{peer}={fd}" for peer, fd in batons.items()),
                ],
                pass_fds=(theirs.fileno(), *batons.values()),
                # No process of a flight draws, and MuJoCo would start a program of its own to look for a screen; nor
                # has any a matrix large enough for numpy's threads, which are costly to start.
                env={**os.environ, "MUJOCO_GL": "disable", "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is ours to hand on
            )
        self._children[role.name] = Child(role, process, ours)

    def _await_ready(self, child: Child) -> None:
        deadline_s = time.monotonic() + STARTUP_TIMEOUT_S
        while child.said("ready") is None:
            self._listen(0.1)
            self._raise_failure()
            if child.process.poll() is not None and child.said("ready") is None:
                raise AeroloopError(f"the {child.role.name} process ended before the flight began")
            if time.monotonic() > deadline_s:
                raise AeroloopError(f"the {child.role.name} process was not ready within {STARTUP_TIMEOUT_S:g} s")

    def _watch(self, progress: Progress, notice: Callable[[str], None]) -> str:
        """Until the plant is done or somebody fails."""
        plant = self._children["plant"]
        while True:
            self._listen(0.1)
            for child in self._children.values():
                for message in child.taken("notice"):
                    notice(message["message"])
            recorded = self._children["recorder"].said("progress")
            if recorded:
                progress(recorded["flown_s"])
            if done := plant.said("done"):
                return str(done["ended"])
            self._miss(notice)
            self._raise_failure(vital_alone=True)

    def _listen(self, timeout_s: float) -> None:
        alive = [child.line for child in self._children.values() if child.process.poll() is None]
        if alive:
            select.select(alive, [], [], timeout_s)
        for child in self._children.values():  # one that has ended meanwhile may have said why, or that it is done
            child.listen()

    def _miss(self, notice: Callable[[str], None]) -> None:
        """Say at once, and in the outcome, that a process is gone without which the flight goes on."""
        for child in self._children.values():
            if child.role.vital or child.missed or not (error := child.verdict(flying=True)):
                continue
            child.missed = True
            words = f"{error}: the flight goes on, and nobody on the ground hears or reaches its aircraft any more"
            child.messages.append({"kind": "say", "message": words})
            notice(words)

    def _raise_failure(self, *, vital_alone: bool = False) -> None:
        """Name the cause: a process that was killed, else the one that failed first; the others only noticed.

        A flight does not begin without all of its processes; once it has begun it ends with a vital one alone."""
        vital = [child for child in self._children.values() if child.role.vital or not vital_alone]
        if not any(child.verdict(flying=True) for child in vital):
            return
        deadline_s = time.monotonic() + BLAME_S
        while time.monotonic() < deadline_s:
            for child in self._children.values():
                child.listen()
            if self._children.get("plant") and self._children["plant"].said("done"):
                return  # the flight was over: what the others saw was its end
            time.sleep(0.01)
        failures = [(child.failed_at_ns, error) for child in vital if (error := child.verdict(flying=True))]
        raise min(failures, key=lambda failure: failure[0])[1]

    def _take_down(self) -> None:
        """The recorder when nothing more can come. A plant that has flown to its end goes last: PX4 spins at full speed
        once its link has ended, and would starve whoever still has to write."""
        plant, recorder = self._children.get("plant"), self._children.get("recorder")
        last = plant if plant is not None and plant.said("done") else None
        self._end([child for child in self._children.values() if child not in (recorder, last)], GRACE_S)
        if recorder is not None:
            self._end([recorder], RECORDER_GRACE_S)
        if last is not None:
            last.order("close")
            self._end([last], GRACE_S, terminate=False)

    def _end(self, children: list[Child], grace_s: float, *, terminate: bool = True) -> None:
        """Whoever makes progress has time; whoever makes none for `grace_s` is killed."""
        for child in children:
            if child.process.poll() is None and terminate:
                child.process.terminate()
                with suppress(OSError):  # wakes one that still waits for an order, which no signal does
                    child.line.shutdown(socket.SHUT_WR)
        deadline_s = time.monotonic() + grace_s
        for child in children:
            while child.process.poll() is None and time.monotonic() < deadline_s:
                child.listen()
                if child.taken("progress"):
                    deadline_s = time.monotonic() + grace_s
                time.sleep(0.005)
            if child.process.poll() is None:
                child.process.kill()
                child.process.wait()
            child.listen()


def _clear_away_dead_flights() -> None:
    """What a supervisor left that was killed itself."""
    for path in runtime_dir().glob("flight-*/orders.json"):
        try:
            os.kill(read_supervisor_pid(path), 0)
        except ProcessLookupError:
            sweep(path.parent)
            shutil.rmtree(path.parent, ignore_errors=True)
        except (OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError):
            continue  # another user's, or being written


def _interrupt(number: int, _: FrameType | None) -> None:
    # A second one must not break the clean-up that the first one started.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def _batons(roles: tuple[Role, ...]) -> dict[str, dict[str, socket.socket]]:
    """A packet socket between each pair of peers: role -> peer -> its end."""
    held: dict[str, dict[str, socket.socket]] = {role.name: {} for role in roles}
    for role in roles:
        for peer in role.peers:
            if peer in held and peer not in held[role.name]:
                held[role.name][peer], held[peer][role.name] = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return held
