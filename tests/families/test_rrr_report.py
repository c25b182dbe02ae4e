"""Faults of the robot act as its scenario's disturbances do, and its report draws them from the log."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

from aeroloop.analysis.fault_spans import fault_spans, merged
from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import summarise
from aeroloop.core import scenario_files
from aeroloop.core.faults import KINDS, TARGETS
from aeroloop.families.rrr import mechanism
from aeroloop.families.rrr.kinematics import Kinematics
from aeroloop.families.rrr.pictures import signals
from aeroloop.families.rrr.robot import Robot
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log

COMPLETED = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
ALL = ("duration_s=0.5", "disturbance.start_s=0.2", "checks=[]")
DIAGRAMS = ("scheme", "network")
CURVES = ("path", "disturbance", "sync-errors", "tracking-errors", "control", "surface", "weights")


def planned(name: str, *settings: str) -> Any:
    return scenario_files.load(scenario_files.find(name), settings)


def moved(*settings: str) -> Log:
    return fly_inline(planned("rrr-circle", "duration_s=0.4", "checks=[]", *settings)).logs[0]


PHASE = math.tau * 3.0 * 0.2 % math.tau
FAULTS = {
    "load": '{target="joint",kind="load",channel="joint1",value=-0.6,from_s=0.2},'
    f'{{target="joint",kind="load_sine",channel="joint2",value=[0.4,3.0,{PHASE}],from_s=0.2}}',
    "payload": '{target="platform",kind="payload",value=1.0,from_s=0.2}',
    "friction": '{target="joint",kind="friction",value=0.25,from_s=0.2}',
    "weak": '{target="rotor",kind="weak",channel="motor1",value=0.5,from_s=0.2}',
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_moves_the_robot_as_the_scenarios_disturbance_does(kind: str) -> None:
    names = [f"q_{i}_rad" for i in (1, 2, 3)]
    undisturbed, fault = moved(), moved(f"faults=[{FAULTS[kind]}]")
    table = moved(f"disturbance.kind={kind}", "disturbance.start_s=0.2")
    effect, off = (
        max(float(np.max(np.abs(fault.column("joints", name) - log.column("joints", name)))) for name in names)
        for log in (undisturbed, table)
    )
    # A weak motor's fault changes its command, the disturbance its torque, which lags 2 ms behind.
    assert off < (0.2 if kind == "weak" else 1e-3) * effect


def test_a_fault_that_ends_leaves_no_trace() -> None:
    on = ",".join(fault.replace("}", ",to_s=0.25}") for fault in FAULTS.values())
    log, plain = moved(f"faults=[{on}]", "duration_s=0.9"), moved("duration_s=0.9")
    late = log.column("joints", "t_s") > 0.85
    for i in (1, 2, 3):
        now, usual = (each.column("effort", f"torque_{i}_Nm")[late] for each in (log, plain))
        assert now == pytest.approx(usual, abs=0.02)


def test_encoders_get_noise_and_bias_and_freeze() -> None:
    rows = (
        '{target="encoder",kind="bias",value=1e-3,from_s=0.1,to_s=0.2}',
        '{target="encoder",kind="noise",value=1e-4,from_s=0.2,to_s=0.3}',
        '{target="encoder",kind="frozen",from_s=0.3,to_s=0.31}',
    )
    log = moved(f"faults=[{','.join(rows)}]")
    t_s, measured = log.column("sensors", "t_s"), log.column("sensors", "measured_2_rad")
    error = measured - np.interp(t_s, log.column("joints", "t_s"), log.column("joints", "q_2_rad"))
    assert np.abs(error[t_s < 0.1]).max() < 1e-6
    assert error[(t_s > 0.1) & (t_s < 0.2)] == pytest.approx(1e-3, abs=1e-6)
    assert error[(t_s > 0.2) & (t_s < 0.3)].std() == pytest.approx(1e-4, rel=0.3)
    assert np.ptp(measured[(t_s > 0.3005) & (t_s < 0.3095)]) == 0.0 < np.ptp(measured[t_s > 0.32])


@pytest.fixture(scope="module")
def everything() -> tuple[Any, Log]:
    """All disturbances of the scenario, and two faults."""
    faults = '{target="joint",kind="load_sine",channel="joint3",value=[1.0,10.0,0.0],from_s=0.1,to_s=0.15}'
    plan = planned("rrr-all", *ALL, f'faults=[{faults},{{target="rotor",kind="dead",channel="motor2",from_s=0.48}}]')
    return plan, fly_inline(plan).logs[0]


def figures(html: str) -> dict[str, str]:
    return dict(re.findall(r'<figure id="([\w-]+)">(.*?)</figure>', html, re.S))


def points(figure: str) -> int:
    """Of the longest curve that the page's script reads."""
    drawn = re.findall(r'data-al="line-\d+">\s*<path d="([^"]*)"', figure)
    return max((path.count("L") for path in drawn), default=0)


