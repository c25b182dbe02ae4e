"""Lock of a reference link for one program; it is released when its process ends.

The lock is flock() on a file named after the link. The file stays, empty, when the lock is released: were it removed, a
program that had just opened it would lock a file that no other program can find.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import runtime_dir


@contextmanager
def claim(link_url: str, owner: str) -> Iterator[None]:
    """Lock a reference link; ConfigError while another program holds it."""
    line = canonical(link_url)
    if line == "loopback://":  # no path yet: every flight creates its own
        yield
        return
    path = _home(link_url) / f"reference-{hashlib.sha256(line.encode()).hexdigest()[:16]}.lock"
    with _held(path, link_url) as fd:
        with suppress(OSError):  # on a full disk the message has no name, but the lock holds
            os.ftruncate(fd, 0)
            os.write(fd, f"{os.getpid()} {owner}".encode())
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(fd, 0)


def canonical(link_url: str) -> str:
    """The link itself, without how it is opened: one name for each link."""
    url = urlsplit(link_url)
    if url.scheme in ("pty", "serial"):
        # Names under /dev/serial/by-id are symlinks to the same port. Elsewhere the file is created by the link, and
        # its target changes.
        path = os.path.realpath(url.path) if url.path.startswith("/dev/") else os.path.normpath(url.path)
        return f"line:{path}"
    host = url.netloc.lower().replace("localhost", "127.0.0.1")
    return f"{url.scheme}://{host}{url.path.rstrip('/')}"


def _home(link_url: str) -> Path:
    """The lock of a link inside a flight's folder is there too: both are removed with the flight."""
    folder = Path(urlsplit(link_url).path).parent
    return folder if folder.parent == runtime_dir() else runtime_dir()


@contextmanager
def _held(path: Path, link_url: str) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be opened: {error.strerror}") from None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"reference link {link_url} is already used by {_holder(fd)}; stop it first") from None
        yield fd
    finally:
        os.close(fd)


def _holder(fd: int) -> str:
    pid, _, owner = os.pread(fd, 200, 0).decode(errors="replace").partition(" ")
    return f"{owner} (process {pid})" if owner else "another program"
