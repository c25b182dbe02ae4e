"""The helicopter on the bench: its law on a board on three rungs, faults, report and page, and what is refused.

mil and sil give one log; on pil the law is in single precision. The same noise and wind act on all three, so that paths
may be compared: over five seconds of a square in wind, with noise, pil is within 1 um of mil.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import summarise
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import offers
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario
from aeroloop.core.shape import of_scenario
from aeroloop.core.streams import streams_of
from aeroloop.core.tables import made
from aeroloop.dashboard import family_page
from aeroloop.families.helicopter import reference
from aeroloop.families.helicopter.reference import Reference
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.process_table import launch_settings
from aeroloop.recording.log import Log, log_sha256

COMPLETED = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
MOMENT = ("duration_s=5", "reference.start_s=1.0", "reference.evaluate_from_s=0.0")
POSITION = ("x_m", "y_m", "z_m")


def planned(name: str, *overrides: str) -> Scenario:
    return scenario_files.load(scenario_files.find(name), overrides)


@cache
def flown(name: str, *overrides: str) -> tuple[Log, dict[str, Any]]:
    plan = planned(name, *overrides)
    flight = fly_inline(plan)
    return flight.logs[0], summarise(plan, flight.logs[0], outcome={**COMPLETED, "ended": flight.ended})


def path(log: Log) -> Any:
    return np.column_stack([log.column("truth", axis) for axis in POSITION])


@pytest.mark.parametrize("rung", ["mil", "sil", "pil"])
def test_the_first_leg_of_the_square_passes_its_checks_on_every_rung(rung: str) -> None:
    log, summary = flown("heli-square", *MOMENT, f'loop="{rung}"')
    assert summary["ended"] == "completed" and summary["ok"], summary["checks"]
    assert log.column("truth", "x_m")[-1] > 3.0, "it is on its way"


def test_mil_and_sil_are_one_flight_and_pil_is_as_near_as_single_precision() -> None:
    (mil, _), (sil, _), (pil, _) = (flown("heli-square", *MOMENT, f'loop="{rung}"') for rung in ("mil", "sil", "pil"))
    assert log_sha256(mil) == log_sha256(sil)
    apart_m = np.abs(path(pil) - path(mil)).max()
    assert 0.0 < apart_m < 1e-6
    assert len(pil.rows["cpu"]) > 0


def test_hover_in_wind_passes_its_checks() -> None:
    """Without the part of the flight before the gust."""
    gust = "world.wind.gusts=[{start_s=6.5,amplitude_W=[0.0,4.0,0.0],rise_s=1.0}]"
    _, summary = flown("heli-hover", "duration_s=9", "reference.evaluate_from_s=6.0", gust)
    assert summary["ok"], summary["checks"]
    assert summary["metrics"]["yaw_max_deg"] > 1.0, "the gust is felt"


@pytest.mark.soak
@pytest.mark.parametrize("rung", ["mil", "sil", "pil"])
@pytest.mark.parametrize("name", ["heli-hover", "heli-square"])
def test_whole_flights_pass_their_checks_on_every_rung(name: str, rung: str) -> None:
    _, summary = flown(name, f'loop="{rung}"')
    assert summary["ok"], summary["checks"]


STILL = ("duration_s=3", "world.wind={}", "world.start_offset_m=[0,0,0]", "reference.evaluate_from_s=0.0", "checks=[]")


def failing(fault: str, *more: str) -> dict[str, Any]:
    _, summary = flown("heli-hover", *STILL, f"faults=[{{from_s=0.5,{fault}}}]", *more)
    metrics: dict[str, Any] = summary["metrics"]
    return {**metrics, "ended": summary["ended"]}


@pytest.mark.parametrize("rung", ["mil", "pil"])
def test_without_its_tail_rotor_it_turns(rung: str) -> None:
    found = failing('target="rotor",kind="dead",channel="tail_rotor"', f'loop="{rung}"')
    assert found["yaw_max_deg"] > 150.0


def test_without_its_engine_it_comes_down_and_crashes() -> None:
    low = ("reference.pos_W=[0,0,4.0]", "duration_s=6")
    found = failing('target="rotor",kind="dead",channel="engine"', *low)
    assert found["ended"] == "crashed" and found["ground_contacts"] == 1.0
    assert found["rotor_speed_low_pct"] < 80.0 and found["touchdown_max_m_s"] > 1.0


def test_a_swash_plate_that_is_off_is_held_by_the_integrals() -> None:
    """An offset of 0.01 rad tilts the disc by 2.4 degrees; it is flown off within a metre."""
    found = failing('target="servo",kind="offset",channel="longitudinal",value=0.01', "duration_s=8")
    assert 0.05 < found["horizontal_max_m"] < 1.0
    assert found["ended"] == "completed"


def test_a_weak_engine_is_held_by_the_governor() -> None:
    found = failing('target="rotor",kind="weak",channel="engine",value=0.8', "duration_s=6")
    assert 90.0 < found["rotor_speed_low_pct"] < 99.9 and found["height_max_m"] < 0.3


def test_every_fault_on_offer_can_be_switched() -> None:
    plan = planned("heli-hover", *STILL)
    own = [offer for offer in offers(plan) if offer.target in ("state", "rotor", "servo")]
    text = ",".join(
        f'{{target="{o.target}",kind="{o.kind}",channel="{next(iter(o.channels), "")}",value={o.value},'
        f"from_s={0.01 * i},to_s={0.01 * i + 0.005}}}"
        for i, o in enumerate(own, 1)
    )
    log, _ = flown("heli-hover", *STILL, "duration_s=0.5", f"faults=[{text}]")
    assert len(log.rows["fault"]) == 2 * len(own) > 30


def test_it_flies_on_noisy_sensors_with_a_navigation_filter() -> None:
    """IMU, magnetometer, barometer and GNSS in place of the measured state: within what a GNSS fix is worth."""
    fitted = ('sensors.fitted=["imu","magnetometer","barometer","gnss"]', "sensors.gnss.start_s=0.0")
    log, summary = flown("heli-hover", *STILL, "duration_s=6", 'sensors.state="estimated"', *fitted)
    assert len(log.rows["imu"]) and len(log.rows["gnss"]) and len(log.rows["estimate"])
    assert 0.05 < summary["metrics"]["horizontal_max_m"] < 1.0 and summary["metrics"]["yaw_max_deg"] < 5.0
    with pytest.raises(ConfigError, match=r"sensors\.fitted: an estimated state needs .*; gnss is missing"):
        planned("heli-hover", 'sensors.state="estimated"', 'sensors.fitted=["imu","magnetometer","barometer"]')


def test_two_helicopters_fly_beside_one_another() -> None:
    plan = load_plan(scenario_files.find("heli-hover"), (*STILL, "duration_s=0.4", "vehicle.count=2"))
    first, second = (log.column("truth", "x_m")[-1] for log in fly_inline(plan).logs)
    assert second - first == pytest.approx(30.0, abs=0.2)


def test_report_and_page_show_rotors_margin_and_path() -> None:
    log, summary = flown("heli-square", *MOMENT, 'loop="mil"')
    plan = planned("heli-square", *MOMENT)
    page = render_report(plan, log, summary)
    for words in ("Delay margin of the closed loop", "Thrust and induced velocity", "hover, by the design model"):
        assert words in page
    assert "a margin of 61." in page
    shown = family_page.of(plan)
    assert len(shown.plan(plan, 0)) == 5
    streams = {stream.name: stream.names for stream in streams_of(plan)}
    assert all(column in streams[s] for chart in shown.charts for s, _, column in (n.partition(".") for n in chart))
    main, tail = of_scenario(plan).rotors
    assert (main.radius_m, tail.radius_m) == (0.775, 0.13)
    assert (main.direction, tail.pos_m[0]) == (-1.0, -0.91)


@pytest.mark.parametrize("heading", ["fixed", "along"])
def test_the_setpoint_is_smooth_and_its_derivatives_are_its_own(heading: Any) -> None:
    table = Reference(path="square", heading=heading)
    for t_s in np.arange(0.05, 60.0, 0.37):
        before, now, after = (reference.at(table, t_s + d) for d in (-1e-4, 0.0, 1e-4))
        for axis in range(3):
            assert (after.pos_W[axis] - before.pos_W[axis]) / 2e-4 == pytest.approx(now.vel_W[axis], abs=1e-5)
            assert (after.vel_W[axis] - before.vel_W[axis]) / 2e-4 == pytest.approx(now.accel_W[axis], abs=1e-3)
        turned = np.remainder(after.yaw_rad - before.yaw_rad + np.pi, 2 * np.pi) - np.pi
        assert turned / 2e-4 == pytest.approx(now.yaw_rate_rad_s, abs=1e-4)
    side = [(12.0, 0.0, 10.0), (12.0, 12.0, 10.0), (0.0, 12.0, 10.0), (0.0, 0.0, 10.0)]
    assert [reference.at(table, 3.0 + 13.0 * n - 2.0).pos_W for n in (1, 2, 3, 4)] == [pytest.approx(c) for c in side]


def test_what_cannot_fly_is_refused_in_one_sentence(tmp_path: Any) -> None:
    def launched(*overrides: str) -> None:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        plan = planned("heli-hover", *overrides)
        made(plan.family.check, plan)
        launch_settings(plan, folder)

    launched()
    with pytest.raises(ConfigError, match=r"world\.step_s: expected a step that divides the control period"):
        launched("world.step_s=0.003")
    with pytest.raises(ConfigError, match=r"vehicle\.airframe: unknown airframe 'raptor', expected .*xcell60"):
        launched('vehicle.airframe="raptor"')
