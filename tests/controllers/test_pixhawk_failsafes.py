"""Failsafes of the virtual Pixhawk, flown by a point that follows."""

from __future__ import annotations

import math

import pytest
from pixhawk_flights import MIDDLE, simulated
from pixhawk_follower import HEALTHY, NAN, Follower, without

from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, SensorHealth, Sticks
from aeroloop.core.frames import quat_from_euler


def status(sim: Follower) -> tuple[FlightMode, Failsafe]:
    return sim.logic.status.mode, sim.logic.status.failsafe


# Dangers.


@pytest.mark.parametrize(
    ("act", "mode"), [(0, FlightMode.HOLD), (1, FlightMode.HOLD), (2, FlightMode.RETURN), (3, FlightMode.LAND)]
)
def test_lost_ground_link_is_answered_as_the_parameter_says(act: int, mode: FlightMode) -> None:
    sim = simulated(NAV_DLL_ACT=act).airborne()
    sim.heartbeats = False
    sim.fly(9.5)
    assert status(sim) == (FlightMode.HOLD, Failsafe.NONE)
    sim.fly(1.0)
    assert status(sim) == (mode, Failsafe.LINK_LOST)
    assert sum("Ground link lost" in text for text in sim.texts) == 1
    sim.heartbeats = True
    sim.fly(0.1)
    assert status(sim) == (mode, Failsafe.NONE)  # what was done is not undone
    assert sim.texts[-1] == "Ground link restored"


def test_who_never_had_a_ground_station_does_not_miss_it() -> None:
    sim = simulated()
    sim.heartbeats = False
    assert status(sim.airborne().fly(20.0)) == (FlightMode.HOLD, Failsafe.NONE)


def test_the_pilot_may_take_over_but_the_next_danger_still_counts() -> None:
    sim = simulated().airborne()
    sim.heartbeats = False
    sim.fly(10.5)
    assert status(sim) == (FlightMode.RETURN, Failsafe.LINK_LOST)
    assert sim.logic.set_mode(FlightMode.HOLD) is None
    assert status(sim.fly(3.0)) == (FlightMode.HOLD, Failsafe.NONE)
    sim.logic.parameters.set("BAT_CRIT_THR", 0.4)
    sim.logic.parameters.set("BAT_LOW_THR", 0.5)
    sim.logic._pack._used_mAh = 0.7 * 5100.0
    assert status(sim.fly(0.1)) == (FlightMode.LAND, Failsafe.BATTERY_CRITICAL)


@pytest.mark.parametrize("mode", [FlightMode.MANUAL, FlightMode.ALTITUDE, FlightMode.POSITION])
def test_sticks_lost_where_they_are_needed(mode: FlightMode) -> None:
    sim = simulated().airborne()
    sim.sticks = MIDDLE
    sim.fly(0.1)
    assert sim.logic.set_mode(mode) is None
    assert status(sim.fly(1.0)) == (mode, Failsafe.NONE)
    sim.sticks = Sticks(NAN, 0.0, 0.0, 0.5)  # dropped: as good as none
    sim.fly(0.3)
    assert status(sim) == (mode, Failsafe.NONE)
    sim.fly(0.4)
    assert status(sim) == (FlightMode.RETURN, Failsafe.LINK_LOST)
    assert "Sticks lost: returning" in sim.texts
    assert sim.logic.set_mode(mode) is not None  # not without hands
    sim.sticks = MIDDLE
    assert status(sim.fly(0.2)) == (FlightMode.RETURN, Failsafe.NONE)


def test_sticks_lost_in_a_mission_are_not_missed() -> None:
    sim = simulated()
    sim.sticks = MIDDLE
    sim.airborne()
    sim.sticks = None
    assert status(sim.fly(5.0)) == (FlightMode.HOLD, Failsafe.NONE)


def test_without_satellites_it_sinks_level_and_lands() -> None:
    sim = simulated().airborne(6.0)
    sim.logic.go_to(47.3981, 8.5461, 500.0, None)
    sim.fly(3.0)
    sim.change = lambda estimate: without(estimate, position=False)
    sim.fly(0.1)
    assert status(sim) == (FlightMode.LAND, Failsafe.POSITION_LOST)
    assert "Position lost: landing" in sim.texts
    assert sim.setpoint is not None
    assert (sim.setpoint.hold_xy, sim.setpoint.hold_z) == (False, True)
    assert (sim.setpoint.roll_rad, sim.setpoint.pitch_rad) == (0.0, 0.0)
    sim.until(lambda: not sim.logic.status.armed, 40.0)


def test_without_satellites_a_pilot_keeps_the_sticks_in_altitude_mode() -> None:
    sim = simulated().airborne()
    sim.sticks = MIDDLE
    sim.fly(0.1)
    sim.logic.set_mode(FlightMode.POSITION)
    sim.change = lambda estimate: without(estimate, position=False)
    assert status(sim.fly(0.2)) == (FlightMode.ALTITUDE, Failsafe.POSITION_LOST)
    sim.change = lambda estimate: estimate
    assert status(sim.fly(0.2)) == (FlightMode.ALTITUDE, Failsafe.NONE)


def test_satellites_lost_do_not_matter_by_hand() -> None:
    sim = simulated().airborne()
    sim.sticks = MIDDLE
    sim.fly(0.1)
    sim.logic.set_mode(FlightMode.ALTITUDE)
    sim.change = lambda estimate: without(estimate, position=False)
    assert status(sim.fly(2.0)) == (FlightMode.ALTITUDE, Failsafe.NONE)


