"""A law of a file in place of a family's own, on the board that receives values: any family of that board takes one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.analysis.summary import summarise
from aeroloop.api.flying import choose
from aeroloop.api.scenarios import named
from aeroloop.cli.board_commands import firmware
from aeroloop.control.flown_law import design_of, flown_law
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import made
from aeroloop.flight import results
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, log_sha256

ROOT = Path(__file__).resolve().parents[2]
HELI_LAW = ROOT / "examples" / "laws" / "heli_lqr.py"
SLED = str(ROOT / "examples" / "aircraft" / "sled.toml")
COMPLETED = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
POSITION = ("x_m", "y_m", "z_m")
HEAD = "import casadi as ca\nfrom aeroloop.control import values_toolkit as tk\n\n\ndef law(design):\n"
PUSH = "    measured, memory = tk.inputs(design)\n    return tk.function(measured, memory, {command})\n"
ROBOT = """    measured, memory = tk.inputs(design, memory=3)
    joints = design.aircraft
    angles = measured[:3]
    rate = (angles - memory) / design.period_s
    error, rate_error = measured[3:6] - angles, measured[6:9] - rate
    torque = joints.inertia * (measured[9:12] + 400 * error + 30 * rate_error)
    return tk.function(measured, memory, tk.clip(torque, joints.low, joints.high), angles)
"""


def opened(name: str, law: Path, *more: str) -> Scenario:
    return scenario_files.load(scenario_files.find(name), (f'law_file="{law}"', *more))


def written(folder: Path, body: str) -> Path:
    path = folder / "mine.py"
    path.write_text(HEAD + body)
    return path


@cache
def hovered(rung: str) -> tuple[Log, dict[str, Any]]:
    """A second of the helicopter's way back to its place, by the law of the examples."""
    plan = opened("heli-hover", HELI_LAW, "duration_s=1", "checks=[]", f'loop="{rung}"')
    flight = fly_inline(plan)
    return flight.logs[0], summarise(plan, flight.logs[0], outcome={**COMPLETED, "ended": flight.ended})


def told(plan: Scenario, log: Log, summary: dict[str, Any]) -> str:
    """The family's sections of the report, without drawing them."""
    return repr(made(plan.family.sections, plan, log, summary))


def path_of(log: Log) -> Any:
    return np.column_stack([log.column("truth", axis) for axis in POSITION])


@pytest.mark.parametrize("rung", ["mil", "sil", "pil"])
def test_the_example_flies_the_helicopter_on_every_rung(rung: str) -> None:
    log, summary = hovered(rung)
    assert summary["ended"] == "completed" and summary["ok"], summary["checks"]
    left_m = np.linalg.norm(path_of(log) - np.array([0.0, 0.0, 15.0]), axis=1)
    assert left_m[-1] < left_m[0] - 0.1, "it is on its way back"


def test_mil_and_sil_are_one_flight_and_pil_is_as_near_as_single_precision() -> None:
    (mil, _), (sil, _), (pil, _) = (hovered(rung) for rung in ("mil", "sil", "pil"))
    assert log_sha256(mil) == log_sha256(sil)
    assert 0.0 < np.abs(path_of(pil) - path_of(mil)).max() < 1e-6


def test_the_report_predicts_the_margin_of_this_law() -> None:
    plan = opened("heli-hover", HELI_LAW, "duration_s=1", "checks=[]", 'loop="mil"')
    log, summary = hovered("mil")
    assert "predicts a margin of 55.0 ms" in told(plan, log, summary)


@pytest.mark.soak
@pytest.mark.parametrize("rung", ["mil", "sil", "pil"])
def test_the_example_passes_the_checks_of_the_whole_hover(rung: str) -> None:
    plan = opened("heli-hover", HELI_LAW, f'loop="{rung}"')
    flight = fly_inline(plan)
    assert summarise(plan, flight.logs[0], outcome={**COMPLETED, "ended": flight.ended})["ok"]


