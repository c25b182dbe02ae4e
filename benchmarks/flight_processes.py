"""Real processes of a flight (plant, recorder) started one by one, with the benchmark as their supervisor."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aeroloop.core.paths import runtime_dir
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.realtime.setup import end
from aeroloop.realtime.topics import sweep

PATIENCE_S = 60.0


@contextmanager
def flight_folder() -> Iterator[Path]:
    """A folder such as a flight has, for topics and links; nothing of it stays."""
    folder = runtime_dir() / f"bench-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        sweep(folder)
        shutil.rmtree(folder, ignore_errors=True)


class FlightProcesses:
    """A context manager: what it started is down when it is left."""

    def __init__(self, folder: Path, scenario: TiltrotorScenario, link_url: str = "") -> None:
        self.pids: dict[str, int] = {}
        self._members: list[tuple[subprocess.Popen[bytes], socket.socket]] = []
        self._launch = folder / "launch.json"
        launch = LaunchSettings(
            scenario=scenario,
            folder=str(folder),
            log=str(folder / "log.mcap"),
            link_server=link_url,
            link_client="",
            reference_server="",
            reference_client="",
            supervisor_pid=os.getpid(),
            core_draw=0,
        )
        self._launch.write_bytes(launch.encode())

    def __enter__(self) -> FlightProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        # The recorder was started first and goes last, when nothing more can come.
        for process, line in reversed(self._members):
            end(process, PATIENCE_S)
            line.close()

    def start(self, role: str) -> None:
        """Returns when the process has opened its links and topics."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(PATIENCE_S)
        with theirs:
            fd = theirs.fileno()
            process = subprocess.Popen(
                [sys.executable, "-m", f"aeroloop.flight.processes.{role}", str(self._launch), str(fd)],
                pass_fds=(fd,),
                stdin=subprocess.DEVNULL,
            )
        self._members.append((process, ours))
        self.pids[role] = process.pid
        ours.send(b"open")
        packet = ours.recv(65536)
        if not packet or json.loads(packet)["kind"] != "ready":
            raise RuntimeError(f"the {role} process did not start: {packet.decode()}")
        ours.send(b"start")
