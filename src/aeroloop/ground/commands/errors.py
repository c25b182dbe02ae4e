"""How a flight command can fail; every text begins with what was asked for."""

from __future__ import annotations

from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_LINK, EXIT_USAGE, AeroloopError


class CommandError(AeroloopError):
    """The aircraft did not do what was asked, or nobody knows whether it did."""

    exit_code = EXIT_CHECK_FAILED


class InvalidError(CommandError):
    """It makes no sense and was not sent."""

    exit_code = EXIT_USAGE


class RefusedError(CommandError):
    """The autopilot heard and said no; its reason is in the text."""


class HeldError(RefusedError):
    """The router did not pass it on, since another program commands: `Station.take_command` takes over."""

    def __init__(self, words: str, holder: str) -> None:
        super().__init__(words)
        self.holder = holder


class NoAnswerError(CommandError):
    """No answer after every try, or the link was lost: whether it was done is unknown."""

    exit_code = EXIT_LINK
