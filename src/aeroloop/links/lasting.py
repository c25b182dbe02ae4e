"""What outlives its peer: a pty that waits for the next one, and a server port that is there again."""

from __future__ import annotations

from aeroloop.errors import LinkError
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.links.pty import PtyLink


class LastingServer:
    """A server's end that opens anew when its peer has left."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._link: Link = open_link(url)

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, data: bytes) -> None:
        self._link.send(data)

    def poll(self) -> bytes:
        try:
            return self._link.poll()
        except LinkError:
            self._link.close()
            self._link = open_link(self.url)
            return b""

    def next_due_ns(self) -> int | None:
        return self._link.next_due_ns()

    def close(self) -> None:
        self._link.close()


class LastingPty(PtyLink):
    """Like a serial port on a board: it is there whoever listens, and what nobody reads is lost."""

    def poll(self) -> bytes:
        # The link's own descriptor of the slave stays open, so that a peer that leaves is no hang-up.
        data = super(PtyLink, self).poll()
        self._queue.clear()
        return data

    def send(self, data: bytes) -> None:
        self._queue.clear()
        super().send(data)
