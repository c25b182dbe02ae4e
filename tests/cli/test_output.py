"""What every command shares: progress without a terminal, output that cannot be written, and names like a name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from aeroloop.cli import app as cli
from aeroloop.cli.progress import LINE_PERIOD_S, ProgressLines
from aeroloop.core.errors import EXIT_LINK, ConfigError
from aeroloop.core.scenario_files import find, load
from aeroloop.core.suggest import did_you_mean

COMMAND = str(Path(sys.executable).with_name("aeroloop"))


@pytest.mark.parametrize(("override", "words"), [("open_ended=false", "of 40 s"), ("open_ended=true", "at most 40 s")])
def test_without_a_terminal_a_line_every_few_seconds(override: str, words: str) -> None:
    told: list[str] = []
    now_s = 0.0
    lines = ProgressLines(load(find("quad-hover"), ("duration_s=40", override)), told.append, lambda: now_s)
    for now_s in (0.1, LINE_PERIOD_S - 0.1, LINE_PERIOD_S, LINE_PERIOD_S + 0.1, 2 * LINE_PERIOD_S):
        lines(2 * now_s)
    assert told == [f"quad-hover: 10.0 s flown, {words}", f"quad-hover: 20.0 s flown, {words}"]


def test_the_scenarios_as_json() -> None:
    shown = CliRunner().invoke(cli.app, ["list", "--json"])
    rows: list[dict[str, Any]] = json.loads(shown.stdout)
    hover = next(row for row in rows if row["name"] == "quad-hover")
    assert hover["summary"] == load(find("quad-hover")).summary
    assert Path(hover["file"]).samefile(find("quad-hover"))


def test_an_output_that_is_full_is_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([COMMAND, "list", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == EXIT_LINK
    assert ended.stderr == "aeroloop: standard output cannot be written: No space left on device\n"


def test_a_name_that_is_nearly_one_is_suggested() -> None:
    assert did_you_mean("quad-hovr", ("quad-wind", "quad-hover")) == " (did you mean 'quad-hover'?)"
    assert did_you_mean("COMPASS", ("compass",)) == " (did you mean 'compass'?)"
    assert did_you_mean("zzz", ("quad-wind", "quad-hover")) == did_you_mean("x", ()) == ""
    with pytest.raises(ConfigError, match=r"'quad-mision' \(did you mean 'quad-mission'\?\)"):
        find("quad-mision")
    with pytest.raises(ConfigError, match=r"'quadroter' \(did you mean 'quadrotor'\?\)"):
        load(find("quad-hover"), ('vehicle.kind="quadroter"',))
