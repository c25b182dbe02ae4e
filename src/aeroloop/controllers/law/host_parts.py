"""The C of a host law, compiled before the processes of a flight start."""

from __future__ import annotations

import sys

import casadi as ca

from aeroloop.codegen.host import compiled, is_compiled
from aeroloop.core.paths import cache_dir


def compile_parts(name: str, parts: tuple[ca.Function, ...]) -> None:
    """A message says so, once: the largest part takes some ten seconds."""
    missing = [part for part in parts if not is_compiled(part, cache_dir())]
    if missing:
        print(f"control.law {name}: compiling its models, once for this machine", file=sys.stderr, flush=True)
    for part in missing:
        compiled(part, cache_dir())
