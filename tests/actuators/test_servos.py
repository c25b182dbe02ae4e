"""Servos: lag, rate and stops, exact in any step; commands that are no numbers; limits that make no sense."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.actuators.servos import DeadBand, HingedServos, Limits, Servos
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError

MS = 1_000_000
AILERON, THROTTLE = 0, 3
GOOD: dict[str, Any] = {
    "low": [-0.4, -0.4, -0.4, 0.0],
    "high": [0.4, 0.4, 0.4, 1.0],
    "rate_per_s": [5.0, 5.0, 5.0, 2.0],
    "lag_s": [0.04, 0.04, 0.0, 0.2],
}
LIMITS = convert(GOOD, Limits, "test")


def after(start: float, command: float, dt_ns: int) -> float:
    servos = Servos(LIMITS, (start, 0.0, 0.0, 0.0))
    servos.step((command, 0.0, 0.0, 0.0), dt_ns)
    return servos.controls[AILERON]


def test_a_small_move_is_a_first_order_lag() -> None:
    assert after(0.0, 0.1, 40 * MS) == pytest.approx(0.1 * (1 - math.exp(-1)))  # 0.1 / 0.04 s is within 5 rad/s


def test_a_large_move_runs_at_its_rate_and_then_creeps() -> None:
    assert after(-0.4, 0.4, 20 * MS) == pytest.approx(-0.4 + 5.0 * 0.02)
    run_s = (0.8 - 5.0 * 0.04) / 5.0
    assert after(-0.4, 0.4, 200 * MS) == pytest.approx(0.4 - 0.2 * math.exp(-(0.2 - run_s) / 0.04))


@given(
    start=st.floats(-0.4, 0.4), command=st.floats(-0.5, 0.5), cut_ns=st.integers(1, 200 * MS - 1)
)  # 200 ms is longer than the whole travel takes
def test_a_step_cut_in_two_ends_the_same(start: float, command: float, cut_ns: int) -> None:
    whole, cut = Servos(LIMITS, (start,) * 4), Servos(LIMITS, (start,) * 4)
    once = whole.step((command,) * 4, 200 * MS)
    first, second = cut.step((command,) * 4, cut_ns), cut.step((command,) * 4, 200 * MS - cut_ns)
    assert cut.controls == pytest.approx(whole.controls, abs=1e-9)
    parts = [
        (a * cut_ns + b * (200 * MS - cut_ns)) / (200 * MS)
        for a, b in zip(first.controls, second.controls, strict=True)
    ]
    assert once.controls == pytest.approx(parts, abs=1e-9)


def test_the_mean_is_the_mean() -> None:
    coarse, fine = Servos(LIMITS, (-0.4, 0.1, 0.0, 0.0)), Servos(LIMITS, (-0.4, 0.1, 0.0, 0.0))
    command = (0.4, 0.2, -0.3, 0.9)
    mean = coarse.step(command, 300 * MS).controls
    ends = []
    for _ in range(3000):
        fine.step(command, MS // 10)
        ends.append(fine.controls)
    assert mean == pytest.approx([sum(column) / 3000 for column in zip(*ends, strict=True)], abs=2e-4)


@given(st.lists(st.tuples(*[st.floats(-100, 100)] * 4), max_size=20), st.integers(1, 100 * MS))
def test_never_beyond_a_stop_nor_faster_than_the_rate(commands: list[tuple[float, ...]], dt_ns: int) -> None:
    servos = Servos(LIMITS)
    for command in commands:
        before = servos.controls
        servos.step(command, dt_ns)
        for i, (was, now) in enumerate(zip(before, servos.controls, strict=True)):
            assert LIMITS.low[i] <= now <= LIMITS.high[i]
            assert abs(now - was) <= LIMITS.rate_per_s[i] * dt_ns / 1e9 + 1e-12


def test_says_what_holds_it_back() -> None:
    servos = Servos(LIMITS)
    easy = servos.step((0.1, 0.0, 0.0, 0.0), MS)
    assert (easy.saturated, easy.rate_limited, easy.not_finite) == (False, False, False)
    fast = servos.step((0.4, 0.0, 0.0, 0.0), MS)
    assert (fast.saturated, fast.rate_limited) == (False, True)
    far = servos.step((0.0, 0.0, 0.0, 1.5), MS)
    assert far.saturated
    for _ in range(20):
        servos.step((0.0, 0.0, 0.0, 1.5), 1000 * MS)
    assert servos.controls[THROTTLE] == pytest.approx(1.0)


@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_moves_nothing(garbage: float) -> None:
    servos = Servos(LIMITS, (0.2, 0.0, 0.0, 0.5))
    effort = servos.step((garbage, 0.1, 0.0, garbage), 50 * MS)
    assert effort.not_finite
    assert not effort.saturated
    assert servos.controls[AILERON] == 0.2
    assert servos.controls[THROTTLE] == 0.5
    assert servos.controls[1] > 0.05


def test_begins_within_its_stops() -> None:
    assert Servos(LIMITS, (1.0, -1.0, 0.1, 2.0)).controls == (0.4, -0.4, 0.1, 1.0)
    with pytest.raises(ConfigError, match="4 finite numbers"):
        Servos(LIMITS, (0.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match="4 finite numbers"):
        Servos(LIMITS, (0.0, 0.0, math.nan, 0.0))


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("low", [-0.4, 0.4, -0.4, 0.0], "elevator's low to be less than its high"),
        ("rate_per_s", [5.0, 0.0, 5.0, 2.0], "rate_per_s"),
        ("lag_s", [0.04, 0.04, -1.0, 0.2], "lag_s"),
        ("high", [0.4, 0.4, 0.4], "high"),
    ],
)
def test_limits_that_make_no_sense_are_refused(key: str, value: list[float], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        convert({**GOOD, key: value}, Limits, "test")


HINGED = convert(
    GOOD
    | {
        "hinges": {
            "torque_Nm": [0.1, 0.05, 0.2],
            "area_m2": [0.02, 0.04, 0.02],
            "chord_m": [0.05, 0.06, 0.05],
            "moment_1_rad": [0.5, 0.6, 0.5],
        }
    },
    Limits,
    "test",
)


@pytest.mark.parametrize("speed_m_s", [0.0, 10.0, 20.0, 30.0, 50.0])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_servo_holds_a_surface_as_far_as_its_torque_goes(speed_m_s: float, side: float) -> None:
    """|d| = T/(q S c Ch), or the travel where that is less."""
    pressure_Pa = 0.5 * 1.225 * speed_m_s**2
    servos = HingedServos(HINGED, lambda: pressure_Pa, (0.0,) * 4)
    for _ in range(10):
        effort = servos.step((side, side, side, 1.0), 1000 * MS)
    factors = ((0.1, 0.02 * 0.05 * 0.5), (0.05, 0.04 * 0.06 * 0.6), (0.2, 0.02 * 0.05 * 0.5))
    held = [torque / (pressure_Pa * factor) if pressure_Pa else math.inf for torque, factor in factors]
    expected = [side * min(0.4, most) for most in held]
    assert effort.controls == pytest.approx([*expected, 1.0], rel=1e-9)
    if speed_m_s == 20.0:
        assert abs(effort.controls[1]) == pytest.approx(0.05 / (245.0 * 0.00144))  # 8 of 23 deg


def test_rising_speed_pushes_a_surface_back_at_the_servos_rate() -> None:
    pressure_Pa = 0.0
    servos = HingedServos(HINGED, lambda: pressure_Pa, (0.0, -0.4, 0.0, 0.0))
    assert not servos.step((0.0, -0.4, 0.0, 0.0), 10 * MS).saturated
    pressure_Pa = 500.0
    effort = servos.step((0.0, -0.4, 0.0, 0.0), 10 * MS)
    assert effort.saturated and effort.rate_limited
    assert servos.controls[1] == pytest.approx(-0.4 + 5.0 * 0.01)


def test_without_hinges_the_reach_is_the_travel() -> None:
    assert LIMITS.reach(1e6) == (LIMITS.low, LIMITS.high)


def test_a_dead_band_makes_stairs_of_a_ramp_and_leaves_larger_steps_as_they_are() -> None:
    """A ramp over n bands is followed in n jumps, each when the command has left the band."""
    quick = convert(GOOD | {"lag_s": [0.0] * 4, "rate_per_s": [1000.0] * 4}, Limits, "test")
    banded = DeadBand(Servos(quick), (0.01, 0.0, 0.0, 0.0))
    places = []
    for step in range(1001):
        command = 0.1 * step / 1000
        banded.step((command, command, 0.0, 0.0), MS)
        assert abs(banded.controls[0] - command) <= 0.01 + 1e-12
        assert banded.controls[1] == pytest.approx(command)
        places.append(banded.controls[0])
    assert len(set(places)) == 1 + int(0.1 / 0.0101)
    banded.step((-0.3, 0.0, 0.0, 0.0), MS)
    assert banded.controls[0] == pytest.approx(-0.3)
    banded.reset((0.2, 0.0, 0.0, 0.0))
    banded.step((0.205, 0.0, 0.0, 0.0), MS)
    assert banded.controls[0] == 0.2


def test_a_dead_band_does_not_hide_a_command_that_is_nan() -> None:
    banded = DeadBand(Servos(LIMITS), (0.1,) * 4)
    assert banded.step((math.nan, 0.0, 0.0, 0.0), MS).not_finite
