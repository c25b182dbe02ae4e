"""Standard error of all commands, and the settings that all programs share."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from aeroloop.core import trust
from aeroloop.core.errors import EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, AeroloopError
from aeroloop.flight import signals
from aeroloop.realtime import limits

notes = Console(stderr=True)

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of a device that accepts no more output."""
SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors of a machine or a user without free files or memory."""


class Screen(Console):
    """Standard output whose reader may close it early: the exit code of the verdict must not depend on that."""

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class StoppedError(AeroloopError):
    """Ctrl-C or SIGTERM, as a sentence with the exit code that shells expect."""

    def __init__(self, interrupted: KeyboardInterrupt) -> None:
        super().__init__(f"interrupted by {interrupted}" if interrupted.args else "interrupted by SIGINT")
        self.exit_code = getattr(interrupted, "exit_code", EXIT_INTERRUPTED)


class Program(TyperGroup):
    """Reads its arguments and runs the command; an interruption is one of our errors.

    A command may have a name of two words although the first is a command too: `export px4-module` beside `export`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        both = " ".join(args[:2])
        if len(args) > 1 and (command := self.commands.get(both)) is not None:
            return both, command, args[2:]
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **more: Any) -> Any:
        with _told():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        with _told():
            return super().invoke(ctx)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupted:
        raise StoppedError(interrupted) from None
    except ImportError as error:  # a compiled module that was interrupted while it was imported
        if (interruption := _interruption(error)) is None:
            raise
        raise StoppedError(interruption) from None


def _interruption(error: BaseException) -> KeyboardInterrupt | None:
    """The one that led to this error."""
    before: BaseException | None = error
    while before is not None and not isinstance(before, KeyboardInterrupt):
        before = before.__cause__ or before.__context__
    return before


program = partial(
    typer.Typer,
    cls=Program,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""A program that runs on its own, not as part of another."""


def plain(text: str) -> str:
    """Text from files and devices is printed literally, not as markup."""
    return text.replace("[", r"\[")


def print_note(text: str) -> None:
    notes.print(text, highlight=False, soft_wrap=True, markup=False)


def print_error(text: str) -> None:
    notes.print(f"[red]aeroloop:[/] {plain(text)}", highlight=False, soft_wrap=True)


def _ask(question: str) -> bool:
    return typer.confirm(question, err=True)


def run_program(app: typer.Typer) -> None:
    """Run the program; an error, also of writing output, is one sentence and its exit code."""
    signal.signal(signal.SIGTERM, signals.interrupt)
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code: Any = EXIT_OK
    try:
        try:
            with trust.guarded(ask=_ask if sys.stdin.isatty() and notes.is_terminal else None):
                app()
        except SystemExit as ended:
            code = ended.code
        except AeroloopError as error:
            print_error(str(error))
            code = error.exit_code
        sys.stdout.flush()
    except OSError as error:
        if error.errno in SHORT:
            print_error(f"{error.strerror}: {limits.lacking_words()}")
            sys.exit(EXIT_LINK)
        if error.errno not in FULL:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest of the output is dropped
        print_error(f"standard output cannot be written: {error.strerror}")
        code = EXIT_LINK
    sys.exit(code)