def test_its_report_has_the_figures_of_the_thesis(everything: tuple[Any, Log]) -> None:
    plan, log = everything
    found = figures(render_report(plan, log, summarise(plan, log, outcome=COMPLETED)))
    assert {*DIAGRAMS, *CURVES, "mechanism"} <= found.keys()
    for name in CURVES:
        assert points(found[name]) > 20 and "NaN" not in found[name], name
        assert len(re.findall(r"<figcaption>[^<]{20,}</figcaption>", found[name])) == 1, name
    for name in DIAGRAMS:
        assert json.loads(unescape(re.search(r'data-axes="([^"]*)"', found[name])[1])) == [], "nothing to zoom"  # type: ignore[index]
    assert "PIDNNC" in found["scheme"] and "sliding mode" in found["scheme"] and "Gₛ = 60" in found["network"]
    assert "encoder" in found["disturbance"] and "payload (kg)" in found["disturbance"]
    for name in ("sync-errors", "tracking-errors", "weights"):
        assert ">disturbed<" in found[name], name
    assert "0.2 s about the first disturbance" in found["control"]
    assert "+Φ" in found["surface"] and "−Φ" in found["surface"] and "Φ = 4" in found["surface"]


def test_the_disturbance_is_drawn_as_it_acted(everything: tuple[Any, Log]) -> None:
    plan, log = everything
    drawn = signals(log, plan)

    def at(label: str, axis: int, t_s: float) -> float:
        line = drawn.disturbance[label][axis - 1]
        return float(line.values[np.searchsorted(line.t_s, t_s - 1e-6)])

    assert at("load (N m)", 1, 0.19) == 0.0 and at("load (N m)", 1, 0.3) == -0.6
    assert at("load (N m)", 2, 0.25) == pytest.approx(0.4 * math.sin(math.tau * 3.0 * 0.25))
    assert at("load (N m)", 3, 0.125) == pytest.approx(1.0) and at("load (N m)", 3, 0.2) == 0.0
    assert (at("torque given (%)", 1, 0.3), at("torque given (%)", 2, 0.3), at("torque given (%)", 2, 0.49)) == (
        50,
        100,
        0,
    )
    assert at("payload (kg)", 1, 0.3) == 1.0 and at("more dry\nfriction (N m)", 1, 0.3) == 0.25
    assert np.std(drawn.disturbance["encoder\nerror (mrad)"][0].values) == pytest.approx(0.1, rel=0.2)
    assert drawn.spans == [pytest.approx((0.1, 0.15)), pytest.approx((0.2, 0.5))]


def test_a_law_without_networks_and_disturbance_says_so() -> None:
    plan = planned("rrr-circle", "duration_s=0.3", "checks=[]", "synchronisation.law=pid")
    log = fly_inline(plan).logs[0]
    found = figures(render_report(plan, log, summarise(plan, log, outcome=COMPLETED)))
    assert not {"network", "weights", "disturbance"} & found.keys()
    assert "This law has no coupling and no networks (grey)." in found["scheme"]
    assert "Nothing disturbed this run." in found["sync-errors"] and ">disturbed<" not in found["sync-errors"]
    assert "Φ" not in found["surface"] and "middle of the run" in found["control"]


def test_the_circles_of_the_mechanism_are_where_a_leg_is_stretched_or_folded() -> None:
    kinematics, robot = Kinematics(Robot()), Robot()
    for angle_rad in (0.0, 0.2):
        circles = mechanism._circles(robot, angle_rad)
        assert len(circles) == 6
        for circle in circles[::2]:  # stretched
            inside = 0.9999 * circle[:, np.isfinite(circle).all(axis=0)].T
            assert len(inside) > 50
            for x, y in inside[5:-5:20]:
                assert min(kinematics.at((x, y, angle_rad)).legs) < 0.06
    path = mechanism.path(planned("rrr-square"))
    assert np.abs(path[:, :2]).max() == pytest.approx(0.04) and not path[:, 2].any()


def test_spans_of_faults_end_with_a_new_value_and_at_the_end() -> None:
    joint, load, weak = float(TARGETS.index("joint")), float(KINDS.index("load")), float(KINDS.index("weak"))
    rows = np.array(
        [
            (1.0, 0.0, joint, load, 1.0, 0.0, 0.5, 0.0, 0.0),
            (2.0, 0.0, joint, load, 1.0, 0.0, 0.7, 0.0, 0.0),
            (2.5, 0.0, joint, weak, 1.0, 1.0, 0.5, 0.0, 0.0),
            (3.0, 0.0, joint, load, 0.0, 0.0, 0.0, 0.0, 0.0),
        ]
    )
    found = fault_spans(rows, 5.0)
    assert [(span.kind, span.channel, span.values[0], *span.span) for span in found] == [
        ("load", 0, 0.5, 1.0, 2.0),
        ("load", 0, 0.7, 2.0, 3.0),
        ("weak", 1, 0.5, 2.5, 5.0),
    ]
    assert merged(span.span for span in found) == [(1.0, 5.0)]
    assert merged([(3.0, 4.0), (1.0, 2.0)]) == [(1.0, 2.0), (3.0, 4.0)]
