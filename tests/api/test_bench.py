"""The vehicle in a loop of one's own: the same flight as on the bench, by seed and command alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aeroloop
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario_files import find
from aeroloop.flight.inline import fly_inline

ROOT = Path(__file__).resolve().parents[2]
SLED = ROOT / "examples/aircraft/sled.toml"
ROCKET = ROOT / "examples/aircraft/rocket-hop.toml"


def replayed(scenario: str | Path, duration_s: float) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The truth of a short flight with its controller, and of the bench with that flight's commands."""
    changes = {"duration_s": duration_s}
    plan = aeroloop.scenario(scenario, set=changes).plan
    log = fly_inline(plan).logs[0]
    bench = aeroloop.bench(scenario, set=changes, record=True)
    commands, names = log.rows["command"], log.columns["command"]
    first = names.index(bench.channels[0])
    at_s = commands[:, 0]
    seen = bench.reset()
    while seen.t_s < log.rows["truth"][-1, 0] - 1e-9:
        # Rows of a command are written when it has come: it acts from then on. A multirotor's say what acted before.
        acting = at_s <= seen.t_s + 1e-9 if bench.period_s > 0.005 else at_s <= seen.t_s + bench.period_s + 1e-9
        held = commands[acting]
        seen = bench.step(held[-1, first : first + len(bench.channels)] if len(held) else None)
    return log.rows["truth"], bench.log["truth"].array


@pytest.mark.parametrize(
    ("scenario", "duration_s"),
    [("tiltrotor-wind", 1.2), ("quad-law-hover", 3.0), ("fixedwing-loiter", 1.0), (SLED, 1.0), (ROCKET, 2.0)],
    ids=str,
)
def test_the_commands_of_a_flight_give_its_truth_to_the_bit(scenario: str | Path, duration_s: float) -> None:
    flown, again = replayed(scenario, duration_s)
    np.testing.assert_array_equal(again, flown[: len(again)])
    assert len(flown) - len(again) <= 3 and np.ptp(again[:, 2:5]) > 0


def test_a_seed_is_a_flight_and_another_seed_is_another() -> None:
    with aeroloop.bench("quad-hover", set={"world.wind.turbulence.w20_m_s": 7.7}) as bench:
        flights = {}
        for name, seed in {"first": 4, "again": 4, "other": 5}.items():
            bench.reset(seed)
            seen = [bench.step((0.8,) * 4) for _ in range(100)]
            flights[name] = [(each.truth, each.samples) for each in seen]
    assert flights["first"] == flights["again"]
    assert flights["first"] != flights["other"]


def test_reset_begins_anew() -> None:
    bench = aeroloop.bench(SLED)
    for _ in range(2):
        first = bench.reset()
        assert (first.t_s, first.truth.pos_W) == (0.0, (0.0, 0.0, 0.0))
        moved = bench.step({"push_N": 5.0})
        assert moved.t_s == pytest.approx(bench.period_s) and moved.truth.pos_W[0] > 0
        assert bench.command == (5.0,)


def test_what_is_measured_has_names_and_samples_have_their_sensors() -> None:
    tilt = aeroloop.bench("tiltrotor-spiral")
    seen = tilt.reset()
    assert tilt.channels == ("thrust_right_N", "thrust_left_N", "torque_right_Nm", "torque_left_Nm")
    assert tilt.units["thrust_right_N"] == "N" and tilt.period_s == 0.012
    assert seen.measured is not None
    assert dict(zip(tilt.measured_names, seen.measured, strict=True))["z_m"] == seen.truth.pos_W[2]
    quad = aeroloop.bench("quad-hover")
    quad.reset()
    imu = quad.step().sensors["imu"]
    assert imu.accel_B[2] == pytest.approx(9.8, abs=0.5)  # stands on the ground


def test_a_period_of_ones_own_need_not_be_a_multiple_of_the_step() -> None:
    bench = aeroloop.bench(SLED, period_s=0.0075)
    bench.reset()
    assert [bench.step((1.0,)).t_s for _ in range(3)] == [0.0075, 0.015, 0.0225]


def test_planned_faults_happen_and_those_of_links_do_not() -> None:
    faults = [
        {"target": "rotor", "kind": "dead", "from_s": 0.12},
        {"target": "to_plant", "kind": "delay_s", "value": 0.5, "from_s": 0.05},
    ]
    bench = aeroloop.bench("tiltrotor-spiral", set={"faults": faults}, record=True)
    bench.reset()
    for _ in range(20):
        bench.step()
    effort = bench.log["effort"]
    thrust_N, before = effort["thrust_right_N"], effort.t_s < 0.12 + 1e-9
    assert (thrust_N[before] == thrust_N[0]).all() and (thrust_N[~before] < thrust_N[0]).all()
    assert bench.log["fault"].rows == 1


def test_a_flight_that_has_ended_goes_no_further() -> None:
    bench = aeroloop.bench(SLED, set={"world.length_m": 0.1})
    seen = bench.reset()
    while not seen.ended:
        seen = bench.step((10.0,))
    assert seen.ended == "diverged"
    with pytest.raises(aeroloop.AeroloopError, match=r"the flight has ended \(diverged at .* s\); reset\(\) it"):
        bench.step()
    assert bench.reset().ended == ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((1.0, 2.0), r"expected 1 values \(push_N\), not 2"),
        ({"push": 1.0}, "expected the channels push_N, not push"),
        ({}, "expected the channels push_N, not none"),
        (np.ones(3), r"expected 1 values \(push_N\), not 3"),
    ],
    ids=str,
)
def test_a_command_that_does_not_fit_is_refused(command: Any, words: str) -> None:
    bench = aeroloop.bench(SLED)
    bench.reset()
    with pytest.raises(aeroloop.ConfigError, match=words):
        bench.step(command)


def test_a_bench_is_asked_in_the_right_order() -> None:
    bench = aeroloop.bench(SLED)
    with pytest.raises(aeroloop.AeroloopError, match=r"expected reset\(\) first"):
        bench.step()
    with pytest.raises(aeroloop.ConfigError, match="record=True"):
        _ = bench.log
    with pytest.raises(aeroloop.ConfigError, match="vehicle 1: there are 1"):
        aeroloop.bench(SLED, vehicle=1)
    with pytest.raises(aeroloop.ConfigError, match="expected a time above 0"):
        aeroloop.bench(SLED, period_s=-1.0)


def test_of_a_fleet_one_part_is_chosen() -> None:
    parts = [part.name for part in load_plan(find("mixed-fleet")).parts]  # type: ignore[union-attr]
    with pytest.raises(aeroloop.ConfigError, match=f"expected one of: {', '.join(parts)}"):
        aeroloop.bench("mixed-fleet")
    assert aeroloop.bench("mixed-fleet", part=parts[-1]).scenario.name == parts[-1]


def test_what_a_family_outside_the_package_raises_is_one_sentence() -> None:
    bench = aeroloop.bench(SLED)
    bench.reset()
    with pytest.raises(aeroloop.ConfigError, match=r"sled.build:vehicle: .*build\.py, line \d+: TypeError"):
        bench.step(("push",))  # type: ignore[arg-type]
