"""A page for each command, from the command line itself: arguments, options and examples as `--help` has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from typer.main import get_command

from aeroloop.cli.app import app
from tools.struct_tables import markdown_table

PROGRAM = "aeroloop"
FOLDER = "commands"
CODE = re.compile(r"`([^`]+)`")


def pages() -> dict[str, Callable[[], str]]:
    """The text of each page by its name."""
    commands = {
        f"{FOLDER}/{_file(name)}": partial(_page, f"{PROGRAM} {name}", command)
        for name, command in _commands(_program())
    }
    return {f"{FOLDER}/index.md": overview, **commands}


def overview() -> str:
    program = _program()
    rows = [(f"[`{PROGRAM} {name}`]({_file(name)})", _help(command)) for name, command in _commands(program)]
    lines = [
        "# Commands",
        "",
        "`--help` after any command prints the text of its page.",
        "",
        *markdown_table(("command", "what it does"), rows),
        "",
        "## Without a command",
        *_parameters(program),
        "",
        *_epilog(program),
    ]
    return "\n".join([*lines, ""])


def _file(name: str) -> str:
    """Of a command's page; a name may have two words."""
    return f"{name.replace(' ', '-')}.md"


def _page(title: str, command: Any) -> str:
    return "\n".join([*_described(title, command, 1), ""])


def _described(title: str, command: Any, level: int) -> Iterator[str]:
    """A command, and below it those that it has itself."""
    yield from (f"{'#' * level} {title}", "", _help(command), "", f"    {_usage(title, command)}")
    yield from _parameters(command)
    if epilog := _epilog(command):
        yield from ("", *epilog)
    for name, each in _commands(command):
        yield ""
        yield from _described(f"{title} {name}", each, level + 1)


def _usage(title: str, command: Any) -> str:
    arguments = [_argument(each) for each in _shown(command) if _is_argument(each)]
    options = ["[OPTIONS]"] if any(not _is_argument(each) for each in _shown(command)) else []
    below = ["COMMAND ..."] if _commands(command) else []
    return " ".join([title, *arguments, *options, *below])


def _argument(parameter: Any) -> str:
    name = f"{parameter.metavar or parameter.name.upper()}{'...' if parameter.nargs == -1 else ''}"
    return name if parameter.required else f"[{name}]"


def _parameters(command: Any) -> Iterator[str]:
    shown = _shown(command)
    arguments = [(f"`{_argument(each)}`", _default(each), each.help or "") for each in shown if _is_argument(each)]
    options = [(_option(each), _default(each), each.help or "") for each in shown if not _is_argument(each)]
    for title, rows in (("argument", arguments), ("option", options)):
        if rows:
            yield from ("", *markdown_table((title, "default", "meaning"), rows))


def _option(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    return ", ".join(f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts))


def _default(parameter: Any) -> str:
    """A flag that is off, or a value derived elsewhere, has no default to show."""
    if parameter.required:
        return "required"
    if parameter.default in (None, "", False):
        return "-"
    if parameter.default is True:
        return f"`{parameter.opts[0]}`"
    return f"`{parameter.default}`"


def _epilog(command: Any) -> list[str]:
    """Examples on their own line become code."""
    lines: list[str] = []
    for part in (command.epilog or "").split("\n\n"):
        alone = CODE.fullmatch(part.strip())
        if alone:
            lines += [] if lines and lines[-1].startswith("    ") else [""]
            lines.append(f"    {alone[1]}")
        elif part.strip():
            lines += ["", part.strip()]
    return lines[1:]


def _shown(command: Any) -> list[Any]:
    return [each for each in command.params if not each.hidden and each.name != "help"]


def _is_argument(parameter: Any) -> bool:
    return not parameter.opts[0].startswith("-")


def _commands(command: Any) -> list[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        return []
    return [(name, command.get_command(None, name)) for name in command.list_commands(None)]


def _help(command: Any) -> str:
    return " ".join((command.help or "").split())


def _program() -> Any:
    return get_command(app)
