"""The lockstep rule against an autopilot that answers every n-th sample, late, not at all or without lockstep."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.protocols.px4_lockstep import LARGEST_RATIO, LONGEST_STEP_US, Px4Lockstep


def converse(lock: Px4Lockstep, period_us: int, samples: int, answers: Callable[[int], list[int]]) -> int:
    """Sends samples; `answers` gives the numbers of the samples answered when one arrives. Counts time-outs."""
    for number in range(1, samples + 1):
        lock.sent(number * period_us)
        for answered in answers(number):
            lock.answered(answered * period_us, lockstep=True)
        if lock.waiting:
            lock.timed_out()
    return lock.timeouts


@pytest.mark.parametrize(
    ("period_us", "every"), [(20_000, 1), (4000, 1), (2500, 2), (2000, 2), (1000, 4), (250, LARGEST_RATIO)]
)
@pytest.mark.parametrize("silent", [13, 24])
def test_px4_is_followed_without_a_single_time_out(period_us: int, every: int, silent: int) -> None:
    lock = Px4Lockstep()
    timeouts = converse(lock, period_us, 500, lambda n: [n] if n > silent and (n - silent) % every == 0 else [])
    assert timeouts == 0
    assert lock.locked
    assert lock.ratio == every
    assert lock.stray_answers == 0


def test_it_runs_free_until_the_first_answer_and_then_waits() -> None:
    lock = Px4Lockstep()
    assert [lock.sent(4000 * n) for n in range(1, 20)] == [False] * 19
    assert lock.answered(4000 * 19, lockstep=True)
    assert lock.sent(4000 * 20)
    assert lock.waiting
    assert lock.answered(4000 * 20, lockstep=True)
    assert not lock.waiting


def test_the_first_answer_may_be_one_step_old() -> None:
    lock = Px4Lockstep()
    for n in range(1, 15):
        lock.sent(4000 * n)
    assert lock.answered(4000 * 13, lockstep=True)
    assert lock.sent(4000 * 15)
    assert not lock.answered(4000 * 14, lockstep=True)
    assert lock.answered(4000 * 15, lockstep=True)


def test_answers_that_always_trail_cost_three_time_outs() -> None:
    assert converse(Px4Lockstep(), 4000, 200, lambda n: [n - 1] if n > 13 else []) == 3


def test_a_single_pause_changes_nothing_for_the_rest_of_the_flight() -> None:
    lock = Px4Lockstep()
    for n in range(1, 15):
        lock.sent(4000 * n)
    lock.answered(4000 * 13, lockstep=True)
    lock.sent(4000 * 15)
    lock.answered(4000 * 14, lockstep=True)
    assert lock.trails
    lock.timed_out()
    lock.sent(4000 * 16)
    lock.answered(4000 * 15, lockstep=True)
    lock.answered(4000 * 16, lockstep=True)
    for n in range(17, 200):
        assert lock.sent(4000 * n), "each answer is waited for again"
        assert lock.answered(4000 * n, lockstep=True)


@pytest.mark.parametrize("missed", [1, 4, 30])
@pytest.mark.parametrize("before", [16, 100])
def test_one_that_pauses_is_waited_for_as_before(before: int, missed: int) -> None:
    """While it starts, in a debugger, on a busy machine: what it finds afterwards it takes at once, and answers the
    newest."""
    lock = Px4Lockstep()
    assert converse(lock, 4000, before, lambda n: [n] if n > 13 else []) == 0
    for n in range(before + 1, before + 1 + missed):
        assert lock.sent(4000 * n)
        lock.timed_out()
    resumed = before + 1 + missed
    assert lock.sent(4000 * resumed)
    assert not lock.answered(4000 * (before + 1), lockstep=True), "its answer to the sample at which it paused"
    assert lock.answered(4000 * resumed, lockstep=True)
    for n in range(resumed + 1, resumed + 100):
        assert lock.settled
        assert lock.sent(4000 * n), "each answer is waited for again"
        assert lock.answered(4000 * n, lockstep=True)
    assert lock.ratio == 1


def test_pauses_now_and_then_are_no_habit() -> None:
    lock = Px4Lockstep()
    assert converse(lock, 4000, 2000, lambda n: [n] if n > 13 and n % 100 else []) == 20
    assert lock.ratio == 1


@pytest.mark.parametrize("every", [2, 3, 5])
def test_fewer_answers_than_foreseen_are_learnt(every: int) -> None:
    lock = Px4Lockstep()
    timeouts = converse(lock, 4000, 400, lambda n: [n] if n > 13 and n % every == 0 else [])
    assert timeouts <= 2 * every
    assert lock.ratio == every


def test_more_answers_than_foreseen_are_learnt() -> None:
    lock = Px4Lockstep()
    assert converse(lock, 2000, 100, lambda n: [n] if n > 13 else []) == 0
    assert lock.ratio == 1
    assert lock.sent(202_000)


def test_an_answer_in_the_other_phase_is_no_deadlock() -> None:
    """At 500 Hz: answers to even samples, then to odd ones."""
    lock = Px4Lockstep()
    timeouts = converse(lock, 2000, 200, lambda n: [n] if n > 13 and n % 2 == (n > 100) else [])
    assert timeouts <= 1
    assert lock.ratio == 2


def test_an_autopilot_without_lockstep_is_never_waited_for() -> None:
    lock = Px4Lockstep()
    for n in range(1, 100):
        assert not lock.sent(4000 * n)
        assert lock.answered(123, lockstep=False)


def test_stray_answers_are_counted_and_settle_nothing() -> None:
    lock = Px4Lockstep()
    lock.sent(4000)
    lock.answered(4000, lockstep=True)
    assert lock.sent(8000)
    assert not lock.answered(4000, lockstep=True)
    assert not lock.answered(12_000, lockstep=True)
    assert lock.stray_answers == 2
    assert lock.waiting


@pytest.mark.parametrize("first_us", [0, -4000, 1_000_001, 1_700_000_000_000_000])
def test_the_clock_starts_near_zero(first_us: int) -> None:
    with pytest.raises(ValueError, match=f"starts at {first_us}"):
        Px4Lockstep().sent(first_us)


@pytest.mark.parametrize("step_us", [0, -1, -4000, LONGEST_STEP_US + 1])
def test_the_clock_never_stands_goes_back_or_jumps(step_us: int) -> None:
    lock = Px4Lockstep()
    lock.sent(100_000)
    with pytest.raises(ValueError, match=f"from 100000 to {100_000 + step_us}"):
        lock.sent(100_000 + step_us)


@given(st.lists(st.one_of(st.none(), st.booleans(), st.integers(-3, 10**6)), max_size=200))
def test_no_order_of_events_breaks_it(events: list[bool | int | None]) -> None:
    """None sends, True and False time out, a number answers; the ratio stays bounded and a wait can be left."""
    lock, t_us = Px4Lockstep(), 0
    for event in events:
        if event is None:
            t_us += 4000
            lock.sent(t_us)
        elif isinstance(event, bool):
            lock.timed_out()
            assert not lock.waiting
        else:
            assert lock.answered(event, lockstep=True) != lock.waiting
        assert 1 <= lock.ratio <= LARGEST_RATIO


def test_a_first_answer_that_is_a_step_old_leaves_one_owed() -> None:
    rule = Px4Lockstep()
    for number in range(1, 20):
        rule.sent(number * 4000)
        assert not rule.settled
    rule.answered(18 * 4000, lockstep=True)
    assert rule.locked
    assert not rule.settled, "sample 19 is on its way"
    rule.answered(19 * 4000, lockstep=True)
    assert rule.settled
    assert rule.sent(20 * 4000)
    assert not rule.trails


def test_an_answer_to_an_older_sample_trails() -> None:
    rule = Px4Lockstep()
    rule.sent(4000)
    rule.answered(4000, lockstep=True)
    rule.sent(8000)
    rule.answered(8000, lockstep=True)
    rule.sent(12000)
    rule.sent(16000)
    assert rule.waiting
    assert not rule.trails
    rule.answered(12000, lockstep=True)
    assert rule.waiting
    assert rule.trails


def test_a_prompt_autopilot_is_waited_for_from_the_first_sample_on() -> None:
    lock = Px4Lockstep(answers_every_sample=True)
    assert lock.settled
    assert lock.sent(2000)
    assert lock.answered(2000, lockstep=True)
    assert lock.sent(4000)
    assert lock.ratio == 1, "whatever the rate"
