"""What is checked of the synchronisation tables: the ideal loop's numbers pass, and each defect fails its check."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from aeroloop.campaign import flying, page, tables
from aeroloop.campaign.ideal import IDEAL, moved
from aeroloop.campaign.plant import FULL, LINEAR, NO_LEARNING, Cell
from aeroloop.campaign.plants import PLANTS, cells, selected
from aeroloop.campaign.results import Results, acceptance
from aeroloop.campaign.statements import statements
from aeroloop.core.errors import ConfigError

Numbers = Mapping[Cell, Mapping[str, float]]


def whole() -> dict[Cell, dict[str, float]]:
    """The ideal loop's tables, with what they lack: numbers that its text has, and plausible ones."""
    found = {cell: dict(numbers) for cell, numbers in IDEAL.items()}
    for cell, numbers in found.items():
        numbers |= {"path": 0.05, "angle": 2.2 if cell.law == "pid" else 2.13, "first_axis": 1.0, "other_axes": 1.0}
    for plant in PLANTS:
        for disturbance in PLANTS[plant].disturbances:
            full = found[Cell(plant, FULL, disturbance)]
            equal = {**full, "sync": 0.95 * full["sync"], "rms": 0.95 * full["rms"]}
            found[Cell(plant, "pid-equal", disturbance)] = equal
            found[Cell(plant, "pid-high", disturbance)] = {
                **full,
                "rms": 0.5 * full["rms"],
                "chatter": 1.45 * full["chatter"],
            }
    for plant, disturbance, factor in (("rrr", "load", 2.7), ("quad", "weak", 2.9), ("quad", "load", 3.6)):
        full = found[Cell(plant, FULL, disturbance)]
        found[Cell(plant, NO_LEARNING, disturbance)] = {**full, "sync": factor * full["sync"]}
    for plant, disturbance in (("rrr", "load"), ("quad", "weak")):
        found[Cell(plant, LINEAR, disturbance)] = dict(found[Cell(plant, "smc", disturbance)])
    for law in ("pid", FULL):
        found[Cell("quad", law, "weak70")] = {"contacts": 1.0, "first_axis": 361.0, "other_axes": 0.2}
        found[Cell("rrr", law, "capped")] = {}
    return found


def judged(numbers: Numbers, **ended: str) -> Results:
    ends = dict.fromkeys(numbers, "completed") | {cell: "diverged" for cell in numbers if cell.disturbance == "capped"}
    return Results(1, numbers, ends | {cell: ended[key] for key in ended for cell in numbers if str(cell) == key})


def test_the_ideal_loops_numbers_pass_every_check_and_all_seven_statements_hold() -> None:
    results = judged(whole())
    checks, found = acceptance(results), statements(results)
    assert [check.name for check in checks if not check.ok] == []
    assert len(checks) == 1 + 11 + 6 + 3 + 2 * (7 + 6)
    assert [one.number for one in found] == [1, 2, 3, 4, 5, 6, 7]
    assert [check.name for one in found for check in one.checks if not check.ok] == []
    assert moved(results) == []


@pytest.mark.parametrize(
    ("plant", "law", "disturbance", "key", "factor", "failed"),
    [
        ("rrr", FULL, "load", "sync", 1.5, "rrr load: sync, pid / smc-sync-pidnn"),
        ("rrr", FULL, "all", "position", 1.5, "rrr all: this ratio of position over that of sync"),
        ("quad", FULL, "weak", "kick", 3.0, "quad weak: kick, pid / smc-sync-pidnn"),
        ("quad", "pid", "payload", "sync", 0.7, "quad payload: sync, pid / smc-sync-pidnn"),
        ("rrr", NO_LEARNING, "load", "sync", 0.6, "rrr load: sync, no-learning / smc-sync-pidnn"),
        ("quad", "smc-sync", "load", "sync", 2.5, "quad load: sync, smc-sync / smc"),
        ("quad", FULL, "payload", "sync", 1.05, "quad payload: sync, smc-sync-pidnn / smc-sync"),
        ("quad", FULL, "weak", "sync", math.nan, "quad weak: sync, pid / smc-sync-pidnn"),
    ],
)
def test_a_defect_fails_its_check(plant: str, law: str, disturbance: str, key: str, factor: float, failed: str) -> None:
    numbers = whole()
    numbers[Cell(plant, law, disturbance)][key] *= factor
    assert failed in [check.name for check in acceptance(judged(numbers)) if not check.ok]


@pytest.mark.parametrize(
    ("plant", "law", "disturbance", "key", "factor", "number"),
    [
        ("rrr", FULL, "load", "angle", 0.5, 1),  # a law that improves the common mode has a defect
        ("quad", FULL, "weak", "rms", 0.6, 1),
        ("quad", FULL, "gust", "path", 0.8, 2),
        ("quad", FULL, "payload", "kick", 0.5, 2),
        ("quad", FULL, "noise", "sync", 0.8, 3),  # so has one that beats pid under noise, or pid is detuned
        ("rrr", FULL, "noise", "chatter", 0.7, 3),
        ("quad", "pid-equal", "load", "rms", 1.5, 4),
        ("quad", "pid-equal", "load", "rms", math.nan, 4),
        ("rrr", "pid-high", "friction", "rms", 2.5, 5),
        ("quad", FULL, "weak70", "contacts", 0.0, 6),
        ("quad", FULL, "weak70", "other_axes", 100.0, 6),
        ("rrr", "smc", "load", "rms", 1.1, 7),
    ],
)
def test_a_law_that_is_better_where_it_cannot_be_fails_its_statement(
    plant: str, law: str, disturbance: str, key: str, factor: float, number: int
) -> None:
    numbers = whole()
    numbers[Cell(plant, law, disturbance)][key] *= factor
    assert number in [one.number for one in statements(judged(numbers)) if not one.holds]


