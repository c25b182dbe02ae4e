"""The process that forks others: it has imported their modules, so that each of them need not.

`flight/forked.py` is the other end, and says why. Run as `python -m aeroloop.flight.fork_server LINK_FD USER_PID`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import runpy
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import setproctitle

from aeroloop.flight.forked import LARGEST_B, MOST_DESCRIPTORS, Request, as_arguments
from aeroloop.realtime.limits import raise_open_files

MODULE = "aeroloop.flight.fork_server"
COMMON = ("aeroloop.flight.processes.recorder", "aeroloop.flight.processes.plant", "casadi", "mujoco")
"""What nearly every flight imports; the rest is imported when a flight first needs it."""

_forked = False


def is_forked() -> bool:
    """Whether this process was forked by a server and has one thread still, so that it may be a server's origin."""
    return _forked and _alone()


def serve(line: socket.socket, user_pid: int) -> None:
    """Until the user ends; a forked process leaves by SystemExit."""
    load(COMMON)
    user = os.pidfd_open(user_pid)
    while True:
        ready, _, _ = select.select([line.fileno(), user], [], [])
        if line.fileno() not in ready:
            return
        packet, descriptors, _, _ = socket.recv_fds(line, LARGEST_B, MOST_DESCRIPTORS)
        if not packet:
            return
        request = msgspec.json.decode(packet, type=Request)
        load((*request.modules, request.main) if request.main else request.modules)
        if request.main:
            pid = _fork()
            if pid is None:
                line.close()
                os.close(user)
                _run(request, descriptors)
                sys.exit()
            line.send(str(pid).encode())
        for number in descriptors:
            os.close(number)


def load(modules: Sequence[str]) -> None:
    for name in modules:
        with suppress(Exception):  # the process that needs it says what is wrong
            importlib.import_module(name)


def fork_server(line: socket.socket, user_pid: int) -> int:
    """PID of a fork of this process that serves; with what this one has imported."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    setproctitle.setproctitle(f"{sys.executable} -m {MODULE}")
    code: object = 0
    try:
        serve(line, user_pid)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    # Not through the calls of the program that this is a copy of: their clean-up is not for this process.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 1)


def _alone() -> bool:
    """A fork would lack all threads but the one that forks."""
    return len(list(Path("/proc/self/task").iterdir())) == 1


def _fork() -> int | None:
    """PID of a new process, a child of this one's parent; 0 if this process must not be forked; None in the new one."""
    try:
        if not _alone():
            return 0  # a library has started a thread
        told, tell = os.pipe()
    except OSError:
        return 0  # too many open files; the user reports it
    gc.collect()
    gc.freeze()  # a collection in the new process would write to pages that both share
    between = os.fork()
    if between == 0:
        between = os.getpid()
        child = os.fork()
        if child:
            os.write(tell, str(child).encode())
            os._exit(0)
        while os.getppid() == between:
            os.sched_yield()  # until the kernel has given it its final parent
        os.close(told)
        os.close(tell)
        return None
    os.close(tell)
    os.waitpid(between, 0)
    with os.fdopen(told, "rb") as pipe:
        return int(pipe.read() or 0)


def _run(request: Request, descriptors: Sequence[int]) -> None:
    """What `python -m MAIN` does."""
    global _forked
    _forked = True
    os.setsid()
    os.chdir(request.folder)
    for name, value in request.environment.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    for standard, number in enumerate(descriptors[:3]):
        os.dup2(number, standard)
        os.close(number)
    named = list(zip(request.descriptors, descriptors[3:], strict=True))
    sys.argv = [request.main, *request.arguments, *as_arguments(named)]
    setproctitle.setproctitle(" ".join((sys.executable, "-m", *sys.argv)))
    raise_open_files()
    if not hasattr(sys.modules.get(request.main), "__path__"):  # a package has a module for that
        sys.modules.pop(request.main, None)  # it is to run, not only to be imported
    runpy.run_module(request.main, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    # As a module with its own name, so that a forked process finds what it was forked from.
    served = importlib.import_module(MODULE)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever a shell in the background made of it
    served.serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
