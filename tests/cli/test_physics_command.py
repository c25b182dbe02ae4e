"""`aeroloop check-physics` and `Run.check_physics`: the table, limits, and sentences where a log has no forces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import aeroloop
from aeroloop.cli.app import app
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, EXIT_USAGE

LINES = ["force", "moment", "position", "attitude", "quaternion", "energy", "wind", "truth"]


def flown(folder: Path, *, balance: bool) -> aeroloop.Run:
    return aeroloop.fly("check-case-9", set={"duration_s": 0.5, "log.balance": balance}, out=folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> aeroloop.Run:
    return flown(tmp_path_factory.mktemp("run") / "run", balance=True)


def called(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check-physics", *arguments], env={"COLUMNS": "120"})


def test_the_table_has_a_line_for_each_balance(run: aeroloop.Run) -> None:
    done = called(str(run.folder))
    assert done.exit_code == EXIT_OK, done.output
    assert done.output.startswith("50 of 50 steps")
    for name in LINES:
        assert any(name in line and " ok " in line for line in done.output.splitlines())
    assert called(str(run.folder / "flight.mcap")).output == done.output  # the log alone


def test_a_limit_that_is_not_met_is_exit_code_1(run: aeroloop.Run) -> None:
    done = called(str(run.folder), "--within", "1e-15", "--json")
    assert done.exit_code == EXIT_CHECK_FAILED
    (aircraft,) = json.loads(done.stdout)
    assert not aircraft["ok"] and [line["name"] for line in aircraft["lines"]] == LINES
    (energy,) = (line for line in aircraft["lines"] if line["name"] == "energy")
    assert not energy["ok"] and energy["relative"] == pytest.approx(energy["largest"] / energy["of"])


def test_the_python_api_has_the_same_lines(run: aeroloop.Run) -> None:
    (found,) = run.check_physics()[""]
    assert found.ok and [line.name for line in found.findings] == LINES


def test_a_log_without_forces_says_how_to_fly_again(tmp_path: Path) -> None:
    plain = flown(tmp_path / "run", balance=False)
    done = called(str(plain.folder))
    command = f"aeroloop fly {plain.folder}/scenario.toml --set log.balance=true"
    assert isinstance(done.exception, aeroloop.ConfigError) and done.exception.exit_code == EXIT_USAGE
    assert str(done.exception).endswith(f"its log has no stream balance; fly it again with `{command}`")
    with pytest.raises(aeroloop.ConfigError, match=r"log\.balance=true"):
        plain.check_physics()
    assert "expected a folder" in str(called(str(tmp_path / "none")).exception)
