"""Whole flights of multirotors by the virtual Pixhawk, in lockstep, as a user flies them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from quad_runs import fly

from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quad-runs")


def test_the_mission_is_flown_on_the_thesis_sensors(runs: Path) -> None:
    run = fly(runs, "quad-mission", "--report")
    assert run.exit_code == 0, run.said
    metrics = run.metrics
    assert metrics["pos_rms_m"] < 0.5
    assert max(metrics[f"{angle}_rms_deg"] for angle in ("roll", "pitch", "yaw")) < 2.0
    assert metrics["est_attitude_rms_deg"] < 2.0
    assert metrics["est_pos_rms_m"] < 0.5
    assert metrics["waypoint_rms_m"] < 0.5
    assert metrics["armed_at_end"] == metrics["failsafes"] == metrics["saturated_steps"] == 0
    assert [event["value"] for event in run.events("WAYPOINT_REACHED")][:4] == [0, 1, 2, 3]
    assert np.max(run.positions(), axis=0) == pytest.approx((20.0, 20.0, 12.0), abs=1.0)
    assert run.positions()[-1] == pytest.approx((0.0, 0.0, 0.06), abs=1.0), "home again"
    rates = {(rate["signal"], rate["at"]): rate for rate in run.summary["rates"]}
    assert rates["IMU", "plant"]["set_hz"] == 500.0
    assert rates["GNSS", "plant"]["set_hz"] == 5.0
    for name in ("flight.mcap", "report.html", "scenario.toml"):
        assert (run.folder / name).stat().st_size > 0
    report = (run.folder / "report.html").read_text()
    assert "tables 3.3 and 3.4" in report
    assert "table 3.5" in report


@pytest.mark.soak  # short: the recorded flights
def test_sil_flies_the_same_mission_over_tcp(runs: Path) -> None:
    shorter = ("quad-mission", "--set", "duration_s=16", "--set", "checks=[]")
    mil, sil = fly(runs, *shorter), fly(runs, *shorter, "--loop", "sil")
    assert sil.exit_code == 0, sil.said
    assert mil.positions()[-1, 2] > 5.0
    assert np.max(np.abs(mil.positions() - sil.positions())) < 0.005


@pytest.mark.soak  # short: the recorded flights
def test_one_seed_one_hash(runs: Path) -> None:
    shorter = ("quad-wind", "--set", "duration_s=12", "--set", "checks=[]")
    first = fly(runs, *shorter).summary["log_sha256"]
    for link in ("loopback://", "udp://127.0.0.1:0"):  # the Pixhawk in a process of its own
        assert fly(runs, *shorter, "--link", link).summary["log_sha256"] == first
    assert fly(runs, *shorter, "--seed", "2").summary["log_sha256"] != first


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param("quad-hover", marks=pytest.mark.soak),
        "quad-manual",
        "quad-wind",
    ],  # hovers in short: the tests below
)
def test_the_scenario_passes(runs: Path, scenario: str) -> None:
    run = fly(runs, scenario)
    assert run.exit_code == 0, run.said


def test_by_hand_the_recorded_stick_is_followed(runs: Path) -> None:
    run = fly(runs, "quad-manual")
    modes = [int(event["value"]) for event in run.events("MODE_CHANGED")]
    wanted = [FlightMode.ALTITUDE, FlightMode.MANUAL, FlightMode.POSITION, FlightMode.LAND]
    assert [mode for mode in modes if mode in wanted] == wanted
    assert run.metrics["manual_s"] > 20.0
    assert max(run.metrics[f"manual_{angle}_rms_deg"] for angle in ("roll", "pitch", "yaw")) < 2.0


def test_wind_and_turbulence_are_felt_and_held(runs: Path) -> None:
    run = fly(runs, "quad-wind")
    log = run.log
    wind = np.hypot(log.column("air", "wind_x_m_s"), log.column("air", "wind_y_m_s"))
    assert wind.std() > 0.3
    assert 2.5 < wind.mean() < 6.0
    assert run.metrics["pos_rms_m"] < 1.0


@pytest.mark.soak  # short: the recorded flights
def test_four_fly_at_once_each_for_itself(runs: Path) -> None:
    run = fly(runs, "quad-swarm")
    assert run.exit_code == 0, run.said
    log = run.log
    vehicle = log.column("truth", "vehicle")
    east = log.column("truth", "x_m")
    starts = [east[vehicle == n][0] for n in range(4)]
    assert starts == pytest.approx([0.0, 8.0, 16.0, 24.0], abs=0.01)
    assert all(log.column("truth", "z_m")[vehicle == n].max() > 7.0 for n in range(4))
    gyros = [log.column("imu", "gyro_x_rad_s")[log.column("imu", "vehicle") == n][:1000] for n in range(4)]
    assert len({gyro.tobytes() for gyro in gyros}) == 4, "noise of their own"
    assert run.metrics["est_pos_rms_m"] < 1.5, "told in the plant's frame, wherever each of them started"
    assert run.metrics["armed_at_end"] == 0


def test_the_second_airframe_flies_from_its_file_alone(runs: Path, tmp_path: Path) -> None:
    shorter = ("--set", "duration_s=20", "--set", "checks=[]")
    run = fly(runs, "quad-hover", "--set", "vehicle.airframe=hexarotor", *shorter)
    assert run.exit_code == 0, run.said
    assert run.metrics["height_max_m"] == pytest.approx(3.0, abs=0.6)
    assert np.isfinite(run.log.column("effort", "speed_6_rad_s")).all()


ALOFT = ("quad-hover", "--set", "duration_s=34", "--set", "checks=[]")
"""It hovers at 3 m when something is lost."""


def test_a_lost_link_brings_it_home(runs: Path) -> None:
    run = fly(runs, *ALOFT, "--set", "pilot.heartbeat_until_s=12", "--set", "autopilot.parameters.COM_DL_LOSS_T=3")
    assert [int(event["value"]) for event in run.events("FAILSAFE")][:1] == [Failsafe.LINK_LOST]
    assert FlightMode.RETURN in [int(event["value"]) for event in run.events("MODE_CHANGED")]
    assert run.metrics["armed_at_end"] == 0
    assert run.positions()[-1] == pytest.approx((0.0, 0.0, 0.06), abs=1.5)


@pytest.mark.soak  # short: test_faults_in_flight.py, and tests/controllers/test_pixhawk_failsafes.py
def test_without_satellites_it_comes_down(runs: Path) -> None:
    fault = '[{sensor="gnss", kind="silent", start_s=12.0}]'
    run = fly(runs, *ALOFT, "--set", f"sensors.faults={fault}")
    assert Failsafe.POSITION_LOST in [int(event["value"]) for event in run.events("FAILSAFE")]
    assert run.metrics["armed_at_end"] == 0
    assert run.positions()[-1, 2] < 0.2
    assert run.metrics["touchdown_speed_max_m_s"] < 2.0


@pytest.mark.soak  # short: tests/controllers/test_pixhawk_failsafes.py
def test_an_empty_battery_brings_it_down(runs: Path) -> None:
    run = fly(runs, *ALOFT, "--set", "autopilot.parameters.SIM_BAT_START=20.6")
    assert Failsafe.BATTERY_LOW in [int(event["value"]) for event in run.events("FAILSAFE")]
    assert run.metrics["armed_at_end"] == 0
