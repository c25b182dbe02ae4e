"""Rollouts of the law `mppi` in one control period of 12 ms: 16 lanes on one thread and on all, against one lane.

The peer is the same source with one lane, so that the ratio is what the vector unit gives. A cycle has 1024 rollouts
of 16 steps, with weights and sums. Processor time for one thread: on a shared machine it is what the law needs; wall
time for all threads, since their waiting for one another counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from aeroloop.batch.sampling import Rollouts
from aeroloop.batch.sampling_build import library
from aeroloop.control import mppi
from aeroloop.core.scenario_files import find
from aeroloop.families.tiltrotor import mppi_law
from aeroloop.families.tiltrotor.design import design
from aeroloop.families.tiltrotor.scenario import load_tiltrotor
from benchmarks.measure import Aim, Outcome, row, take_turns

PEER = "1 lane"
AT_LEAST = 5.0
"""Of 16 lanes over the peer, one thread each, with AVX-512."""
PERIOD_S = 0.012


def run(quick: bool) -> Outcome:
    rounds, count, cycles = (1, 64, 1) if quick else (7, 1024, 20)
    scenario = load_tiltrotor(find("tiltrotor-spiral-mppi"))
    control = scenario.controller.control
    plan = design(scenario.aircraft.vehicle.parameters, control.weights, control.period_s)
    own = mppi_law.regulator(plan, scenario)
    sampling = mppi_law.sampling(control.mppi, plan.period_s, scenario.seed)
    loop, columns, knots = (
        mppi_law.loop(scenario, own),
        mppi.Columns(sampling.knots).count,
        mppi.INPUTS * sampling.knots,
    )
    threads = os.cpu_count() or 1
    lanes, one_lane = library(loop, "lanes"), library(loop, "lanes", lanes=1)
    single = Rollouts(lanes, count, columns, knots)
    law = mppi.Mppi(mppi_law.feedback(own), sampling, single)
    reference = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 1.57, 0.2, 0.0])
    law.step(plan.state_eq, reference, np.zeros(sampling.memory), np.zeros(sampling.memory))

    def rate(rollouts: Rollouts, clock: Callable[[], float]) -> Callable[[], float]:
        """Rollouts in a period."""

        def measured() -> float:
            began = clock()
            for number in range(cycles):
                rollouts.cycle(law.table, number, sampling.temperature)
            return PERIOD_S * count * cycles / (clock() - began)

        return measured

    all_threads = f"16 lanes, {threads} threads, wall time"
    rates = take_turns(
        {
            PEER: rate(Rollouts(one_lane, count, columns, knots), time.process_time),
            "16 lanes": rate(single, time.process_time),
            "16 lanes, wall time": rate(single, time.perf_counter),
            all_threads: rate(Rollouts(lanes, count, columns, knots, threads), time.perf_counter),
        },
        rounds,
    )
    unit = "rollouts in 12 ms"
    return Outcome(
        [
            row("16 lanes", unit, rates["16 lanes"], PEER, rates[PEER], Aim(AT_LEAST, at_least=True)),
            row(all_threads, unit, rates[all_threads], "16 lanes, wall time", rates["16 lanes, wall time"]),
        ],
        [f"{threads} cores; the lanes are compiled for this processor"],
    )