def test_a_flight_that_ended_early_fails_unless_it_was_to_be_lost() -> None:
    early = acceptance(judged(whole(), **{"rrr pid load": "diverged"}))[0]
    assert early.value == 1.0 and not early.ok


def test_a_selection_is_judged_by_what_it_has() -> None:
    flown = {cell: whole()[cell] for cell in cells(PLANTS["rrr"], ("pid", FULL), ("load",))}
    results = judged(flown)
    assert [check.name.split(":")[0] for check in acceptance(results)] == ["flights that ended early"] + [
        "rrr load"
    ] * 2
    assert [one.number for one in statements(results)] == [1]
    assert results.laws("rrr") == ["pid", FULL] and results.disturbances("rrr") == ["none", "load"]


def test_tables_and_summary_hold_every_cell() -> None:
    results = judged(whole())
    checks, found = acceptance(results), statements(results)
    text = tables.markdown(results, checks, found)
    assert "| load | 1.89 / 1.58 / 5.62 / 0.454 / 0.356 / 0.00800 | 1.91 /" in text
    assert "| none | 28.8 / 28.7 / 38.1 / - / 72.1 / 0 |" in text
    assert (
        text.count("\n1. **The common mode is not better.**") == 1 and "no-learning" not in text.split("## Checks")[0]
    )
    rows = tables.csv_text(results, "quad").splitlines()
    assert rows[0] == "disturbance,controller,ended,rms_rad_s,sync_rad_s,max_rad_s,kick_deg,effort_pct,chatter_pct"
    assert "weak,smc-sync-pidnn,completed,2.8,0.687,54.6,0.114,76.1,0.02" in rows
    again = tables.results_of(json.loads(json.dumps(tables.summary(results, checks, found))))
    assert tables.markdown(again, acceptance(again), statements(again)) == text


def test_the_report_has_tables_bars_checks_and_where_it_is_not_better() -> None:
    numbers = whole()
    numbers[Cell("rrr", FULL, "load")]["sync"] = 1.0
    results = judged(numbers)
    html = page.render(results, acceptance(results), statements(results))
    for part in ('id="rrr"', 'id="quad"', 'id="not-better"', 'id="ideal"', 'id="checks"', "Controllers: 3-RRR robot"):
        assert part in html
    assert "rrr load: sync, pid / smc-sync-pidnn is 1.58, expected &gt;= 4." in html


def test_a_kick_is_the_largest_change_against_the_calm_flight() -> None:
    t_s = np.arange(5.0)
    calm = np.column_stack([t_s, [0.0, 179.0, 1.0, 1.0, 1.0], np.zeros(5)])
    flown = np.column_stack([t_s, [90.0, -179.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, -3.5, 0.0]])[:4]
    assert flying.kick_deg(flown, calm, 1.0) == 3.5  # 2 deg across the seam; before 1 s nothing counts
    for plant, kick in (("quad", 3.5), ("rrr", None)):
        both = [
            flying.Flown(Cell(plant, "pid", row), "completed", {}, tilt)
            for row, tilt in (("none", calm), ("load", flown))
        ]
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(PLANTS, plant, replace(PLANTS[plant], evaluate_from_s=1.0))
            found = flying.with_kicks(both)
        assert found[Cell(plant, "pid", "load")].get("kick") == kick
        assert "kick" not in found[Cell(plant, "pid", "none")]


def test_numbers_keep_their_digits() -> None:
    told = [tables.shown(value) for value in (0.0, 107.4, 28.76, 0.114, 0.00034, math.nan)]
    assert told == ["0", "107", "28.8", "0.114", "0.00034", "-"]


def test_a_selection_flies_what_each_plant_has() -> None:
    flown = selected(("rrr", "quad"), ("pid", "esc"), ("gust", "load"))
    assert Cell("quad", "esc", "gust") in flown and Cell("rrr", "pid", "load") in flown
    assert not [cell for cell in flown if cell.plant == "rrr" and (cell.law == "esc" or cell.disturbance == "gust")]
    assert {cell.disturbance for cell in flown} == {"none", "gust", "load"}


@pytest.mark.parametrize(
    ("laws", "disturbances", "expected"),
    [
        (("smcc",), (), r"--laws smcc: unknown \(did you mean 'smc'\?\)"),
        ((), ("gust",), "--disturbances gust: unknown"),
        (("esc",), (), "--laws esc: unknown"),
    ],
)
def test_an_unknown_name_is_refused(laws: tuple[str, ...], disturbances: tuple[str, ...], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        selected(("rrr",), laws, disturbances)
