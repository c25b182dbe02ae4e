"""The dashboard's socket, before anything large is imported: its address can be told at once."""

from __future__ import annotations

import errno
import socket

from aeroloop.errors import ConfigError

BACKLOG = 64


def bound_socket(host: str, port: int) -> socket.socket:
    """Listening already, so that its port is known and nobody else can take it."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        why = "somebody else listens there" if getattr(error, "errno", None) == errno.EADDRINUSE else str(error)
        raise ConfigError(f"the dashboard cannot listen on {host}, port {port}: {why}; choose another port") from None
    return listener


def address(listener: socket.socket, host: str, token: str) -> str:
    """What to open in a browser; where we listen on every address, by this machine's name."""
    name = socket.gethostname() if host in ("", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}/{f'?token={token}' if token else ''}"
