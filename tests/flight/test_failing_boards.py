"""Boards that hang, start again or are slow in lockstep: the same on every rung, planned and by hand, and nothing else
about the flight changes."""

from __future__ import annotations

import numpy as np
import pytest
from flown_faults import SLED, by_hand, opened, sha

from aeroloop.boards.cadence import Cadence
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import check_switch, offers
from aeroloop.core.faults import PlannedFault, Switch
from aeroloop.core.scenario import Scenario, with_value
from aeroloop.core.signals import Event, ResetCause
from aeroloop.exchanges.board_faults import encoded
from aeroloop.exchanges.failing_board import FailingTurns, HeldLine
from aeroloop.flight.inline import fly_inline
from aeroloop.links.memory import memory_pair
from aeroloop.recording.log import Log

AT_S, MS = 0.5, 1_000_000
LATER = {"target": "to_board", "kind": "loss", "value": 0.5, "from_s": 900.0}
"""Planned after the end: the flight alternates by a baton, so that its board can be made to fail by hand."""


def failing(kind: str, value: float = 0.0, to_s: float | None = None) -> PlannedFault:
    return PlannedFault(target="board", kind=kind, from_s=AT_S, value=value, to_s=to_s)  # type: ignore[arg-type]


def flown(scenario: Scenario, *faults: PlannedFault) -> Log:
    return fly_inline(with_value(scenario, "faults", faults)).logs[0]


def events(log: Log) -> list[tuple[float, Event, float]]:
    return [(t_s, Event(int(code)), value) for t_s, _, code, value in log.rows["event"].tolist()]


def restarts(log: Log) -> list[tuple[float, Event, float]]:
    again = (Event.BOARD_RESTARTED, Event.AUTOPILOT_RESTARTED)
    return [row for row in events(log) if row[1] in again]


