"""A step of `aeroloop.bench` against the bare vehicle: the same aircraft, commands and control periods.

The bare vehicle is advanced by hand, its samples are dropped and its state sensors read. The bench adds the check of
the command, planned faults and the observation. Both hold one command: tilt-rotor and wing their trim, the quadrotor
one with which it climbs. Only the processor's time is counted: nothing here waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import aeroloop
from aeroloop.api.bench import Bench
from aeroloop.core.tables import family, part
from benchmarks.exchange_contexts import DiscardedRows
from benchmarks.measure import Outcome, row, take_turns

AIRCRAFT = {"quadrotor": "quad-hover", "tilt-rotor": "tiltrotor-spiral", "fixed wing": "fixedwing-loiter"}
BARE = "bare vehicle"
CLIMB = 0.8
"""Command to each motor of an aircraft that starts with motors that stand."""


def run(quick: bool) -> Outcome:
    rounds, steps = (1, 50) if quick else (9, 500)
    contestants: dict[str, Callable[[], float]] = {}
    for name, scenario in AIRCRAFT.items():
        bench = aeroloop.bench(scenario)
        contestants[name] = partial(_stepped, bench, steps)
        contestants[f"{name}, bare"] = partial(_bare, bench, steps)
    rates = take_turns(contestants, rounds)
    return Outcome([row(name, "steps/s", rates[name], BARE, rates[f"{name}, bare"]) for name in AIRCRAFT])


def _stepped(bench: Bench, steps: int) -> float:
    bench.reset()
    command = _held(bench.command)
    began_s = time.process_time()
    for _ in range(steps):
        seen = bench.step(command)
    took_s = time.process_time() - began_s
    _check(seen.t_s, bench.period_s * steps)
    return steps / took_s


def _bare(bench: Bench, steps: int) -> float:
    scenario = bench.scenario
    vehicle = part(family(scenario.kind).vehicle)(scenario, 0, DiscardedRows())
    inbox, period_ns, command = vehicle.tap(), round(bench.period_s * 1e9), _held(vehicle.command)
    vehicle.begin()
    began_s = time.process_time()
    for _ in range(steps):
        vehicle.command = command
        vehicle.advance(vehicle.t_ns + period_ns, exact=True)
        vehicle.measured()
        inbox.clear()
    took_s = time.process_time() - began_s
    _check(vehicle.t_ns / 1e9, bench.period_s * steps)
    return steps / took_s


def _held(first: tuple[float, ...]) -> tuple[float, ...]:
    return first if any(first) else (CLIMB,) * len(first)


def _check(t_s: float, expected_s: float) -> None:
    if abs(t_s - expected_s) > 1e-6:
        raise RuntimeError(f"the benchmark's flight ended at {t_s} s instead of {expected_s} s")
