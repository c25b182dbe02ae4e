"""A batch of tilt-rotor flights: lanes in single precision, with one thread and with all, against scalar double C.

The peer is the same loop from the same generator, compiled in double precision with the flags of the rung sil. Rates
are plant steps (Runge-Kutta 4, 4 ms) over wall time.
"""

from __future__ import annotations

import os

import numpy as np

from aeroloop.batch import flights
from aeroloop.batch.engine import Engine
from benchmarks.measure import Aim, Outcome, row, take_turns

PEER = "scalar double C"
AT_LEAST = 10.0
"""Of lanes over the peer, one thread each, with AVX-512."""


def run(quick: bool) -> Outcome:
    rounds, cycles, blocks = (1, 5, 1) if quick else (7, 1000, 4)
    planned = flights.plan("tiltrotor-spiral")
    table = planned.table[:cycles]
    lanes, double = Engine(planned.loop), Engine(planned.loop, "double")
    threads = os.cpu_count() or 1

    def rate(engine: Engine, count: int, threads: int) -> float:
        params = np.tile(list(planned.defaults.values()), (count, 1))
        flown = engine.fly(params, table, np.zeros(count), threads=threads)
        if flown.metrics["diverged"].any():
            raise RuntimeError("the benchmark's flight was lost")
        return flown.steps_per_s

    all_threads = f"16 lanes, {threads} threads"
    rates = take_turns(
        {
            PEER: lambda: rate(double, 4 * blocks, 1),
            "16 lanes": lambda: rate(lanes, 16 * blocks, 1),
            all_threads: lambda: rate(lanes, 16 * blocks * threads, threads),
        },
        rounds,
    )
    return Outcome(
        [
            row("16 lanes", "steps/s", rates["16 lanes"], PEER, rates[PEER], Aim(AT_LEAST, at_least=True)),
            row(all_threads, "steps/s", rates[all_threads], PEER, rates[PEER]),
        ],
        [f"{threads} cores; the lanes are compiled for this processor"],
    )
