"""Sets of pose packets: which a format has, what a line carries, and when a set is complete."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.protocols.pose import Attitude, Motors, Pose, Position, Rates, SpecificForce, Status, Velocity
from aeroloop.protocols.pose_sets import (
    DEFAULT_SETS,
    NAMES,
    SetCollector,
    highest_rate_hz,
    line_load,
    set_bytes,
    set_types,
)

PAPER = set_types(DEFAULT_SETS["paper"], "paper")
MOVING = set_types(("attitude", "position", "rates", "velocity"), "extended")
EVERY = set_types(DEFAULT_SETS["extended"], "extended")
SENT: dict[str, Pose] = {
    "attitude": Attitude(0.1, 0.2, 0.3),
    "position": Position(8.5, 47.4, 488.0),
    "rates": Rates(0.4, 0.5, 0.6),
    "velocity": Velocity(1.0, 2.0, 3.0),
    "force": SpecificForce(0.0, 0.0, -9.8),
    "status": Status(1234, 7),
}


@pytest.mark.parametrize(
    ("kinds", "size", "slow_hz", "fast_hz"), [(PAPER, 54, 213, 1706), (MOVING, 72, 160, 1280), (EVERY, 108, 106, 853)]
)
def test_highest_rates(kinds: frozenset[int], size: int, slow_hz: int, fast_hz: int) -> None:
    assert set_bytes(kinds) == size
    assert int(highest_rate_hz(kinds, 115_200)) == slow_hz
    assert int(highest_rate_hz(kinds, 921_600)) == fast_hz


def test_a_full_line_is_warned_of_and_a_fuller_one_refused() -> None:
    good = line_load(PAPER, 170, 115_200, motors_hz=250)
    assert (good.refusal, good.warning) == (None, None)
    assert good.to_board == pytest.approx(0.797, abs=1e-3)
    assert good.from_board == pytest.approx(0.304, abs=1e-3)
    near = line_load(PAPER, 200, 115_200)
    assert near.refusal is None
    assert near.warning is not None and "94%" in near.warning
    over = line_load(PAPER, 250, 115_200)
    assert over.warning is None
    assert over.refusal == (
        "pose.rate_hz: 250 Hz of 54 bytes need 117% of 115200 baud; expected at most 213 Hz, or a faster line"
    )
    back = line_load(PAPER, 10, 115_200, motors_hz=1000)
    assert back.refusal is not None and "motor packets" in back.refusal


@pytest.mark.parametrize(
    ("names", "types", "words"),
    [
        (("attitude", "position", "velocity"), "paper", "'velocity' needs pose.format 'extended'"),
        (("attitude", "rates"), "extended", "without position"),
        (("rates",), "paper", "without attitude and position"),
        (("attitude", "position", "wind"), "extended", "not 'wind'"),
    ],
)
def test_impossible_sets_are_refused(names: tuple[str, ...], types: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        set_types(names, types)


def test_a_set_is_complete_when_each_type_came() -> None:
    collector = SetCollector(EVERY)
    sets = [collector.add(pose, 10 + i) for i, pose in enumerate(SENT.values())]
    assert sets[:-1] == [None] * 5
    made = sets[-1]
    assert made is not None
    assert made.time_ns == 1234 * 1_000_000, "the simulator's time"
    assert (made.attitude, made.position, made.rates) == tuple(SENT.values())[:3]
    assert (made.velocity, made.force, made.status) == tuple(SENT.values())[3:]


def test_a_papers_set_is_stamped_with_its_arrival() -> None:
    collector = SetCollector(PAPER)
    collector.add(SENT["rates"], 1)
    collector.add(SENT["attitude"], 2)
    collector.add(Attitude(9.0, 9.0, 9.0), 3)
    made = collector.add(SENT["position"], 4)
    assert made is not None
    assert (made.time_ns, made.attitude.roll_rad, made.status) == (4, 9.0, None)
    assert collector.add(SENT["position"], 5) is None, "the next set begins with nothing"
    assert collector.add(SENT["velocity"], 6) is None
    assert collector.add(Motors((1, 2, 3, 4)), 7) is None
    assert (collector.complete, collector.other) == (1, 2)


@given(st.lists(st.sampled_from(list(NAMES)), max_size=60), st.sampled_from([PAPER, MOVING, EVERY]))
def test_sets_in_any_order_with_any_loss(arriving: list[str], kinds: frozenset[int]) -> None:
    collector, seen, complete = SetCollector(kinds), set[int](), 0
    for i, name in enumerate(arriving):
        made = collector.add(SENT[name], i)
        if NAMES[name] in kinds:
            seen.add(NAMES[name])
        assert (made is not None) == (seen == kinds)
        if seen == kinds:
            seen, complete = set(), complete + 1
    assert collector.complete == complete


@pytest.mark.parametrize(
    ("numbers", "lost"),
    [((0, 1, 2), 0), ((0, 3, 4, 9), 2 + 4), ((2**32 - 1, 0, 1), 0), ((2**32 - 2, 1), 2), ((500, 0, 1), 0), ((5, 5), 0)],
)
def test_running_numbers_show_loss(numbers: tuple[int, ...], lost: int) -> None:
    collector = SetCollector(EVERY)
    for number in numbers:
        for pose in (*list(SENT.values())[:5], Status(0, number)):
            collector.add(pose, 0)
    assert collector.lost == lost
