"""Several loops in one time: order, paces, missed deadlines and how soon a wish to stop is heard."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.sim.fleet import ASK_S, FleetPace, fly_together

STEP_NS = 2_000_000


class Wall:
    """A clock that only sleeping and work move."""

    def __init__(self) -> None:
        self.now_ns = 5 * NS
        self.slept_s: list[float] = []

    def __call__(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_ns += round(seconds * NS)


class Aircraft:
    """Writes down what it is asked to do, and when."""

    def __init__(self, name: str, diary: list[str], wall: Wall, step_ns: int = STEP_NS) -> None:
        self.t_ns = 0
        self.step_ns = step_ns
        self.diverged = False
        self.settled = True
        self.began_ns: list[int] = []
        self.work_ns: dict[int, int] = {}  # at a simulated time
        self.diverges_ns = -1
        self._name, self._diary, self._wall = name, diary, wall

    def hear(self) -> None:
        self._diary.append(f"{self._name} hears")

    def advance(self) -> None:
        self.began_ns.append(self._wall.now_ns)
        self.t_ns += self.step_ns
        self._wall.now_ns += self.work_ns.get(self.t_ns, 0)
        self.diverged = self.t_ns == self.diverges_ns
        self._diary.append(f"{self._name} advances")

    def settle(self, stopped: Callable[[], bool]) -> None:
        self._diary.append(f"{self._name} settles")


def pair() -> tuple[Aircraft, Aircraft, list[str], Wall]:
    wall, diary = Wall(), list[str]()
    return Aircraft("a", diary, wall), Aircraft("b", diary, wall), diary, wall


def pace(wall: Wall, **kind: float) -> FleetPace:
    return FleetPace(STEP_NS, now_ns=wall, sleep=wall.sleep, **kind)  # type: ignore[arg-type]


def test_all_make_their_step_before_any_answer_is_awaited() -> None:
    a, b, diary, wall = pair()
    assert fly_together([a, b], 2 * STEP_NS, pace(wall, lockstep=True)) == "time"
    assert diary == ["a advances", "b advances", "a settles", "b settles"] * 2
    assert wall.slept_s == [], "in lockstep nobody waits for the wall"
    assert (a.t_ns, b.t_ns) == (2 * STEP_NS, 2 * STEP_NS)


def test_one_that_has_not_answered_yet_keeps_all_at_the_walls_pace() -> None:
    a, b, diary, wall = pair()
    b.settled = False
    fly_together([a, b], 3 * STEP_NS, pace(wall, lockstep=True))
    assert sum(wall.slept_s) == pytest.approx(3 * STEP_NS / NS)
    assert diary[:2] == ["b hears", "a advances"]
    assert "a hears" not in diary


@pytest.mark.parametrize("speed", [1.0, 4.0, 0.5])
def test_every_step_begins_at_its_absolute_deadline(speed: float) -> None:
    a, _, _, wall = pair()
    a.work_ns = {n * STEP_NS: 100_000 * n for n in range(1, 4)}
    clock = pace(wall, speed=speed)
    assert fly_together([a], 100 * STEP_NS, clock) == "time"
    assert {after - before for before, after in pairwise(a.began_ns)} == {STEP_NS / speed}
    assert clock.missed_deadlines == 0


def test_missed_deadlines_are_counted_and_never_made_up_for() -> None:
    a, _, _, wall = pair()
    a.work_ns = {10 * STEP_NS: 3 * STEP_NS + STEP_NS // 2}
    clock = pace(wall)
    fly_together([a], 20 * STEP_NS, clock)
    gaps = [after - before for before, after in pairwise(a.began_ns)]
    assert clock.missed_deadlines == 2
    assert gaps[9] == 3 * STEP_NS + STEP_NS // 2, "the one after begins at once, late"
    assert gaps[10] == STEP_NS // 2, "and is back on the grid"
    assert gaps[11:] == [STEP_NS] * 8, "without a burst"


def test_time_that_lockstep_gained_is_not_waited_for_when_it_ends() -> None:
    a, _, _, wall = pair()
    clock = pace(wall, lockstep=True)
    a.settled = False
    fly_together([a], STEP_NS, clock)
    a.settled = True
    fly_together([a], 10_000 * STEP_NS, clock)
    a.settled = False
    fly_together([a], 10_003 * STEP_NS, clock)
    assert sum(wall.slept_s) == pytest.approx(4 * STEP_NS / NS)
    assert clock.missed_deadlines == 0


def test_a_wish_to_stop_is_heard_in_a_long_wait() -> None:
    a, _, diary, wall = pair()
    asked_ns: list[int] = []

    def stopped() -> bool:
        asked_ns.append(wall.now_ns)
        return wall.now_ns >= 5 * NS + 0.7 * NS

    slow = pace(wall, speed=0.0005)  # a step takes four seconds
    assert fly_together([a], 10 * STEP_NS, slow, stopped) == "stopped"
    assert diary == []
    assert max(b - a for a, b in pairwise(asked_ns)) <= ASK_S * NS


def test_one_out_of_control_ends_the_flight_of_all() -> None:
    a, b, _, wall = pair()
    b.diverges_ns = 3 * STEP_NS
    assert fly_together([a, b], 10 * STEP_NS, pace(wall, lockstep=True)) == "diverged"
    assert a.t_ns == 3 * STEP_NS


def test_different_steps_are_refused() -> None:
    a, _, diary, wall = pair()
    with pytest.raises(ConfigError, match="need one time and one step"):
        fly_together([a, Aircraft("c", diary, wall, 4_000_000)], NS, pace(wall))
