"""The moving point: no jumps, no more speed, acceleration or jerk than allowed, and in the end where it should be."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pixhawk_follower import NAN, Follower, item, without

from aeroloop.controllers.pixhawk.trajectory import Limits, TrajectoryGenerator, corner_speed
from aeroloop.controllers.pixhawk.types import FlightMode, Sticks
from aeroloop.core.angles import wrap_pi

LIMITS = Limits(5.0, 3.0, 1.5, 2.0, 6.0, 1.0)
DT = 0.02
metres = st.floats(-60.0, 60.0)
point = st.tuples(metres, metres, metres)


def fly_leg(end: tuple[float, float, float], seconds: float = 50.0) -> list[TrajectoryGenerator]:
    guide, trace = TrajectoryGenerator(), []
    for _ in range(round(seconds / DT)):
        guide.go((0.0, 0.0, 0.0), end, 0.0, 0.0, guide.pos_W, LIMITS, DT)
        copy = TrajectoryGenerator()
        copy.pos_W, copy.vel_W, copy.accel_W = guide.pos_W, guide.vel_W, guide.accel_W
        trace.append(copy)
    return trace


@settings(max_examples=15)
@given(point)
def test_a_leg_is_flown_within_its_limits_and_ends_at_rest_at_its_end(end: tuple[float, float, float]) -> None:
    trace = fly_leg(end)
    length = math.hypot(*end)
    for before, now in pairwise(trace):
        vx, vy, vz = now.vel_W
        assert math.hypot(vx, vy) <= 5.0 * 1.02
        assert -1.5 * 1.05 <= vz <= 3.0 * 1.02
        assert math.hypot(*now.accel_W) <= 2.0 + 1e-9
        assert math.dist(now.accel_W, before.accel_W) <= 6.0 * DT + 1e-9
        along = sum(a * b for a, b in zip(now.pos_W, end, strict=True)) / max(length, 1e-9)
        assert along <= length + 0.01
        assert math.hypot(*now.pos_W) ** 2 - along**2 < 0.01  # on the line
    assert math.dist(trace[-1].pos_W, end) < 0.01
    assert trace[-1].speed_m_s < 0.01


def test_a_leg_takes_little_longer_than_its_trapezoid() -> None:
    arrived = next(n for n, guide in enumerate(fly_leg((50.0, 0.0, 0.0))) if guide.pos_W[0] > 49.5) * DT
    assert 50.0 / 5.0 < arrived < 50.0 / 5.0 + 5.0 / 2.0 / 2 + 5.0 / 1.0 / 2 + 1.5


def test_a_corner_is_slower_the_sharper_it_is() -> None:
    def speed(turn_deg: float) -> float:
        turn = math.radians(turn_deg)
        after = (10.0 + 10.0 * math.cos(turn), 10.0 * math.sin(turn), 0.0)
        return corner_speed((0.0, 0.0, 0.0), (10.0, 0.0, 0.0), after, 2.0, 2.0)

    assert math.isinf(speed(0.0))
    assert speed(30.0) > speed(90.0) > speed(150.0) > speed(180.0) == 0.0
    assert corner_speed((0.0,) * 3, (0.0,) * 3, (1.0, 0.0, 0.0), 2.0, 2.0) == 0.0


def test_the_point_waits_for_an_aircraft_that_does_not_follow() -> None:
    guide = TrajectoryGenerator()
    for _ in range(1500):
        guide.go((0.0, 0.0, 0.0), (100.0, 0.0, 0.0), 0.0, 0.0, (0.0, 0.0, 0.0), LIMITS, DT)
    assert 1.0 < guide.pos_W[0] < 4.5


def test_yaw_turns_the_short_way_within_its_rate_and_settles() -> None:
    guide = TrajectoryGenerator()
    guide.yaw_rad = 3.0
    for _ in range(400):
        before = guide.yaw_rad
        guide.turn_to(-3.0, LIMITS, DT)
        assert 0.0 <= wrap_pi(guide.yaw_rad - before) + 2e-4 <= 1.0 * DT + 4e-4
    assert wrap_pi(guide.yaw_rad + 3.0) == pytest.approx(0.0, abs=0.01)


def test_centred_sticks_brake_and_hold() -> None:
    sim = Follower().airborne()
    sim.sticks = Sticks(0.0, 1.0, 0.0, 0.5)
    sim.fly(0.1)
    assert sim.logic.set_mode(FlightMode.POSITION) is None
    sim.fly(6.0)
    assert sim.vel[1] == pytest.approx(8.0, rel=0.02)  # its nose points north
    sim.sticks = Sticks(0.05, -0.05, 0.05, 0.52)
    sim.fly(8.0)
    there = sim.pos
    sim.fly(3.0)
    assert math.hypot(*sim.vel) < 0.01
    assert math.dist(sim.pos, there) < 0.02
    sim.sticks = Sticks(1.0, 0.0, 0.0, 0.5)
    assert sim.fly(3.0).vel[0] > 3.0  # to the right: east
    sim.sticks = Sticks(0.0, 0.0, 1.0, 0.5)
    before = sim.yaw
    assert wrap_pi(sim.fly(0.5).yaw - before) < -0.1  # clockwise


STEPS = st.lists(
    st.tuples(
        st.sampled_from([*FlightMode, "mission", "go"]),
        st.floats(0.1, 4.0),
        st.tuples(*[st.floats(-1.0, 1.0)] * 3),
        st.sampled_from([0.0, 0.5, 1.0, NAN]),
        st.sampled_from([True, True, True, False]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=30)
@given(STEPS)
@example(  # stopping a fast slide across a steep leg once asked for too fast a descent
    [
        (FlightMode.MANUAL, 1.0, (0.0, 0.0, 0.0), 0.0, True),
        (FlightMode.ALTITUDE, 1.0, (0.0, 1.0, 0.0), 0.0, True),
        (FlightMode.MISSION, 1.0, (0.0, 0.0, 0.0), 0.0, True),
    ]
)
def test_whatever_the_pilot_chooses_the_setpoint_never_jumps(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    sim = Follower(dt_s=0.04)
    sim.logic.set_mission((item(22), item(16, 20.0, 0.0), item(16, 0.0, 20.0, 15.0), item(177, params=(1, 5, 0, 0))))
    sim.airborne()
    last = sim.setpoint
    for choice, seconds, (roll, pitch, yaw), thrust, position in steps:
        sim.sticks = Sticks(roll, pitch, yaw, thrust)
        sim.change = lambda estimate, position=position: without(estimate, position=position)
        if choice == "mission":
            sim.logic.set_mission((item(16, -30.0, -30.0, 30.0),))
        elif choice == "go":
            sim.logic.go_to(47.3979, 8.5457, 500.0, yaw)
        else:
            sim.logic.set_mode(choice)
        for _ in range(round(seconds / sim.dt_s)):
            now = sim.step()
            if last is not None and now is not None:
                assert math.isfinite(sum(now.row()))
                moved = [b - a for a, b in zip(last.pos_W, now.pos_W, strict=True)]
                if last.hold_xy and now.hold_xy:
                    assert math.hypot(*moved[:2]) <= 12.0 * 1.05 * sim.dt_s
                if last.hold_z and now.hold_z:
                    assert -1.5 * 1.2 <= moved[2] / sim.dt_s <= 3.0 * 1.1
                turned = wrap_pi(now.yaw_rad - last.yaw_rad)
                assert abs(turned) <= math.radians(120.0) * sim.dt_s * 1.01
                if now.hold_z:
                    assert turned == pytest.approx(now.yaw_rate_rad_s * sim.dt_s, abs=1e-9)
            last = now
