"""The table of sizes in docs/internals/tests.md counts what git holds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import source_size

ROOT = Path(__file__).resolve().parents[2]


def test_lines_of_a_revision_are_those_of_its_files() -> None:
    shown = subprocess.run(
        ["git", "-C", ROOT, "show", "HEAD:src/aeroloop/sim/loop.py"], capture_output=True, text=True, check=False
    )
    if shown.returncode:
        pytest.skip("no git history here")
    found = source_size.sizes("HEAD")
    assert found["sim/loop.py"] == len(shown.stdout.splitlines())
    assert found["sim/__init__.py"] == 0
    rows = source_size.table(("HEAD", "HEAD"))
    total = f"{sum(found.values()):,}"
    assert f"| the whole package | {total} | {total} |" in rows


def test_no_module_is_counted_in_two_groups() -> None:
    named = [path for paths in source_size.GROUPS.values() for path in paths]
    assert len(named) == len({*named})
