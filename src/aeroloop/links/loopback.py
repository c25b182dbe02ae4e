"""Loopback: a Unix-domain stream socket, so bytes stay in kernel memory but cross between processes."""

from __future__ import annotations

import socket
from pathlib import Path

from aeroloop.core.errors import LinkError
from aeroloop.links.base import Link
from aeroloop.links.stream import ListeningLink, StreamLink, connect
from aeroloop.links.url import LinkUrl


def open_loopback(url: LinkUrl, *, connect_timeout_s: float = 5.0) -> Link:
    if url.listen:
        return LoopbackServer(url)
    return StreamLink(str(url), connect(url, socket.AF_UNIX, url.path, connect_timeout_s).detach())


class LoopbackServer(ListeningLink):
    """Owns the socket file at its path."""

    def __init__(self, url: LinkUrl) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(url.path)
            listener.listen()
        except OSError as error:
            listener.close()
            raise LinkError(f"{url}: cannot listen: {error.strerror or error}") from None
        super().__init__(str(url), listener)
        self._path = Path(url.path)

    def close(self) -> None:
        if self.fileno() >= 0:
            self._path.unlink(missing_ok=True)
        super().close()
