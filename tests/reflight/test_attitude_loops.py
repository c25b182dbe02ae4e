"""The loops of ArduPilot and PX4: gains from parameters, and an attitude that follows its setpoint."""

from __future__ import annotations

import numpy as np
import pytest
from made_logs import IRIS, made_log

from aeroloop.reflight import attitude_loops
from aeroloop.reflight.attitude_loops import acceleration_per_command, from_parameters
from aeroloop.reflight.numbers import Plant
from aeroloop.reflight.rollout import STEP_S, Law

ARDUPILOT = {
    **{f"ATC_RAT_{axis}_{gain}": x for axis in ("RLL", "PIT") for gain, x in {"P": 0.2, "I": 0.2, "D": 4e-3}.items()},
    "ATC_RAT_YAW_P": 0.3,
    "ATC_RAT_YAW_I": 0.03,
    "ATC_ANG_RLL_P": 6.0,
}
PX4 = {"MC_ROLLRATE_P": 0.07, "MC_PITCHRATE_P": 0.14, "MC_YAWRATE_P": 0.2, "MC_ROLLRATE_K": 2.0, "THR_MDL_FAC": 1.0}


def test_ardupilot_s_gains_of_today_and_of_before() -> None:
    today = from_parameters(ARDUPILOT)
    assert today is not None and today.source == "ArduPilot" and today.found == 9
    assert today.axes[0].p == 0.2 and today.axes[0].angle_p == 6.0 and today.axes[1].angle_p == 4.5
    assert today.axes[2].error_hz == 2.5  # not in the log: ArduPilot's default
    before = from_parameters({"RATE_RLL_P": 0.15, "STB_RLL_P": 4.5, "RATE_RLL_IMAX": 2250.0})
    assert before is not None
    assert before.axes[0].p == pytest.approx(0.135, rel=1e-3)  # the same loop in the units of today
    assert before.axes[0].integral_most == pytest.approx(0.5)


def test_px4_s_gains() -> None:
    loops = from_parameters(PX4)
    assert loops is not None and loops.source == "PX4" and loops.output_is_thrust
    assert loops.axes[0].p == pytest.approx(0.14) and loops.axes[0].i == pytest.approx(0.4)  # times MC_ROLLRATE_K


def test_parameters_without_a_rate_loop_tell_nothing() -> None:
    assert from_parameters({}) is None
    assert from_parameters({"MC_ROLL_P": 6.5, "ATC_ANG_RLL_P": 4.5, "MC_RRATE_P_ACC": 20.0}) is None
    assert from_parameters({"ATC_RAT_RLL_P": float("nan")}) is None


@pytest.mark.parametrize("parameters", [ARDUPILOT, PX4], ids=["ArduPilot", "PX4"])
def test_the_attitude_follows_its_setpoint(parameters: dict[str, float]) -> None:
    loops = from_parameters(parameters)
    assert loops is not None
    log = made_log(
        Plant.of(IRIS), seconds=12.0, law=Law(attitude_loops.law(IRIS, loops, STEP_S), loops.row()), noise=0.0
    )
    for angle in ("roll", "pitch"):
        flown, wanted = log[angle], log[f"{angle}_setpoint"]
        late_s = np.arange(0.0, 0.3, 0.01)
        r = [
            np.corrcoef(np.interp(flown.t_s, wanted.t_s + late, wanted.values)[100:], flown.values[100:])[0, 1]
            for late in late_s
        ]
        assert max(r) > 0.95, angle
        assert 0.02 < late_s[int(np.argmax(r))] < 0.2, angle


def test_angular_acceleration_per_command_by_hand() -> None:
    most_N = IRIS.rotors.thrust_Ns2 * IRIS.motors.speed_max_rad_s**2
    x, _, z = acceleration_per_command(IRIS, (0.03, 0.03, 0.06))
    arms = (0.22, 0.20, 0.22, 0.20)
    assert x == pytest.approx(sum(0.5 * most_N * arm * arm / 0.22 for arm in arms) / 0.03)
    assert z == pytest.approx(4 * 0.5 * most_N * 0.06 / 0.06)
