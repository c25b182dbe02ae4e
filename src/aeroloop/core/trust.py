"""Python files that a scenario names are executed; their origin is checked before that.

A file is trusted that was named on the command line or in code, that the package ships, or that lies below the current
folder and belongs to its user (or root) and is writable by no other user. Of a folder this holds for each folder and
each executed file in it; a file can also be replaced by whoever may write its folder. A group may write what only the
user is in: with the umask 002 of many systems every file is writable by its user's private group. Any other file is of
foreign origin: the user confirms, at a terminal or with `--trust`, or it is refused. Outside `guarded`, as in the
processes of a flight, whose supervisor has checked, nothing is checked.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import EXAMPLES, PACKAGE, SCENARIOS

EXECUTED = frozenset({".py", ".pyc", ".so", ".c", ".h"})
"""Kinds of files that are executed, or compiled and then executed."""

Entry = TypeVar("Entry")
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
    if folder.is_dir() and not _foreign(folder.resolve()):
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
    return _foreign(path)


def _foreign(path: Path) -> str:
    """Who else could have written a file, or what is executed of a folder; empty if nobody."""
    within = (_whose(each, f"its {each.relative_to(path)}") for each in _executed(path))  # of a file nothing
    return _whose(path, "it") or _replaceable(path.parent) or next(filter(None, within), "")


def _executed(folder: Path) -> Iterator[Path]:
    """All folders below it, and the files that are executed; of a link its target is judged."""
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in folders)
        yield from (Path(parent, name) for name in files if Path(name).suffix in EXECUTED)


def _whose(path: Path, name: str) -> str:
    try:
        info = path.stat()
    except OSError as error:
        return f"{name} cannot be read ({error.strerror})"
    if path.is_symlink() and path.is_dir():
        return f"{name} is a link to another folder"  # which is not searched
    if info.st_uid not in (os.getuid(), 0):
        return f"{name} belongs to another user"
    return _written_by(info, name)


def _replaceable(folder: Path) -> str:
    """In a folder such as /tmp, with the sticky bit, only the owner of a file can replace it."""
    info = folder.stat()
    return "" if info.st_mode & stat.S_ISVTX else _written_by(info, "its folder")


def _written_by(info: os.stat_result, name: str) -> str:
    if info.st_mode & stat.S_IWOTH:
        return f"others may write {name}"
    if info.st_mode & stat.S_IWGRP and not _private(info.st_gid):
        return f"its group may write {name}"
    return ""


def _private(gid: int) -> bool:
    """Whether a group is the user's own: the primary group, with the user's name, and nobody else in it. Where the
    system knows neither name, as in some containers, by the equal numbers."""
    uid = os.getuid()
    user, group = _entry(pwd.getpwuid, uid), _entry(grp.getgrgid, gid)
    if user is None or group is None:
        return user is None and group is None and gid == uid == os.getgid()
    return gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _entry(of: Callable[[int], Entry], number: int) -> Entry | None:
    try:
        return of(number)
    except KeyError:
        return None
