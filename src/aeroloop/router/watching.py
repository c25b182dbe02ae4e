"""The descriptors that the router watches: all of them, and apart those of links with HIL messages."""

from __future__ import annotations

import select
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeroloop.router.ports import Port


class Watched:
    """HIL links can be looked at between any two others, so that none of these delays them."""

    def __init__(self) -> None:
        self._all = select.epoll()
        self._hil = select.epoll()
        self._ports: dict[int, Port] = {}
        self._has_hil = False

    def fileno(self) -> int:
        return self._all.fileno()

    def add(self, fd: int, port: Port, events: int) -> None:
        """Or change the events of one that is watched."""
        known = fd in self._ports
        self._ports[fd] = port
        self._has_hil = self._has_hil or port.statistics.hil
        for epoll in (self._all, self._hil) if port.statistics.hil else (self._all,):
            if known:
                epoll.modify(fd, events)
            else:
                epoll.register(fd, events)

    def remove(self, fd: int) -> None:
        port = self._ports.pop(fd, None)
        if port is not None:
            self._all.unregister(fd)
            if port.statistics.hil:
                self._hil.unregister(fd)

    def wait(self, timeout_s: float) -> list[tuple[int, int]]:
        """Descriptors and their events."""
        return self._all.poll(timeout_s)

    def others(self, events: list[tuple[int, int]]) -> Iterator[tuple[Port, int, int]]:
        """Those of links without HIL messages that are still watched."""
        for fd, what in events:
            port = self._ports.get(fd)
            if port is not None and not port.statistics.hil:
                yield port, fd, what

    def hil(self) -> Iterator[tuple[Port, int, int]]:
        """Those of links with HIL messages that are ready now."""
        if self._has_hil:
            for fd, what in self._hil.poll(0):
                port = self._ports.get(fd)
                if port is not None:
                    yield port, fd, what

    def close(self) -> None:
        self._all.close()
        self._hil.close()