def test_a_battery_that_runs_down_returns_and_then_lands() -> None:
    sim = simulated(SIM_BAT_START=26.0, BAT1_CAPACITY=1500.0, BAT_CRIT_THR=0.18).airborne()
    sim.logic.go_to(47.3989, 8.5461, 498.0, None)
    sim.until(lambda: sim.mode is FlightMode.RETURN, 30.0)
    assert sim.logic.status.failsafe is Failsafe.BATTERY_LOW
    assert sim.logic.status.battery.remaining == pytest.approx(0.2, abs=0.001)
    sim.until(lambda: sim.mode is FlightMode.LAND, 60.0)
    assert sim.logic.status.failsafe is Failsafe.BATTERY_CRITICAL
    sim.until(lambda: not sim.logic.status.armed, 60.0)
    assert [text for text in sim.texts if "Battery" in text] == ["Battery low: returning", "Battery critical: landing"]


def test_a_less_cautious_answer_never_replaces_a_landing() -> None:
    sim = simulated().airborne()
    sim.logic.set_mode(FlightMode.LAND)
    sim.fly(1.0)
    sim.heartbeats = False
    sim.logic.parameters.set("COM_DL_LOSS_T", 1.0)
    sim.fly(1.5)
    assert status(sim) == (FlightMode.LAND, Failsafe.LINK_LOST)


@pytest.mark.parametrize("blink_s", [0.02, 0.2])
def test_an_estimate_that_blinks_is_bridged(blink_s: float) -> None:
    sim = simulated().airborne()
    before = sim.setpoint
    sim.change = lambda estimate: None
    sim.fly(blink_s)
    assert sim.setpoint == before
    sim.change = lambda estimate: estimate
    assert status(sim.fly(1.0)) == (FlightMode.HOLD, Failsafe.NONE)


@pytest.mark.parametrize(
    "change",
    [
        lambda estimate: None,
        lambda estimate: estimate._replace(pos_W=(NAN, 0.0, 0.0)),
        lambda estimate: without(estimate, attitude=False),
        lambda estimate: estimate._replace(t_ns=0),
    ],
    ids=["none", "nan", "not ok", "old"],
)
def test_a_lost_attitude_sinks_level_for_a_time_and_stops_then(change: object) -> None:
    sim = simulated().airborne(3.5)
    sim.change = change  # type: ignore[assignment]
    sim.fly(0.4)
    assert status(sim) == (FlightMode.LAND, Failsafe.ATTITUDE_LOST)
    assert "Attitude lost: landing" in sim.texts
    assert sim.setpoint is not None
    assert not sim.setpoint.hold_xy and not sim.setpoint.hold_z
    assert 0.4 < sim.setpoint.thrust_ratio < 0.5
    sim.fly(8.0)  # 3.5 m at 0.7 m/s, and 5 s more
    assert sim.logic.status.armed
    sim.fly(3.0)
    assert not sim.logic.status.armed
    assert sim.setpoint is None


def test_an_attitude_that_comes_back_ends_in_a_landing() -> None:
    sim = simulated().airborne(20.0)
    sim.change = lambda estimate: None
    sim.fly(1.0)
    sim.change = lambda estimate: estimate
    sim.fly(0.1)
    assert status(sim) == (FlightMode.LAND, Failsafe.NONE)
    assert sim.setpoint is not None and sim.setpoint.hold_xy and sim.setpoint.hold_z
    sim.until(lambda: not sim.logic.status.armed, 60.0)


def test_a_lost_height_sinks() -> None:
    sim = simulated().airborne(5.0)
    sim.change = lambda estimate: without(estimate, height=False)
    assert status(sim.fly(0.1)) == (FlightMode.LAND, Failsafe.POSITION_LOST)
    assert sim.setpoint is not None and not sim.setpoint.hold_z


def test_bad_numbers_do_no_harm() -> None:
    sim = simulated()
    sim.airborne()
    logic = sim.logic
    for dt_s in (0.0, -1.0, NAN, 1e9):
        setpoint = logic.step(sim.t_ns, sim.estimate, sim.origin, HEALTHY, (NAN, math.inf, -1.0, 5.0), dt_s)
        assert setpoint is not None
        assert math.isfinite(sum(setpoint.row()))
    logic.step(sim.t_ns - 10**9, sim.estimate, None, SensorHealth(), (), 0.02)  # time runs backwards
    sim.fly(1.0)
    assert math.dist(sim.pos, (0.0, 0.0, 10.0)) < 1.0
    assert all(len(text) <= 50 for text in sim.texts)


def test_on_its_back_the_motors_stop_but_not_for_a_loop() -> None:
    sim = simulated().airborne()
    over = quat_from_euler(math.pi, 0.0, 0.0)
    sim.change = lambda estimate: estimate._replace(quat_WB=over)
    sim.fly(0.8)
    sim.change = lambda estimate: estimate
    sim.fly(0.5)
    assert sim.logic.status.armed, "it came round again"
    sim.change = lambda estimate: estimate._replace(quat_WB=over)
    sim.fly(1.2)
    assert not sim.logic.status.armed
    assert "Motors stopped: upside down" in sim.texts
