"""Standard error as every command uses it, and the settings that every program of ours shares."""

from __future__ import annotations

import sys
from functools import partial

import typer
from rich.console import Console

from aeroloop.core.errors import AeroloopError

notes = Console(stderr=True)

program = partial(
    typer.Typer,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""A command line that is started on its own, and not as a part of another."""


def plain(text: str) -> str:
    """Text from files and devices is shown as it is, not as markup."""
    return text.replace("[", r"\[")


def say(text: str) -> None:
    notes.print(text, highlight=False, soft_wrap=True, markup=False)


def say_error(text: str) -> None:
    notes.print(f"[red]aeroloop:[/] {plain(text)}", highlight=False, soft_wrap=True)


def run_program(app: typer.Typer) -> None:
    """The program; an error is one sentence and its exit code."""
    try:
        app()
    except AeroloopError as error:
        say_error(str(error))
        sys.exit(error.exit_code)
