"""The fixed cost of `aeroloop fly`: its scenario is read and checked once, and its log is decoded once for both summary
and report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from aeroloop.cli.app import app
from aeroloop.core import scenario_files
from aeroloop.recording import log


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[str]:
    """The calls of a function from now on."""
    calls: list[str] = []
    wrapped: Callable[..., Any] = getattr(module, name)

    def counting(*args: Any, **more: Any) -> Any:
        calls.append(name)
        return wrapped(*args, **more)

    monkeypatch.setattr(module, name, counting)
    return calls


@pytest.mark.parametrize("link", ["memory://", "loopback://"])  # in the plant's process, and with one of its own
def test_a_flight_loads_its_scenario_once_and_decodes_its_log_once(
    link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = counted(monkeypatch, scenario_files, "of_table")
    decodes = counted(monkeypatch, log, "_read")
    short = ("--set", "duration_s=0.1", "--set", "checks=[]", "--link", link)
    flown = CliRunner().invoke(app, ["fly", "tiltrotor-spiral", *short, "--out", str(tmp_path / "run")])
    assert flown.exit_code == 0, flown.output
    assert {"summary.json", "report.html"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert (loads, decodes) == (["of_table"], ["_read"])
