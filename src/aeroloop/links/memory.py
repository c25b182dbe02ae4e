"""A link inside one process: bytes sent at one end are readable at the other at once."""

from __future__ import annotations

from collections.abc import Callable

from aeroloop.core.tables import MEMORY


class MemoryLink:
    def __init__(self) -> None:
        self.url = MEMORY
        self.on_data: Callable[[], None] | None = None  # called when bytes have arrived, while their sender waits
        self._peer = self
        self._waiting = b""

    def fileno(self) -> int:
        return -1  # no descriptor: bytes are readable at once

    def send(self, data: bytes) -> None:
        peer = self._peer
        peer._waiting += data
        if peer.on_data is not None:
            peer.on_data()

    def poll(self) -> bytes:
        waiting, self._waiting = self._waiting, b""
        return waiting

    @property
    def pending(self) -> bool:
        return bool(self._waiting)

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None: ...


def memory_pair() -> tuple[MemoryLink, MemoryLink]:
    """Both ends."""
    ours, theirs = MemoryLink(), MemoryLink()
    ours._peer, theirs._peer = theirs, ours
    return ours, theirs
