"""The law `mpc` in a batch: its calls are the law of the board, and its flight that of the bench."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

from aeroloop.api.flying import verified
from aeroloop.api.scenarios import named
from aeroloop.batch import flights
from aeroloop.batch.engine import Engine
from aeroloop.batch.loop import Call, Item, Repeat
from aeroloop.campaign.worker import flown as flown_of
from aeroloop.core import scenario_files
from aeroloop.core.scenario import Scenario
from aeroloop.families.tiltrotor.batch import METRICS
from aeroloop.families.tiltrotor.design import design, flight_law

NAME = "tiltrotor-spiral-mpc"
KEYS = {"vehicle.scale.mass": 1.02, "vehicle.scale.thrust_left": 0.99, "link.to_plant.delay_s": 0.0055}
NOISE = ("sensors.pos_std_m=0.003", "sensors.vel_std_m_s=0.005", "sensors.angle_std_rad=0.001", "duration_s=20.04")


def in_order(items: tuple[Item, ...]) -> Iterator[Call]:
    for item in items:
        if isinstance(item, Call):
            yield item
        elif isinstance(item, Repeat):
            for _ in range(item.count):
                yield from in_order(item.body)


def law_of(scenario: Scenario) -> tuple[ca.Function, np.ndarray]:
    control = scenario.controller.control  # type: ignore[attr-defined]
    plan = design(scenario.aircraft.vehicle.parameters, control.weights, control.period_s)  # type: ignore[attr-defined]
    return flight_law(control, plan), plan.state_eq


@pytest.mark.parametrize("changes", [(), ("control.mpc.iterations=1", "control.mpc.residual_max=1e-6")])
def test_the_calls_are_the_law(changes: tuple[str, ...]) -> None:
    """Commands of some periods near the reference, and how often the law fell back, are those of the
    law as one function: also where no solution is good, so that it holds a command and then is the LQR law."""
    scenario = scenario_files.load(scenario_files.find(NAME), changes)
    plan = flights.planned(scenario)
    law, hover = law_of(scenario)
    assert plan.metric_names[: len(METRICS) + 1] == (*METRICS, "law_fallbacks")
    rng, memory, levels = np.random.default_rng(2), ca.DM.zeros(law.numel_in(2)), [0]
    state = plan.loop.start(ca.DM(list(plan.defaults.values())))
    commands = slice(48 + law.numel_in(2), 48 + law.numel_in(2) + 4)
    for cycle in range(7):
        sensors = hover + rng.normal(0.0, 0.02, 16)
        row = ca.DM(plan.table[10 + cycle])
        state[:16] = sensors
        for call in in_order(plan.loop.cycle[1:]):
            given = {"state": state, "table": row}
            state = call.function(*(given[name] for name in call.function.name_in()))
        command, memory, status = law(sensors, row[:8], memory)
        levels.append(int(status[0]))
        np.testing.assert_allclose(np.array(state[commands]), np.array(command), rtol=1e-9, atol=1e-9)
    falls = sum(now > 0 and now != before for before, now in pairwise(levels))
    assert float(plan.loop.finish(state)[-1]) == falls
    assert (falls > 0) == bool(changes)


def test_without_the_law_no_flight_falls_back() -> None:
    plan = flights.plan("tiltrotor-spiral")
    assert plan.always["law_fallbacks"] == 0.0 and "law_fallbacks" not in plan.loop.metrics


@pytest.mark.soak
def test_the_flight_of_the_bench() -> None:
    """Noise, a delay within a step, other mass and thrust: 20 s within 0.3 mm and 0.01 deg."""
    plan = flights.plan(NAME, NOISE)
    own = flights.columns(plan, {key: np.full(1, value) for key, value in KEYS.items()}, 1)
    made = Engine(plan.loop).fly(own, plan.table, np.array([5]), flights=np.array([98296])).metrics
    source = ("seed=5", 'noise.generator="philox"', "noise.flight=98296", 'loop="mil"')
    changes = tuple(f"{key}={value}" for key, value in KEYS.items())
    bench = flown_of(verified(named(NAME).changed((*NOISE, *changes, *source))))[0]["metrics"]
    off = {name: abs(float(values[0]) - bench[name]) for name, values in made.items() if name in bench}
    print(off)
    near = {"m": 3e-4, "deg": 1e-2, "steps": 0, "diverged": 0, "fallbacks": 0, "s": 0.01}
    assert len(off) >= 10
    assert not {name: value for name, value in off.items() if value > near[name.rsplit("_", 1)[-1]]}
