"""Reads the code of a compiled batch: what the compiler has vectorised, and the statements for a processor or GPU."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aeroloop.batch.loop import Loop, source
from aeroloop.codegen import batch, batch_build

VECTORISED = 0.65
"""Of a function's instructions, at least."""
needs_objdump = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("objdump") is None, reason="reads x86-64 code with objdump"
)


def check_vectorised(loop: Loop, names: tuple[str, ...], cache: Path) -> None:
    """Each of the functions by name: they are never inlined. `cache`: of an engine with 16 lanes, or empty."""
    flags = (*batch_build.LANE_FLAGS, "-DAL_LANES=16")
    shares = vector_shares(batch_build.library(source(loop, batch.LANES), flags, cache))
    assert not set(names) - set(shares), f"not in the library: {sorted(set(names) - set(shares))}"
    assert {name: shares[name] for name in names if shares[name] <= VECTORISED} == {}


def vector_shares(built: Path) -> dict[str, float]:
    """Share of vector instructions in each function; of several copies, the least."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(built)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    shares: dict[str, float] = {}
    for name, code in re.findall(r"<(\w+)[.\w]*>:\n(.*?)(?:\n\n|\Z)", text, re.DOTALL):
        lines = [line for line in code.splitlines() if "\t" in line]
        share = sum(bool(re.search(r"%[xyz]mm", line) and "ss " not in line) for line in lines) / len(lines)
        shares[name] = min(share, shares.get(name, 1.0))
    return shares


def statements(loop: Loop, dialect: batch.Dialect) -> list[str]:
    return [line for line in source(loop, dialect).splitlines() if line.startswith(("    const al_", "    AL_AT"))]
