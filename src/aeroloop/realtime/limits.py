"""Resources that this machine lacks for a flight, shared memory and open files, described for its user."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import suppress
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
LITTLE_B = 2**20
MANY_FILES = 4096
"""A flight of several aircraft opens a few hundred."""
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT)
"""Errors of these resources."""


def raise_open_files() -> None:
    """The soft limit up to the hard one, for this process and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, MANY_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def open_files_words() -> str:
    """Empty if there are enough."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    try:
        used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        used = limit
    return f"this process may open {limit} files only (ulimit -n)" if used > limit - 8 or limit < 128 else ""


def shared_memory_words(folder: Path = SHARED_MEMORY) -> str:
    """Empty if no problem is found."""
    if not os.access(folder, os.W_OK):
        return f"{folder} is read-only or missing"
    space = os.statvfs(folder)
    free_B = space.f_bavail * space.f_frsize
    if free_B >= LITTLE_B:
        return ""
    size_B = space.f_blocks * space.f_frsize
    return f"{folder} has {free_B // 1024} of {size_B // 1024} kB left; in a container: --shm-size=256m"


def lacking_words() -> str:
    """What is short, or where to look."""
    return "; ".join(filter(None, (shared_memory_words(), open_files_words()))) or "see `aeroloop doctor`"
