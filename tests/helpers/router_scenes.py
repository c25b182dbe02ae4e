"""A router with programs at its lines, all in this process and on a clock that stands still until it is moved."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.router.config import EndpointConfig, RouterConfig
from aeroloop.router.engine import Router
from aeroloop.router.statistics import LinkState

VEHICLE, STATION = (1, 1), (255, 190)


def heartbeat() -> Any:
    return dialect.MAVLink_heartbeat_message(2, 12, 129, 0, 4, 3)


def attitude(t_ms: int = 0) -> Any:
    return dialect.MAVLink_attitude_message(t_ms, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def arm(system: int = 1, component: int = 1) -> Any:
    return dialect.MAVLink_command_long_message(system, component, 400, 0, 1, 0, 0, 0, 0, 0, 0)


class Program:
    """Somebody at the other end of a line."""

    def __init__(self, sock: socket.socket, sender: tuple[int, int]) -> None:
        sock.setblocking(False)
        self.socket = sock
        self.counters = MavlinkCounters()
        self.out = MavlinkOut(MavlinkCounters(), *sender)
        self._in = MavlinkIn(self.counters)

    def say(self, *messages: Any) -> bytes:
        wire = b"".join(map(self.out.pack, messages))
        self.socket.sendall(wire)
        return wire

    def frames(self) -> list[Frame]:
        found = []
        try:
            while chunk := self.socket.recv(65536):
                found += self._in.feed(chunk)
        except (BlockingIOError, ConnectionRefusedError):
            pass
        return found

    def heard(self) -> list[str]:
        """Names of the messages that came."""
        return [frame.message().get_type() for frame in self.frames()]

    def close(self) -> None:
        self.socket.close()


class Scene:
    """A router whose endpoints listen at Unix-domain sockets, unless they are given a URL."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.now_ns = 0
        self.told: list[str] = []
        self.options = {"timesync_hz": 0.0, **options}
        self.ends: list[EndpointConfig] = []
        self.router: Router

    def end(self, name: str, role: Any = "vehicle", **options: Any) -> None:
        url = options.pop("url", f"loopback://{self.folder / name}?listen")
        self.ends.append(EndpointConfig(name=name, role=role, url=url, **options))

    def __enter__(self) -> Scene:
        config = RouterConfig(endpoints=tuple(self.ends), **self.options)
        self.router = Router(
            config,
            clock_ns=lambda: self.now_ns,
            unix_ns=lambda: 1_750_000_000 * NS + self.now_ns,
            notify=self.told.append,
        )
        self.router.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.router.close()

    def program(self, name: str, sender: tuple[int, int] = STATION) -> Program:
        """Comes to an endpoint that listens at its Unix-domain socket."""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self.folder / name))
        self.turn()
        return Program(sock, sender)

    def turn(self, times: int = 3) -> None:
        for _ in range(times):
            self.router.turn(0.0)

    def later(self, seconds: float, step_s: float = 0.05) -> None:
        """Time passes, and the router does its chores meanwhile."""
        for _ in range(round(seconds / step_s)):
            self.now_ns += round(step_s * NS)
            self.router.turn(0.0)

    def line(self, name: str) -> LinkState:
        return self.router.links()[[end.name for end in self.ends].index(name)]


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def three(folder: Path) -> Scene:
    scene = Scene(folder)
    for name in ("pixhawk", "qgc", "mavsdk"):
        scene.end(name, "vehicle" if name == "pixhawk" else "command")
    return scene
