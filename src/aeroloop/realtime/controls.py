"""Orders to a plant in flight: faults switched on and off, as datagrams in the flight's own folder.

Only who may enter that folder can give them. An order is a `Switch` as JSON; the plant looks for them now and then,
takes a few at a time, and never waits. In lockstep they make a flight that nobody can repeat: what was switched when
stands in the log.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from aeroloop.core.errors import LinkError
from aeroloop.core.faults import Switch
from aeroloop.core.signals import NS

SOCKET = "controls.sock"
LONGEST = 1024
"""Bytes of an order."""
MOST_AT_ONCE = 4
"""To switch a fault takes time, and the plant has a deadline: a flood is taken little by little."""
POLL_PERIOD_NS = NS // 100

_decoder = msgspec.json.Decoder(Switch)


class Controls:
    """The end of the one who gives orders."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / SOCKET

    def switch(self, switch: Switch) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            try:
                sender.connect(str(self._path))
                sender.send(msgspec.json.encode(switch))
            except BlockingIOError:
                raise LinkError(f"{self._path}: the plant has not yet taken the orders before this one") from None
            except OSError as error:
                raise LinkError(f"{self._path}: the flight is over, nobody takes orders: {error.strerror}") from None


class ControlPort:
    """The plant's end."""

    def __init__(self, folder: Path, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.refused = 0
        self._path = folder / SOCKET
        self._now_ns = now_ns
        self._due_ns = 0
        self._socket = bound(self._path, "orders")

    def poll(self) -> list[Switch]:
        """The orders that have come, if it is time to look; as a rule none."""
        now_ns = self._now_ns()
        if now_ns < self._due_ns:
            return []
        self._due_ns = now_ns + POLL_PERIOD_NS
        taken: list[Switch] = []
        for _ in range(MOST_AT_ONCE):
            try:
                datagram = self._socket.recv(LONGEST + 1)
            except OSError:
                break
            try:
                taken.append(decoded(datagram))
            except msgspec.MsgspecError:
                self.refused += 1
        return taken

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)


def decoded(datagram: bytes) -> Switch:
    """The order, or msgspec's error."""
    if len(datagram) > LONGEST:
        raise msgspec.ValidationError(f"an order has {LONGEST} bytes at most")
    try:
        return _decoder.decode(datagram)
    except (UnicodeDecodeError, RecursionError):
        raise msgspec.ValidationError("no JSON") from None


def bound(path: Path, purpose: str) -> socket.socket:
    """A datagram socket in a folder that only its user can enter: how programs of one user tell each other something.

    Non-blocking; what a dead program left there goes. LinkError says that it cannot listen for `purpose`.
    """
    mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mailbox.setblocking(False)
    try:
        path.unlink(missing_ok=True)
        mailbox.bind(str(path))
        path.chmod(0o600)
    except OSError as error:
        mailbox.close()
        raise LinkError(f"{path}: cannot listen for {purpose}: {error.strerror or error}") from None
    return mailbox
