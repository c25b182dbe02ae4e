"""What a fault did to a flight: latencies from the rows, outcomes, and the worst of them in the report's cells."""

from __future__ import annotations

import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.campaign.cut_sets import cut_sets
from aeroloop.campaign.fault_matrix import results
from aeroloop.campaign.fault_outcome import Result, Seen, Signs, columns
from aeroloop.campaign.fault_page import sections, summary_words, table_of
from aeroloop.campaign.flight_phases import Stretch
from aeroloop.campaign.store import FLOWN, Row
from aeroloop.core.faults import KINDS, TARGETS
from aeroloop.core.signals import Event

STEP_S, END_S, FAULT_S = 0.004, 20.0, 8.0
T_S = np.round(np.arange(round(END_S / STEP_S)) * STEP_S, 9)
STILL = np.tile([1.0, 0.0, 0.0, 0.0], (len(T_S), 1))
SWITCHED = (FAULT_S, 0.0, float(TARGETS.index("gnss")), float(KINDS.index("bias")), 1.0, 0.0, 5.0, 5.0, 5.0)


def free(**changes: Any) -> Seen:
    """Hovers on its setpoint, and changes its mode at 15 s as planned."""
    pos_W = np.zeros((len(T_S), 3))
    events = ((0.0, float(Event.STARTED), 0.0), (15.0, float(Event.MODE_CHANGED), 8.0))
    seen = Seen("completed", T_S, pos_W, pos_W, STILL, np.full(len(T_S), 0.05), events, (), (), ())
    return dataclasses.replace(seen, **changes)


def faulty(*events: tuple[float, float, float], moved_m: float = 0.0, until_s: float = END_S, **changes: Any) -> Seen:
    pos_W = np.zeros((len(T_S), 3))
    moved = (T_S >= FAULT_S) & (until_s > T_S)
    pos_W[moved, 0] = moved_m
    own = tuple(sorted((*free().events, *events)))
    error_m = np.where(moved, moved_m, 0.05)
    changes = {"events": own, "switched": (SWITCHED,), "pos_W": pos_W, "error_m": error_m, **changes}
    return free(**changes)


def found(seen: Seen, *, passed: bool = True) -> dict[str, float]:
    return columns(seen, free(), passed=passed)


def test_latencies_are_those_of_the_rows_to_the_nanosecond() -> None:
    lost, safe = (8.016, float(Event.SENSORS_LOST), 667.0), (8.064, float(Event.SAFE_COMMAND), 0.06)
    numbers = found(faulty(lost, safe, moved_m=0.4, until_s=9.5))
    assert (numbers["fault_s"], numbers["noticed_s"], numbers["acted_s"]) == (8.0, 0.016, 0.064)
    assert numbers["recovered_s"] == pytest.approx(1.496, abs=1e-9)
    assert numbers["deviation_m"] == 0.4
    assert numbers["outcome"] == Result.FAILSAFE_SAFE


def test_what_was_there_before_the_fault_or_without_it_does_not_count() -> None:
    before = (7.9, float(Event.LATE_CYCLE), 0.02)
    both = (9.0, float(Event.LATE_CYCLE), 0.02)
    usual = free(events=(*free().events, both))
    numbers = columns(faulty(before, both), usual, passed=True)
    assert math.isnan(numbers["noticed_s"])
    assert math.isnan(numbers["acted_s"])
    assert numbers["outcome"] == Result.UNAFFECTED


def test_a_planned_mode_that_comes_later_is_no_reaction_and_another_one_is() -> None:
    later = ((0.0, float(Event.STARTED), 0.0), (17.0, float(Event.MODE_CHANGED), 8.0))
    assert math.isnan(found(faulty(events=later))["acted_s"])
    numbers = found(faulty((9.0, float(Event.MODE_CHANGED), 5.0)))
    assert numbers["acted_s"] == 1.0


