"""The only loop and its pace: order of calls, cut steps, paces, missed deadlines, and how soon a stop is heard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from aeroloop.core.faults import Switch, Switched
from aeroloop.core.signals import NS
from aeroloop.sim.exchange import NEVER_NS, Row
from aeroloop.sim.loop import Craft, first, run
from aeroloop.sim.pace import ASK_S, Pace

STEP_NS = 2_000_000


class Wall:
    """A clock that only waiting and work move."""

    def __init__(self) -> None:
        self.now_ns = 5 * NS
        self.slept_s: list[float] = []
        self.bytes_at_ns: dict[int, int] = {}  # wall time at which bytes come -> descriptor

    def __call__(self) -> int:
        return self.now_ns

    def wait(self, descriptors: Sequence[int], seconds: float) -> Sequence[int]:
        until_ns = self.now_ns + round(seconds * NS)
        for at_ns, descriptor in sorted(self.bytes_at_ns.items()):
            if at_ns <= until_ns and descriptor in descriptors:
                self.now_ns = max(self.now_ns, at_ns)
                del self.bytes_at_ns[at_ns]
                return [descriptor]
        self.slept_s.append(seconds)
        self.now_ns = until_ns
        return []


class Vehicle:
    """Writes down what it is asked to do, and when; its step is on a grid of its own."""

    def __init__(self, name: str, diary: list[str], wall: Wall, step_ns: int = STEP_NS) -> None:
        self.t_ns, self.step_ns, self.ended = 0, step_ns, ""
        self.command: Row = (0.0,)
        self.commands: list[Row] = []
        self.ends_ns: list[int] = []
        self.began_ns: list[int] = []
        self.work_ns: dict[int, int] = {}  # at a simulated time
        self.diverges_ns = -1
        self._name, self._diary, self._wall = name, diary, wall

    def begin(self) -> None: ...

    def advance(self, until_ns: int, *, exact: bool) -> None:
        while self.t_ns < until_ns and not self.ended:
            end_ns = (self.t_ns // self.step_ns + 1) * self.step_ns
            if end_ns > until_ns and not exact:
                return
            self.began_ns.append(self._wall.now_ns)
            self.t_ns = min(end_ns, until_ns)
            self.ends_ns.append(self.t_ns)
            self.commands.append(self.command)
            self._wall.now_ns += self.work_ns.get(self.t_ns, 0)
            self.ended = "diverged" if self.t_ns == self.diverges_ns else ""
            self._diary.append(f"{self._name} advances")


class Steps:
    """An exchange that wants every step of its vehicle's grid."""

    cuts = over = False

    def __init__(self, name: str, diary: list[str], vehicle: Vehicle) -> None:
        self.locked = True
        self.command: Row | None = None
        self._name, self._diary, self._vehicle = name, diary, vehicle

    def next_ns(self) -> int:
        return (self._vehicle.t_ns // self._vehicle.step_ns + 1) * self._vehicle.step_ns

    def await_ready(self, timeout_s: float, stopped: Callable[[], bool]) -> None: ...
    def fileno(self) -> int:
        return -1

    def wake(self, t_ns: int) -> None:
        raise AssertionError("it does not cut")

    def receive(self, t_ns: int) -> None:
        self._diary.append(f"{self._name} hears")

    def serve(self) -> None:
        self._diary.append(f"{self._name} serves")

    def settle(self, stopped: Callable[[], bool]) -> None:
        self._diary.append(f"{self._name} settles")

    def switch(self, switch: Switch) -> Switched:
        return Switched()

    def finish(self) -> None: ...
    def close(self) -> None: ...


class Messages(Steps):
    """One that wants what it says, to the nanosecond."""

    cuts = True

    def __init__(self, times_ns: Sequence[int], vehicle: Vehicle, descriptor: int = -1) -> None:
        super().__init__("m", [], vehicle)
        self._times_ns, self._descriptor = list(times_ns), descriptor
        self.served_ns: list[int] = []

    def next_ns(self) -> int:
        return self._times_ns[0] if self._times_ns else NEVER_NS

    def fileno(self) -> int:
        return self._descriptor

    def wake(self, t_ns: int) -> None:
        self._times_ns.insert(0, t_ns)

    def serve(self) -> None:
        while self._times_ns and self._times_ns[0] <= self._vehicle.t_ns:
            self.served_ns.append(self._vehicle.t_ns)
            self._times_ns.pop(0)


def craft(vehicle: Vehicle, *exchanges: Steps, end_ns: int = NS) -> Craft:
    flown: Any = vehicle
    return Craft(flown, exchanges, end_ns)


def pair(end_ns: int = NS) -> tuple[list[Craft], list[Vehicle], list[Steps], list[str], Wall]:
    wall, diary = Wall(), list[str]()
    vehicles = [Vehicle(name, diary, wall) for name in "ab"]
    exchanges = [Steps(name, diary, vehicle) for name, vehicle in zip("ab", vehicles, strict=True)]
    crafts = [craft(v, x, end_ns=end_ns) for v, x in zip(vehicles, exchanges, strict=True)]
    return crafts, vehicles, exchanges, diary, wall


def pace(wall: Wall, **kind: Any) -> Pace:
    return Pace(STEP_NS, now_ns=wall, wait=wall.wait, **kind)


def going() -> bool:
    return False


def test_all_make_their_step_before_any_answer_is_awaited() -> None:
    crafts, vehicles, _, diary, wall = pair(2 * STEP_NS)
    assert run(crafts, pace(wall, lockstep=True), going) == "completed"
    one = ["a hears", "a advances", "b hears", "b advances", "a serves", "b serves", "a settles", "b settles"]
    assert diary == one * 2
    assert wall.slept_s == [], "in lockstep nobody waits for the wall"
    assert [vehicle.t_ns for vehicle in vehicles] == [2 * STEP_NS] * 2


def test_one_that_has_not_answered_yet_keeps_all_at_the_walls_pace() -> None:
    crafts, _, exchanges, _, wall = pair(3 * STEP_NS)
    exchanges[1].locked = False
    run(crafts, pace(wall, lockstep=True), going)
    assert sum(wall.slept_s) == pytest.approx(3 * STEP_NS / NS)


def test_a_message_cuts_the_step_of_its_own_aircraft_only() -> None:
    wall, diary = Wall(), list[str]()
    a, b = Vehicle("a", diary, wall), Vehicle("b", diary, wall, 3_000_000)
    heard = Messages([500_000, 4_100_000], a)
    run([craft(a, heard, end_ns=6_000_000), craft(b, Steps("b", diary, b), end_ns=6_000_000)],
        pace(wall, lockstep=True), going)  # fmt: skip
    assert a.ends_ns == [500_000, 2_000_000, 4_000_000, 4_100_000, 6_000_000]
    assert b.ends_ns == [3_000_000, 6_000_000]
    assert heard.served_ns == [500_000, 4_100_000]


def test_the_flight_of_one_is_the_same_whoever_shares_its_time() -> None:
    def ends(*others: int) -> list[int]:
        wall, diary = Wall(), list[str]()
        a = Vehicle("a", diary, wall)
        fleet = [craft(a, Messages([1_500_000, 7_000_001], a), end_ns=9_000_000)]
        for step_ns in others:
            b = Vehicle("b", diary, wall, step_ns)
            fleet.append(craft(b, Steps("b", diary, b), end_ns=20_000_000))
        run(fleet, pace(wall, lockstep=True), going)
        return a.ends_ns

    assert ends() == ends(3_000_000) == ends(1_000_000, 700_000)


def test_bytes_that_come_between_two_deadlines_cut_the_step_at_their_time() -> None:
    wall, diary = Wall(), list[str]()
    a = Vehicle("a", diary, wall)
    heard = Messages([], a, descriptor=7)
    wall.bytes_at_ns = {5 * NS + 2_500_000: 7}
    run([craft(a, heard, end_ns=3 * STEP_NS)], pace(wall), going)
    assert a.ends_ns == [2_000_000, 2_500_000, 4_000_000, 6_000_000]
    assert heard.served_ns == [2_500_000]


@pytest.mark.parametrize("speed", [1.0, 4.0, 0.5])
def test_every_step_begins_at_its_absolute_deadline(speed: float) -> None:
    crafts, vehicles, _, _, wall = pair(100 * STEP_NS)
    vehicles[0].work_ns = {n * STEP_NS: 100_000 * n for n in range(1, 4)}
    clock = pace(wall, speed=speed)
    assert run(crafts[:1], clock, going) == "completed"
    assert {after - before for before, after in pairwise(vehicles[0].began_ns)} == {STEP_NS / speed}
    assert clock.missed_deadlines == 0


def test_missed_deadlines_are_counted_and_never_made_up_for() -> None:
    crafts, vehicles, _, _, wall = pair(20 * STEP_NS)
    vehicles[0].work_ns = {10 * STEP_NS: 3 * STEP_NS + STEP_NS // 2}
    clock = pace(wall)
    run(crafts[:1], clock, going)
    gaps = [after - before for before, after in pairwise(vehicles[0].began_ns)]
    assert clock.missed_deadlines == 2
    assert gaps[9] == 3 * STEP_NS + STEP_NS // 2, "the one after begins at once, late"
    assert gaps[10] == STEP_NS // 2, "and is back on the grid"
    assert gaps[11:] == [STEP_NS] * 8, "without a burst"


def test_time_that_lockstep_gained_is_not_waited_for_when_it_ends() -> None:
    crafts, _, exchanges, _, wall = pair()
    clock, a = pace(wall, lockstep=True), exchanges[0]
    for locked, until in ((False, 1), (True, 10_000), (False, 10_003)):
        a.locked, crafts[0].end_ns = locked, until * STEP_NS
        run(crafts[:1], clock, going)
    assert sum(wall.slept_s) == pytest.approx(4 * STEP_NS / NS)
    assert clock.missed_deadlines == 0


def test_a_wish_to_stop_is_heard_in_a_long_wait() -> None:
    crafts, _, _, diary, wall = pair()
    asked_ns: list[int] = []

    def stopped() -> bool:
        asked_ns.append(wall.now_ns)
        return wall.now_ns >= 5 * NS + 0.7 * NS

    slow = pace(wall, speed=0.0005)  # a step takes four seconds
    assert run(crafts, slow, stopped) == "stopped"
    assert diary == []
    assert max(b - a for a, b in pairwise(asked_ns)) <= ASK_S * NS


def test_one_out_of_control_ends_the_flight_of_all() -> None:
    crafts, vehicles, _, _, wall = pair(10 * STEP_NS)
    vehicles[1].diverges_ns = 3 * STEP_NS
    assert run(crafts, pace(wall, lockstep=True), going) == "diverged"
    assert vehicles[0].t_ns == 3 * STEP_NS


def test_the_first_controller_that_has_a_command_flies_and_without_any_the_last_one_stands() -> None:
    assert first([None, (1.0,), (2.0,)]) == (1.0,)
    assert first([None]) is None
    wall, diary = Wall(), list[str]()
    a = Vehicle("a", diary, wall)
    main, standby = Steps("m", diary, a), Steps("s", diary, a)
    standby.command = (0.5,)
    run([craft(a, main, standby, end_ns=STEP_NS)], pace(wall, lockstep=True), going)
    main.command = (0.9,)
    run([craft(a, main, standby, end_ns=2 * STEP_NS)], pace(wall, lockstep=True), going)
    main.command = standby.command = None
    run([craft(a, main, standby, end_ns=3 * STEP_NS)], pace(wall, lockstep=True), going)
    assert a.commands == [(0.5,), (0.9,), (0.9,)]


def test_aircraft_end_one_by_one_and_the_flight_with_the_last() -> None:
    crafts, vehicles, _, _, wall = pair()
    crafts[0].end_ns, crafts[1].end_ns = 3 * STEP_NS, 5 * STEP_NS
    rounds: list[int] = []
    assert run(crafts, pace(wall, lockstep=True), going, lambda: rounds.append(1)) == "completed"
    assert [vehicle.t_ns for vehicle in vehicles] == [3 * STEP_NS, 5 * STEP_NS]
    assert len(rounds) == 5
