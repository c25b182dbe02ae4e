"""The 3-RRR robot on the bench: its law on a board on three rungs, its report and page, and what ends or refuses a run.

mil and sil give one log. The wire is in single precision, which adds 0.005 % of chatter to the ideal loop's; on pil the
law is in single precision too.
"""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest

from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import summarise
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page
from aeroloop.families.rrr import page, shape
from aeroloop.families.rrr.build import State, lost
from aeroloop.families.rrr.kinematics import Kinematics
from aeroloop.families.rrr.robot import LEG_ANGLES_RAD, Robot
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.process_table import launch_settings
from aeroloop.recording.log import Log, log_sha256
from helpers.rrr_loop import fly

COMPLETED = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
DIVERGED = {**COMPLETED, "ended": "diverged"}
SCENARIOS = ("rrr-circle", "rrr-square", "rrr-payload", "rrr-weak", "rrr-all")
LOADED = ("disturbance.kind=load", "duration_s=2.4", "checks=[]")
TORQUES = tuple(f"torque_{i}_Nm" for i in (1, 2, 3))


def planned(*overrides: str, name: str = "rrr-circle") -> Scenario:
    return scenario_files.load(scenario_files.find(name), overrides)


@pytest.fixture(scope="module")
def loaded() -> Log:
    return fly_inline(planned(*LOADED)).logs[0]


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_scenario_passes_its_checks(name: str) -> None:
    plan = planned("duration_s=3", name=name)
    flight = fly_inline(plan)
    summary = summarise(plan, flight.logs[0], outcome=COMPLETED)
    assert flight.ended == "completed" and summary["ok"], summary["checks"]


def test_the_bench_has_the_numbers_of_the_ideal_loop(loaded: Log) -> None:
    found = summarise(planned(*LOADED), loaded, outcome=COMPLETED)["metrics"]
    for name, expected in fly("smc-sync-pidnn", "load", duration_s=2.4).items():
        if name != "torque_chatter_pct":
            assert found[name] == pytest.approx(expected, rel=0.01), name


def test_mil_and_sil_give_one_log(loaded: Log) -> None:
    assert log_sha256(fly_inline(planned(*LOADED, 'loop="sil"')).logs[0]) == log_sha256(loaded)


def test_pil_moves_as_mil_and_repeats_to_the_bit() -> None:
    short = ("disturbance.kind=load", "disturbance.start_s=0.2", "duration_s=0.5", "checks=[]")
    mil = fly_inline(planned(*short)).logs[0]
    pil, again = (fly_inline(planned(*short, 'loop="pil"')).logs[0] for _ in range(2))
    assert log_sha256(pil) == log_sha256(again)
    for name in TORQUES:
        assert np.max(np.abs(pil.column("command", name) - mil.column("command", name))) < 1e-2
    assert np.max(np.abs(pil.column("truth", "x_m") - mil.column("truth", "x_m"))) < 1e-6
    assert not len(pil.rows["event"])


def test_the_weight_of_the_hit_joint_rises_after_a_load_step(loaded: Log) -> None:
    t_s, weights = loaded.column("joint_law", "t_s"), loaded.column("joint_law", "w_p_1")
    assert weights[t_s < 2.0][-1] < 0.8
    assert weights[(t_s >= 2.0) & (t_s < 2.03)].max() > 0.95


def test_its_report_tells_the_law_and_what_keeping_together_means(loaded: Log) -> None:
    plan = planned(*LOADED)
    html = render_report(plan, loaded, summarise(plan, loaded, outcome=COMPLETED))
    assert 'id="joints"' in html and "Law: smc-sync-pidnn. Disturbance: load." in html
    assert "differences between them move it sideways" in html and "Synchronisation errors" in html


