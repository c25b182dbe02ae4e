"""Modes, arming and landing of the virtual Pixhawk, flown by a point that follows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from pixhawk_flights import MIDDLE, simulated
from pixhawk_follower import HEALTHY, NAN, item, without

from aeroloop.controllers.pixhawk.landing import GroundContact
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import FlightMode, Landed, Sticks
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.signals import NS, NavEstimate, Setpoint

LOW = Sticks(0.0, 0.0, 0.0, 0.0)


# Arming.


@pytest.mark.parametrize("mode", [FlightMode.LAND, FlightMode.RETURN])
def test_to_land_on_the_ground_does_not_keep_it_from_arming(mode: FlightMode) -> None:
    sim = simulated().fly(0.1)
    assert sim.logic.set_mode(mode) is None
    assert sim.fly(0.1).logic.arming_problems() == []
    assert sim.logic.arm() is None


CHECKS = [
    ("accelerometer", {"health": replace(HEALTHY, imu=False)}, {}),
    ("compass", {"health": replace(HEALTHY, magnetometer=False)}, {}),
    ("barometer", {"health": replace(HEALTHY, barometer=False)}, {}),
    ("Attitude", {"change": lambda estimate: None}, {}),
    ("Attitude", {"change": lambda estimate: without(estimate, attitude=False)}, {}),
    ("Attitude", {"change": lambda estimate: estimate._replace(vel_W=(NAN, 0.0, 0.0))}, {}),
    ("Attitude", {"change": lambda estimate: estimate._replace(quat_WB=(9.0, 0.0, 0.0, 0.0))}, {}),
    ("level", {"change": lambda estimate: estimate._replace(quat_WB=quat_from_euler(0.5, 0.0, 0.0))}, {}),
    ("position", {"change": lambda estimate: without(estimate, position=False)}, {}),
    ("height", {"change": lambda estimate: without(estimate, height=False)}, {}),
    ("Battery", {}, {"SIM_BAT_START": 15.0}),
]


@pytest.mark.parametrize(("word", "scene", "values"), CHECKS, ids=[f"{c[0]}-{n}" for n, c in enumerate(CHECKS)])
def test_each_arming_check_refuses_in_a_sentence_and_gives_way_to_force(
    word: str, scene: dict[str, object], values: dict[str, float]
) -> None:
    sim = simulated(**values)
    for name, value in scene.items():
        setattr(sim, name, value)
    sim.fly(0.2)
    refusal = sim.logic.arm()
    assert refusal is not None
    assert word in refusal.reason
    assert len(refusal.reason) <= 50
    assert not sim.logic.status.ready_to_arm
    assert sim.setpoint is None
    assert sim.logic.arm(force=True) is None
    sim.fly(0.2)
    assert sim.logic.status.armed
    assert sim.setpoint is not None
    assert sim.setpoint.thrust_ratio == 0.0


def test_a_healthy_one_arms_idles_and_is_disarmed_when_it_does_not_take_off() -> None:
    sim = simulated().fly(0.2)
    assert sim.logic.status.ready_to_arm
    assert sim.logic.arm() is None
    sim.fly(9.0)
    assert sim.logic.status.armed
    assert sim.setpoint is not None
    assert (sim.setpoint.thrust_ratio, sim.setpoint.hold_xy, sim.setpoint.hold_z) == (0.0, False, False)
    sim.fly(1.5)
    assert not sim.logic.status.armed
    assert "Disarmed: no take-off" in sim.texts


def test_stick_modes_want_sticks_and_a_low_thrust() -> None:
    sim = simulated().fly(0.1)
    assert sim.logic.set_mode(FlightMode.MANUAL) is None
    refusal = sim.logic.arm()
    assert refusal is not None and "stick input" in refusal.reason
    sim.sticks = MIDDLE
    refusal = sim.fly(0.1).logic.arm()
    assert refusal is not None and "Thrust" in refusal.reason
    assert sim.logic.set_mode(FlightMode.POSITION) is None  # where the middle means to stand
    assert sim.logic.arm() is None


def test_modes_are_refused_without_what_they_need() -> None:
    sim = simulated().fly(0.1)
    refusal = sim.logic.set_mode(FlightMode.MISSION)
    assert refusal is not None and "mission" in refusal.reason
    sim.change = lambda estimate: without(estimate, position=False)
    sim.fly(0.1)
    for mode in (FlightMode.POSITION, FlightMode.HOLD, FlightMode.TAKEOFF, FlightMode.RETURN):
        refusal = sim.logic.set_mode(mode)
        assert refusal is not None and "position" in refusal.reason
    sim.change = lambda estimate: None
    sim.fly(0.1)
    assert sim.logic.set_mode(FlightMode.ALTITUDE) is not None
    assert sim.logic.set_mode(FlightMode.LAND) is None
    assert sim.logic.arm() is not None


def test_disarming_in_the_air_is_refused_unless_forced() -> None:
    sim = simulated().airborne()
    refusal = sim.logic.disarm()
    assert refusal is not None and "landed" in refusal.reason
    assert sim.logic.disarm(force=True) is None
    assert sim.step() is None


# Flights.


@pytest.mark.parametrize("armed_first", [True, False])
def test_take_off_climbs_to_its_height_and_holds(armed_first: bool) -> None:
    sim = simulated().fly(0.1)
    orders = [sim.logic.arm, lambda: sim.logic.take_off(7.0)]
    for order in orders if armed_first else reversed(orders):
        assert order() is None
    sim.step()
    assert sim.logic.status.landed is Landed.TAKEOFF
    sim.until(lambda: sim.mode is FlightMode.HOLD, 20.0)
    assert sim.logic.status.landed is Landed.IN_AIR
    sim.fly(3.0)
    assert sim.pos == pytest.approx((0.0, 0.0, 7.0), abs=0.1)


@pytest.mark.parametrize("height", [NAN, math.inf, -3.0, 0.0, 1e6])
def test_absurd_take_off_heights_are_refused(height: float) -> None:
    sim = simulated().fly(0.1)
    assert sim.logic.take_off(height) is not None
    assert sim.mode is FlightMode.HOLD


def test_land_touches_down_gently_and_disarms() -> None:
    sim = simulated().airborne(15.0)
    assert sim.logic.set_mode(FlightMode.LAND) is None
    sim.until(lambda: sim.height < 0.2, 40.0)
    assert sim.logic.status.landed is Landed.LANDING
    assert sim.vel[2] == pytest.approx(-0.7, abs=0.1)
    sim.until(lambda: sim.logic.status.landed is Landed.ON_GROUND, 6.0)
    assert sim.logic.status.armed
    sim.until(lambda: not sim.logic.status.armed, 2.5)
    assert sim.mode is FlightMode.HOLD
    assert sim.texts[-2:] == ["Landed", "Disarmed after landing"]


@pytest.mark.parametrize("by_hand", [False, True])
def test_at_the_first_touch_it_stands_level_and_does_not_lean_into_the_wind(by_hand: bool) -> None:
    sim = simulated().airborne(3.0)
    if by_hand:
        sim.sticks = Sticks(0.0, 0.0, 0.0, 0.0)
        sim.fly(0.1)
    assert sim.logic.set_mode(FlightMode.POSITION if by_hand else FlightMode.LAND) is None
    held_in_air, held_on_ground = [], []
    while sim.logic.status.landed is not Landed.ON_GROUND and sim.t_ns < 60 * NS:
        setpoint = sim.step()
        assert setpoint is not None
        (held_in_air if sim.height > 0.01 else held_on_ground).append(setpoint.hold_xy)
    assert all(held_in_air)
    first = held_on_ground.index(False)
    assert first * sim.dt_s < 0.6
    assert not any(held_on_ground[first:])


def test_a_wind_that_carries_it_away_does_not_keep_it_from_landing() -> None:
    sim = simulated().airborne(10.0)
    assert sim.logic.set_mode(FlightMode.LAND) is None
    sim.change = lambda estimate: estimate._replace(pos_W=(40.0, 0.0, estimate.pos_W[2] + 0.05))
    sim.until(lambda: sim.logic.status.landed is Landed.ON_GROUND, 18.0)


def test_a_waypoint_under_the_ground_ends_the_flight_there() -> None:
    sim = simulated().fly(0.1)
    assert sim.logic.set_mission((item(22), item(16, 10.0, 0.0, -5.0), item(16, 0.0, 0.0))) is None
    assert sim.logic.arm() is None
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    sim.until(lambda: not sim.logic.status.armed, 60.0)
    assert sim.mode is FlightMode.HOLD
    assert sim.texts[-3:] == ["Path leads into the ground: aborted", "Landed", "Disarmed after landing"]


def test_return_climbs_flies_home_and_lands_there() -> None:
    sim = simulated().airborne()
    assert sim.logic.go_to(47.3981, 8.5461, 500.0, 1.0) is None
    sim.fly(25.0)
    assert math.hypot(*sim.pos[:2]) > 40.0
    assert sim.pos[2] == pytest.approx(12.0, abs=0.1)
    assert sim.yaw == pytest.approx(1.0, abs=0.05)
    assert sim.logic.set_mode(FlightMode.RETURN) is None
    away = sim.pos[:2]
    sim.until(lambda: sim.height > 29.0, 20.0)
    assert math.dist(sim.pos[:2], away) < 0.5
    sim.until(lambda: not sim.logic.status.armed, 90.0)
    assert math.hypot(*sim.pos[:2]) < 0.7


def test_go_to_refuses_nonsense_and_the_ground() -> None:
    sim = simulated().fly(0.1)
    assert sim.logic.go_to(47.3981, 8.5461, 500.0, None) is not None
    sim.airborne()
    for lat, lon, alt in [(NAN, 8.5, 500.0), (91.0, 8.5, 500.0), (47.4, 8.5, math.inf), (0.0, 0.0, 500.0)]:
        assert sim.logic.go_to(lat, lon, alt, None) is not None
    assert sim.logic.go_to(47.397742, 8.545594, 500.0, NAN) is None


def test_manual_flies_by_attitude_and_thrust_and_lands_by_hand() -> None:
    sim = simulated()
    sim.sticks = LOW
    sim.fly(0.1)
    sim.logic.set_mode(FlightMode.MANUAL)
    assert sim.logic.arm() is None
    sim.sticks = Sticks(0.0, 0.0, 0.0, 0.6)
    sim.until(lambda: sim.logic.status.landed is Landed.IN_AIR, 5.0)
    sim.sticks = Sticks(1.0, 1.0, 0.0, 0.5)
    sim.fly(1.5)
    assert sim.setpoint is not None
    tilt = math.hypot(sim.setpoint.roll_rad, sim.setpoint.pitch_rad)
    assert tilt == pytest.approx(math.radians(30.0), rel=0.01)
    assert sim.setpoint.roll_rad == pytest.approx(sim.setpoint.pitch_rad)
    assert not sim.setpoint.hold_xy and not sim.setpoint.hold_z
    assert sim.vel[0] > 1.0 and sim.vel[1] > 1.0  # right and forwards, nose north
    sim.sticks = Sticks(0.0, 0.0, 0.0, 0.5)
    sim.fly(0.5)
    sim.vel = (0.0, 0.0, -0.5)
    sim.until(lambda: sim.height == 0.0, 20.0)
    sim.sticks = LOW
    sim.until(lambda: not sim.logic.status.armed, 5.0)


def test_altitude_holds_its_height_and_climbs_as_told() -> None:
    sim = simulated().airborne()
    sim.sticks = Sticks(0.0, 0.5, 0.0, 0.5)
    sim.fly(0.1)
    assert sim.logic.set_mode(FlightMode.ALTITUDE) is None
    sim.fly(2.0)
    assert sim.height == pytest.approx(10.0, abs=0.1)
    assert sim.vel[1] > 3.0
    sim.sticks = Sticks(0.0, 0.0, 0.0, 1.0)
    assert sim.fly(4.0).vel[2] == pytest.approx(3.0, rel=0.05)
    sim.sticks = LOW
    sim.vel = (0.0, 0.0, sim.vel[2])
    sim.until(lambda: not sim.logic.status.armed, 40.0)


# Is that the ground?


STANDING = NavEstimate(
    0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0, 0.0, 0.0, True, True, True
)
SUNK = Setpoint((0.0, 0.0, -1.0), (0.0,) * 3, (0.0,) * 3, 0.0, 0.0, 0.0, 0.5, True, True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("landed", "scene"),
    [
        (True, {}),
        (True, {"setpoint": SUNK._replace(pos_W=(0.0, 0.0, 0.0), hold_z=False)}),
        (True, {"estimate": STANDING._replace(vel_W=(2.0, 0.0, 0.0), position_ok=False)}),
        (False, {"descent": False}),
        (False, {"thrust": 0.45}),
        (False, {"estimate": STANDING._replace(vel_W=(0.0, 0.0, -0.4))}),
        (False, {"estimate": STANDING._replace(vel_W=(0.0, 0.0, 0.4))}),
        (False, {"estimate": STANDING._replace(vel_W=(2.0, 0.0, 0.0))}),
        (False, {"estimate": STANDING._replace(rate_B=(0.0, 0.5, 0.0))}),
        (False, {"setpoint": SUNK._replace(pos_W=(0.0, 0.0, -0.2))}),
    ],
)
def test_every_sign_of_the_ground_is_needed_and_must_last(landed: bool, scene: dict[str, Any]) -> None:
    contact = GroundContact(Parameters())
    signs = {"descent": True, "thrust": 0.3, "estimate": STANDING, "setpoint": SUNK} | scene
    answers = [contact.step(**signs, dt_s=0.1) for _ in range(30)]
    assert not any(answers[:9])
    assert answers[-1] == landed
    if landed:
        assert not contact.step(**signs | {"descent": False}, dt_s=0.1)
        assert not contact.step(**signs, dt_s=0.1)  # from the beginning


def test_a_hover_low_over_the_ground_is_no_landing() -> None:
    sim = simulated().airborne(0.6)
    assert sim.fly(20.0).logic.status.landed is Landed.IN_AIR


def test_a_slow_descent_with_little_thrust_is_no_landing() -> None:
    sim = simulated(MPC_LAND_SPEED=0.4).airborne(8.0)
    sim.logic.set_mode(FlightMode.LAND)
    # Rising air: the thrust that a descent at this rate needs is far below that of hover.
    while sim.height > 0.1:
        sim.step()
        sim.thrust *= 0.5
        assert sim.logic.status.landed is not Landed.ON_GROUND


def test_the_beginning_of_a_descent_is_no_landing() -> None:
    sim = simulated().airborne(3.0)
    sim.sticks = LOW
    sim.fly(0.1)
    for mode in (FlightMode.POSITION, FlightMode.ALTITUDE):
        sim.sticks = LOW
        sim.fly(0.04)
        assert sim.logic.set_mode(mode) is None
        sim.fly(0.9)
        sim.sticks = MIDDLE
        sim.fly(0.5)
        assert sim.logic.status.landed is Landed.IN_AIR


def test_one_that_rocks_or_slides_has_not_landed_yet() -> None:
    sim = simulated().airborne(2.0)
    sim.change = lambda estimate: estimate._replace(rate_B=(0.6, 0.0, 0.0))
    sim.logic.set_mode(FlightMode.LAND)
    sim.fly(15.0)
    assert sim.height == 0.0
    assert sim.logic.status.landed is Landed.LANDING
    sim.change = lambda estimate: estimate
    sim.fly(1.2)
    assert sim.logic.status.landed is Landed.ON_GROUND


def test_a_take_off_that_does_not_lift_is_given_up() -> None:
    sim = simulated().fly(0.1)
    sim.logic.arm()
    sim.logic.take_off(5.0)
    sim.change = lambda estimate: estimate._replace(pos_W=(0.0, 0.0, 0.0), vel_W=(0.0, 0.0, 0.0))
    sim.fly(10.5)
    assert sim.mode is FlightMode.HOLD
    assert sim.logic.status.landed is Landed.ON_GROUND
    assert any("lift" in text for text in sim.texts)
    assert not sim.fly(3.0).logic.status.armed


def test_unread_texts_do_not_pile_up() -> None:
    logic = simulated().fly(0.1).logic
    for _ in range(500):
        logic.arm()
        logic.disarm()
    assert len(logic.take_texts()) <= 50
    assert logic.take_texts() == []


def test_an_empty_mission_in_flight_holds() -> None:
    sim = simulated()
    sim.logic.set_mission((item(22), item(16, 100.0, 0.0)))
    sim.airborne()
    assert sim.logic.set_mode(FlightMode.MISSION) is None
    sim.fly(2.0)
    assert sim.logic.set_mission(()) is None
    assert sim.mode is FlightMode.HOLD