class Recorded:
    """A board that notes when it works, with how many samples, and sends one byte each time."""

    def __init__(self, line: HeldLine) -> None:
        self.line, self.ran, self.restarted = line, list[tuple[int, int]](), list[tuple[int, ResetCause]]()

    @property
    def ran_ms(self) -> list[int]:
        return [t_ms for t_ms, _ in self.ran]

    def turn(self, cadence: Cadence, t_ns: int) -> int:
        samples = len(self.line.poll())
        if cadence.due(t_ns, sampled=samples > 0):
            self.ran.append((t_ns // MS, samples))
            self.line.send(b"c")
        return cadence.wake_ns(sampled=False)

    def skip_samples(self) -> None:
        self.line.poll()

    def fail(self, kind: str) -> bool:
        return False

    def restart(self, t_ns: int, cause: ResetCause) -> None:
        self.restarted.append((t_ns // MS, cause))
        self.line.send(b"s")


def turned(until_ms: int, faults: dict[int, tuple[str, float]]) -> tuple[Recorded, list[int]]:
    """A board of 10 ms with a sample each period, and faults at some times, of which a value of zero ends one: what it
    did, and when the plant got bytes."""
    plant, end = memory_pair()
    turns = FailingTurns(end, 10 * MS, Recorded)
    sent, got_ms, wake_ns = 0, [], 0
    for t_ms in range(until_ms):
        if t_ms in faults:
            kind, value = faults[t_ms]
            turns.inject(encoded(kind, on=kind != "slow" or value > 0.0, value=value))
        if t_ms % 10 == 0:
            plant.send(b"v")
            sent += 1
        elif t_ms * MS < wake_ns:
            continue
        wake_ns = turns.take(t_ms * MS, sent).wake_ns
        assert wake_ns > t_ms * MS
        if plant.poll():
            got_ms.append(t_ms)
    return turns.board, got_ms


def test_a_slow_board_sends_later_and_skips_the_periods_in_which_it_is_at_work() -> None:
    board, got_ms = turned(60, {25: ("slow", 0.004)})
    assert board.ran_ms == [0, 10, 20, 30, 40, 50]
    assert got_ms == [0, 10, 20, 34, 44, 54]
    board, got_ms = turned(140, {25: ("slow", 0.025), 85: ("slow", 0.0)})
    assert board.ran == [(t_ms, 1) for t_ms in (0, 10, 20, 30, 60, 90, 100, 110, 120, 130)]
    assert got_ms == [0, 10, 20, 55, 85, 90, 100, 110, 120, 130]
    assert turned(80, {25: ("slow", 0.01)})[1] == [0, 10, 20, 40, 60]


def test_a_board_that_hangs_or_is_reset_sends_nothing_of_before() -> None:
    board, got_ms = turned(100, {30: ("hang", 0.0)})
    assert board.restarted == [(70, ResetCause.WATCHDOG)]
    assert board.ran == [(t_ms, 1) for t_ms in (0, 10, 20, 80, 90)]
    assert got_ms == [0, 10, 20, 70, 80, 90]
    board, got_ms = turned(60, {30: ("reset", 0.0)})
    assert board.restarted == [(30, ResetCause.COMMANDED)]
    assert got_ms == [0, 10, 20, 30, 40, 50]
    board, got_ms = turned(60, {5: ("slow", 0.025), 20: ("reset", 0.0), 30: ("slow", 0.0)})
    assert board.ran_ms == [0, 10, 30, 40, 50]
    assert got_ms == [0, 20, 30, 40, 50], "what it had not sent yet is lost"


@pytest.mark.parametrize(
    ("name", "period_s", "step_s"),
    [("quad-hover", 0.004, 0.004), ("quad-law-hover", 0.004, 0.0), ("fixedwing-loiter", 0.05, 0.0), (SLED, 0.02, 0.0)],
    ids=["pixhawk", "guided", "wing", "values"],
)
def test_a_board_fails_as_planned_and_as_by_hand_in_a_flight_that_is_else_the_same(
    name: str, period_s: float, step_s: float
) -> None:
    """`step_s`: until the plant writes what it has received."""
    plain = opened(name, AT_S + 8 * period_s)
    free = fly_inline(plain).logs[0].rows["truth"]
    for kind, cause, dead_s in (("reset", ResetCause.COMMANDED, 0.0), ("hang", ResetCause.WATCHDOG, 4 * period_s)):
        log = flown(plain, failing(kind))
        ((back_s, event, value),) = restarts(log)
        assert AT_S + dead_s < back_s <= AT_S + dead_s + period_s + step_s + 1e-9
        assert value == (1.0 if event is Event.AUTOPILOT_RESTARTED else cause)
        assert log.rows["fault"][:, 0].tolist() == [AT_S]
        before = free[:, 0] <= AT_S
        assert np.array_equal(log.rows["truth"][: np.count_nonzero(before)], free[before])
    faults = failing("slow", 1.5 * period_s, AT_S + 4 * period_s), failing("reset")
    able = with_value(plain, "faults", (PlannedFault(**LATER),))  # type: ignore[arg-type]
    planned, hand = fly_inline(with_value(plain, "faults", faults)), fly_inline(able, attend=by_hand(faults))
    assert len(planned.logs[0].rows["fault"]) == 3
    assert sha(planned) == sha(hand) != sha(fly_inline(plain))


@pytest.mark.soak
@pytest.mark.parametrize(("name", "period_s"), [("quad-law-hover", 0.004), ("fixedwing-loiter", 0.05)])
def test_firmware_fails_at_the_times_of_the_host(name: str, period_s: float) -> None:
    for kind, value in (("reset", 0.0), ("hang", 0.0), ("slow", 1.5 * period_s)):
        logs = [flown(opened(name, 1.0, f"loop={rung}"), failing(kind, value)) for rung in ("mil", "sil", "pil")]
        told = [events(log) for log in logs]
        assert told[0] == told[1] == told[2]
        times = [log.column("command", "t_s").tolist() for log in logs]
        assert times[0] == times[1] == times[2]


def test_by_hand_a_board_fails_only_where_it_alternates_by_a_baton() -> None:
    reset = Switch(target="board", kind="reset", on=True)
    plain = opened("quad-hover", 1.0)
    assert not [offer for offer in offers(plain) if offer.target == "board"]
    with pytest.raises(ConfigError, match=r"board: reset can be planned in \[\[faults\]\], not switched manually"):
        check_switch(plain, reset)
    check_switch(opened("quad-hover", 1.0, "link.to_board.loss=0.1"), reset)
    real = opened("quad-hover", 1.0, "pace=real")
    assert not real.controller.board_faults(real)
