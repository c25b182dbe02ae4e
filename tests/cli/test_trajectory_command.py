"""`aeroloop trajectory` and `aeroloop.trajectory`: numbers, files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import aeroloop
from aeroloop.cli.app import app

POINTS = "x_m,y_m,z_m,speed_m_s\n0,0,2,2\n6,0,3,2\n6,6,4,2\n"


@pytest.fixture
def points(tmp_path: Path) -> Path:
    file = tmp_path / "points.csv"
    file.write_text(POINTS)
    return file


def test_it_writes_a_scenario_and_tells_its_numbers(points: Path, tmp_path: Path) -> None:
    out = tmp_path / "drawn.toml"
    told = CliRunner().invoke(app, ["trajectory", str(points), "--out", str(out), "--json"])
    assert told.exit_code == 0, told.output
    numbers = json.loads(told.stdout)
    assert numbers["points"] == 3 and numbers["files"] == [str(out), str(tmp_path / "drawn.csv")]
    flown = aeroloop.trajectory(points)
    assert numbers["duration_s"] == pytest.approx(flown.duration_s) and not flown.violations
    assert aeroloop.scenario(out)["ground.trajectory.kind"] == "route"


def test_what_is_beyond_a_limit_is_named_and_is_exit_code_1(points: Path) -> None:
    told = CliRunner().invoke(app, ["trajectory", str(points), "--as-given"])
    assert told.exit_code == 1
    assert "beyond" in told.output and "acceleration: 2." in told.output and "the limit is 1 m/s2" in told.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--limit", "foo=1"], "limits: foo: unknown key, expected one of: speed_m_s"),
        (["--limit", "accel_m_s2=fast"], "--limit accel_m_s2=fast: expected KEY=NUMBER"),
        (["--limit", "accel_m_s2=nan"], "accel_m_s2"),
        (["--heading", "north"], "--heading north: expected fixed or along"),
        (["--yaw", "nan"], "--yaw nan: expected -180 to 180"),
        (["--for", "rrr-circle"], "rrr takes no trajectory"),
        (["--for", "mixed-fleet"], "a fleet of several"),
        (["--for", "quad-mission", "--heading", "along"], "heading: expected fixed, not along"),
        (["--out", "there/is/no/folder.toml"], "the folder there/is/no does not exist"),
        (["--out", "route.plan"], "expected a file that ends in .csv, .motion.csv, .toml (tiltrotor)"),
    ],
)
def test_bad_usage_is_one_sentence(points: Path, arguments: list[str], words: str) -> None:
    with pytest.raises(aeroloop.ConfigError) as refused:
        CliRunner().invoke(app, ["trajectory", str(points), *arguments], catch_exceptions=False, standalone_mode=False)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_in_code_points_are_rows() -> None:
    drawn = aeroloop.trajectory([(0, 0, 5), (20, 0, 5, 3.0)], "quad-mission", limits={"accel_m_s2": 0.5})
    assert drawn.at(2.0).pos_W == pytest.approx((1.0, 0.0, 5.0))
    assert {each.name for each in drawn.quantities} >= {"speed", "acceleration", "height above ground"}
    for rows in ([(0, 0)], [(0, 0, 1, 2, 3)], ["abc"], [None]):
        with pytest.raises(aeroloop.ConfigError, match="point 1: expected x, y, z in m"):
            aeroloop.trajectory(rows)
    with pytest.raises(aeroloop.ConfigError, match="point 2: expected coordinates"):
        aeroloop.trajectory([(0, 0, 1), (float("nan"), 0, 1)])
