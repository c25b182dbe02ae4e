"""The example of an aircraft that is in no table: a rocket from a Python folder, by path and by entry point.

mil and sil give one log: the interpreted law and its C round alike, and every number crosses the link in single
precision. On pil the law itself is in single precision: 3 micrometres and 1e-6 of the throttle from mil, on this hop.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import summarise
from aeroloop.core import scenario_files, tables
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.process_table import launch_settings
from aeroloop.recording.log import Log, log_sha256

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "aircraft"
FILE = EXAMPLES / "rocket-hop.toml"
POSITION = ("x_m", "y_m", "z_m")
FLOWN = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
FULL_KG = 45.0
RUNGS_APART = {"x_m": 1e-4, "y_m": 1e-4, "z_m": 1e-4, "throttle": 1e-5, "gimbal_x_rad": 1e-5, "gimbal_y_rad": 1e-5}


def planned(*overrides: str) -> Scenario:
    return scenario_files.load(FILE, overrides)


@pytest.fixture(scope="module")
def hop() -> tuple[Scenario, Log, str]:
    plan = planned()
    flight = fly_inline(plan)
    return plan, flight.logs[0], flight.ended


def test_it_hops_to_the_other_pad_and_passes_its_checks(hop: tuple[Scenario, Log, str]) -> None:
    plan, log, ended = hop
    summary = summarise(plan, log, outcome=FLOWN)
    assert ended == "completed" and summary["ok"], summary["checks"]
    assert log.column("truth", "z_m").max() == pytest.approx(16.4, abs=0.5)
    assert (log.column("truth", "x_m")[-1], log.column("truth", "y_m")[-1]) == pytest.approx((10.0, 5.0), abs=0.2)


def test_its_report_has_a_section_of_its_own(hop: tuple[Scenario, Log, str]) -> None:
    plan, log, _ = hop
    html = render_report(plan, log, summarise(plan, log, outcome=FLOWN))
    assert 'id="hop"' in html and "speed at touchdown" in html


def test_its_page_shows_a_hull_with_a_nozzle_that_swivels(hop: tuple[Scenario, Log, str]) -> None:
    plan, _, _ = hop
    assert family_page.problem(plan) == ""
    page = family_page.of(plan)
    shape = page.shape(plan)
    assert [body.hinge.name for body in shape.bodies if body.hinge] == ["gimbal_x", "gimbal_y"]
    assert page.plan(plan, 0)[-1][:2] == (10.0, 5.0)


def test_propellant_is_burnt_as_the_thrust_asks(hop: tuple[Scenario, Log, str]) -> None:
    _, log, _ = hop
    t_s, thrust_N, mass_kg = (log.column("effort", name) for name in ("t_s", "thrust_N", "mass_kg"))
    assert FULL_KG - mass_kg[-1] == pytest.approx(float(np.sum(thrust_N[1:] * np.diff(t_s))) / 1950.0, rel=1e-6)


def test_what_it_is_told_has_the_errors_of_its_sensors(hop: tuple[Scenario, Log, str]) -> None:
    _, log, _ = hop
    truth = log.rows["truth"][np.searchsorted(log.column("truth", "t_s"), log.column("sensors", "t_s"))]
    off_m = log.rows["sensors"][:, 2:5] - truth[:, 2:5]
    assert off_m.std(axis=0) == pytest.approx((0.02,) * 3, rel=0.15)


def test_mil_and_sil_give_one_log_and_another_seed_another(hop: tuple[Scenario, Log, str]) -> None:
    mil = log_sha256(hop[1])
    assert log_sha256(fly_inline(planned('loop="sil"')).logs[0]) == mil
    assert log_sha256(fly_inline(planned("seed=2")).logs[0]) != mil


def test_pil_flies_as_mil_and_repeats_to_the_bit(hop: tuple[Scenario, Log, str]) -> None:
    mil, (pil, again) = hop[1], (fly_inline(planned('loop="pil"')).logs[0] for _ in range(2))
    assert log_sha256(pil) == log_sha256(again)
    for name, tolerance in RUNGS_APART.items():
        stream = "truth" if name in POSITION else "command"
        assert np.max(np.abs(pil.column(stream, name) - mil.column(stream, name))) < tolerance, name
    board = summarise(planned('loop="pil"'), pil, outcome=FLOWN)["board"]
    assert board["overruns"] == 0 and 0 < board["tasks"]["law"]["worst_s"] < 0.002
    assert 0 < board["stack_used_B"] < board["stack_size_B"]


def test_the_model_keeps_momentum_and_turns_as_its_gimbal_says(hop: tuple[Scenario, Log, str]) -> None:
    from rocket.airframe import flown
    from rocket.model import dynamics

    rocket: Any = flown(hop[0])  # type: ignore[arg-type]
    upright = [0.0] * 3 + [1.0] + [0.0] * 9 + [FULL_KG]
    dot = np.array(dynamics(rocket)(upright, [500.0, 0.1, 0.0, 0.0, 0.0, 0.0, 1.2])).ravel()
    force_N = 500.0 * np.array([0.0, np.sin(0.1), np.cos(0.1)])
    assert dot[7:10] == pytest.approx(force_N / FULL_KG - [0.0, 0.0, GRAVITY_M_S2])
    assert dot[10:13] == pytest.approx([500.0 * np.sin(0.1) / 23.0, 0.0, 0.0]), "about its own positive x"
    empty = np.array(dynamics(rocket)([*upright[:13], 30.0], [500.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])).ravel()
    assert empty[9] == pytest.approx(-GRAVITY_M_S2) and empty[13] == 0.0, "without propellant there is no thrust"


def test_a_touchdown_that_its_legs_do_not_bear_ends_the_flight() -> None:
    flight = fly_inline(planned("hop.height_m=60.0", "hop.climb_m_s=15", "hop.descent_m_s=20", "hop.goal_m=[0.0, 0.0]"))
    assert flight.ended == "crashed"
    assert summarise(planned(), flight.logs[0], outcome=FLOWN)["metrics"]["landed"] == 0.0


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the folder were a package installed by pip, which registers its row."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(EXAMPLES)])
    point = EntryPoint("rocket", "rocket.family:ROW", tables.ENTRY_POINTS)
    monkeypatch.setattr(tables, "entry_points", lambda group: [point] if group == tables.ENTRY_POINTS else [])
    yield
    tables.family.cache_clear()


def test_by_its_entry_point_it_flies_as_by_its_path(installed: None, hop: tuple[Scenario, Log, str]) -> None:
    shorter = "duration_s=4", "checks=[]"
    by_name, by_path = (fly_inline(planned(*shorter, *kind)).logs[0] for kind in (("vehicle.kind=rocket",), ()))
    assert by_name.column("truth", "z_m")[-1] > 10.0
    assert log_sha256(by_name) == log_sha256(by_path)


def test_a_motor_that_does_not_lift_it_is_refused_before_take_off(tmp_path: Path) -> None:
    text = (EXAMPLES / "rocket" / "hopper.toml").read_text()
    weak = tmp_path / "weak.toml"
    weak.write_text(text.replace("thrust_max_N = 800.0", "thrust_max_N = 400.0"))
    with pytest.raises(
        ConfigError, match=r"weak\.toml: motor\.thrust_max_N: 400 does not lift it, expected more than 441"
    ):
        launch_settings(planned(f'vehicle.airframe="{weak}"'), tmp_path)


def test_a_parameter_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"vehicle\.airframe: .*none\.toml: there is no such file"):
        launch_settings(planned('vehicle.airframe="none.toml"'), tmp_path)


@pytest.mark.parametrize("kind", ["px4", "pixhawk"])
def test_an_autopilot_of_multirotors_is_refused(kind: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"controller\.kind: no '{kind}' flies rocket; expected one of: law \(law: mil"
    ):
        planned(f'controller.kind="{kind}"')


def test_its_law_is_a_function_that_becomes_c(hop: tuple[Scenario, Log, str]) -> None:
    law = tables.offered(hop[0].kind, "law", hop[0])
    assert isinstance(law.function, ca.Function) and law.function.is_a("SXFunction")
    assert (law.measured, law.commands) == (13, 3)


def test_a_gimbal_that_sticks_is_a_fault_as_on_every_aircraft() -> None:
    stuck = 'faults=[{target="servo", kind="stuck", channel="gimbal_x", from_s=6.0}]'
    flight = fly_inline(planned(stuck))
    log = flight.logs[0]
    assert flight.ended == "crashed"
    assert log.column("fault", "t_s") == pytest.approx([6.0], abs=0.02)
    gimbal_rad = log.column("effort", "gimbal_x_rad")[log.column("effort", "t_s") > 6.3]
    assert np.ptp(gimbal_rad) < 1e-4
    with pytest.raises(ConfigError, match=r"servo has no 'gimbal_z'; expected one of: gimbal_x, gimbal_y"):
        planned(stuck.replace("gimbal_x", "gimbal_z"))


def test_beside_an_octorotor_it_flies_as_it_flies_alone() -> None:
    shorter = "duration_s=3", "checks=[]"
    rocket, octo = planned(*shorter), scenario_files.load(EXAMPLES / "octo-hover.toml", shorter)
    together = fly_inline(rocket, octo).logs
    alone = [fly_inline(plan).logs[0] for plan in (rocket, octo)]
    assert [log_sha256(log) for log in together] == [log_sha256(log) for log in alone]
