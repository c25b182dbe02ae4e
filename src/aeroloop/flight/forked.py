"""Starts the processes of flights as forks of one process that has imported their modules: a flight's processes then
import once together instead of once each.

    supervisor ── main module, arguments, environment, descriptors ──▶ fork server ──fork──▶ process of the flight

The server (`flight/fork_server.py`) is a process of its own with one thread, so that a fork is safe whatever threads
its user has. It forks twice: the process in between ends at once, and the kernel makes the supervisor, a subreaper for
that moment, the parent. So a supervisor waits for a forked process, and its end reaches that process, as if it had
started it itself. All flights of a program share its server.

The server imports modules of this package only. Code of a user, a law or a family in a folder, is imported by the
process that runs it, anew in every flight. A process with environment variables of its own (`Role.environment`) is not
forked: libraries read theirs when they are imported. Whatever cannot be forked is started as a program, and with
AEROLOOP_NO_FORK=1 everything is.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from aeroloop.core.tables import OURS, Role

ENVIRONMENT = {"MUJOCO_GL": "disable", "OPENBLAS_NUM_THREADS": "1"}
"""No process of a flight draws except cameras, and MuJoCo would start a program to look for a display; no matrix is
large enough for numpy's threads, which are slow to start."""
MOST_DESCRIPTORS = 64
LARGEST_B = 65536
READ_AT_IMPORT = ("PYTHON", "LD_", "MUJOCO_", "OPENBLAS_", "OMP_", "AEROLOOP_")
"""Beginnings of the names of variables that an interpreter or a library reads once."""
_PR_SET_CHILD_SUBREAPER = 36

Descriptors = Sequence[tuple[str, int]]
"""Name and number; they are arguments of the process as `name=number`, or as a number if the name is empty."""


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """Run a module as a program, or, without `main`, only import."""

    modules: Sequence[str] = ()  # to import before
    main: str = ""
    arguments: Sequence[str] = ()
    descriptors: Sequence[str] = ()  # names of those that come with the request, after the three standard ones
    environment: Mapping[str, str | None] = {}  # changes; None removes a variable
    folder: str = ""


class Surroundings(msgspec.Struct, frozen=True):
    """What a program inherits from the one that starts it."""

    folder: str
    environment: Mapping[str, str]
    standard: tuple[int, int, int]  # input, output, error


class StartedProcess(Protocol):
    """What a supervisor needs of a process that it started; `subprocess.Popen` has it, too."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self) -> int: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class ForkedProcess:
    """A child of this process that was forked, not started as a program."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        return self._waited(os.WNOHANG)

    def wait(self) -> int:
        code = self._waited(0)
        assert code is not None
        return code

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:  # until then the system gives its number to no other process
            os.kill(self.pid, number)

    def _waited(self, options: int) -> int | None:
        if self._code is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:  # another part of this program has waited for it
                self._code = 0
                return 0
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


class ForkServer:
    """A fork server of this program."""

    def __init__(self) -> None:
        self._user_pid = os.getpid()
        self._environment = dict(os.environ)
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = _started_server(theirs)

    def usable(self, environment: Mapping[str, str]) -> bool:
        """Whether it runs, for this program, with what a new interpreter would read from this environment."""
        if self._user_pid != os.getpid() or self._process.poll() is not None:
            return False
        return _read_at_import(self._environment) == _read_at_import(environment)

    def load(self, modules: Sequence[str]) -> None:
        """Let it import what is going to be needed; does not wait."""
        with suppress(OSError):  # it has ended, which `usable` finds
            self._line.send(msgspec.json.encode(Request(modules=modules)))

    def start(self, main: str, arguments: Sequence[str], descriptors: Descriptors, given: Surroundings) -> int | None:
        """Run a module as a program, a child of this process: its PID, or None if it cannot be forked."""
        request = Request(
            main=main,
            arguments=arguments,
            descriptors=[name for name, _ in descriptors],
            environment=_changes(self._environment, given.environment),
            folder=given.folder,
        )
        encoded = msgspec.json.encode(request)
        numbers = [*given.standard, *(number for _, number in descriptors)]
        if len(encoded) > LARGEST_B or len(numbers) > MOST_DESCRIPTORS:
            return None
        try:
            with _lock, _as_subreaper():
                socket.send_fds(self._line, [encoded], numbers)
                return int(self._line.recv(64) or 0) or None
        except OSError:
            return None

    def close(self) -> None:
        if self._user_pid == os.getpid() and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._line.close()


_server: ForkServer | None = None
_lock = threading.RLock()


def server() -> ForkServer | None:
    """The fork server of this program, started when it is first asked for; None where there can be none."""
    global _server
    if sys.platform != "linux" or os.environ.get("AEROLOOP_NO_FORK") == "1":
        return None
    with _lock:
        if _server is not None and not _server.usable(os.environ):
            _server.close()
            _server = None
        if _server is None:
            with suppress(OSError):
                _server = ForkServer()
                atexit.register(_server.close)
        return _server


def start(role: Role, launch_file: str, descriptors: Descriptors) -> StartedProcess:
    """A process of a flight; OSError if the system refuses."""
    if role.main.startswith(OURS) and not role.environment and (forks := server()):
        with Path(os.devnull).open() as nothing:
            given = Surroundings(str(Path.cwd()), os.environ, (nothing.fileno(), 1, 2))
            pid = forks.start(role.main, [launch_file], descriptors, given)
        if pid is not None:
            return ForkedProcess(pid)
    return subprocess.Popen(
        # -P: a file in the user's folder must not shadow a library
        [sys.executable, "-P", "-m", role.main, launch_file, *as_arguments(descriptors)],
        pass_fds=[number for _, number in descriptors],
        env={**os.environ, **ENVIRONMENT, **dict(role.environment)},
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is handled by the supervisor
    )


def as_arguments(descriptors: Descriptors) -> list[str]:
    return [f"{name}={number}" if name else str(number) for name, number in descriptors]


def _started_server(line: socket.socket) -> StartedProcess:
    served = sys.modules.get("aeroloop.flight.fork_server")
    if served is not None and served.is_forked():  # this process has what the server would import
        return ForkedProcess(served.fork_server(line, os.getpid()))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "aeroloop.flight.fork_server", str(line.fileno()), str(os.getpid())],
        pass_fds=(line.fileno(),),
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is handled by its user
    )


def _read_at_import(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_IMPORT)}


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str | None]:
    removed: dict[str, str | None] = dict.fromkeys(old.keys() - new.keys())
    return removed | {name: value for name, value in new.items() if old.get(name) != value}


@contextmanager
def _as_subreaper() -> Iterator[None]:
    """Descendants that lose their parent meanwhile become children of this process."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