@pytest.mark.parametrize("rung", ["mil", "pil"])
def test_a_plant_that_leaves_its_workspace_ends_the_run_with_time_and_pose(rung: str) -> None:
    weak = ("robot.torque_max_Nm=0.4", "reference.period_s=0.8", "disturbance.kind=load", "disturbance.start_s=0.5")
    plan = planned(*weak, "checks=[]", f'loop="{rung}"')
    flight = fly_inline(plan)
    log = flight.logs[0]
    assert flight.ended == "diverged"
    summary = summarise(plan, log, outcome=DIVERGED)
    assert not summary["ok"] and [check["name"] for check in summary["checks"] if not check["ok"]] == [
        "flown_s",
        "diverged",
    ]
    words = summary["left_workspace"]
    assert words.startswith(f"The platform left its workspace at {log.column('truth', 't_s')[-1]:.3f} s: (")
    assert "near a singularity of type" in words
    assert words in render_report(plan, log, summary)
    assert all(np.isfinite(rows).all() for rows in log.rows.values())


def test_a_singularity_of_either_type_ends_a_run() -> None:
    kinematics = Kinematics(Robot())
    for pose, ends in (((0.0, 0.0, 0.0), False), ((0.0, 0.0, -0.6), True), ((0.147, 0.0849, 0.0), True)):
        reached = kinematics.at(pose)
        assert lost(State(0.0, pose, (0.0,) * 3, reached.q, reached, broken=False)) == ends
    assert "type 2" in kinematics.at((0.0, 0.0, -0.6)).problem


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            "reference.size_m=0.25",
            r"reference: at 0\.00 s the pose \(250 mm, 0 mm, 0\.0 deg\) is outside the workspace",
        ),
        ("reference.angle_rad=0.7", r"near a singularity of type 2"),
        ("synchronisation.law=none", r"synchronisation\.law: a robot's joints need feedback"),
        ("synchronisation.ti=0.03", r"spectral radius .* inertia 0\.076 kg m2, effectiveness 0\.5"),
        ("synchronisation.eta=40000", r"synchronisation\.eta: learning is stable below 33333"),
        ("world.step_s=0.0007", r"world\.step_s: expected a step that divides"),
    ],
)
def test_what_cannot_be_run_is_refused_before_it_starts(setting: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        launch_settings(planned(setting), tmp_path)


def test_a_weak_motor_is_a_fault_that_can_be_switched() -> None:
    fault = 'faults=[{target="rotor", kind="dead", channel="motor2", from_s=0.3}]'
    log = fly_inline(planned(fault, "duration_s=0.5", "checks=[]")).logs[0]
    late = log.column("effort", "t_s") > 0.35
    assert np.abs(log.column("effort", "torque_2_Nm")[late]).max() < 1e-9
    with pytest.raises(ConfigError, match=r"rotor has no 'motor4'; expected one of: motor1, motor2, motor3"):
        launch = planned(fault.replace("motor2", "motor4"))
        fly_inline(launch)


class Latest:
    """The last row of each stream."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def latest(self, stream: str, vehicle: int) -> dict[str, float]:
        return dict(zip(self._log.columns[stream], self._log.rows[stream][-1].tolist(), strict=True))


def test_the_legs_that_are_drawn_end_at_the_motors(loaded: Log) -> None:
    plan = planned()
    assert family_page.problem(plan) == ""
    model = mujoco.MjModel.from_xml_string(shape.model_xml(Robot()))
    data = mujoco.MjData(model)
    data.qpos[:] = page.hinges(Latest(loaded), 0)  # type: ignore[arg-type]
    mujoco.mj_forward(model, data)
    x, y, angle = (loaded.column("truth", name)[-1] for name in ("x_m", "y_m", "angle_rad"))
    for i, leg in enumerate(LEG_ANGLES_RAD, 1):
        end = data.body(f"proximal{i}").xpos + data.body(f"proximal{i}").xmat.reshape(3, 3) @ [
            -Robot().proximal_m,
            0,
            0,
        ]
        turned = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]) @ end[:2]
        base = Robot().base_m * np.array([math.cos(leg), math.sin(leg)])
        assert np.add(turned, (x, y)) == pytest.approx(base, abs=1e-6)
    shown = family_page.of(plan)
    assert not shown.attitude and shown.trail_m < 0.005
    path = shown.plan(plan, 0)
    assert {round(math.hypot(x, y), 6) for x, y, _ in path} == {0.05}
