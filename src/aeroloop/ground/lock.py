"""Only one program may drive a reference link: a lock that dies with its process.

The lock is flock() on a file named after the link. The file stays, empty, when the lock is released: were it
removed, a program that had just opened it would lock a file that nobody else can find.
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
    """Hold the right to drive a reference link; ConfigError while another program has it."""
    line = canonical(link_url)
    if line == "loopback://":  # no path yet: every flight makes its own
        yield
        return
    path = _home(link_url) / f"reference-{hashlib.sha256(line.encode()).hexdigest()[:16]}.lock"
    with _held(path, link_url) as fd:
        with suppress(OSError):  # a full disk costs the name in the message, not the lock
            os.ftruncate(fd, 0)
            os.write(fd, f"{os.getpid()} {owner}".encode())
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(fd, 0)


def canonical(link_url: str) -> str:
    """The link itself, without how it is opened: one line has one name."""
    url = urlsplit(link_url)
    if url.scheme in ("pty", "serial"):
        # Names under /dev/serial/by-id are links to the same port. Elsewhere the file is one that a link
        # makes, and what it points to changes.
        path = os.path.realpath(url.path) if url.path.startswith("/dev/") else os.path.normpath(url.path)
        return f"line:{path}"
    host = url.netloc.lower().replace("localhost", "127.0.0.1")
    return f"{url.scheme}://{host}{url.path.rstrip('/')}"


def _home(link_url: str) -> Path:
    """A link inside a flight's folder has its lock there too: both go with the flight."""
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
            raise ConfigError(f"reference link {link_url} is already driven by {_holder(fd)}; stop it first") from None
        yield fd
    finally:
        os.close(fd)


def _holder(fd: int) -> str:
    pid, _, owner = os.pread(fd, 200, 0).decode(errors="replace").partition(" ")
    return f"{owner} (process {pid})" if owner else "another program"
