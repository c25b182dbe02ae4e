"""A datagram socket in a folder that only its user can enter: how programs of one user tell each other something."""

from __future__ import annotations

import socket
from pathlib import Path

from aeroloop.core.errors import LinkError


def bound(path: Path, purpose: str) -> socket.socket:
    """Non-blocking; what a dead program left there goes. LinkError says that it cannot listen for `purpose`."""
    mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mailbox.setblocking(False)
    try:
        path.unlink(missing_ok=True)
        mailbox.bind(str(path))
        path.chmod(0o600)
    except OSError as error:
        mailbox.close()
        raise LinkError(f"{path}: cannot listen for {purpose}: {error.strerror or error}") from None
    return mailbox
