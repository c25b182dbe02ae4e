"""The server's end of a pseudo-terminal; the peer opens the path as if it were a serial port."""

from __future__ import annotations

import os
import tty
from pathlib import Path

from aeroloop.core.errors import LinkError
from aeroloop.links.stream import StreamLink
from aeroloop.links.url import LinkUrl


class PtyLink(StreamLink):
    """Makes a pty in raw mode and a symlink to its slave.

    Its own descriptor of the slave stays open until the peer's first byte: without it the pty counts as hung up, and
    select() would spin until a peer connects; but with it a disconnect could not be detected.
    """

    def __init__(self, url: LinkUrl) -> None:
        self._path = Path(url.path)
        try:
            _remove_stale(self._path)
            fd, self._own_slave = os.openpty()
        except OSError as error:
            raise LinkError(f"{url}: cannot make a pseudo-terminal: {error.strerror}") from None
        super().__init__(str(url), fd)
        os.set_blocking(fd, False)
        tty.setraw(self._own_slave)
        self._slave_name = os.ttyname(self._own_slave)
        try:
            self._path.symlink_to(self._slave_name)
        except OSError as error:
            self.close()
            raise LinkError(f"{url}: cannot make a link at {self._path}: {error.strerror}") from None

    def poll(self) -> bytes:
        data = super().poll()
        if data and self._own_slave >= 0:
            self._close_own_slave()
        return data

    def close(self) -> None:
        if self._fd >= 0 and _target(self._path) == self._slave_name:
            self._path.unlink()
        self._close_own_slave()
        super().close()

    def _close_own_slave(self) -> None:
        if self._own_slave >= 0:
            os.close(self._own_slave)
            self._own_slave = -1


def _remove_stale(path: Path) -> None:
    """Remove what a killed run left: a symlink to a pty that no longer exists. Anything else at the path stays."""
    if _target(path).startswith("/dev/pts/") and not path.exists():
        path.unlink(missing_ok=True)


def _target(path: Path) -> str:
    return str(path.readlink()) if path.is_symlink() else ""
