"""Errors of flight commands; every text begins with the command."""

from __future__ import annotations

from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_LINK, EXIT_USAGE, AeroloopError


class CommandError(AeroloopError):
    """The aircraft did not execute the command, or its outcome is unknown."""

    exit_code = EXIT_CHECK_FAILED


class InvalidError(CommandError):
    """The command is invalid and was not sent."""

    exit_code = EXIT_USAGE


class RefusedError(CommandError):
    """The autopilot refused the command; the text has its reason."""


class HeldError(RefusedError):
    """The router did not forward the command, since another program has control: `Station.take_command` takes it."""

    def __init__(self, words: str, holder: str) -> None:
        super().__init__(words)
        self.holder = holder


class NoAnswerError(CommandError):
    """No answer after all tries, or the link was lost: the outcome is unknown."""

    exit_code = EXIT_LINK
