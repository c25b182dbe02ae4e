"""The dashboard's socket, opened before anything large is imported: its address can be printed at once."""

from __future__ import annotations

import errno
import socket

from aeroloop.core.errors import ConfigError

BACKLOG = 64
_OTHER_HOST = "expected an address of this machine, such as 127.0.0.1 or 0.0.0.0"
_WHY = {
    errno.EADDRINUSE: "the port is in use; choose another port",
    errno.EACCES: "not permitted; choose a port from 1024 on",
    errno.EADDRNOTAVAIL: f"this machine has no such address; {_OTHER_HOST}",
    socket.EAI_NONAME: f"no such host; {_OTHER_HOST}",
}


def bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket, so that its port is known and reserved."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        why = _WHY.get(getattr(error, "errno", None) or 0) or f"{getattr(error, 'strerror', None) or error}"
        raise ConfigError(f"the dashboard cannot listen on {host}, port {port}: {why}") from None
    return listener


def address(listener: socket.socket, host: str, token: str) -> str:
    """The URL to open in a browser; if it listens on every address, with this machine's name."""
    name = socket.gethostname() if host in ("", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}/{f'?token={token}' if token else ''}"
