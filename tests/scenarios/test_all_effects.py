"""Missions with every effect on at once (docs/how-true.md): they pass the checks of their scenarios, whose limits were
set without the effects, with the controllers' gains unchanged.

The sensors keep the noise of their presets. With those of `bmi088`, whose position wanders by metres, `quad-truth`
flies the mission with limits of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from quad_runs import Run
from quad_runs import fly as flown
from test_px4_flights import END_S
from test_px4_flights import fly as flown_by_px4

EFFECTS = (
    "vehicle.airframe=iris-aero",  # inflow, vortex ring, ground effect, flapping; feet on springs
    "battery.pack=iris",
    "world.earth_rotation=true",
    'world.terrain={kind="slope",east=0.02}',
    "world.wind.steady_W=[3.0,-2.6,0.0]",
    'world.wind.profile={kind="power"}',
    "world.wind.terrain={speed_up=1.6}",
    'world.wind.turbulence={w20_m_s=7.7,model="von_karman"}',
    "sensors.imu.average=true",
    "sensors.imu.low_pass={gyro_hz=80.0,accel_hz=40.0,order=2}",
    "sensors.imu.vibration={at_rad_s=600.0,accel_m_s2=[2.0,2.0,4.0],gyro_rad_s=[0.02,0.02,0.02],harmonics=[1.0,0.3]}",
    "sensors.imu.g_sensitivity=[[1.8e-4,0.0,0.0],[0.0,1.8e-4,0.0],[0.0,0.0,1.8e-4]]",
    "sensors.imu.thermal={warming_K=20.0,time_s=180.0,calibrated_K=298.15}",
    "sensors.imu.gyro.temperature_offset=[2.6e-4,-2.6e-4,2.6e-4]",
    "sensors.imu.accel.temperature_scale=[2e-5,2e-5,-2e-5]",
    "sensors.gnss.consistent=true",
    "sensors.gnss.multipath={ground_std_m=[0.3,0.3,0.6],scale_height_m=5.0,time_s=30.0}",
    "sensors.gnss.constellation={least=8,most=16,time_s=60.0}",
)
HOP = (
    "pilot.waypoints=[{pos_m=[0.0,0.0,3.0]},{pos_m=[2.0,0.0,3.0]}]",
    "autopilot.parameters={RTL_RETURN_ALT=3.0}",
    "duration_s=26.0",
)
"""In place of the mission's square."""


def options(settings: tuple[str, ...]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def passed(run: Run) -> None:
    assert run.exit_code == 0, run.said
    assert all(check["ok"] for check in run.summary["checks"])
    assert run.metrics["waypoints_reached"] > 0
    assert run.metrics["energy_J"] > 0.0 and run.metrics["touchdown_load_max_g"] > 1.0  # battery and springs were there


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("quad-wind", HOP),
        pytest.param("quad-mission", (), marks=pytest.mark.soak),  # the hop
        pytest.param("quad-wind", (), marks=pytest.mark.soak),  # the hop
    ],
)
def test_a_mission_with_every_effect_passes_its_checks(name: str, settings: tuple[str, ...], tmp_path: Path) -> None:
    run = flown(tmp_path, name, "--link", "memory://", *options((*EFFECTS, *settings)))
    passed(run)


@pytest.mark.soak  # the hop; without the effects tests/scenarios/test_px4_flights.py
def test_a_flight_of_px4s_stand_in_with_every_effect_passes_its_checks(tmp_path: Path) -> None:
    run = flown_by_px4(tmp_path, *EFFECTS, f"duration_s={END_S}").run
    passed(run)
