"""A campaign of faults with real flights of a second: columns, equal rows, replay, and boards that fail on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aeroloop
from aeroloop.api.scenarios import scenario
from aeroloop.campaign.cut_sets import CutSet, cut_sets
from aeroloop.campaign.fault_columns import single
from aeroloop.campaign.fault_outcome import Result, columns, seen
from aeroloop.campaign.fault_sweep import Flight, cases, possible
from aeroloop.campaign.sweep_file import Sweep
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import LINE_TARGETS
from aeroloop.core.signals import Event, ResetCause
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log

SHORT: dict[str, Any] = {
    "name": "short",
    "summary": "A second of the spiral",
    "duration_s": 1.2,
    "world": {"start": "moving"},
    "ground": {"trajectory": {"kind": "spiral"}},
    "checks": [{"metric": "pos_max_m", "below": 0.5}],
}
SWEEP = {"target": ["state", "servo"], "kind": ["silent", "slow"], "at": [0.3], "lasts_s": [0.3, "inf"]}


def campaign(out: Path, **more: Any) -> aeroloop.Campaign:
    return aeroloop.Campaign({"name": "faults", "scenario": SHORT, "sweep": [SWEEP], **more}, out=out)


def found(judged: Any) -> list[tuple[Any, ...]]:
    return [(row.number, row.values, row.log_sha256, sorted(judged.metrics[row.key].items())) for row in judged.flown]


def test_a_sweep_over_the_boards_of_a_redundant_flight_is_their_failure_matrix(tmp_path: Path) -> None:
    """Two boards in standby: one that dies is replaced, one that is wrong is seen and cannot be named."""
    scenario = {**SHORT, "redundancy": {"boards": 2, "mode": "standby"}}
    boards = {"target": ["board.1", "board.2"], "at": [0.3]}
    wrong = {**boards, "kind": ["bias"], "channel": ["torque_right_Nm"]}
    judged = campaign(tmp_path, scenario=scenario, sweep=[{**boards, "kind": ["dead"]}, wrong]).run(workers=1)
    assert judged.faults is not None and judged.complete and not judged.aborted
    free, *rows = sorted(judged.flown, key=lambda row: row.number)
    assert (judged.metrics[free.key]["false_alarms"], judged.faults.silent) == (0.0, [])
    found = {(row.values["faults"][0]["target"], row.values["faults"][0]["kind"]): row for row in rows}
    period_s, wait_s = 0.012, 0.002
    for (board, kind), row in found.items():
        made = judged.metrics[row.key]
        assert made["cycles_held_max"] == 0.0
        assert 0.0 <= made["noticed_s"] <= 2 * period_s + wait_s  # at the latest in the second period from the fault on
        flies = board == "board.1"
        if kind == "dead":
            assert (made["outcome"], made["boards_failed"], made["switchovers"]) == (
                Result.UNAFFECTED,
                1.0,
                float(flies),
            )
            assert made["deviation_m"] < 1e-3 and made["deviation_deg"] < 0.1
            assert made["acted_s"] == made["noticed_s"] if flies else np.isnan(made["acted_s"])
        else:
            assert made["outcome"] == (Result.DEGRADED if flies else Result.UNAFFECTED)
            assert (made["boards_disagreed"], made["switchovers"]) == (1.0, 0.0) and np.isnan(made["acted_s"])
    assert len(found) == 4
    assert set(judged.faults.by_phase) == {
        *("board.1 dead", "board.2 dead", "board.1 bias of torque_right_Nm 0.1", "board.2 bias of torque_right_Nm 0.1")
    }


def test_a_sweep_is_flown_judged_and_replayed(tmp_path: Path) -> None:
    judged = campaign(tmp_path / "one").run(workers=1)
    assert (len(judged.flown), len(judged.aborted), judged.complete) == (1 + 3 * 2, 0, True)
    first = {row.number: judged.metrics[row.key] for row in judged.flown}
    assert first[1]["false_alarms"] == 0.0
    # Without sensors from 0.3 s on: the board misses the answer of its next cycle, and holds its command for 60 ms.
    silent = first[2]
    log = fly_inline(campaign(tmp_path / "one").plan_of(2)[1].plan).logs[0]
    told = {code: t_s for t_s, _, code, _ in log.rows["board_event"].tolist()}
    assert silent["noticed_s"] == round(told[Event.SENSORS_LOST] - 0.3, 9)
    assert silent["acted_s"] == round(told[Event.SAFE_COMMAND] - 0.3, 9)
    assert judged.faults is not None
    assert judged.faults.by_phase["state silent, 0.3 s long"]
    assert campaign(tmp_path / "one").replay(4, report=False).equal
    assert campaign(tmp_path / "one").report().is_file()
    again = campaign(tmp_path / "two").run(workers=2)
    assert found(again) == found(judged)
    assert campaign(tmp_path / "one").run(workers=1).summary["faults"] == judged.summary["faults"]


def test_two_delays_lose_the_aircraft_that_each_alone_does_not() -> None:
    """6 ms each way: the delay margin is 9 ms. Flown here, judged as by a worker."""
    delays = {"to_board.delay_s": [0.006], "to_plant.delay_s": [0.006]}
    sweep = convert(
        {"target": [*LINE_TARGETS], "kind": ["delay_s"], "value": delays, "at": [0.2], "order": 2}, Sweep, ""
    )
    plan = single(scenario(SHORT).plan)
    free = seen(fly_inline(plan).logs[0], "completed")
    flown = []
    for case in cases([sweep], possible(plan), Flight((), plan.aircraft.step_s, plan.duration_s)):
        flight = fly_inline(scenario({**SHORT, "faults": case}).plan)
        numbers = columns(seen(flight.logs[0], flight.ended), free, passed=True)
        flown.append((frozenset(entry["target"] for entry in case), numbers["outcome"] == Result.LOST))
    assert len(flown) == 3
    assert cut_sets(flown) == [CutSet(("to_board", "to_plant"), 1, 1)]


def test_a_scenario_with_faults_of_its_own_is_refused(tmp_path: Path) -> None:
    own = {**SHORT, "faults": [{"target": "battery", "kind": "sag", "value": 0.1, "from_s": 0.5}]}
    with pytest.raises(ConfigError, match="scenario: plans faults of its own; expected one without"):
        campaign(tmp_path, scenario=own).run(workers=1)


def failing(kind: str, **more: Any) -> Log:
    fault = {"target": "board", "kind": kind, "from_s": 0.5, **more}
    return fly_inline(scenario({**SHORT, "faults": [fault]}).plan).logs[0]


def events(log: Log, stream: str) -> list[list[float]]:
    return [[t_s, code, value] for t_s, _, code, value in log.rows[stream].tolist()]


@pytest.mark.parametrize(
    ("kind", "cause", "back_s"), [("reset", ResetCause.COMMANDED, 0.516), ("hang", ResetCause.WATCHDOG, 0.564)]
)
def test_a_board_on_the_host_restarts_without_memory(kind: str, cause: ResetCause, back_s: float) -> None:
    """A hang lasts until the watchdog has waited for four periods."""
    log = failing(kind)
    assert [back_s, Event.BOARD_RESTARTED, cause] in events(log, "event")
    t_s = log.column("command", "t_s")
    assert not np.any((t_s > 0.504) & (t_s < back_s))
    assert np.any(np.isclose(t_s, back_s, rtol=0.0, atol=1e-9))
    assert log.rows["fault"][0, 0] == 0.5


def test_a_slow_board_sends_its_commands_later_and_recovers() -> None:
    log = failing("slow", value=0.004, to_s=0.8)
    late_s = np.round(log.column("command", "t_s") % 0.012, 9)
    t_s = log.column("command", "t_s")
    assert set(late_s[(t_s > 0.52) & (t_s < 0.79)].tolist()) == {0.004}
    assert set(np.minimum(late_s, 0.012 - late_s)[(t_s < 0.49) | (t_s > 0.82)].round(6).tolist()) == {0.0}
    assert log.rows["fault"][0, 6] == 0.004
    overrun = failing("slow", value=0.02, to_s=0.8)
    assert any(code == Event.OVERRUN and value == 0.02 for _, code, value in events(overrun, "board_event"))
    assert any(code == Event.LATE_CYCLE for _, code, _ in events(overrun, "event"))


def test_the_outcome_names_are_the_specified_ones() -> None:
    assert [each.words for each in Result] == ["unaffected", "degraded", "failsafe and safe", "failed check", "lost"]
