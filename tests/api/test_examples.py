"""The examples of docs/python-api.md and of the notebook run as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

import aeroloop

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(<!-- not run -->\n)?```python\n(.*?)```", re.DOTALL)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs go into a folder of the test; the scenarios are found wherever it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")


def run_in_order(blocks: list[str], name: str) -> dict[str, Any]:
    """As one program; an error names the block."""
    names: dict[str, Any] = {"__name__": "example"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{name}, block {number}", "exec"), names)
    return names


def test_the_examples_of_the_page_run() -> None:
    found = BLOCK.findall((ROOT / "docs/python-api.md").read_text(encoding="utf-8"))
    blocks = [block for not_run, block in found if not not_run]
    assert len(blocks) >= 7 and len(found) == len(blocks) + 1
    names = run_in_order(blocks, "docs/python-api.md")
    assert names["run"].passed and names["seen"].t_s == pytest.approx(0.012)


@pytest.mark.soak  # short: tests/package runs it in the environment of a user
def test_the_notebook_runs() -> None:
    notebook = json.loads((ROOT / "examples/first_flight.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells), "clear the outputs before a commit"
    names = run_in_order(["".join(cell["source"]) for cell in cells], "examples/first_flight.ipynb")
    assert names["run"].passed and len(names["runs"]) == 2
    assert names["runs"][0].log_sha256 != names["runs"][1].log_sha256
    assert names["seen"].truth.pos_W[2] == pytest.approx(2.0, abs=0.05)
    assert isinstance(names["truth"], aeroloop.StreamTable)
