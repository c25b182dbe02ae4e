"""The telemetry link of external autopilots, one for all of a flight: frames in, and the return path to each."""

from __future__ import annotations

import socket
from typing import Protocol

from aeroloop.controllers.px4.time_link import TimeIn
from aeroloop.core.errors import LinkError
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.links.url import parse
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn

DATAGRAM_B = 65536
BUFFER_B = 1 << 20
"""Receive buffer of the socket: telemetry of a simulated second may arrive within a tenth of a wall second."""
DATAGRAMS_PER_POLL = 512
MOST_SENDERS = 32

Address = tuple[str, int]


class TelemetryLink(Protocol):
    url: str

    def fileno(self) -> int: ...
    def frames(self) -> list[Frame]: ...
    def send(self, system: int, data: bytes) -> None:
        """Send to one autopilot, once it was received; what cannot be sent is lost."""

    def close(self) -> None: ...


def open_telemetry(url: str) -> TelemetryLink:
    """Open the link; LinkError if that fails."""
    parts = parse(url)
    if parts.scheme == "udp" and parts.listen:
        return UdpTelemetry(url, (parts.host, parts.port))
    return OneLink(open_link(url))


class UdpTelemetry:
    """A port to which several autopilots may send, as PX4's do to that of a ground station."""

    def __init__(self, url: str, address: Address) -> None:
        self.url = url
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.bind(address)
        except OSError as error:
            self._socket.close()
            raise LinkError(f"{url}: cannot listen: {error.strerror}") from None
        # From now on a ground station may share the port, and then receives the telemetry instead.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_B)
        self._parsers: dict[Address, MavlinkIn] = {}
        self._addresses: dict[int, Address] = {}

    def fileno(self) -> int:
        return self._socket.fileno()

    def frames(self) -> list[Frame]:
        found: list[Frame] = []
        for _ in range(DATAGRAMS_PER_POLL):
            try:
                data, sender = self._socket.recvfrom(DATAGRAM_B)
            except OSError:  # nothing more; or a destination was not reachable
                break
            parser = self._parsers.get(sender)
            if parser is None:
                if len(self._parsers) >= MOST_SENDERS:
                    continue
                parser = self._parsers[sender] = MavlinkIn(MavlinkCounters())
            frames = parser.feed(data)
            for frame in frames:
                self._addresses[frame.system] = sender
            found += frames
        return found

    def send(self, system: int, data: bytes) -> None:
        address = self._addresses.get(system)
        if address is not None:
            try:
                self._socket.sendto(data, address)
            except OSError:
                return

    def close(self) -> None:
        self._socket.close()


class SimulatorLink:
    """The simulator's own link, through the plant."""

    def __init__(self, plant: TimeIn, url: str) -> None:
        self.url = url
        self._plant, self._parser = plant, MavlinkIn(MavlinkCounters())

    def fileno(self) -> int:
        return self._plant.fileno()

    def frames(self) -> list[Frame]:
        return self._parser.feed(self._plant.frames())

    def send(self, system: int, data: bytes) -> None:
        self._plant.send(data)

    def close(self) -> None:
        """The plant's."""


class OneLink:
    """A link with one peer: a serial link, a TCP connection, or the flight's router, which knows the route to each."""

    def __init__(self, link: Link) -> None:
        self.url = link.url
        self._link, self._parser = link, MavlinkIn(MavlinkCounters())
        self._lost = False

    def fileno(self) -> int:
        return -1 if self._lost else self._link.fileno()

    def frames(self) -> list[Frame]:
        if self._lost:
            return []
        try:
            return self._parser.feed(self._link.poll())
        except LinkError:
            self._lost = True
            return []

    def send(self, system: int, data: bytes) -> None:
        try:
            if not self._lost:
                self._link.send(data)
        except LinkError:
            self._lost = True

    def close(self) -> None:
        self._link.close()
