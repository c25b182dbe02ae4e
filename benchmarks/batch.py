"""Batches of tilt-rotor, quadrotor and fixed wing flights in one run, as ratios: scalar double C, SIMD with AVX-512 and
with AVX2, all threads, a GPU where there is one, and RotorPy and crazyflow where they are installed.

The first peer is the same loop from the same generator, compiled in double precision with the flags of the rung sil.
Rates are plant steps (Runge-Kutta 4; 4 ms, the fixed wing's 10 ms) over processor time, so that they hold on a shared
machine too; with all threads over wall time, on a GPU over the kernel's time.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aeroloop.batch import flights, gpu
from aeroloop.batch.engine import Engine
from benchmarks.batch_peers import PYTHON, Peer
from benchmarks.measure import Aim, Outcome, Row, row, take_turns

PEER = "scalar double C"
AT_LEAST = 10.0
"""Of lanes over the peer, one thread each, with AVX-512."""
LOOPS = {"tilt-rotor": "tiltrotor-spiral", "quad": "quad-air", "fixed wing": "fixedwing-circle"}
OTHERS = {"RotorPy": 1000, "crazyflow": 250}
"""Other simulators, and steps a round."""
GPU_FLIGHTS = 270_336
THREADS = os.cpu_count() or 1


@dataclass(frozen=True)
class Lanes:
    """A vector unit: flights in a vector, flags of the compiler, and the quadrotor's aim in steps a second."""

    name: str
    feature: str  # of the processor, as Linux names it
    count: int
    flags: tuple[str, ...]
    quad_steps_s: float


UNITS = (
    Lanes("16 lanes, AVX-512", "avx512f", 16, (), 8e6),
    Lanes("8 lanes, AVX2", "avx2", 8, ("-march=x86-64-v3", "-mprefer-vector-width=256"), 5e6),
)


def run(quick: bool) -> Outcome:
    rows: list[Row] = []
    notes = [f"{THREADS} cores"]
    units = units_of(notes)
    missing = gpu.missing()
    if missing:
        notes.append(f"no row for the GPU: {missing}")
    for name, scenario in list(LOOPS.items())[: 1 if quick else None]:  # the quadrotor's compiles for half a minute
        with _others(notes) if name == "quad" else contextlib.nullcontext({}) as others:
            rows += _compared(name, flights.plan(scenario), units, others, quick, on_gpu=not missing)
    return Outcome(rows, notes)


def units_of(notes: list[str]) -> list[Lanes]:
    """What this processor has; where that is neither of the two, 16 lanes without a name."""
    with contextlib.suppress(OSError):
        known = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
        found = [unit for unit in UNITS if unit.feature in known]
        notes += [f"no row for {unit.name}: this processor does not have it" for unit in UNITS if unit not in found]
        if found:
            return found
    return [Lanes("16 lanes", "", 16, (), 0.0)]


@contextlib.contextmanager
def _others(notes: list[str]) -> Iterator[dict[str, Callable[[], float]]]:
    """Rates of other simulators; a note for each that is not installed."""
    with contextlib.ExitStack() as stack:
        found: dict[str, Callable[[], float]] = {}
        for name, steps in OTHERS.items():
            try:
                peer = Peer(name.lower(), steps)
            except ImportError:
                notes.append(
                    f"no row for {name}: it is not installed; pip install {name.lower()} in an environment of its own, "
                    f"named by {PYTHON}"
                )
                continue
            stack.callback(peer.close)
            found[name] = peer.rate
        yield found


def _compared(
    name: str,
    planned: flights.Plan,
    units: list[Lanes],
    others: dict[str, Callable[[], float]],
    quick: bool,
    *,
    on_gpu: bool,
) -> list[Row]:
    rounds, cycles, blocks = (1, 15, 1) if quick else (7, 2000, 4)
    table = planned.table[:cycles]
    engines = {unit.name: Engine(planned.loop, lanes=unit.count, flags=unit.flags) for unit in units}
    double, best = Engine(planned.loop, "double"), units[0]
    each = f"{best.name}, {THREADS} threads"

    def rate(engine: Engine, count: int, clock: Callable[[], float] | None, threads: int = 1) -> float:
        params = np.tile(list(planned.defaults.values()), (count, 1))
        began = clock() if clock else 0.0
        flown = engine.fly(params, table, np.zeros(count), threads=threads)
        seconds = clock() - began if clock else flown.seconds
        if flown.metrics["diverged"].any():
            raise RuntimeError("the benchmark's flight was lost")
        return flown.plant_steps / seconds

    contestants = {
        PEER: lambda: rate(double, 4 * blocks, time.process_time),
        **{
            unit.name: lambda unit=unit: rate(engines[unit.name], 16 * blocks, time.process_time)  # type: ignore[misc]
            for unit in units
        },
        each: lambda: rate(engines[best.name], 16 * blocks * THREADS, None, THREADS),
        **others,
    }
    if on_gpu:
        device = Engine(planned.loop, "cuda")
        contestants["GPU"] = lambda: rate(device, 256 if quick else GPU_FLIGHTS, None)
    rates = take_turns(contestants, rounds)
    ours = [unit.name for unit in units] + [each] + ["GPU"] * on_gpu
    rows = [
        row(
            f"{name}, {own}",
            "steps/s",
            rates[own],
            PEER,
            rates[PEER],
            Aim(AT_LEAST, at_least=True) if own == "16 lanes, AVX-512" else None,
        )
        for own in ours
    ]
    if name == "quad":
        rows += [
            row(
                f"{name}, {unit.name}",
                "steps/s",
                rates[unit.name],
                "the aim",
                [unit.quad_steps_s] * rounds,
                Aim(1.0, at_least=True),
            )
            for unit in units
            if unit.quad_steps_s
        ]
    return rows + [
        row(f"{name}, {own}", "steps/s", rates[own], other, rates[other])
        for other in others
        for own in (best.name, *["GPU"] * on_gpu)
    ]
