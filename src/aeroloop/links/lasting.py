"""Links that outlive their peer: a pty that waits for the next one, and a server port that reopens."""

from __future__ import annotations

from aeroloop.core.errors import LinkError
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.links.pty import PtyLink
from aeroloop.links.url import parse


class LastingServer:
    """A server that reopens when its peer has disconnected. As on a serial port, bytes sent without a peer are lost."""

    def __init__(self, url: str, *, shown: str = "") -> None:
        """`shown`: the URL in messages, where another program carries the link on."""
        self.url, self._opened = shown or url, url
        self.departures = 0  # number of peers that have disconnected
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
                self._link.send(b"")  # accepts a pending connection; `poll` reads its bytes
                if self._alone:
                    return
            self._link.send(data)
        except LinkError:
            departed = self.departures
            self._ahead += self._read()  # its last bytes
            if departed == self.departures:
                self._leave()

    def poll(self) -> bytes:
        ahead, self._ahead = self._ahead, b""
        return ahead + self._read()

    @property
    def _alone(self) -> bool:
        """A listening link has its listener's descriptor until a peer connects."""
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
        except LinkError as error:  # a serial port was unplugged
            raise LinkError(f"{self.url}: lost, and it cannot be reopened: {error}") from None

    def _open(self) -> None:
        self._link = open_link(self._opened)
        self._listener = self._link.fileno()

    def next_due_ns(self) -> int | None:
        return self._link.next_due_ns()

    def close(self) -> None:
        self._link.close()


class LastingPty(PtyLink):
    """Like a serial port on a board: it exists without a peer, and unread bytes are lost."""

    def poll(self) -> bytes:
        # The link's own descriptor of the slave stays open, so that a disconnected peer causes no hang-up.
        data = super(PtyLink, self).poll()
        self._queue.clear()
        return data

    def send(self, data: bytes) -> None:
        self._queue.clear()
        super().send(data)
