"""Sweeps of faults: what a file asks for, which flights that gives, and what is refused in which words."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.analysis.statistics import Array
from aeroloop.api.scenarios import scenario
from aeroloop.campaign import definition
from aeroloop.campaign.design_size import MOST_FLIGHTS
from aeroloop.campaign.fault_sweep import Flight, Single, cases, possible, singles
from aeroloop.campaign.flight_phases import CLIMB, CRUISE, GROUND, LAND, TURN, Stretch, phase_at, phases, times_in
from aeroloop.campaign.sweep_file import Sweep
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import of_actuators, of_board, of_sensor
from aeroloop.core.scenario import Scenario

KNOWN = (*of_sensor("gnss"), *of_actuators(("left", "right")), *of_board("board", ("reset", "slow")))
FLIGHT = Flight([Stretch(CLIMB, 0.0, 10.0), Stretch(CRUISE, 10.0, 40.0), Stretch(LAND, 40.0, 50.0)], 0.004, 50.0)


def sweep(**keys: Any) -> Sweep:
    return convert(keys, Sweep, "sweep")


def flown(*sweeps: Sweep) -> list[list[dict[str, Any]]]:
    return cases(sweeps, KNOWN, FLIGHT)


def test_a_bare_sweep_flies_every_possible_fault_once_with_its_usual_value_three_times_in_each_phase() -> None:
    found = flown(sweep())
    assert len(found) == len(KNOWN) * 9
    assert {(case[0]["target"], case[0]["kind"], case[0].get("channel", "")) for case in found} == {
        (offer.target, offer.kind, next(iter(offer.channels), "")) for offer in KNOWN
    }
    biased = [case[0] for case in found if case[0]["kind"] == "bias" and case[0]["channel"] == "position"]
    assert [entry["value"] for entry in biased] == [5.0] * 9
    assert [entry["from_s"] for entry in biased] == pytest.approx([1.668, 5.0, 8.332, 15, 25, 35, 41.668, 45, 48.332])
    assert all("to_s" not in case[0] for case in found)
    assert found == flown(sweep())


def test_target_kind_channel_value_and_duration_multiply() -> None:
    keys: dict[str, Any] = {"target": ["gnss"], "kind": ["bias", "silent"], "value": {"gnss.bias.position": [2, 5]}}
    found = flown(sweep(**keys, at=[1.0, 2.0], lasts_s=[0.5, "inf"]))
    assert len(found) == (1 + 2 + 1) * 2 * 2  # silent; two biases of the position, one of the velocity
    assert {case[0].get("to_s") for case in found} == {None, 1.5, 2.5}
    assert len(flown(sweep(channel=["left"], at=[1.0]))) == 3


def test_a_fault_that_happens_once_has_no_duration_and_is_flown_once() -> None:
    found = flown(sweep(target=["board"], at=[1.0], lasts_s=[1.0, 2.0, "inf"]))
    assert [(case[0]["kind"], case[0].get("to_s")) for case in found] == [
        ("reset", None),
        ("slow", 2.0),
        ("slow", 3.0),
        ("slow", None),
    ]


def test_pairs_are_of_different_faults_at_the_same_time() -> None:
    found = flown(sweep(target=["rotor"], kind=["dead", "weak"], value={"rotor.weak": [0.2, 0.5]}, at=[1.0], order=2))
    alone = [case for case in found if len(case) == 1]
    pairs = [case for case in found if len(case) == 2]
    assert (len(alone), len(pairs)) == (6, 15 - 2)  # not two values of one rotor
    assert all(a["from_s"] == b["from_s"] for a, b in pairs)


def test_a_sweep_is_counted_before_its_faults_are_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: dict[str, Any] = {"target": ["rotor"], "kind": ["dead", "weak"], "value": {"rotor.weak": [0.2, 0.5]}}
    large = sweep(**keys, at={"lin": [2, 49, 9000]}, order=2)
    monkeypatch.setattr(Single, "entry", lambda self, at_s, lasts_s: pytest.fail("faults are combined"))
    with pytest.raises(ConfigError) as refused:
        flown(large)
    assert str(refused.value) == (
        f"sweep: asks for {1 + (6 + 13) * 9000} flights; expected at most 100000, of fewer faults, times or pairs"
    )


@pytest.mark.parametrize("order", [1, 2])
def test_the_count_of_a_sweep_is_that_of_its_flights(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: dict[str, Any] = {"target": ["rotor"], "value": {"rotor.weak": [0.2, 0.5]}, "lasts_s": [1, 2]}
    asked = sweep(**keys, at=[1.0, 2.0, 3.0], order=order)
    free, found = 3, len(flown(asked))
    for most, refused in ((free * (1 + found), False), (free * (1 + found) - 1, True)):
        monkeypatch.setitem(MOST_FLIGHTS, "bench", most)
        with pytest.raises(ConfigError, match="sweep: asks for") if refused else nullcontext():
            cases([asked], KNOWN, FLIGHT, free=free)


def test_two_sweeps_of_the_same_fault_fly_it_once() -> None:
    one = sweep(target=["battery"], at=[1.0, 2.0])
    assert len(flown(one, one, sweep(target=["battery"], at=[2.0, 3.0]))) == 3


def test_times_are_on_steps_of_the_simulation() -> None:
    found = flown(sweep(target=["battery"], at={"lin": [1.0, 2.0, 4]}))
    assert [case[0]["from_s"] for case in found] == [1.0, 1.332, 1.668, 2.0]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"target": ["gns"]}, "target: unknown 'gns' (did you mean 'gnss'?)"),
        ({"target": ["imu"]}, "sweep[0].target: no 'imu' in this flight; expected one of: gnss, rotor, battery, board"),
        ({"target": ["gnss"], "kind": ["dead"]}, "sweep[0].kind: no 'dead' in this flight; expected one of: silent"),
        ({"channel": ["middle"]}, "sweep[0].channel: no 'middle' in this flight"),
        ({"value": {"gnss.silent": [1]}}, "sweep[0].value: 'gnss.silent' is no fault of this sweep with a value"),
        ({"at": {"phases": ["turn"]}}, "sweep[0].at.phases: the flight has no 'turn'; expected one of: climb, cruise"),
        ({"at": [50.0]}, "sweep[0].at: expected times within the flight of 50 s, not 50 s"),
        ({"at": {"lin": [1, 2, 3], "per_phase": 2}}, "at: expected `lin`, or `phases` and `per_phase`, not both"),
        ({"at": []}, "at: expected at least one time, none below 0"),
        ({"lasts_s": []}, "lasts_s: expected at least one duration; inf for the rest of the flight"),
        ({"at": {"lin": [2, 49, 20_000]}}, "at.lin: expected two times, the earlier first, and 2 to 10000 of them"),
        ({"order": 3}, "order: invalid enum value 3, expected one of: 1, 2"),
        ({"lasts_s": ["infinite"]}, "lasts_s[0]: invalid enum value 'infinite', expected one of: inf, a number"),
    ],
)
def test_what_is_wrong_is_named(keys: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        flown(sweep(**keys))
    assert expected in str(refused.value)


def test_a_file_may_write_inf_as_toml_does(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text('name = "one"\nscenario = "tiltrotor-spiral"\n[[sweep]]\nlasts_s = [0.5, inf]\nat = [1.0]\n')
    read = definition.read(file).definition
    assert read.sweep[0].durations_s == (0.5, math.inf)
    assert convert(definition.as_table(read), definition.Definition, "store") == read


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"flights": 3}, "flights: a grid or a sweep has its own number"),
        ({"search": {"key": "duration_s", "from": 1, "to": 2}}, "sweep: expected no `search` in the same file"),
        ({"parameter": [{"key": "duration_s", "uniform": [1, 2]}]}, "duration_s: is drawn; expected `grid` or `lin`"),
    ],
)
def test_a_sweep_has_no_drawn_flights(keys: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        definition.read({"name": "one", "scenario": "tiltrotor-spiral", "sweep": [{}], **keys})


LINKS = {"to_plant": 7, "to_board": 7, "battery": 1, "board": 3}
AIR = {"imu": 10, "magnetometer": 4, "barometer": 6, "gnss": 11}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("quad-mission", {**AIR, **LINKS, "rotor": 24}),
        ("tiltrotor-spiral", {"state": 14, **LINKS, "rotor": 6, "servo": 6}),
        ("fixedwing-loiter", {**AIR, "airspeed": 6, **LINKS, "rotor": 3, "servo": 9}),
    ],
)
def test_possible_faults_come_from_the_rows_with_those_of_the_link(name: str, expected: dict[str, int]) -> None:
    """By target, so many kinds and channels."""
    plan = scenario(name).plan
    assert isinstance(plan, Scenario)
    offered = possible(plan)
    assert len(set(offered)) == len(offered)
    assert Counter(offer.target for offer in offered) == expected
    assert all(isinstance(each, Single) for each in singles(Sweep(), offered))


def test_phases_of_a_flight_from_take_off_to_landing() -> None:
    """Rest, climb 10 m, fly east, turn north, fly north, sink, rest."""
    stretches = [
        (5.0, (0.0, 0.0, 0.0)),
        (5.0, (0.0, 0.0, 2.0)),
        (6.0, (4.0, 0.0, 0.0)),
        (3.0, None),
        (6.0, (0.0, 4.0, 0.0)),
        (10.0, (0.0, 0.0, -1.0)),
        (5.0, (0.0, 0.0, 0.0)),
    ]
    vel_W: list[tuple[float, ...]] = []
    for lasts_s, velocity in stretches:
        count = round(lasts_s / 0.02)
        for index in range(count):
            angle = 0.5 * math.pi * index / count
            vel_W.append(velocity or (4.0 * math.cos(angle), 4.0 * math.sin(angle), 0.0))
    velocity_W = np.array(vel_W, dtype=np.float64)
    t_s: Array = np.arange(len(vel_W), dtype=np.float64) * 0.02
    found = phases(t_s, np.cumsum(velocity_W, axis=0) * 0.02, velocity_W)
    assert [each.phase for each in found] == [GROUND, CLIMB, CRUISE, TURN, CRUISE, LAND, GROUND]
    assert [each.start_s for each in found] == pytest.approx([0, 5, 10, 16, 19, 25, 35], abs=0.11)
    assert phase_at(found, 17.0) == TURN
    assert phase_at(found, 99.0) == GROUND
    middle = times_in(found, CRUISE, 4)
    assert middle == pytest.approx([11.5, 14.5, 20.5, 23.5], abs=0.2)
