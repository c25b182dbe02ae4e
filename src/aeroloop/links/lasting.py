"""What outlives its peer: a pty that waits for the next one, and a server port that is there again."""

from __future__ import annotations

from aeroloop.core.errors import LinkError
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.links.pty import PtyLink
from aeroloop.links.url import parse


class LastingServer:
    """A server's end that opens anew when its peer has left. Like on a serial port, what nobody hears is lost."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.departures = 0  # of peers, so far
        parts = parse(url)
        self._listens = parts.listen and parts.scheme != "udp"
        self._ahead = b""  # read while sending
        self._link: Link
        self._open()

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, data: bytes) -> None:
        try:
            if self._alone:
                self._link.send(b"")  # lets in whoever knocks, and leaves to `poll` what they say
                if self._alone:
                    return
            self._link.send(data)
        except LinkError:
            departed = self.departures
            self._ahead += self._read()  # its last words
            if departed == self.departures:
                self._leave()

    def poll(self) -> bytes:
        ahead, self._ahead = self._ahead, b""
        return ahead + self._read()

    @property
    def _alone(self) -> bool:
        """A listening link has its listener's descriptor until somebody comes."""
        return self._listens and self._link.fileno() == self._listener

    def _read(self) -> bytes:
        try:
            return self._link.poll()
        except LinkError:
            self._leave()
            return b""

    def _leave(self) -> None:
        self.departures += 1
        self._link.close()
        try:
            self._open()
        except LinkError as error:  # a serial line that was unplugged
            raise LinkError(f"{self.url}: lost, and it does not open again: {error}") from None

    def _open(self) -> None:
        self._link = open_link(self.url)
        self._listener = self._link.fileno()

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
