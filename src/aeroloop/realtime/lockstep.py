"""Lockstep: simulated time advances when all participants have answered, over any kind of link.

The link carries the same bytes at every pace. Lockstep adds a baton beside it: one small packet between two processes
with the number of bytes its sender has put on the link by a simulated time. The receiver of the baton first reads
exactly that many, so no race between the kernel and the clock can change a flight.

    plant ──(t, bytes)──▶ board      the board's timer, and the plant's answers up to t; a fault for it, if there is one
    plant ◀─(Reply)────── board      what the board sent now, what it will have sent at its next timer
    plant ──(t)─────────▶ ground     you may send the references of all cycles up to t
    ground ─(t, bytes)──▶ board      the one for t is on the reference link
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol, runtime_checkable

from aeroloop.core.errors import LinkError
from aeroloop.core.waiting import readable

PATIENCE_S = 10.0
"""Wall time after which a peer that holds the baton counts as hung."""
BEFORE_NS = -1
"""Time of the turn before the flight, for a board's start message: impairments begin with the flight."""
NO_TIMER_NS = 1 << 62
"""Wake time of a board without its own timer: the next bytes."""


class Stepped(Protocol):
    """The part of a link that lockstep uses."""

    url: str

    def fileno(self) -> int: ...
    def send(self, data: bytes) -> None: ...
    def poll(self) -> bytes: ...
    def next_due_ns(self) -> int | None: ...
    def close(self) -> None: ...


class Reply(NamedTuple):
    """The board's answer to a baton."""

    now_bytes: int  # bytes sent in total that belong to the baton's time
    cycle_ns: int  # start of the cycle whose request is the rest of the bytes
    total_bytes: int
    wake_ns: int  # latest time of the next baton, with or without bytes


class PeerGoneError(LinkError):
    """The process at the other end of a baton has ended; expected once the flight has ended."""


class Baton:
    """One end of a packet socket between two processes of a flight."""

    _PACKET = struct.Struct("<4q")

    def __init__(self, fd: int, peer: str, held: Callable[[float], bool] = lambda within_s: False) -> None:
        """`held`: whether the peer stands still on request, or did until so many seconds ago."""
        self._socket = socket.socket(fileno=fd)
        self._socket.settimeout(PATIENCE_S)
        self._peer, self._held = peer, held

    def pass_on(self, *numbers: int) -> None:
        try:
            self._socket.send(self._PACKET.pack(*numbers, *(0,) * (4 - len(numbers))))
        except OSError:
            raise PeerGoneError(f"the {self._peer} process has ended") from None

    def take(self) -> tuple[int, ...]:
        packet = b""
        while True:
            try:
                packet = self._socket.recv(self._PACKET.size)
            except TimeoutError:
                if self._held(PATIENCE_S):
                    continue
                raise LinkError(f"the {self._peer} did not finish its cycle within {PATIENCE_S:g} s") from None
            except OSError:
                pass
            break
        if not packet:
            raise PeerGoneError(f"the {self._peer} process has ended")
        return self._PACKET.unpack(packet)

    def close(self) -> None:
        with suppress(OSError):  # the peer may have ended first
            self._socket.shutdown(socket.SHUT_RDWR)  # also where another exchange of this process holds a copy
        self._socket.close()


class StampedLink:
    """A link whose bytes become readable at the simulated time they were sent, not when the kernel has them."""

    def __init__(self, link: Stepped, now_ns: Callable[[], int]) -> None:
        self.url = link.url
        self.bytes_sent = 0
        self._link = link
        self._now_ns = now_ns
        self._taken = 0
        self._ahead = b""  # already read, but sent at a later time
        self._stamped: deque[tuple[int, bytes]] = deque()

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, data: bytes) -> None:
        self._link.send(data)
        self.bytes_sent += len(data)

    def take(self, total_bytes: int, t_ns: int) -> None:
        """Read until `total_bytes` have arrived since the start; they count as sent at `t_ns`."""
        need = total_bytes - self._taken
        while len(self._ahead) < need:
            chunk = self._link.poll()
            if not chunk and not readable([self._link.fileno()], PATIENCE_S):
                raise LinkError(f"{self.url}: {need - len(self._ahead)} bytes were sent but not received")
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


class Turns(Protocol):
    """A board that runs when the plant passes it the baton."""

    def take(self, t_ns: int, plant_bytes: int) -> Reply:
        """Run one turn: its time, and the bytes the plant has sent by then; returns the reply that goes back with the
        baton."""


@runtime_checkable
class Injected(Protocol):
    """A board that the plant can make fail."""

    def inject(self, code: int) -> None:
        """A fault, with its next turn."""


def _turn(turns: Turns, t_ns: int, plant_bytes: int, fault: int) -> Reply:
    if fault and isinstance(turns, Injected):
        turns.inject(fault)
    return turns.take(t_ns, plant_bytes)


class WorkTurns:
    """The turns of a board that sends its messages at once: `work` is called with the time of each turn, and returns
    the time of the next one without bytes. The board must read and write on `link`."""

    def __init__(self, link: Stepped) -> None:
        self._t_ns = BEFORE_NS
        self.link = StampedLink(link, lambda: self._t_ns)
        self.work: Callable[[int], int] = lambda t_ns: NO_TIMER_NS

    def take(self, t_ns: int, plant_bytes: int) -> Reply:
        self._t_ns = t_ns
        self.link.take(plant_bytes, t_ns)
        wake_ns = self.work(t_ns)
        return Reply(self.link.bytes_sent, t_ns, self.link.bytes_sent, wake_ns)


class InlineBaton:
    """The plant's end of a baton whose other end is a function call."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._reply: tuple[int, ...] = ()

    def pass_on(self, *numbers: int) -> None:
        t_ns, plant_bytes, _, fault = (*numbers, 0, 0)[:4]
        self._reply = _turn(self._turns, t_ns, plant_bytes, fault)

    def take(self) -> tuple[int, ...]:
        return self._reply

    def close(self) -> None: ...


def take_turns(plant: Baton, boards: Sequence[Turns], stopped: Callable[[], bool]) -> None:
    """Alternate the boards of a process with the plant, until the plant ends."""
    while not stopped():
        try:
            t_ns, plant_bytes, number, fault = plant.take()
            plant.pass_on(*_turn(boards[number], t_ns, plant_bytes, fault))
        except PeerGoneError:
            break
