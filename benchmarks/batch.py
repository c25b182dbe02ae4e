"""Batches of tilt-rotor, quadrotor and fixed wing flights: lanes in single precision, with one thread and with all,
against scalar double C, and against RotorPy and crazyflow where they are installed.

The first peer is the same loop from the same generator, compiled in double precision with the flags of the rung sil.
Rates are plant steps (Runge-Kutta 4; 4 ms, the fixed wing's 10 ms) over processor time, with all threads over wall
time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from aeroloop.batch import flights
from aeroloop.batch.engine import Engine
from benchmarks import batch_peers
from benchmarks.measure import Aim, Outcome, Row, row, take_turns

PEER = "scalar double C"
AT_LEAST = 10.0
"""Of lanes over the peer, one thread each, with AVX-512."""
LOOPS = {"tilt-rotor": "tiltrotor-spiral", "quad": "quad-air", "fixed wing": "fixedwing-circle"}
HINTS = {"crazyflow": ", or SCIPY_ARRAY_API=1 is not set"}
OTHERS = {"RotorPy": (batch_peers.rotorpy, 1000), "crazyflow": (batch_peers.crazyflow, 250)}


def run(quick: bool) -> Outcome:
    rows: list[Row] = []
    notes = [f"{os.cpu_count() or 1} cores; the lanes are compiled for this processor"]
    for name, scenario in list(LOOPS.items())[: 1 if quick else None]:  # the quadrotor's compiles for half a minute
        others = _others(quick, notes) if name == "quad" else {}
        rows += _compared(name, flights.plan(scenario), others, quick)
    return Outcome(rows, notes)


def _others(quick: bool, notes: list[str]) -> dict[str, Callable[[], float]]:
    """Loops of other simulators; a note for each that is not installed."""
    found = {}
    for name, (make, steps) in OTHERS.items():
        rate = make(10 if quick else steps)
        if rate is None:
            notes.append(f"no row for {name}: it is not installed (pip install {name.lower()}){HINTS.get(name, '')}")
        else:
            found[name] = rate
    return found


def _compared(name: str, planned: flights.Plan, others: dict[str, Callable[[], float]], quick: bool) -> list[Row]:
    rounds, cycles, blocks = (1, 15, 1) if quick else (7, 2000, 4)
    table = planned.table[:cycles]
    lanes, double = Engine(planned.loop), Engine(planned.loop, "double")
    threads = os.cpu_count() or 1
    one, each = f"{name}, 16 lanes", f"{name}, 16 lanes, {threads} threads"

    def rate(engine: Engine, count: int, threads: int = 1) -> float:
        params = np.tile(list(planned.defaults.values()), (count, 1))
        began = time.process_time()
        flown = engine.fly(params, table, np.zeros(count), threads=threads)
        used_s = time.process_time() - began
        if flown.metrics["diverged"].any():
            raise RuntimeError("the benchmark's flight was lost")
        return flown.steps_per_s if threads > 1 else flown.plant_steps / used_s

    rates = take_turns(
        {
            PEER: lambda: rate(double, 4 * blocks),
            one: lambda: rate(lanes, 16 * blocks),
            each: lambda: rate(lanes, 16 * blocks * threads, threads),
            **others,
        },
        rounds,
    )
    return [
        row(one, "steps/s", rates[one], PEER, rates[PEER], Aim(AT_LEAST, at_least=True)),
        row(each, "steps/s", rates[each], PEER, rates[PEER]),
        *(row(one, "steps/s", rates[one], other, rates[other]) for other in others),
    ]
