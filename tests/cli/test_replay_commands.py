"""`aeroloop replay` with an airframe: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_logs import IRIS, made_log
from typer.testing import CliRunner, Result

from aeroloop.cli import app as cli
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.flown import dataflash_writer
from aeroloop.reflight.numbers import Plant


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["replay", *map(str, arguments)])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "flight.bin"
    dataflash_writer.write(made_log(Plant(1.65, *(IRIS.body.inertia_kgm2,), 0.0125, 0.025), seconds=14.0), path)
    return path


def test_a_log_fitted_gives_a_page_and_an_airframe_that_loads(log: Path) -> None:
    shown = run(log, "--vehicle", "iris", "--fit", "--unknown", "mass,inertia_x", "--from", 100.1, "--to", 113.9)
    assert shown.exit_code == 0, shown.output
    words = shown.output.replace("\n", " ")
    assert "judged" in words and "fitted" in words and "flight-replay.html" in words
    assert "fly it: aeroloop fly quad-hover --set vehicle.airframe=" in words
    assert airframes.load(str(log.with_name("flight-fitted.toml"))).body.mass_kg == pytest.approx(1.65, rel=0.02)
    assert "Numbers of the aircraft" in log.with_name("flight-replay.html").read_text(encoding="utf-8")


def test_numbers_alone_on_standard_output(log: Path, tmp_path: Path) -> None:
    shown = run(
        *(log, "--vehicle", "iris", "--replay", "pulses", "--restart", 0.5, "--json", "--out", tmp_path / "new"),
        *("--from", 100.1, "--to", 113.9),
    )
    told = json.loads(shown.stdout)
    assert told["replay"] == "pulses" and told["numbers"] == []
    assert [part["role"] for part in told["parts"]] == ["flown"]
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["flight-replay.html"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "to fly a log again expected --vehicle"),
        (("--fit",), "--fit: expected --vehicle too"),
        (("--replay", "route"), "--replay: expected --vehicle too"),
        (("--vehicle", "iris", "--unknown", "mass"), "--unknown: expected --fit too"),
        (("--vehicle", "iris", "--replay", "backwards"), "--replay backwards: expected one of"),
        (("--vehicle", "no-such"), "unknown airframe 'no-such'"),
        (("--vehicle", "missing.toml"), "missing.toml: there is no such file"),
        (("--vehicle", "hexarotor", "--replay", "pulses"), "has pulses of 4 motors; expected those of all 6"),
        (("--vehicle", "iris", "--from", "500"), "--from 500"),
    ],
)
def test_bad_usage_is_one_sentence(log: Path, arguments: tuple[str, ...], words: str) -> None:
    shown = run(log, *arguments)
    assert isinstance(shown.exception, AeroloopError)
    assert shown.exception.exit_code == ConfigError.exit_code == 2
    assert words in str(shown.exception) and "\n" not in str(shown.exception)


def test_no_log_and_an_empty_one(tmp_path: Path) -> None:
    empty = tmp_path / "empty.bin"
    empty.touch()
    for path, words in ((tmp_path / "none.bin", "no such log"), (empty, "the log is empty")):
        shown = run(path, "--vehicle", "iris")
        assert isinstance(shown.exception, ConfigError) and words in str(shown.exception)
