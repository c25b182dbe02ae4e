"""Numbers of multirotor flights against errors put into synthetic logs on purpose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import quad_logs
from hypothesis import given
from hypothesis import strategies as st
from quad_logs import POINTS, a_log, a_scenario, add, count, count_usual, fly, quaternions

from aeroloop.analysis import fleet
from aeroloop.analysis.checks import evaluate, required, verify
from aeroloop.analysis.family import metric_names
from aeroloop.analysis.track import euler_rad
from aeroloop.analysis.truth_log import angle_between_rad
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.frames import euler_from_quat
from aeroloop.core.signals import Event
from aeroloop.families.multirotor.analysis import mission
from aeroloop.families.multirotor.analysis.flight import Flight
from aeroloop.families.multirotor.analysis.metrics import metrics
from aeroloop.families.multirotor.analysis.rates import clock_words, rates
from aeroloop.families.multirotor.streams import STREAMS
from aeroloop.recording.log import Log

SINE = 1 / math.sqrt(2)
"""RMS of a sine of amplitude 1; the time in the air is not a whole number of periods, hence 1 % below."""


def numbers_of(*, lockstep: bool = False, **errors: Any) -> dict[str, float]:
    log = Log.empty(STREAMS)
    fly(log, **errors)
    return metrics(log, a_scenario(pace="lockstep" if lockstep else "real"))


def test_a_flight_without_errors_has_none() -> None:
    numbers = numbers_of()
    for name, value in numbers.items():
        if "rms" in name and not name.startswith("waypoint") and name != "cross_track_rms_m":
            assert value == pytest.approx(0, abs=1e-6), name
    assert numbers["waypoint_max_m"] == pytest.approx(0, abs=0.005)
    assert numbers["cross_track_rms_m"] == pytest.approx(0, abs=1e-6)


def test_known_sines_give_known_rms() -> None:
    numbers = numbers_of(off=(0.3, 0.4, 0.2), roll_deg=1.0, pitch_deg=2.0, yaw_deg=3.0)
    expected = {
        "roll_rms_deg": SINE,
        "pitch_rms_deg": 2 * SINE,
        "yaw_rms_deg": 3 * SINE,
        "altitude_rms_m": 0.2 * SINE,
        "horizontal_rms_m": 0.5 * SINE,
        "pos_rms_m": math.sqrt(0.3**2 + 0.4**2 + 0.2**2) * SINE,
    }
    for prefix in ("", "manual_", "mission_"):
        found = {name: numbers[f"{prefix}{name}"] for name in expected}
        assert found == pytest.approx(expected, rel=0.01)
    assert numbers["pos_max_m"] == pytest.approx(math.sqrt(0.3**2 + 0.4**2 + 0.2**2), rel=0.01)
    assert numbers["roll_max_deg"] == pytest.approx(1.0, rel=0.01)
    assert numbers["est_pos_rms_m"] == pytest.approx(0, abs=1e-6)


def test_modes_are_told_apart() -> None:
    """Off by 1 m while the sticks fly (35 to 45 s), and exact while it flies by itself."""
    log = Log.empty(STREAMS)
    fly(log)
    t_s = log.column("truth", "t_s")
    log.rows["truth"][(t_s >= 35) & (t_s < 45), 2] += 1.0
    numbers = metrics(log, a_scenario())
    assert numbers["manual_horizontal_rms_m"] == pytest.approx(1.0)
    assert numbers["mission_horizontal_rms_m"] == pytest.approx(0, abs=1e-6)
    assert 0.1 < numbers["horizontal_rms_m"] < 0.9
    assert (numbers["manual_s"], numbers["armed_s"]) == pytest.approx((10.0, 56.0), abs=0.01)


def test_only_the_time_in_the_air_counts() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    on_ground = log.column("truth", "z_m") < quad_logs.RESTS_AT_M + 0.05
    log.rows["truth"][on_ground, 2] += 7.0
    numbers = metrics(log, a_scenario())
    assert numbers["pos_rms_m"] == pytest.approx(0, abs=1e-6)
    assert numbers["airborne_s"] == pytest.approx(53 - 0.1 - 0.2, abs=0.01)  # 0.1 m of the climb, 0.1 m of the descent
    assert numbers["height_max_m"] == pytest.approx(5.0)


def test_after_a_landing_higher_up_the_flight_is_over() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    late = log.column("truth", "t_s") > 57.0  # disarmed, on a roof
    log.rows["truth"][late, 4] += 3.0
    assert metrics(log, a_scenario())["pos_rms_m"] == pytest.approx(0, abs=1e-6)


def test_in_a_valley_below_its_start_it_is_in_the_air_until_it_lands_there() -> None:
    log = a_log()
    log.rows["autopilot_state"] = log.rows["autopilot_state"][:0]  # nobody says that it is disarmed
    before = metrics(log, a_scenario(loop="hil"))
    for stream, field in (("truth", "z_m"), ("air", "ground_m")):
        t_s = log.column(stream, "t_s")
        log.column(stream, field)[:] += np.interp(t_s, [0, 10, 30, 50], [2, 2, -10, -6])
    numbers = metrics(log, a_scenario(loop="hil"))
    assert numbers["airborne_s"] == pytest.approx(before["airborne_s"], abs=0.01)
    assert numbers["landed_at_end"] == 1


def test_what_was_not_wanted_is_no_error() -> None:
    log = Log.empty(STREAMS)
    fly(log, off=(0.0, 0.0, 0.2))
    log.rows["setpoint"][:, 2:4] = math.nan  # as in a mode that holds the height alone
    numbers = metrics(log, a_scenario())
    assert math.isnan(numbers["horizontal_rms_m"]) and math.isnan(numbers["pos_rms_m"])
    assert numbers["altitude_rms_m"] == pytest.approx(0.2 * SINE, rel=0.01)


def test_a_state_that_is_no_number_is_no_small_error() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    log.rows["truth"][9000:, 2:] = math.nan
    numbers = metrics(log, a_scenario())
    assert not numbers["pos_rms_m"] < 1e9 and not numbers["roll_rms_deg"] < 1e9
    assert not numbers["est_pos_rms_m"] < 1e9


def test_estimation_errors() -> None:
    numbers = numbers_of(est_x_m=0.3, est_z_m=0.4, est_yaw_deg=2.0)
    assert numbers["est_pos_rms_m"] == pytest.approx(0.5)
    assert numbers["est_horizontal_rms_m"] == pytest.approx(0.3)
    assert numbers["est_height_rms_m"] == pytest.approx(0.4)
    assert numbers["est_yaw_rms_deg"] == pytest.approx(2.0)
    assert numbers["est_attitude_rms_deg"] == pytest.approx(2.0)
    assert numbers["est_roll_rms_deg"] == pytest.approx(0, abs=1e-6)


@given(
    roll=st.floats(-3.1, 3.1),
    pitch=st.floats(-1.5, 1.5),
    yaw=st.floats(-3.1, 3.1),
)
def test_angles_are_those_of_frames(roll: float, pitch: float, yaw: float) -> None:
    columns = quaternions(np.array([roll]), np.array([pitch]), np.array([yaw]))
    quat = np.stack([columns[name] for name in ("qw", "qx", "qy", "qz")], axis=1)
    assert euler_rad(quat)[0] == pytest.approx(euler_from_quat(tuple(quat[0])), abs=1e-9)
    assert angle_between_rad(quat, -quat)[0] == pytest.approx(0, abs=1e-6)


def test_a_quaternion_that_changes_its_sign_is_the_same_attitude() -> None:
    log = Log.empty(STREAMS)
    fly(log, yaw_deg=1.0)
    for stream in ("setpoint", "estimate"):
        log.rows[stream][:, 0] += 0.002  # between two samples of truth
    plain = metrics(log, a_scenario())
    log.rows["truth"][::2, 8:12] *= -1
    flipped = metrics(log, a_scenario())
    for name in ("yaw_rms_deg", "roll_rms_deg", "est_attitude_rms_deg"):
        assert flipped[name] == pytest.approx(plain[name])


def test_waypoints_are_passed_in_their_order() -> None:
    """The square ends where it began, and nearer to the point: the last pass is not taken for the first."""
    log = Log.empty(STREAMS)
    fly(log)
    log.rows["truth"][(log.column("truth", "t_s") > 1) & (log.column("truth", "t_s") < 8), 4] -= 0.05
    closed = (*POINTS, POINTS[0])
    scenario = a_scenario(pilot={"waypoints": [{"pos_m": point} for point in closed]})
    flight = Flight(log, 0)
    state = log.rows["autopilot_state"]
    state[:, 2] = FlightMode.MISSION
    passed = mission.passes(flight, scenario)
    assert flight.t_s[passed.index] == pytest.approx([7, 15, 25, 35, 45], abs=0.01)
    assert passed.miss_m == pytest.approx([0.05, 0, 0, 0, 0], abs=1e-6)


def test_a_waypoint_that_was_left_out_counts_with_its_distance() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    missed = (5.0, -3.0, 5.0)
    points = (POINTS[0], missed, *POINTS[1:3])
    numbers = metrics(log, a_scenario(pilot={"waypoints": [{"pos_m": point} for point in points]}))
    assert numbers["waypoint_max_m"] == pytest.approx(3.0, abs=0.01)
    assert numbers["waypoint_rms_m"] == pytest.approx(3.0 / 2, abs=0.01)
    assert numbers["waypoints_reached"] == 4


def test_waypoints_that_the_scenario_does_not_list_are_where_the_autopilot_wanted_to_be() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    log.rows["truth"][log.column("truth", "t_s") > 3, 4] -= 0.6
    numbers = metrics(log, a_scenario(pilot={"source": "external"}))
    assert numbers["waypoint_rms_m"] == pytest.approx(0.6, rel=0.05)
    assert math.isnan(metrics(Log.empty(STREAMS), a_scenario(pilot={"source": "external"}))["waypoint_rms_m"])


def test_cross_track_is_the_distance_from_the_line_not_from_the_setpoint() -> None:
    """Late on the line by 1 m is no cross-track error; 0.5 m above it is."""
    log = Log.empty(STREAMS)
    fly(log)
    log.rows["setpoint"][:, 2] += 1.0
    assert metrics(log, a_scenario())["cross_track_rms_m"] == pytest.approx(0, abs=1e-6)
    log.rows["truth"][log.column("truth", "t_s") > 3, 4] += 0.5
    assert metrics(log, a_scenario())["cross_track_rms_m"] == pytest.approx(0.5, rel=0.01)


def test_a_signal_at_499_hz_set_to_500_is_off_by_0_2_percent() -> None:
    log = Log.empty(STREAMS)
    count_usual(log)
    numbers = metrics(log, a_scenario())
    assert numbers["rate_imu_hz"] == pytest.approx(499)
    assert numbers["rate_imu_error_pct"] == pytest.approx(0.2)
    assert numbers["rate_gnss_error_pct"] == pytest.approx(0, abs=1e-9)
    assert numbers["rate_magnetometer_error_pct"] == pytest.approx(0.1)
    assert numbers["rate_actuators_hz"] == pytest.approx(498.5)
    assert math.isnan(numbers["rate_actuators_error_pct"])  # comes as it comes
    assert numbers["rate_attitude_error_pct"] == pytest.approx(1.0)
    assert math.isnan(numbers["rate_airspeed_hz"])
    assert {(rate.signal, rate.at) for rate in rates(log, a_scenario())} == {
        *((name, "plant") for name in ("IMU", "GNSS", "magnetometer", "actuators")),
        *((name, "autopilot") for name in ("heartbeat", "attitude")),
    }


def test_rates_are_over_wall_time_but_in_lockstep_over_simulated_time() -> None:
    """A host that is 2 % slow delivers 490 Hz; in lockstep that means nothing."""
    log = Log.empty(STREAMS)
    count(log, "IMU", 500, 500, stretch=1 / 1.02)
    real, lockstep = a_scenario(), a_scenario(pace="lockstep")
    assert metrics(log, real)["rate_imu_hz"] == pytest.approx(500 / 1.02)
    assert metrics(log, lockstep)["rate_imu_error_pct"] == pytest.approx(0, abs=1e-9)
    assert "wall time" in clock_words(real) and "simulated time" in clock_words(lockstep)


def test_at_four_times_real_time_a_rate_is_per_simulated_second() -> None:
    log = Log.empty(STREAMS)
    count(log, "IMU", 500, 500, stretch=4.0)
    assert metrics(log, a_scenario(pace="4x"))["rate_imu_hz"] == pytest.approx(500)
    assert metrics(log, a_scenario(pace="real"))["rate_imu_hz"] == pytest.approx(2000)


def test_the_row_at_the_end_does_not_spoil_a_slow_signals_rate_in_lockstep() -> None:
    log = Log.empty(STREAMS)
    count(log, "GNSS", 5, 5)
    add(log, "signal_count", [59.19], signal=3.0, set_hz=5, count=295, wall_s=1.0)  # as many as at 59 s
    assert metrics(log, a_scenario(pace="lockstep"))["rate_gnss_error_pct"] == pytest.approx(0, abs=1e-9)


def test_a_count_that_starts_anew_is_measured_from_there() -> None:
    log = Log.empty(STREAMS)
    count(log, "heartbeat", 1, 1, stream="telemetry_count")
    rows = log.rows["telemetry_count"]
    rows[:30, 4] += 1000  # the autopilot restarted at 30 s
    assert metrics(log, a_scenario())["rate_heartbeat_hz"] == pytest.approx(1)


def test_what_happened_is_counted() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    add(
        log,
        "event",
        [1.0, 2.0, 3.0, 4.0, 5.0],
        code=[
            Event.AUTOPILOT_RESTARTED,
            Event.ACTUATORS_REFUSED,
            Event.ACTUATORS_REFUSED,
            Event.AUTOPILOT_LEFT,
            Event.DIVERGED,
        ],
        value=[1, 1, 40, 0.5, 2001],
    )
    refused = (Event.COMMAND_REFUSED, Event.LANDING_TARGETS_REFUSED, Event.LANDING_TARGETS_REFUSED)
    events = (Event.FAILSAFE, Event.FAILSAFE, *refused)
    add(
        log, "board_event", [1.0, 2.0, 3.0, 4.0, 5.0], code=events, value=[Failsafe.BATTERY_LOW, Failsafe.NONE, 2, 5, 9]
    )
    numbers = metrics(log, a_scenario())
    expected = {
        "diverged": 1,
        "ground_contacts": 1,
        "touchdown_speed_max_m_s": 0.5,
        "failsafes": 1,
        "autopilot_restarts": 1,
        "autopilot_losses": 1,
        "actuators_refused": 40,
        "commands_refused": 1,
        "landing_targets_refused": 9,
        "deadlines_missed": 1,
        "armed_at_end": 0,
        "landed_at_end": 1,
    }
    assert {name: numbers[name] for name in expected} == expected
    assert numbers["battery_used_pct"] == pytest.approx(20, rel=0.01)
    failed = {result.name for result in evaluate(required(a_scenario()), numbers) if not result.ok}
    assert failed == {"diverged", "autopilot_restarts", "actuators_refused"}


def test_a_flight_that_meets_the_ground_hard_is_not_passed() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    add(log, "event", [20.0, 40.0], code=[Event.GROUND_CONTACT] * 2, value=[-5.0, -0.5])
    numbers = metrics(log, a_scenario())
    assert (numbers["ground_contacts"], numbers["hard_contacts"]) == (3, 1), "one of them is the landing"
    assert [result.ok for result in evaluate(required(a_scenario()), numbers) if result.name == "hard_contacts"] == [
        False
    ]


def test_motors_at_their_limits_count_in_the_air_only() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    t_s = log.column("command", "t_s")
    log.rows["command"][t_s < 1, 2] = 0.0
    log.rows["command"][(t_s >= 10) & (t_s < 11), 3] = 1.0
    log.rows["command"][(t_s >= 20) & (t_s < 21), 4] = 0.0
    assert metrics(log, a_scenario())["saturated_steps"] == 500


def test_whether_it_landed_is_the_truths_to_say() -> None:
    log = Log.empty(STREAMS)
    fly(log)
    log.rows["truth"] = log.rows["truth"][: 50 * 250]
    numbers = metrics(log, a_scenario())
    assert numbers["landed_at_end"] == 0
    [flown, *_] = evaluate(required(a_scenario()), numbers)
    assert (flown.name, flown.ok) == ("flown_s", False)


def test_what_an_autopilot_from_outside_keeps_to_itself_is_nan() -> None:
    log = a_log()
    for stream in ("estimate", "setpoint", "autopilot_state", "board_event", "telemetry_count"):
        log.rows[stream] = log.rows[stream][:0]
    numbers = metrics(log, a_scenario(loop="hil"))
    unknown = {name for name, value in numbers.items() if math.isnan(value) and not name.startswith("rate_")}
    assert {"pos_rms_m", "roll_rms_deg", "mission_yaw_rms_deg", "est_pos_rms_m", "armed_s", "manual_s"} <= unknown
    assert {"failsafes", "battery_used_pct", "armed_at_end", "waypoints_reached"} <= unknown
    assert numbers["airborne_s"] == pytest.approx(52.6, abs=0.1)
    assert numbers["waypoint_rms_m"] == pytest.approx(0, abs=0.01)
    assert numbers["landed_at_end"] == 1
    assert numbers["rate_imu_error_pct"] == pytest.approx(0.2)


def test_of_several_the_worst_counts_and_each_has_its_own() -> None:
    log = Log.empty(STREAMS)
    for vehicle, off_m in enumerate((0.1, 0.4, 0.2)):
        fly(log, vehicle, start_x_m=5.0 * vehicle, off=(off_m, 0, 0))
        count(log, "IMU", 500, 500 - vehicle, vehicle=vehicle)
    log.rows["truth"] = log.rows["truth"][:-250]  # the last one's last second
    numbers = metrics(log, a_scenario(count=3))
    own = [numbers[f"v{vehicle}_pos_rms_m"] for vehicle in range(3)]
    assert own == pytest.approx([0.1 * SINE, 0.4 * SINE, 0.2 * SINE], rel=0.01)
    assert numbers["pos_rms_m"] == own[1]
    assert numbers["flown_s"] == numbers["v2_flown_s"] < numbers["v0_flown_s"]
    assert numbers["rate_imu_hz"] == pytest.approx(498)
    assert numbers["rate_imu_error_pct"] == pytest.approx(0.4)
    assert numbers["waypoint_max_m"] < 0.01  # each flies its own square
    assert "v0_flown_s" not in metrics(log, a_scenario())


def test_a_vehicle_that_is_not_in_the_log_fails_the_flight() -> None:
    numbers = metrics(a_log(1), a_scenario(count=2))
    [flown, *_] = evaluate(required(a_scenario(count=2)), {**numbers, "collisions": 0.0})
    assert math.isnan(numbers["pos_rms_m"]) and not flown.ok


def test_an_empty_log_knows_nothing_but_that_nothing_was_said() -> None:
    numbers = metrics(Log.empty(STREAMS), a_scenario())
    known = {name for name, value in numbers.items() if not math.isnan(value)}
    assert known == {
        *("diverged", "ground_contacts", "hard_contacts", "autopilot_restarts", "autopilot_losses"),
        *("actuators_refused", "commands_refused"),
    }


def test_known_metrics_depend_on_what_flies() -> None:
    scenario = a_scenario(checks=[{"metric": "pos_max_m", "below": 1.0}, {"metric": "v1_pos_rms_m", "below": 1.0}])
    with pytest.raises(
        ConfigError, match=r"unknown metric 'v1_pos_rms_m' \(did you mean 'pos_rms_m'\?\), expected one of: flown_s"
    ):
        verify(scenario)
    several = a_scenario(count=2, checks=[{"metric": "v1_pos_rms_m", "below": 1.0}])
    verify(several)
    with pytest.raises(ConfigError, match="unknown metric 'overruns'"):
        verify(a_scenario(checks=[{"metric": "overruns", "below": 1.0}]))
    assert "rate_range_finder_error_pct" in metric_names(several)


@pytest.mark.parametrize("path", scenario_files.available(), ids=lambda path: path.stem)
def test_shipped_scenarios_check_metrics_that_exist(path: Any) -> None:
    fleet.verify(load_plan(path))
