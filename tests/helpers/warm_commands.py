"""`aeroloop` commands of tests as forks of one process that has imported it: half of a short command's time is imports.

A command is a process as before, a child of the test's, with its own folder, environment, standard streams and
signals. What a fork cannot have (other variables that Python reads at its start, a function to call before,
descriptors, another interpreter) is started as a program. So are all commands with AEROLOOP_TESTS_COLD=1.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from aeroloop.flight.forked import ForkServer, Surroundings

COMMAND = (sys.executable, "-m", "aeroloop.cli")
SCRIPT = str(Path(sys.executable).with_name("aeroloop"))
# Whatever most commands of the tests import; one that has gone is passed over.
MODULES = (
    "aeroloop.cli.app",
    "aeroloop.api.flying",
    "aeroloop.analysis.report",
    "aeroloop.analysis.delay_margin",
    "aeroloop.flight.supervisor",
    "aeroloop.families.tiltrotor.build",
    "aeroloop.families.multirotor.build",
    "aeroloop.families.fixedwing.build",
    "aeroloop.families.tiltrotor.analysis.report",
    "aeroloop.families.multirotor.analysis.report",
    "aeroloop.families.fixedwing.analysis.report",
    "aeroloop.controllers.law.exchange",
    "aeroloop.controllers.law.inline",
    "aeroloop.controllers.law.ground_process",
    "aeroloop.controllers.law.request_process",
    "aeroloop.controllers.pixhawk.inline",
    "aeroloop.controllers.pixhawk.process",
    "typer._adapters",
    "scipy.linalg",
    "scipy.interpolate",
)

forks = 0
"""Number of commands that were forked."""
_server: ForkServer | None = None


class WarmPopen(subprocess.Popen[Any]):
    """`subprocess.Popen` that forks where it can."""

    def _execute_child(  # type: ignore[misc]
        self,
        args: Any,
        executable: Any,
        preexec_fn: Any,
        close_fds: bool,
        pass_fds: Any,
        cwd: Any,
        env: Any,
        startupinfo: Any,
        creationflags: Any,
        shell: bool,
        p2cread: int,
        p2cwrite: int,
        c2pread: int,
        c2pwrite: int,
        errread: int,
        errwrite: int,
        *rest: Any,
    ) -> None:
        arguments = None if executable or preexec_fn or pass_fds or shell or not close_fds else _arguments(args)
        if arguments is not None:
            standard = (p2cread, c2pwrite, errwrite)
            given = Surroundings(
                folder=str(Path(cwd or Path.cwd()).absolute()),
                environment={str(name): str(value) for name, value in (os.environ if env is None else env).items()},
                standard=tuple(number if fd == -1 else fd for number, fd in enumerate(standard)),  # type: ignore[arg-type]
            )
            server = _usable_server(given)
            pid = server.start("aeroloop.cli", arguments, (), given) if server else None
            if pid is not None:
                global forks
                forks += 1
                self.pid = pid
                self._child_created = True
                self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]
                return
        super()._execute_child(  # type: ignore[misc]
            args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
            p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *rest,
        )  # fmt: skip


def install() -> None:
    if sys.platform == "linux" and os.environ.get("AEROLOOP_TESTS_COLD") != "1":
        subprocess.Popen = WarmPopen  # type: ignore[misc]


def close() -> None:
    if _server is not None:
        _server.close()


def _arguments(args: Any) -> list[str] | None:
    """Of a command that runs `aeroloop`; None for any other program."""
    if isinstance(args, str | bytes | os.PathLike):
        return None
    words = [os.fspath(word) for word in args]
    if tuple(words[:3]) == COMMAND:
        return words[3:]
    return words[1:] if words[:1] == [SCRIPT] else None


def _usable_server(given: Surroundings) -> ForkServer | None:
    """A variable that only a program reads at its start makes it None."""
    global _server
    if _server is None or not _server.usable(os.environ):
        if _server is not None:
            _server.close()
        _server = ForkServer()
        _server.load(MODULES)
    return _server if _server.usable(given.environment) else None