def test_a_failsafe_of_the_state_and_a_rejected_measurement_are_noticed() -> None:
    assert found(faulty(failsafes_s=(8.1, 8.2)))["noticed_s"] == 0.1
    numbers = found(faulty(rejections_s=(8.612,)))
    assert (numbers["noticed_s"], math.isnan(numbers["acted_s"])) == (0.612, True)


@pytest.mark.parametrize(
    ("moved_m", "passed", "expected"),
    [
        (0.05, True, Result.UNAFFECTED),
        (0.5, True, Result.DEGRADED),
        (0.5, False, Result.FAILED_CHECK),
        (150.0, False, Result.LOST),
    ],
)
def test_outcomes_by_deviation(moved_m: float, passed: bool, expected: Result) -> None:
    numbers = found(faulty(moved_m=moved_m), passed=passed)
    assert numbers["outcome"] == expected
    assert (expected is Result.LOST) == (numbers["lost_s"] == 0.0)
    assert math.isnan(numbers["recovered_s"]) == (moved_m > 0.1)


@pytest.mark.parametrize(
    "event",
    [(9.0, float(Event.DIVERGED), 3.0), (9.0, float(Event.GROUND_CONTACT), -4.0), (9.0, float(Event.COLLISION), 0.0)],
)
def test_it_is_lost_where_it_breaks_and_what_is_noticed_later_does_not_count(event: tuple[float, float, float]) -> None:
    numbers = found(faulty(event, (9.5, float(Event.FAILSAFE), 5.0)))
    assert (numbers["outcome"], numbers["lost_s"]) == (Result.LOST, 1.0)
    assert math.isnan(numbers["noticed_s"])


def test_a_soft_landing_is_no_loss_and_upside_down_is() -> None:
    assert found(faulty((9.0, float(Event.GROUND_CONTACT), -0.7)))["outcome"] == Result.UNAFFECTED
    turned = STILL.copy()
    turned[T_S >= 10.0] = (0.0, 1.0, 0.0, 0.0)
    numbers = found(faulty(quat_WB=turned))
    assert (numbers["outcome"], numbers["lost_s"], numbers["deviation_deg"]) == (Result.LOST, 2.0, 180.0)


def test_a_flight_that_ends_early_is_lost() -> None:
    short: dict[str, Any] = {"t_s": T_S[:3000], "ended": "diverged", "error_m": np.zeros(3000), "quat_WB": STILL[:3000]}
    numbers = found(faulty(**short))
    assert numbers["outcome"] == Result.LOST
    assert numbers["lost_s"] == pytest.approx(3.996)


def test_alarms_without_a_fault_are_false() -> None:
    numbers = columns(free(events=((3.0, float(Event.LATE_CYCLE), 0.02),)), free(), passed=True)
    assert (numbers["false_alarms"], numbers["noticed_s"], numbers["outcome"]) == (1.0, 3.0, Result.UNAFFECTED)


def test_a_family_says_which_events_count() -> None:
    seen = faulty((9.0, float(Event.COMMAND_REFUSED), 1.0))
    assert math.isnan(found(seen)["noticed_s"])
    assert columns(seen, free(), passed=True, signs=Signs({Event.COMMAND_REFUSED}, ()))["noticed_s"] == 1.0


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.frozensets(st.sampled_from("abcd"), max_size=2), st.booleans()), max_size=30))
def test_cut_sets_are_those_of_brute_force(flown: list[tuple[frozenset[str], bool]]) -> None:
    causing = {faults for faults, had in flown if had and faults}
    minimal = {
        faults
        for faults in causing
        if all(
            frozenset(part) not in causing
            for size in range(1, len(faults))
            for part in itertools.combinations(faults, size)
        )
    }
    found_sets = cut_sets(flown)
    assert {frozenset(each.faults) for each in found_sets} == minimal
    assert [len(each.faults) for each in found_sets] == sorted(len(each.faults) for each in found_sets)
    for each in found_sets:
        own = [had for faults, had in flown if faults == frozenset(each.faults)]
        assert (each.hits, each.flights) == (sum(own), len(own))


