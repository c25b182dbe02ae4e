"""A vehicle alone, without controller, link or log: its compiled step against the same vehicle stage by stage.

The multirotors hover in turbulence or still air with all their sensors, flown by three lines of proportional feedback
that count in. Stage by stage means motors, loads, MuJoCo, earth and atmosphere one after another, as near the ground.
The wing flies straight on its trimmed controls; its model is interpreted or compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.scenario_files import find, load
from aeroloop.families.fixedwing import build as fixedwing
from aeroloop.families.multirotor import build as multirotor
from aeroloop.sim.vehicle import Vehicle
from benchmarks.bare_vehicle import Hold, hover, no_feedback, step_cost_s
from benchmarks.exchange_contexts import DiscardedRows
from benchmarks.measure import Outcome, row, take_turns

HEIGHT_M = 20.0
MULTIROTORS = {
    "quadrotor": ("quad-hover", ()),
    "quadrotor in turbulence": ("quad-hover", ("world.wind.turbulence.w20_m_s=7.7",)),
    "hexarotor": ("quad-hover", ("vehicle.airframe=hexarotor",)),
}
STAGED, INTERPRETED = "stage by stage", "interpreted"


def run(quick: bool) -> Outcome:
    rounds, steps = (1, 200) if quick else (7, 10_000)
    contestants: dict[str, Callable[[], float]] = {}
    for name, (scenario, settings) in MULTIROTORS.items():
        for who, compiled in ((name, True), (f"{name}, peer", False)):
            contestants[who] = partial(_multirotor, scenario, settings, compiled, steps)
    contestants["fixed wing"] = partial(_wing, steps // 10)  # farther it does not fly by itself
    contestants["fixed wing, peer"] = partial(_interpreted_wing, steps // 10)
    for contestant in contestants.values():
        contestant()  # compiles once
    rates = take_turns(contestants, rounds)
    peers = {**dict.fromkeys(MULTIROTORS, STAGED), "fixed wing": INTERPRETED}
    return Outcome([row(name, "steps/s", rates[name], peer, rates[f"{name}, peer"]) for name, peer in peers.items()])


def _multirotor(name: str, settings: tuple[str, ...], compiled: bool, steps: int) -> float:
    scenario: Any = load(find(name), settings)
    vehicle = multirotor.vehicle(scenario, 0, DiscardedRows(), compiled=compiled)
    hover_rad_s, hold = hover(scenario, vehicle, HEIGHT_M)
    motion: Any = vehicle._motion
    motion.reset((0.0, 0.0, HEIGHT_M, 1.0, *(0.0,) * 15), [hover_rad_s] * len(vehicle.command))
    vehicle.state = motion.state(0)

    rate = _rate(vehicle, hold, steps)
    if not HEIGHT_M / 2 < vehicle.state.pos_W[2] < HEIGHT_M * 2:
        raise RuntimeError(f"the benchmark's aircraft did not stay up: {vehicle.state.pos_W}")
    return rate


def _wing(steps: int) -> float:
    scenario: Any = load(find("fixedwing-loiter"))
    return _rate(fixedwing.vehicle(scenario, 0, DiscardedRows()), no_feedback, steps)


def _interpreted_wing(steps: int) -> float:
    with patch.object(fixedwing, "fastest", Evaluator):
        return _wing(steps)


def _rate(vehicle: Vehicle[Any, Any], hold: Hold, steps: int) -> float:
    return 1.0 / step_cost_s(vehicle, vehicle.tap(), hold, steps, time.perf_counter)
