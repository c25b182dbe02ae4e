"""The selector of several boards: who flies, and who may not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.core.redundancy import BY_VOTE, Redundancy, Verdict
from aeroloop.sim.exchange import NEVER_NS, Row
from aeroloop.sim.selector import Decision, Report, Selector

PERIOD_NS, WAIT_NS = 12_000_000, 2_000_000
VALID = Verdict.VALID


class Bench:
    """Boards that send a command at the beginning of each control period."""

    def __init__(self, boards: int, mode: str = "standby", **more: object) -> None:
        table = Redundancy(boards=boards, mode=mode, band=(1.0,), **more)  # type: ignore[arg-type]
        self.selector = Selector(table, PERIOD_NS, (5.0,))
        self.t_ns, self.counts = -PERIOD_NS, [0] * boards
        self.received_ns = [0] * boards
        self.commands: list[Row | None] = [None] * boards
        self.faults = [VALID] * boards
        self.aligned = [True] * boards

    def reports(self) -> list[Report]:
        rows = zip(self.commands, self.received_ns, self.counts, self.faults, self.aligned, strict=True)
        return [Report(*row) for row in rows]

    def cycle(self, *commands: float | None) -> Decision | None:
        """The commands of a period, None for a board that sends none; the decision at its start, or when one is
        missing."""
        self.t_ns += PERIOD_NS
        for number, value in enumerate(commands):
            if value is not None:
                self.commands[number], self.received_ns[number] = (value,), self.t_ns
                self.counts[number] += 1
        found = self.selector.decide(self.t_ns, self.reports())
        if found is None:
            due_ns = self.selector.deadline_ns(self.t_ns, self.reports())
            assert due_ns == self.t_ns + WAIT_NS
            found = self.selector.decide(due_ns, self.reports())
        return found

    def flown(self, *commands: float | None) -> Row | None:
        found = self.cycle(*commands)
        return None if found is None else found.command


def kinds(decision: Decision | None) -> list[tuple[str, int]]:
    assert decision is not None
    return [(occurred.kind, occurred.board) for occurred in decision.occurred]


def test_the_active_board_flies_and_another_takes_over_in_the_same_period() -> None:
    bench = Bench(2)
    assert bench.flown(5.0, 5.5) == (5.0,)
    taken = bench.cycle(None, 5.6)
    assert taken is not None
    assert (taken.command, taken.active, taken.reason, taken.held) == ((5.6,), 1, Verdict.MISSING, 0)
    assert taken.since_ns == bench.t_ns + WAIT_NS
    assert kinds(taken) == [("out", 0), ("selected", 1)]
    assert taken.verdicts == (Verdict.MISSING, VALID)
    # From then on the new board's command flies at once, whatever the first does.
    assert bench.flown(5.0, 5.7) == (5.7,)


@pytest.mark.parametrize("fault", [Verdict.IMPLAUSIBLE, Verdict.UNHEALTHY, Verdict.BABBLING, Verdict.DISCONNECTED])
def test_a_fault_of_the_active_board_is_not_waited_for(fault: Verdict) -> None:
    bench = Bench(2)
    bench.cycle(5.0, 5.0)
    bench.faults[0] = fault
    found = bench.cycle(7.0, 5.1)
    assert found is not None
    assert (found.command, found.active, found.reason) == ((5.1,), 1, fault)
    assert found.since_ns == bench.t_ns


def test_a_board_returns_after_enough_aligned_periods_and_does_not_fly_again_by_itself() -> None:
    bench = Bench(2, return_cycles=5)
    bench.cycle(5.0, 5.0)
    bench.cycle(None, 5.0)
    bench.aligned[0] = False
    for _ in range(10):
        found = bench.cycle(5.0, 5.0)
        assert found is not None and found.verdicts[0] is Verdict.RETURNING
    bench.aligned[0] = True
    returned = [("in", 0) in kinds(bench.cycle(5.0, 5.0)) for _ in range(6)]
    assert returned == [False] * 4 + [True] + [False]
    assert bench.selector.active == 1
    assert kinds(bench.cycle(5.0, None)) == [("out", 1), ("selected", 0)]


def test_the_last_command_is_held_without_any_board_and_a_returning_one_is_better_than_none() -> None:
    bench = Bench(2)
    bench.cycle(5.0, 5.0)
    bench.cycle(None, 5.0)
    lost = bench.cycle(None, None)
    assert lost is not None
    assert (lost.command, lost.active) == (None, 1)
    assert ("none", 1) in kinds(lost)
    assert bench.selector.held(bench.t_ns + 3 * PERIOD_NS) == 3
    back = bench.cycle(5.2, None)  # it is not back for long, but there is no other
    assert back is not None
    assert (back.command, back.active) == ((5.2,), 0)
    assert ("some", 0) in kinds(back)


def test_two_boards_that_disagree_are_an_alarm_and_neither_is_identified() -> None:
    for mode in ("standby", "vote"):
        bench = Bench(2, mode)
        bench.cycle(5.0, 5.0)
        found = [kinds(bench.cycle(5.0, 7.0)) for _ in range(4)]
        active = bench.selector.active
        assert found == [[], [], [("disagree", active)], []], mode
        assert kinds(bench.cycle(5.0, 5.0)) == [("agree", active)]


def test_of_two_the_command_nearer_to_the_last_one_flies() -> None:
    bench = Bench(2, "vote")
    assert bench.flown(5.0, 5.0) == (5.0,)
    assert bench.flown(9.0, 5.2) == (5.2,)
    assert bench.flown(5.3, 1.0) == (5.3,)


def test_three_outvote_a_liar_and_take_it_back() -> None:
    bench = Bench(3, "vote", return_cycles=4)
    bench.cycle(5.0, 5.0, 5.0)
    found = [bench.cycle(9.0, 5.0, 5.1) for _ in range(4)]
    assert [each.command for each in found if each] == [(5.1,)] * 4  # the mid-value, then of two the nearer one
    assert [kinds(each) for each in found] == [[], [], [("out", 0)], []]
    last = found[-1]
    assert last is not None
    assert last.verdicts == (Verdict.OUTVOTED, VALID, VALID)
    assert bench.selector.active == BY_VOTE
    back = [kinds(bench.cycle(5.0, 5.0, 5.0)) for _ in range(7)]
    assert [("in", 0)] in back
    assert back.index([("in", 0)]) >= 4


def test_a_vote_waits_for_every_board_until_its_command_is_missing() -> None:
    bench = Bench(3, "vote")
    bench.cycle(5.0, 5.0, 5.0)
    found = bench.cycle(5.0, None, 6.0)
    assert found is not None
    assert found.verdicts == (VALID, Verdict.MISSING, VALID)
    assert bench.selector.decide(bench.t_ns + WAIT_NS, bench.reports()) is None  # nothing new


def test_nothing_is_decided_before_every_board_has_started() -> None:
    bench = Bench(3, "vote")
    assert bench.selector.deadline_ns(0, bench.reports()) == NEVER_NS
    bench.counts[0], bench.commands[0] = 1, (5.0,)
    assert bench.selector.decide(0, bench.reports()) is None


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(*3 * [st.floats(-100, 100)]), min_size=1, max_size=20), st.integers(0, 2))
def test_the_mid_value_is_never_outside_the_honest_ones(rows: Sequence[tuple[float, ...]], liar: int) -> None:
    bench = Bench(3, "vote", off_cycles=1000)
    for row in rows:
        flown = bench.flown(*row)
        honest = [value for number, value in enumerate(row) if number != liar]
        assert flown is not None
        assert min(honest) <= flown[0] <= max(honest)