def row(number: int, *entries: dict[str, Any]) -> Row:
    values: dict[str, Any] = {"faults": list(entries)} if entries else {}
    return Row(f"key{number}", number, FLOWN, 0, values, 1, "passed", 0, "completed", 1.0, "0", None)


def entry(target: str, kind: str, from_s: float) -> dict[str, Any]:
    return {"target": target, "kind": kind, "from_s": from_s}


def numbers(result: Result, noticed_s: float = math.nan, deviation_m: float = 0.0) -> dict[str, float]:
    return {
        "outcome": float(result),
        "noticed_s": noticed_s,
        "acted_s": math.nan,
        "deviation_m": deviation_m,
        "lost_s": 1.0,
    }


FLIGHTS: list[tuple[Row, dict[str, float]]] = [
    (row(1), {"outcome": 0.0, "false_alarms": 0.0}),
    (row(2, entry("gnss", "silent", 5.0)), numbers(Result.FAILSAFE_SAFE, 0.5)),
    (row(3, entry("gnss", "silent", 6.0)), numbers(Result.LOST, 1.5)),
    (row(4, entry("gnss", "silent", 15.0)), numbers(Result.UNAFFECTED)),
    (row(5, entry("battery", "sag", 5.0)), numbers(Result.LOST, math.nan, 3.0)),
    (row(6, entry("imu", "frozen", 5.0)), numbers(Result.UNAFFECTED)),
    (row(7, entry("imu", "frozen", 5.0), entry("pad", "hide", 5.0)), numbers(Result.LOST, 0.1)),
    (row(8, entry("pad", "hide", 5.0)), numbers(Result.UNAFFECTED)),
]


def test_cells_have_the_worst_outcome_latencies_and_cut_sets() -> None:
    stretches = [Stretch("climb", 0.0, 10.0), Stretch("cruise", 10.0, 20.0)]
    found_results = results([row for row, _ in FLIGHTS], {row.key: own for row, own in FLIGHTS}, stretches)
    cells = found_results.by_phase["gnss silent"]
    assert (cells["climb"].worst.row.number, cells["climb"].worst.result) == (3, Result.LOST)
    assert cells["climb"].latency("noticed_s") == (1.0, 1.5, 2)
    assert cells["cruise"].worst.result is Result.UNAFFECTED
    assert [flight.row.number for flight in found_results.silent] == [5]
    assert found_results.by_pair["imu frozen", "pad hide"].worst.row.number == 7
    lost = found_results.cut_sets(lambda flight: flight.result is Result.LOST)
    assert [each.faults for each in lost] == [("battery sag",), ("gnss silent",), ("imu frozen", "pad hide")]
    assert "3 lost" in summary_words(found_results)
    assert table_of(found_results)["fault_free"] == {"flights": 1, "with_false_alarms": 0}


def test_the_report_has_silent_failures_before_the_matrix_and_every_link_has_its_flight(tmp_path: Path) -> None:
    found_results = results(
        [row for row, _ in FLIGHTS], {row.key: own for row, own in FLIGHTS}, [Stretch("climb", 0.0, 20.0)]
    )
    kept = tmp_path / "replays" / "flight-5"
    kept.mkdir(parents=True)
    (kept / "report.html").touch()
    made = list(sections(found_results, tmp_path))
    keys = [section.key for section in made if section.blocks]
    assert keys.index("silent") < keys.index("matrix") < keys.index("pairs") < keys.index("cut-sets")
    cells = [
        str(cell)
        for section in made
        for block in section.blocks
        for line in getattr(block, "rows", ())
        for cell in line
    ]
    text = "\n".join(cells)
    linked = {each.split('"')[0] for each in text.split('href="#')[1:]}
    there = {each.split('"')[0] for each in text.split('id="')[1:]}
    assert linked <= there
    assert "flight-5" in linked
    assert f"aeroloop campaign replay {tmp_path} 5" in text
    assert 'href="replays/flight-5/report.html"' in text
