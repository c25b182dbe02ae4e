"""Python files that a scenario names are executed; their origin is checked before that.

A file is trusted that was named on the command line or in code, that the package ships, or that lies below the current
folder and belongs to its user (or root) and is writable by no other user. Any other file is of foreign origin: the user
confirms, at a terminal or with `--trust`, or it is refused. Outside `guarded`, as in the processes of a flight, whose
supervisor has checked, nothing is checked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import EXAMPLES, PACKAGE, SCENARIOS

Ask = Callable[[str], bool]
"""Whether the user confirms a question."""


@dataclass
class _Guard:
    trust: bool  # all files
    ask: Ask | None
    consented: set[Path] = field(default_factory=set)  # files and folders


_guard: ContextVar[_Guard | None] = ContextVar("guard", default=None)
"""Per thread: flights of a script may run in parallel."""


@contextmanager
def guarded(*, trust: bool = False, ask: Ask | None = None) -> Iterator[None]:
    """In this context foreign files are executed only with `trust`, or if `ask` returns true."""
    token = _guard.set(_Guard(trust, ask))
    try:
        yield
    finally:
        _guard.reset(token)


def trust_all() -> None:
    """Trust all files from now on, in the innermost guard."""
    if guard := _guard.get():
        guard.trust = True


def consent(path: Path) -> None:
    """The user has named this file or folder."""
    if guard := _guard.get():
        guard.consented.add(path.resolve())


def consent_to_own(folder: Path) -> None:
    """Trust a folder of results that belongs to the user: its files were flown here."""
    if folder.is_dir() and not _whose(folder):
        consent(folder)


def check(path: Path, key: str) -> None:
    """Check before a Python file, or those of a folder, are executed; ConfigError names the key."""
    guard, real = _guard.get(), path.resolve()
    if guard is None or guard.trust:
        return
    if not real.exists() or any(real.is_relative_to(each) for each in guard.consented):
        return  # a missing file is reported by its reader
    why = _elsewhere(real)
    if not why:
        return
    if guard.ask is not None and guard.ask(f"{key}: {real} is executed as Python, and {why}. Execute it?"):
        guard.consented.add(real)
        return
    hint = "not executed" if guard.ask is not None else "read it, then repeat with --trust"
    raise ConfigError(f"{key}: {real} is executed as Python, and {why}: {hint}")


def _elsewhere(path: Path) -> str:
    """Why a file does not count as the user's own; empty if it does."""
    if any(path.is_relative_to(folder) for folder in (PACKAGE, SCENARIOS, EXAMPLES)):
        return ""
    if not path.is_relative_to(Path.cwd()):
        return "it is not below the current folder"
    return _whose(path)


def _whose(path: Path) -> str:
    info = path.stat()
    if info.st_uid not in (os.getuid(), 0):
        return "it belongs to another user"
    return "others may write it" if info.st_mode & stat.S_IWOTH else ""
