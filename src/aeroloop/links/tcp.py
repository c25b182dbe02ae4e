"""TCP: either end may listen; Nagle's algorithm is off, since a loop waits for every small message."""

from __future__ import annotations

import socket

from aeroloop.core.errors import LinkError
from aeroloop.links.base import Link
from aeroloop.links.stream import ListeningLink, StreamLink, connect
from aeroloop.links.url import LinkUrl


def open_tcp(url: LinkUrl, *, connect_timeout_s: float = 5.0) -> Link:
    if url.listen:
        return ListeningLink(str(url), _listener(url))
    sock = connect(url, socket.AF_INET, (url.host, url.port), connect_timeout_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return StreamLink(str(url), sock.detach())


def _listener(url: LinkUrl) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted sockets inherit it
        listener.bind((url.host, url.port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise LinkError(f"{url}: cannot listen: {error.strerror or error}") from None
    return listener
