"""A rotor that dies in flight: noticed by the IMU alone, and flown without where there are rotors enough."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from aeroloop.control.allocation import allocate, allocate_without, effects
from aeroloop.controllers.pixhawk import flight_law
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.families.multirotor import airframe
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log

COAXIAL = Path(__file__).resolve().parents[2] / "examples" / "aircraft" / "octo-coax.toml"
HEXAROTOR = airframe.load("hexarotor")
FRAME = flight_law.frame(HEXAROTOR)
PER_ROTOR = effects(FRAME.rotor_pos_B_m, FRAME.rotor_spin, FRAME.torque_to_thrust_m)
WEIGHT_N = FRAME.mass_kg * 9.81


@cache
def flown(faults: str, seed: int = 1) -> Log:
    overrides = (f"faults=[{faults}]", f"seed={seed}", "duration_s=16.5", "checks=[]")
    return fly_inline(load(find("hexa-rotor-dead"), overrides)).logs[0]


def losses(log: Log) -> list[tuple[float, float]]:
    return [(t_s, value) for t_s, _, code, value in log.rows["board_event"] if code == Event.ROTOR_LOST]


@pytest.mark.parametrize("number", [1, 4])
def test_a_hexarotor_notices_the_dead_rotor_at_once_and_flies_on(number: int) -> None:
    log = flown(f'{{target="rotor",kind="dead",channel="rotor{number}",from_s=15.0}}')
    ((t_s, rotor),) = losses(log)
    assert rotor == number
    assert 15.0 < t_s < 15.1
    late = log.column("truth", "t_s") > 15.0
    leans = np.hypot(log.column("truth", "qx")[late], log.column("truth", "qy")[late])
    assert np.degrees(2 * np.arcsin(leans)).max() < 10.0
    assert log.column("truth", "z_m")[late].min() > 9.5


def test_no_other_trouble_is_taken_for_a_dead_rotor() -> None:
    assert losses(flown('{target="battery",kind="sag",value=0.2,from_s=15.0}')) == []
    assert losses(flown('{target="imu",kind="bias",channel="gyro",value=0.2,from_s=15.0}')) == []


@pytest.mark.parametrize("lost", range(6))
def test_without_a_rotor_the_others_give_thrust_roll_and_pitch_and_no_yaw(lost: int) -> None:
    wrench = ca.SX.sym("wrench", 4)
    limits = FRAME.thrust_least_N, FRAME.thrust_most_N
    function = ca.Function("f", [wrench], [allocate_without(lost, PER_ROTOR, wrench, *limits)])
    thrusts = np.array(function([WEIGHT_N, 0.3, -0.2, 0.1])).ravel()
    assert thrusts[lost] == 0.0
    assert np.count_nonzero(thrusts) == 4, "the one opposite could push to one side only"
    assert (PER_ROTOR @ thrusts)[:3] == pytest.approx([WEIGHT_N, 0.3, -0.2])


def test_with_all_rotors_the_allocation_gives_all_four() -> None:
    wrench = ca.SX.sym("wrench", 4)
    limits = FRAME.thrust_least_N, FRAME.thrust_most_N
    function = ca.Function("f", [wrench], [allocate(PER_ROTOR, wrench, *limits)])
    asked = [WEIGHT_N, 0.3, -0.2, 0.1]
    assert PER_ROTOR @ np.array(function(asked)).ravel() == pytest.approx(asked)


def test_one_is_flown_without_where_there_are_more_than_four_and_it_can_be_told_which() -> None:
    assert flight_law.survives(HEXAROTOR)
    assert not flight_law.survives(airframe.load("iris"))
    assert not flight_law.survives(airframe.load(str(COAXIAL))), "of two on one arm either may be dead"
