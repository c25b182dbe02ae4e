"""Lockstep: simulated time moves when everybody has answered, whatever the link between them is.

The wire carries the same bytes at every pace. What lockstep adds goes beside it: a baton, one small packet
between two processes, that says how many bytes its sender has put on the link by a simulated time. Whoever
takes the baton first reads exactly that many, so no race between the kernel and the clock can change a flight.

    plant ──(t, bytes)──▶ board      the board's timer, and the plant's answers up to t
    plant ◀─(Reply)────── board      what the board sent now, what it will have sent at its next timer
    plant ──(t)─────────▶ ground     you may send the references of all cycles up to t
    ground ─(t, bytes)──▶ board      the one for t is on the reference link
"""

from __future__ import annotations

import select
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from aeroloop.core.errors import LinkError

PATIENCE_S = 10.0
"""Wall time after which a peer that holds the baton counts as hung."""


class Stepped(Protocol):
    """What lockstep needs of a link."""

    url: str

    def fileno(self) -> int: ...
    def send(self, data: bytes) -> None: ...
    def poll(self) -> bytes: ...
    def next_due_ns(self) -> int | None: ...
    def close(self) -> None: ...


class Reply(NamedTuple):
    """The board's answer to a baton."""

    now_bytes: int  # bytes sent in total that belong to the baton's time
    cycle_ns: int  # when the cycle begins whose request is the rest of the bytes
    total_bytes: int
    wake_ns: int  # wants the baton by then, with or without bytes


class PeerGoneError(LinkError):
    """The process at the other end of a baton has ended; in a flight that is over, no news."""


class Baton:
    """One end of a packet socket between two processes of a flight."""

    _PACKET = struct.Struct("<4q")

    def __init__(self, fd: int, peer: str) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.settimeout(PATIENCE_S)
        self._peer = peer

    def pass_on(self, *numbers: int) -> None:
        try:
            self._socket.send(self._PACKET.pack(*numbers, *(0,) * (4 - len(numbers))))
        except OSError:
            raise PeerGoneError(f"the {self._peer} process has gone") from None

    def take(self) -> tuple[int, ...]:
        try:
            packet = self._socket.recv(self._PACKET.size)
        except TimeoutError:
            raise LinkError(f"the {self._peer} did not finish its cycle within {PATIENCE_S:g} s") from None
        except OSError:
            packet = b""
        if not packet:
            raise PeerGoneError(f"the {self._peer} process has gone")
        return self._PACKET.unpack(packet)

    def close(self) -> None:
        self._socket.close()


class StampedLink:
    """A link whose bytes become readable at the simulated time they were sent, not when the kernel has them."""

    def __init__(self, link: Stepped, now_ns: Callable[[], int]) -> None:
        self.url = link.url
        self.bytes_sent = 0
        self._link = link
        self._now_ns = now_ns
        self._taken = 0
        self._ahead = b""  # read already, but sent at a later time
        self._stamped: deque[tuple[int, bytes]] = deque()

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, data: bytes) -> None:
        self._link.send(data)
        self.bytes_sent += len(data)

    def take(self, total_bytes: int, t_ns: int) -> None:
        """Read until `total_bytes` have come since the start; they count as sent at `t_ns`."""
        need = total_bytes - self._taken
        while len(self._ahead) < need:
            chunk = self._link.poll()
            if not chunk and not select.select([self._link.fileno()], [], [], PATIENCE_S)[0]:
                raise LinkError(f"{self.url}: {need - len(self._ahead)} bytes were sent and never arrived")
            self._ahead += chunk
        if need > 0:
            self._stamped.append((t_ns, self._ahead[:need]))
            self._ahead = self._ahead[need:]
            self._taken = total_bytes

    def poll(self) -> bytes:
        due = []
        while self._stamped and self._stamped[0][0] <= self._now_ns():
            due.append(self._stamped.popleft()[1])
        return b"".join(due)

    def next_due_ns(self) -> int | None:
        return self._stamped[0][0] if self._stamped else None

    def close(self) -> None:
        self._link.close()
