"""What every process of a flight shares: its orders, its line to the supervisor, and how it ends.

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

from aeroloop.core.errors import AeroloopError, ConfigError, LinkError
from aeroloop.core.scenario import ControllerTables, Scenario
from aeroloop.core.scenario_files import of_table
from aeroloop.realtime.setup import die_with_parent

C = TypeVar("C", bound=ControllerTables)

ORDERS_TIMEOUT_S = 120.0
"""A supervisor that gives no orders for this long has gone wrong; better to end than to linger."""


class Orders(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All a process needs to know, written by the supervisor as `orders.json` in the flight's folder."""

    scenario: Scenario  # of its aircraft's kind
    folder: str  # private to the flight: sockets, topics
    log: str  # where the recorder writes
    supervisor_pid: int
    core_draw: int  # which core plant and board share in lockstep
    link_server: str = ""
    link_client: str = ""
    reference_server: str = ""
    reference_client: str = ""
    relay_references: bool = False  # the board has one line: references travel on it, through the plant
    image: str = ""  # firmware for the emulated board
    image_id: int = 0  # what the board must say it runs; 0 takes any
    vehicle_links: Sequence[tuple[str, str]] = ()  # of each autopilot: server's and client's URL, "" outside
    ground_links: Sequence[str] = ()  # where each virtual Pixhawk speaks to the router
    router: dict[str, Any] | None = None  # router.config.RouterConfig as a table
    dash_link: str = ""  # where the dashboard and `aeroloop cmd` reach the router
    warnings: Sequence[str] = ()  # sentences for the outcome

    @property
    def folder_path(self) -> Path:
        return Path(self.folder)

    def flown_by(self, controller: type[C]) -> Scenario[Any, C]:
        """The scenario, for the processes of its controller."""
        assert isinstance(self.scenario.controller, controller), self.scenario
        flown: Scenario[Any, Any] = self.scenario
        return flown

    def encode(self) -> bytes:
        """As `orders.json`; the scenario flat, as its file."""
        return msgspec.json.encode({**msgspec.structs.asdict(self), "scenario": self.scenario.flat()})


class Line:
    """The process's end of its line to the supervisor, one JSON packet a message."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)

    def tell(self, kind: str, **values: Any) -> None:
        try:
            self._socket.send(json.dumps({"kind": kind, **values}).encode())
        except OSError:
            stop.request()

    def await_order(self, order: str) -> None:
        self._socket.settimeout(ORDERS_TIMEOUT_S)
        while True:
            try:
                packet = self._socket.recv(64)
            except OSError as error:
                raise LinkError(f"no word from the supervisor: {error}") from None
            if stop.requested or not packet:
                raise SystemExit(0)
            if packet.decode() == order:
                return

    def await_close(self) -> None:
        """Until the supervisor says that the log is complete, or has nothing more to say."""
        self._socket.settimeout(ORDERS_TIMEOUT_S)
        while not stop.requested:
            try:
                packet = self._socket.recv(64)
            except InterruptedError:
                continue
            except OSError:
                return
            if not packet or packet.decode() == "close":
                return


class Stop:
    """Set by SIGTERM; loops look at it."""

    requested = False

    def request(self, *_: object) -> None:
        self.requested = True

    def __call__(self) -> bool:
        return self.requested


stop = Stop()


def read_supervisor_pid(path: Path) -> int:
    """Of a flight whose family need not be known here."""
    return int(msgspec.json.decode(path.read_bytes(), type=dict[str, Any])["supervisor_pid"])


def read_orders(path: Path) -> Orders:
    """msgspec's error for a flight of another version of Aeroloop, which may run beside ours."""
    table = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    try:
        scenario = of_table(table.pop("scenario"), str(path))
        return Orders(scenario=scenario, **table)
    except (AttributeError, KeyError, TypeError, ConfigError) as error:
        raise msgspec.ValidationError(f"{path}: not the orders of a flight as we know them: {error}") from None


def run_process(main: Callable[[Orders, Line, dict[str, int]], None]) -> None:
    """Entry point of every process: `python -m aeroloop.flight.processes.NAME orders.json LINE_FD [peer=FD ...]`."""
    signal.signal(signal.SIGTERM, stop.request)
    die_with_parent(signal.SIGTERM)
    orders = read_orders(Path(sys.argv[1]))
    line = Line(int(sys.argv[2]))
    batons = {name: int(fd) for name, fd in (pair.split("=") for pair in sys.argv[3:])}
    if os.getppid() != orders.supervisor_pid:
        return  # it died before we could ask to be told
    try:
        main(orders, line, batons)
    except AeroloopError as error:
        at_ns = 0 if getattr(error, "root_cause", False) else time.monotonic_ns()
        line.tell("failed", message=str(error), exit_code=error.exit_code, at_ns=at_ns)
        sys.exit(error.exit_code)
    except Exception:
        if stop():  # a call, before which the handler of a signal that interrupted the wait has run
            return  # taken down in the middle of a wait: whoever asked for it knows why
        raise
