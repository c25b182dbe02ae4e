"""A flight as a function of time: no jumps in position, motors only while it flies, down to below the ground."""

from __future__ import annotations

import numpy as np
import pytest

from aeroloop.ground.config import Circle, Hover, Trajectory
from aeroloop.ground.flight_plan import BELOW_M, FlightPlan, planned

START_W = (5.0, 0.0, 0.0)
STEP_S = 0.01


@pytest.mark.parametrize("trajectory", [Hover(pos_W=(5.0, 0.0, 3.0)), Circle(center_W=(0.0, 0.0, 4.0))])
def test_position_never_jumps_and_velocity_is_its_rate(trajectory: Trajectory) -> None:
    plan = FlightPlan(trajectory=trajectory, land_s=25.0)
    wanted = planned(plan, START_W)
    t_s = np.arange(0.0, 50.0, STEP_S)
    points = [wanted(float(t)).point for t in t_s]
    pos, vel = np.array([p.pos_W for p in points]), np.array([p.vel_W for p in points])
    speeds = np.diff(pos, axis=0) / STEP_S
    assert np.abs(speeds).max() < 4.0
    descending = (t_s[:-1] > 27.9) & (t_s[:-1] < 28.1)  # the one step in speed: the descent begins
    ended = np.abs(vel[:-1] - vel[1:]).max(axis=1) > 0.2
    steady = ~descending & ~ended & (t_s[:-1] < 35.0)
    np.testing.assert_allclose(speeds[steady], ((vel[:-1] + vel[1:]) / 2)[steady], atol=0.01)


def test_motors_turn_from_take_off_until_it_must_be_down() -> None:
    plan = FlightPlan(trajectory=Hover(pos_W=(5.0, 0.0, 3.0)), takeoff_s=2.0, land_s=20.0, descent_m_s=0.5)
    wanted = planned(plan, START_W)
    assert [wanted(t_s).armed for t_s in (0.0, 1.99, 2.0, 20.0, 32.9, 33.1)] == [False, False, True, True, True, False]
    assert wanted(0.0).point.pos_W == START_W
    assert wanted(15.0).point.pos_W == pytest.approx((5.0, 0.0, 3.0))
    assert wanted(60.0).point.pos_W == pytest.approx((5.0, 0.0, -BELOW_M))


def test_without_a_landing_it_stays_aloft() -> None:
    wanted = planned(FlightPlan(trajectory=Circle(period_s=20.0, radius_m=3.0)), (0.0, 0.0, 0.0))
    assert wanted(3000.0).armed
    point, accel_W, _ = wanted(3000.0)
    assert np.hypot(*accel_W[:2]) == pytest.approx(3.0 * (2 * np.pi / 20.0) ** 2, rel=1e-3)
    assert np.hypot(*point.vel_W[:2]) == pytest.approx(3.0 * 2 * np.pi / 20.0, rel=1e-6)
