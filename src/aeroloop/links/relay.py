"""Two links on one: bytes of a second link go out on the first, for a board that has only one."""

from __future__ import annotations

from aeroloop.links.base import Link


class Relayed:
    """A link that also carries the bytes of another one; only `poll` forwards them."""

    def __init__(self, link: Link, source: Link) -> None:
        self.url = link.url
        self._link = link
        self._source = source

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, data: bytes) -> None:
        self._link.send(data)

    def poll(self) -> bytes:
        relayed = self._source.poll()
        if relayed:
            self._link.send(relayed)
        return self._link.poll()

    def next_due_ns(self) -> int | None:
        return self._link.next_due_ns()

    def close(self) -> None:
        self._link.close()
        self._source.close()
