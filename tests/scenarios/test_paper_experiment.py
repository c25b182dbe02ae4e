"""The Pixhawk paper's experiment: its route and airframe, and, behind `make soak`, its flights and correlations."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import pytest

from aeroloop.core.scenario import value_at
from aeroloop.core.scenario_files import find, load
from aeroloop.flown import paper_table
from aeroloop.flown.read import read
from aeroloop.ground import waypoints

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["quad-paper", "quad-paper-flown"])
def test_seven_waypoints_of_which_two_and_six_are_one_place(name: str) -> None:
    scenario = load(find(name))
    assert value_at(scenario, "vehicle.airframe") == "rfly"
    _, *points = waypoints.read(
        Path(value_at(scenario, "ground.trajectory").file)
    )  # the first is before take-off's end
    route = [point.pos_W for point in points[:7]]
    assert route[0] == route[6] == (0.0, 0.0, 20.0), "from H and back to it"
    assert route[1] == route[5]
    assert len({*route}) == 5
    assert {z for _, _, z in route} == {20.0}


def test_the_reference_says_that_it_is_none() -> None:
    assert load(find("quad-paper-flown")).summary.startswith("In place of a flown log")


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    spec = importlib.util.spec_from_file_location("paper_experiment", ROOT / "examples" / "paper_experiment.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.soak
def test_the_order_of_the_correlations_is_the_published_one(
    experiment: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment.main(tmp_path)
    said = capsys.readouterr().out
    assert "The order of the groups is the published one." in said
    assert "not a flown log" in said
    reference = read(tmp_path / "flown")
    exact, printed = (
        {row.name: row.r for row in paper_table.rows(experiment.compared(reference, experiment.soft_sensors(folder)))}
        for folder in (tmp_path / "simulated", tmp_path / "printed")
    )
    assert len(exact) == 16
    assert all(r is not None and r > 0.5 for r in exact.values())
    assert printed["accel_z"] < 0.0, "tilt alone is wrong in flight"
    assert math.isclose(printed["lat"], exact["lat"], abs_tol=0.01)
    assert (tmp_path / "comparison.html").is_file()
