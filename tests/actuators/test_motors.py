"""Motors: exact first-order response with two lags, limits, and commands that are no numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.actuators.motors import Motor, Motors

MS = 1_000_000
MOTOR = Motor(speed_max_rad_s=1100.0, speed_idle_rad_s=100.0, lag_up_s=0.0125, lag_down_s=0.025)
PROMPT = Motor(speed_max_rad_s=1100.0, speed_idle_rad_s=100.0, lag_up_s=0.0, lag_down_s=0.0)


def test_spins_up_faster_than_down() -> None:
    motors = Motors(MOTOR, 2)
    motors.reset((0.0, 800.0))
    motors.step_speeds((800.0, 0.0), 12_500_000)
    up, down = motors.speed_rad_s
    assert up == pytest.approx(800.0 * (1.0 - math.exp(-1.0)))
    assert down == pytest.approx(800.0 * math.exp(-0.5))


@given(
    start=st.floats(0, 1100),
    wanted=st.floats(0, 1100),
    cut_ns=st.integers(1, 10 * MS - 1),
)
def test_a_step_cut_in_two_ends_the_same(start: float, wanted: float, cut_ns: int) -> None:
    whole, cut = Motors(MOTOR, 1), Motors(MOTOR, 1)
    whole.reset((start,))
    cut.reset((start,))
    once = whole.step_speeds((wanted,), 10 * MS)
    first, second = cut.step_speeds((wanted,), cut_ns), cut.step_speeds((wanted,), 10 * MS - cut_ns)
    assert cut.speed_rad_s == pytest.approx(whole.speed_rad_s, abs=1e-9)
    parts = first.speed_rad_s[0] * cut_ns + second.speed_rad_s[0] * (10 * MS - cut_ns)
    assert parts / (10 * MS) == pytest.approx(once.speed_rad_s[0], abs=1e-6)


def test_the_mean_speed_is_the_mean() -> None:
    coarse, fine = Motors(MOTOR, 1), Motors(MOTOR, 1)
    mean = coarse.step_speeds((1000.0,), 20 * MS).speed_rad_s[0]
    ends = []
    for _ in range(20_000):
        fine.step_speeds((1000.0,), 1000)
        ends.append(fine.speed_rad_s[0])
    assert mean == pytest.approx(sum(ends) / len(ends), rel=1e-4)


def test_spin_up_adds_up_to_the_speed() -> None:
    motors = Motors(MOTOR, 1)
    gained = sum(motors.step((0.7,), 2 * MS).spin_up_rad_s2[0] * 0.002 for _ in range(100))
    assert gained == pytest.approx(motors.speed_rad_s[0])


@pytest.mark.parametrize(
    ("command", "speed", "saturated"),
    [
        (0.0, 0.0, False),
        (0.001, 101.0, False),
        (0.5, 600.0, False),
        (1.0, 1100.0, False),
        (1.2, 1100.0, True),
        (-0.1, 0.0, True),
    ],
)
def test_normalised_commands(command: float, speed: float, saturated: bool) -> None:
    effort = Motors(PROMPT, 1).step((command,), 2 * MS)
    assert effort.speed_rad_s == pytest.approx((speed,))
    assert effort.saturated is saturated
    assert not effort.not_finite


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_command_that_is_no_number_stops_its_motor_and_is_named(bad: float) -> None:
    motors = Motors(MOTOR, 2)
    motors.reset((600.0, 600.0))
    for _ in range(500):
        effort = motors.step((bad, 0.5), 2 * MS)
        assert effort.not_finite
        assert not effort.saturated
    assert motors.speed_rad_s == pytest.approx((0.0, 600.0), abs=1e-6)
    assert not motors.step((0.5, 0.5), 2 * MS).not_finite


def test_a_wrong_number_of_values_is_refused() -> None:
    motors = Motors(MOTOR, 4)
    with pytest.raises(ValueError):
        motors.step((0.5, 0.5, 0.5), 2 * MS)
    with pytest.raises(ValueError, match="expected 4 speeds, not 3"):
        motors.reset((1.0, 2.0, 3.0))


def test_settled_speeds_hold_for_their_command_only() -> None:
    motors, stopped = Motors(MOTOR, 2), (0.0, 0.0)
    at_rest = motors.step(stopped, MS)
    assert motors.step(stopped, MS) == at_rest
    assert motors.step((0.5, 0.0), MS) != at_rest
    motors.reset((500.0, 500.0))
    spun_down = motors.step(stopped, MS)
    assert min(spun_down.speed_rad_s) > 400.0
    motors.reset((0.0, 0.0))
    assert motors.step(stopped, MS) == at_rest
