"""Programs that make and run the code of a rung: their versions are part of what a flight is."""

from __future__ import annotations

import re
import shlex
import subprocess
from functools import cache

from aeroloop.boards.qemu import PROGRAM as EMULATOR
from aeroloop.codegen.images import COMPILER as CROSS_COMPILER
from aeroloop.codegen.run import host_compiler, run_tool
from aeroloop.core.errors import ConfigError

ASKED_S = 20.0


def of_rung(rung: str) -> str:
    """Empty for mil, which compiles nothing."""
    if rung == "sil":
        return compiler()
    return f"{version_of(CROSS_COMPILER)}, {version_of(EMULATOR)}" if rung == "pil" else ""


def compiler() -> str:
    """The host's C compiler."""
    try:
        command = host_compiler()
    except ConfigError:
        return "none"
    return version_of(command)


@cache
def version_of(command: str) -> str:
    """The first line of `--version`; `none` if the program is not there."""
    try:
        told = run_tool([*shlex.split(command), "--version"], ASKED_S)
    except (OSError, subprocess.TimeoutExpired):
        return "none"
    first = next(iter(told.stdout.splitlines()), "unknown")
    return re.sub(r"^\S+ (?=\()", "", first)  # gcc begins with the name by which it was called
