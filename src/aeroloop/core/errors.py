"""What can go wrong, by exit code: the command line promises these numbers to scripts and CI."""

from __future__ import annotations

EXIT_OK = 0
EXIT_CHECK_FAILED = 1
EXIT_USAGE = 2
EXIT_LINK = 3
EXIT_INTERRUPTED = 130  # what shells expect after Ctrl-C
EXIT_TERMINATED = 143  # and after SIGTERM


class AeroloopError(Exception):
    """An error a user can act on: its text is one sentence, shown without a traceback."""

    exit_code = EXIT_USAGE


class ConfigError(AeroloopError):
    """Bad usage or configuration; names the file, the key and what was expected."""

    exit_code = EXIT_USAGE


class LinkError(AeroloopError):
    """The link or the board failed: missing, busy, vanished or silent.

    A root cause is one that others can only notice by its effects: it is told first, whoever speaks first.
    """

    exit_code = EXIT_LINK

    def __init__(self, text: str, *, root_cause: bool = False) -> None:
        super().__init__(text)
        self.root_cause = root_cause
