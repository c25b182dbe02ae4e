"""Errors by exit code, which scripts and CI rely on."""

from __future__ import annotations

import errno
from pathlib import Path

EXIT_OK = 0
EXIT_CHECK_FAILED = 1
EXIT_USAGE = 2
EXIT_LINK = 3
EXIT_INTERRUPTED = 130  # as shells expect after Ctrl-C
EXIT_TERMINATED = 143  # and after SIGTERM


DISK_FULL = "the disk is full"
"""In the words of every error of that cause, which reach other processes as text."""


class AeroloopError(Exception):
    """An error a user can act on: its text is one sentence, shown without a traceback.

    A root cause is an error whose effects other processes report too: it is printed first, whichever report arrives
    first.
    """

    exit_code = EXIT_USAGE
    root_cause = False


class ConfigError(AeroloopError):
    """Bad usage or configuration; names the file, the key and what was expected."""

    exit_code = EXIT_USAGE


class LinkError(AeroloopError):
    """The link or the board failed: missing, busy, disconnected or silent."""

    exit_code = EXIT_LINK

    def __init__(self, text: str, *, root_cause: bool = False) -> None:
        super().__init__(text)
        self.root_cause = root_cause


class StorageError(AeroloopError):
    """The disk is full: the results of a flight are incomplete."""

    exit_code = EXIT_LINK


def not_written(path: Path | str, error: OSError, what: str = "") -> AeroloopError:
    """Error for a file that cannot be written; `what` describes it if its name does not."""
    begin = f"{path}: {f'the {what} ' if what else ''}cannot be written"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"{begin}: {DISK_FULL}")
    return (StorageError if error.errno == errno.EIO else ConfigError)(f"{begin}: {error.strerror}")
