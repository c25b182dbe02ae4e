"""Which frame is next, and what counts as late."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aeroloop.cameras.schedule import JUDGED, Punctuality, SimulatedClock, newest_number, next_number
from aeroloop.cameras.shots import time_ns


def test_frame_times_do_not_drift() -> None:
    assert time_ns(1, 30.0) == 33_333_333
    assert time_ns(90_000, 30.0) == 3000 * 10**9


@given(st.floats(0, 1000), st.floats(0, 0.05), st.sampled_from([1.0, 15.0, 30.0, 120.0]))
def test_the_newest_frame_is_the_last_whose_poses_are_there(newest_s: float, after_s: float, rate_hz: float) -> None:
    number = newest_number(newest_s, after_s, rate_hz)
    assert number < 0 or time_ns(number, rate_hz) / 1e9 + after_s <= newest_s
    assert time_ns(number + 1, rate_hz) / 1e9 + after_s > newest_s


def test_a_camera_in_time_makes_every_frame_and_a_late_one_skips_to_the_newest() -> None:
    assert next_number(10, 12, 10.0, 0.08, 1.10) == 10  # 20 ms late: delivered late
    assert next_number(10, 12, 10.0, 0.08, 1.17) == 10
    assert next_number(10, 12, 10.0, 0.08, 1.19) == 12  # more than a period late
    assert next_number(10, 9, 10.0, 0.08, 9.0) == 10  # never back


def test_the_clock_follows_the_least_delayed_row_and_a_slip() -> None:
    clock = SimulatedClock(2.0)
    assert clock.now_s(5.0) == -float("inf")
    clock.see(0.0, 100.020)
    clock.see(0.04, 100.025)  # delayed by 5 ms only
    assert abs(clock.now_s(100.5) - 2.0 * (100.5 - 100.005)) < 1e-3
    for i in range(400):  # simulated time has slipped by 20 ms of wall time
        clock.see(0.04 + 0.02 * i, 100.045 + 0.01 * i)
    now_s = 100.045 + 0.01 * 399
    assert abs(clock.now_s(now_s) - (0.04 + 0.02 * 399)) < 1e-3


def test_a_camera_that_is_behind_warns_once() -> None:
    camera = Punctuality()
    told = [camera.see(late=number % 10 == 0, dropped=0) for number in range(1, 100)]
    assert not any(told)  # 10 % at most
    told = [camera.see(late=True, dropped=0) for _ in range(20)]
    assert sum(map(bool, told)) == 1
    assert told[1] == (
        "11 % of 101 frames were late or dropped, more than 10 %: lower rate_hz or size_px, or fly in lockstep"
    )


def test_a_camera_is_judged_after_some_frames_and_dropped_ones_count() -> None:
    camera = Punctuality()
    told = [camera.see(late=False, dropped=5) for _ in range(JUDGED)]
    assert [bool(words) for words in told].index(True) == JUDGED - 5 - 1
