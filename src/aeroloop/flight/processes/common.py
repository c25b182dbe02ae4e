"""Common to all processes of a flight: launch settings, the link to the supervisor, and the end of the process.

supervisor ─▶ "open" ─▶ process opens its links ─▶ "ready" ─▶ supervisor ─▶ "start" ─▶ process runs ─▶ "done"
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from aeroloop.core import trust
from aeroloop.core.errors import AeroloopError, ConfigError, LinkError
from aeroloop.core.scenario import ControllerTables, Scenario
from aeroloop.core.scenario_files import of_table
from aeroloop.realtime.limits import EXHAUSTED, lacking_words
from aeroloop.realtime.setup import die_with_parent

C = TypeVar("C", bound=ControllerTables)

LAUNCH_FILE = "launch.json"
"""File in the folder of each part of a flight."""
SUPERVISOR_TIMEOUT_S = 120.0
"""A process whose supervisor sends nothing for this long ends."""


class LaunchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a process, written by the supervisor as `launch.json` in the flight's folder."""

    scenario: Scenario  # of its aircraft's kind
    folder: str  # private to the flight: sockets, topics
    log: str  # file of the recorder
    supervisor_pid: int
    core_draw: int  # selects the core that plant and board share in lockstep
    prefix: str = ""  # of a part of a fleet: prefix of its log channels and processes
    parts: Sequence[str] = ()  # of a fleet: the folders of all parts, in order
    aircraft_before: int = 0  # of a part of a fleet: number of aircraft in the parts before it
    link_server: str = ""
    link_client: str = ""
    reference_server: str = ""
    reference_client: str = ""
    relay_references: bool = False  # the board has one link: references are sent on it, through the plant
    # Of each board after the first: link and reference link, the server's URL and the client's.
    board_links: Sequence[Sequence[str]] = ()
    image: str = ""  # firmware for the emulated board
    image_id: int = 0  # image ID that the board must report; 0 accepts any
    vehicle_links: Sequence[tuple[str, str]] = ()  # of each autopilot: server's and client's URL; "": external
    plant_links: Sequence[str] = ()  # the plant's end of each HIL link that the router carries
    ground_links: Sequence[str] = ()  # link of each virtual Pixhawk to the router; `link`: its HIL link
    router: dict[str, Any] | None = None  # router.config.RouterConfig as a table
    telemetry_links: Sequence[str] = ()  # of each external autopilot: source of its telemetry; empty: the router
    companion_link: str = ""  # link of the companion to the router
    dash_link: str = ""  # link of the dashboard and `aeroloop cmd` to the router
    warnings: Sequence[str] = ()  # sentences for the outcome
    paused: bool = False  # simulated time stands still at the start until the user lets it go on

    @property
    def folder_path(self) -> Path:
        return Path(self.folder)

    def flown_by(self, controller: type[C]) -> Scenario[Any, C]:
        """The scenario, typed for the processes of its controller."""
        assert isinstance(self.scenario.controller, controller), self.scenario
        flown: Scenario[Any, Any] = self.scenario
        return flown

    def encode(self) -> bytes:
        """As in `launch.json`; the scenario is flat, as in its file."""
        return msgspec.json.encode({**msgspec.structs.asdict(self), "scenario": self.scenario.flat()})


class SupervisorLink:
    """The process's end of its link to the supervisor, one JSON packet per message."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)

    def send(self, kind: str, **values: Any) -> None:
        try:
            self._socket.send(json.dumps({"kind": kind, **values}).encode())
        except OSError:
            stop.request()

    def await_message(self, kind: str) -> None:
        self._socket.settimeout(SUPERVISOR_TIMEOUT_S)
        while True:
            try:
                packet = self._socket.recv(64)
            except OSError as error:
                raise LinkError(f"no message from the supervisor: {error}") from None
            if stop.requested or not packet:
                raise SystemExit(0)
            if packet.decode() == kind:
                return

    def await_close(self, *, stopped: Callable[[], bool] | None = None) -> None:
        """Wait until the supervisor reports that the log is complete, or closes the link."""
        self._socket.settimeout(SUPERVISOR_TIMEOUT_S)
        while not (stopped or stop)():
            try:
                packet = self._socket.recv(64)
            except InterruptedError:
                continue
            except OSError:
                return
            if not packet or packet.decode() == "close":
                return


class Stop:
    """Set by SIGTERM; checked in loops."""

    requested = False

    def request(self, *_: object) -> None:
        self.requested = True

    def __call__(self) -> bool:
        return self.requested


stop = Stop()


def read_supervisor_pid(path: Path) -> int:
    """PID of a flight's supervisor; does not require its family."""
    return int(msgspec.json.decode(path.read_bytes(), type=dict[str, Any])["supervisor_pid"])


def read_launch_settings(path: Path) -> LaunchSettings:
    """msgspec's error for a flight of another version of Aeroloop, which may run at the same time."""
    table = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    try:
        with trust.guarded(trust=True):  # checked when the flight was started
            scenario = of_table(table.pop("scenario"), str(path))
        return LaunchSettings(scenario=scenario, **table)
    except (AttributeError, KeyError, TypeError, ConfigError) as error:
        raise msgspec.ValidationError(f"{path}: not the launch settings of a flight of this version: {error}") from None


def launch_settings_of_parts(launch: LaunchSettings) -> list[LaunchSettings]:
    """The launch settings of all parts of the flight, in order."""
    if not launch.parts:
        return [launch]
    return [
        launch if folder == launch.folder else read_launch_settings(Path(folder) / LAUNCH_FILE)
        for folder in launch.parts
    ]


def run_process(main: Callable[[LaunchSettings, SupervisorLink, dict[str, int]], None]) -> None:
    """Entry point of every process: `python -m aeroloop.flight.processes.NAME launch.json LINK_FD [peer=FD ...]`."""
    signal.signal(signal.SIGTERM, stop.request)
    die_with_parent(signal.SIGTERM)
    launch = read_launch_settings(Path(sys.argv[1]))
    supervisor = SupervisorLink(int(sys.argv[2]))
    batons = {name: int(fd) for name, fd in (pair.split("=") for pair in sys.argv[3:])}
    if os.getppid() != launch.supervisor_pid:
        return  # the supervisor ended before this process could request a signal for that
    try:
        main(launch, supervisor, batons)
    except Exception as raised:
        error = _sentence(raised)
        if error is None:
            if stop():  # a call, so that the handler of a signal that interrupted the wait runs first
                return  # ended while waiting: the sender of the signal knows the reason
            raise
        at_ns = 0 if error.root_cause else time.monotonic_ns()
        supervisor.send("failed", message=str(error), exit_code=error.exit_code, at_ns=at_ns)
        sys.exit(error.exit_code)


def _sentence(error: Exception) -> AeroloopError | None:
    """An error that a user can act on; None for any other."""
    if isinstance(error, OSError) and error.errno in EXHAUSTED:
        return LinkError(f"{error.filename or 'the flight'}: {error.strerror}: {lacking_words()}")
    return error if isinstance(error, AeroloopError) else None
