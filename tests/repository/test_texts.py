"""Text files of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "examples", "firmware", "scenarios", "src", "tests", "tools", "benchmarks")
TEXTS = (".c", ".csv", ".h", ".js", ".md", ".py", ".toml")
MARKS = ("<" * 7 + " ", ">" * 7 + " ")
"""What a merge leaves where two changes collide."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_merge_was_left_unfinished(folder: str) -> None:
    paths = [path for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS and path.is_file()]
    assert paths
    left = [path for path in paths if any(line.startswith(MARKS) for line in path.read_text("utf-8").splitlines())]
    assert left == []