def test_a_law_that_is_not_differentiable_in_hover_has_a_report_without_a_margin(tmp_path: Path) -> None:
    hold = "ca.DM(design.aircraft.command_eq) + 1e-3 * ca.sqrt(ca.fabs(measured[0]))"
    plan = opened("heli-hover", written(tmp_path, PUSH.format(command=hold)), "duration_s=0.1", "checks=[]")
    made("aeroloop.families.helicopter.design:check", plan)
    log = fly_inline(plan).logs[0]
    assert "not differentiable in hover" in told(plan, log, summarise(plan, log, outcome=COMPLETED))


def test_a_robot_takes_one_too_and_reports_no_networks(tmp_path: Path) -> None:
    plan = opened("rrr-circle", written(tmp_path, ROBOT), "duration_s=0.3", "checks=[]")
    made("aeroloop.families.rrr.law:check", plan)
    log = fly_inline(plan).logs[0]
    assert len(log.rows["command"]) > 200 and not len(log.rows["joint_law"])
    assert np.abs(log.column("joints", "error_1_rad")).max() < 0.02
    assert told(plan, log, summarise(plan, log, outcome=COMPLETED))


@pytest.mark.parametrize("rung", ["mil", "sil"])
def test_a_family_of_a_folder_takes_one_without_a_line_of_its_own(tmp_path: Path, rung: str) -> None:
    """A law without memory, which commands one push."""
    plan = opened(SLED, written(tmp_path, PUSH.format(command="ca.SX(1.5)")), "duration_s=0.5", f'loop="{rung}"')
    log = fly_inline(plan).logs[0]
    assert set(log.column("command", "push_N")) == {1.5}


def test_the_author_is_given_names_and_the_built_in_law() -> None:
    plan = scenario_files.load(scenario_files.find(SLED))
    own = flown_law(plan)
    design = design_of(plan, own)
    assert (design.values, design.commands, design.aircraft) == ({"x_m": 0, "vx_m_s": 1}, {"push_N": 0}, None)
    push, _ = design.built_in([1.0, 0.5], [0.0])
    expected, _ = own.function([1.0, 0.5], [0.0])
    assert float(push) == float(expected)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (PUSH.format(command="measured"), r"command is 2x1; expected a law with inputs \(2\), \(n\) and outputs \(1\)"),
        (PUSH.format(command="ca.SX(design.picked(measured, 'x'))"), "line 7: .*no value 'x'.* one of: x_m, vx_m_s"),
        (PUSH.format(command="ca.SX(1 / 0)"), "line 7: ZeroDivisionError"),
        ("    return 3\n", r"law\(design\) must return a casadi.Function, not int"),
    ],
)
def test_a_wrong_law_is_refused_in_one_sentence(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"mine.py.*{words}"):
        flown_law(opened(SLED, written(tmp_path, body)))


def test_a_law_beyond_single_precision_is_refused_with_its_file(tmp_path: Path) -> None:
    law = written(tmp_path, PUSH.format(command="1e-50 * measured[0]"))
    with pytest.raises(ConfigError, match=r"mine\.py: .*single precision"):
        firmware(SLED, law, None)


def test_a_command_that_is_not_finite_is_held_and_reported(tmp_path: Path) -> None:
    """Although the law limits it, which hides NaN."""
    law = written(tmp_path, PUSH.format(command="tk.clip(ca.sqrt(-1 - measured[0] ** 2), -1, 1)"))
    log = fly_inline(opened(SLED, law, "duration_s=0.2")).logs[0]
    assert len(log.rows["board_event"]) > 3
    assert set(log.column("command", "push_N")) == {0.0}


def test_the_option_sets_the_key_of_the_controller_and_the_run_keeps_the_file(tmp_path: Path) -> None:
    law = written(tmp_path, PUSH.format(command="ca.SX(1.5)"))
    chosen = choose(named(SLED), law=law)
    assert chosen["law_file"] == str(law)
    results.make_folder(tmp_path / "run", chosen.plan)
    again = scenario_files.load(tmp_path / "run" / "scenario.toml")
    assert again.files()["law_file"] == str(tmp_path / "run" / "law.py")
    assert (tmp_path / "run" / "law.py").read_text() == law.read_text()
