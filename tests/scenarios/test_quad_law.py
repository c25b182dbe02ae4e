"""A quadrotor's own estimator and law on our board: mil, sil and pil agree, pil repeats, a slow board says so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from aeroloop.analysis.common_sections import verdict_section
from aeroloop.analysis.section import Figures
from aeroloop.analysis.summary import summarise
from aeroloop.controllers.law import guided_report
from aeroloop.controllers.law.guided import built_in
from aeroloop.controllers.law.guided_design import Design, own_law
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event, ResetCause
from aeroloop.core.tables import offered
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.process_table import processes
from aeroloop.recording.log import Log

FLOWN = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
LAW = Path(__file__).resolve().parents[2] / "examples" / "laws" / "quad_lqr.py"
SHORT = (
    "duration_s=7.0",
    "ground.takeoff_s=1.5",
    "ground.climb_m_s=3.0",
    "ground.land_s=0.0",
    'ground.trajectory={kind="circle",center_W=[0.0,0.0,2.0],radius_m=1.0,period_s=6.0}',
    "world.wind.steady_W=[2.0,1.0,0.0]",
)
"""Up, and into a circle; one law for all of these flights, so one image."""
POS_TOLERANCE_M, TURN_TOLERANCE_RAD, ESTIMATE_TOLERANCE_M = 5e-4, 1e-4, 5e-4
"""From mil: what single precision, and noise that then meets other roundings, may cost in seven seconds."""


SHIPPED_TOLERANCES = {"quad-law-hover": (2e-3, 0.1), "quad-law-path": (0.06, 4.0)}
"""m and degrees from mil on pil, in whole flights: with wind, feet that leave the ground drag and magnify roundings."""


def scenario(loop: str, *overrides: str) -> Scenario:
    return load(find("quad-law-hover"), (f'loop="{loop}"', *SHORT, *overrides))


def flown(loop: str, *overrides: str) -> Log:
    return fly_inline(scenario(loop, *overrides)).logs[0]


@pytest.fixture(scope="module")
def mil() -> Log:
    return flown("mil")


@pytest.fixture(scope="module")
def pil() -> Log:
    return flown("pil")


def positions(log: Log, stream: str) -> np.ndarray:
    return log.rows[stream][:, 2:5]


def test_it_flies_by_its_estimate_alone(mil: Log) -> None:
    t_s = mil.column("estimate", "t_s")
    truth = np.stack([np.interp(t_s, mil.column("truth", "t_s"), p) for p in positions(mil, "truth").T], axis=1)
    aloft = truth[:, 2] > 0.5
    assert aloft.sum() > 150
    off_m = np.linalg.norm(truth - positions(mil, "estimate"), axis=1)[aloft]
    missed_m = np.linalg.norm(truth - positions(mil, "setpoint"), axis=1)[aloft]
    assert 0.01 < np.sqrt(np.mean(off_m**2)) < 0.6, "noisy sensors: neither lost nor exact"
    assert np.sqrt(np.mean(missed_m**2)) < 0.8
    assert np.ptp(truth[:, 0]) > 1.0, "it went round"


def test_compiled_it_flies_as_it_does_interpreted(mil: Log) -> None:
    sil = flown("sil")
    np.testing.assert_allclose(positions(sil, "truth"), positions(mil, "truth"), rtol=0, atol=1e-6)


def test_the_board_flies_as_the_host_does(mil: Log, pil: Log) -> None:
    np.testing.assert_allclose(positions(pil, "truth"), positions(mil, "truth"), rtol=0, atol=POS_TOLERANCE_M)
    np.testing.assert_allclose(
        pil.rows["truth"][:, 8:12], mil.rows["truth"][:, 8:12], rtol=0, atol=TURN_TOLERANCE_RAD / 2
    )
    np.testing.assert_allclose(
        positions(pil, "estimate"), positions(mil, "estimate"), rtol=0, atol=ESTIMATE_TOLERANCE_M
    )
    assert len(pil.rows["cpu"]) >= 5
    assert pil.column("cpu", "overruns")[-1] == 0
    assert 0.1e-3 < pil.column("cpu", "worst_cycle_s")[-1] < 4e-3
    assert 500 < pil.column("cpu", "stack_used_B")[-1] < 8000
    assert set(pil.column("task", "task")) == {0, 1, 2}


def test_a_shipped_flight_passes_its_checks() -> None:
    plan = load(find("quad-law-path"))
    summary = summarise(plan, fly_inline(plan).logs[0], outcome=FLOWN)
    assert summary["ok"], summary["checks"]


def test_it_flies_from_a_home_at_20_km(tmp_path: Path) -> None:
    """With rotors for the air there, a fourteenth of that on the ground."""
    airframe = tmp_path / "thin-air.toml"
    airframe.write_text('base = "iris"\n[rotors]\ndensity_kg_m3 = 0.088\n')
    log = flown("mil", "world.home.alt_m=20000.0", f'vehicle.airframe="{airframe}"')
    assert 1.5 < log.column("truth", "z_m").max() < 3.0
    assert np.ptp(log.column("truth", "x_m")) > 1.0, "it went round"
    assert log.column("air", "density_kg_m3")[-1] == pytest.approx(0.08890, rel=1e-3)  # at 19,937 m of geopotential


@pytest.mark.soak  # short: above on mil, and the shorter flights on every rung
@pytest.mark.parametrize("name", ["quad-law-hover", "quad-law-path"])
def test_shipped_flights_pass_their_checks_on_every_rung_and_agree(name: str) -> None:
    logs = {}
    for loop in ("mil", "sil", "pil"):
        plan = load(find(name), (f'loop="{loop}"',))
        logs[loop] = fly_inline(plan).logs[0]
        summary = summarise(plan, logs[loop], outcome=FLOWN)
        assert summary["ok"], (loop, summary["checks"])
    assert {"overruns", "board_restarts"} <= {check["name"] for check in summary["checks"]}
    assert summary["board"]["tasks"].keys() == {"receive", "law", "tell"}
    assert 0 < summary["board"]["stack_used_B"] < summary["board"]["stack_size_B"]
    np.testing.assert_allclose(positions(logs["sil"], "truth"), positions(logs["mil"], "truth"), rtol=0, atol=1e-6)
    apart_m, apart_deg = SHIPPED_TOLERANCES[name]
    np.testing.assert_allclose(positions(logs["pil"], "truth"), positions(logs["mil"], "truth"), rtol=0, atol=apart_m)
    cosines = np.abs(np.sum(logs["pil"].rows["truth"][:, 8:12] * logs["mil"].rows["truth"][:, 8:12], axis=1))
    assert np.degrees(2 * np.arccos(np.clip(cosines, 0, 1))).max() < apart_deg


def test_on_the_board_it_repeats_to_the_bit(pil: Log) -> None:
    again = flown("pil", "duration_s=4.0")
    for stream in ("truth", "command", "estimate", "setpoint", "cpu", "task"):
        rows = again.rows[stream][again.rows[stream][:, 0] < 3.9]
        assert len(rows) > 2
        np.testing.assert_array_equal(rows, pil.rows[stream][: len(rows)])


def test_a_processor_that_is_too_slow_is_late_and_says_so() -> None:
    """An eighth of the speed: the law takes longer than its 4 ms."""
    plan = scenario("pil", "emulator.shift=8", "duration_s=2.0", "checks=[]")
    log = fly_inline(plan).logs[0]
    summary = summarise(plan, log, outcome=FLOWN)
    assert {check["name"] for check in summary["checks"] if not check["ok"]} == {"overruns"}
    assert "work took longer than its control period" in str(verdict_section(summary).blocks)
    late_s = log.column("board_event", "value")[log.column("board_event", "code") == Event.OVERRUN]
    assert len(late_s) > 50
    assert 4e-3 < late_s.min() <= late_s.max() < 16e-3
    assert log.column("cpu", "overruns")[-1] > 50


def test_a_law_of_ones_own(mil: Log) -> None:
    log = flown("mil", f"control.law_file={LAW}")
    t_s = log.column("estimate", "t_s")
    height_m = np.interp(t_s, log.column("truth", "t_s"), log.column("truth", "z_m"))
    assert height_m[-1] == pytest.approx(2.0, abs=0.6)
    assert np.isnan(log.column("setpoint", "roll_rad")).all(), "it has no attitude loop to tell of"
    assert not np.isnan(mil.column("setpoint", "roll_rad")).any()


def test_the_delay_margin_is_that_of_the_law_linearised_in_hover() -> None:
    plan = scenario("mil")
    design = Design(offered(plan.kind, "airframe", plan), 0.004)
    assert design.delay_margin_s(own_law(LAW, design)) == pytest.approx(0.0657, abs=0.001)
    assert design.delay_margin_s(built_in(design)) == pytest.approx(0.0436, abs=0.001)


def test_the_report_predicts_the_margin_of_the_law_that_flew(tmp_path: Path) -> None:
    def told(*overrides: str) -> str:
        (section,) = guided_report.sections(scenario("mil", *overrides), Log.empty(()), {"metrics": {"diverged": 0.0}})
        (block, *_) = section.blocks
        return block.pictures[0].caption if isinstance(block, Figures) else str(block)

    assert "predicts a margin of 43.6 ms. This flight had 5.0 ms added" in told("link.to_plant.delay_s=0.005")
    assert "predicts a margin of 65.7 ms" in told(f"control.law_file={LAW}")
    rough = tmp_path / "rough.py"
    rough.write_text(LAW.read_text().replace("    return tk", "    command += ca.sqrt(error[0])\n    return tk"))
    assert "not differentiable in hover" in told(f"control.law_file={rough}")
    assert scenario("mil").flown_by.sections == f"{guided_report.__name__}:sections"


def test_several_aircraft_fly_in_one_process_each_as_alone(mil: Log) -> None:
    log = flown("mil", "vehicle.count=2", "duration_s=4.0")
    rows = log.rows["truth"][log.column("truth", "vehicle") == 0]
    np.testing.assert_array_equal(rows, mil.rows["truth"][: len(rows)])
    assert log.rows["truth"][-1, 4] > 0.5
    with pytest.raises(ConfigError, match=r"vehicle\.count: .* expected 1, several \[\[aircraft\]\], or --link memory"):
        processes(scenario("mil", "vehicle.count=2"))


def test_a_board_that_hangs_starts_anew_and_that_is_told(pil: Log) -> None:
    log = flown("pil", "duration_s=3.0", 'faults=[{target="board",kind="hang",from_s=1.0}]')
    restarts = log.rows["event"][log.column("event", "code") == Event.BOARD_RESTARTED]
    assert [row[3] for row in restarts.tolist()] == [ResetCause.WATCHDOG]
    assert restarts[0, 0] == pytest.approx(1.02, abs=0.01), "four periods after the law hung"
    assert len(pil.rows["event"]) == 0


@pytest.mark.parametrize(
    ("law", "delay_s", "stands"),
    [(str(LAW), 0.055, True), (str(LAW), 0.095, False), ("", 0.035, True), ("", 0.065, False)],
    ids=["lqr below", "lqr above", "cascade below", "cascade above"],
)
def test_the_delay_margin_is_met_in_flight(law: str, delay_s: float, stands: bool) -> None:
    """66 ms are predicted, of the cascade 44, on ideal sensors: well below it rests, well above it swings."""
    own = (f"control.law_file={law}",) if law else ()
    ways = ("sensors.preset=ideal", *own, f"link.to_plant.delay_s={delay_s}")
    hover = ('ground.trajectory={kind="hover",pos_W=[0.0,0.0,2.0]}', "world.wind.steady_W=[0.0,0.0,0.0]")
    log = flown("mil", *ways, *hover, "duration_s=8.0")
    rates_rad_s = log.rows["truth"][log.column("truth", "t_s") > 7.0][:, 12:15]
    assert (np.abs(rates_rad_s).max() < 1e-3) == stands
    assert stands or np.abs(rates_rad_s).max() > 0.05


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", r"law\.py: expected a function law\(design\)"),
        (
            "import casadi as ca\ndef law(design):\n    s = ca.SX.sym('s', 3)\n    return ca.Function('f', [s], [s])",
            r"inputs \(13\), \(11\), \(n\) and outputs \(4\), \(n\)",
        ),
        ("def law(design):\n    return 1 / 0", r"law\.py, line 2: ZeroDivisionError"),
    ],
)
def test_a_law_that_is_wrong_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "law.py"
    file.write_text(text)
    plan = scenario("mil", f"control.law_file={file}")
    with pytest.raises(ConfigError, match=says):
        offered(plan.kind, "law", plan)


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("control.period_s=0.006", "control.period_s: expected a multiple of world.step_s"),
        ("sensors.imu.rate_hz=100.0", "at least one sample of the IMU"),
        ('pace="2x"', "lockstep or in real time"),
    ],
)
def test_what_does_not_fit_is_one_sentence(override: str, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        load(find("quad-law-hover"), ('loop="pil"', 'link.url="pty://"', override))
