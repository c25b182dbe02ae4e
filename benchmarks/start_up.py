"""The fixed cost of a flight: processes that are forks of one that has imported, against each started as a program.

A flight of 1.2 s without a report is nearly all start-up. The second rows fly from one Python program, as tests and
campaigns do: the fork server is shared by all its flights.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.command import SHORT_S, TIMEOUT_S
from benchmarks.measure import Aim, Outcome, row, take_turns

PEER = "each process started as a program (AEROLOOP_NO_FORK=1)"
SCENARIO = "tiltrotor-spiral"
FLIGHTS = 4
"""Flights of one program."""
COMMAND = (
    *("-m", "aeroloop.cli", "fly", SCENARIO, "--loop", "mil", "--pace", "lockstep", "--json", "--no-report"),
    *("--set", f"duration_s={SHORT_S}", "--set", "checks=[]", "--out", "run"),
)
PROGRAM = f"""
import aeroloop
settings = {{"duration_s": {SHORT_S}, "checks": []}}
for number in range({FLIGHTS}):
    run = aeroloop.fly("{SCENARIO}", loop="mil", pace="lockstep", set=settings, out=f"run-{{number}}")
    assert run.passed
"""
WAYS = {"one command": (COMMAND, 1), f"{FLIGHTS} flights of a program, each": (("-c", PROGRAM), FLIGHTS)}


def run(quick: bool) -> Outcome:
    rounds = 1 if quick else 5
    ways = dict([next(iter(WAYS.items()))]) if quick else WAYS
    outcome = Outcome()
    for name, (arguments, flights) in ways.items():
        walls: dict[bool, list[float]] = {True: [], False: []}

        def processor_s(forks: bool, arguments: tuple[str, ...], flights: int, walls: dict[bool, list[float]]) -> float:
            used_s, wall_s = _measured(arguments, forks)
            walls[forks].append(wall_s / flights)
            return used_s / flights

        measured = partial(processor_s, arguments=arguments, flights=flights, walls=walls)
        used = take_turns({"forks": partial(measured, True), "programs": partial(measured, False)}, rounds)
        aim = None if quick else Aim(0.7, at_least=False)
        outcome.rows.append(row(f"{name}: processor time", "s", used["forks"], PEER, used["programs"], aim))
        outcome.rows.append(row(f"{name}: wall time", "s", walls[True], PEER, walls[False]))
    outcome.notes.append(f"{SCENARIO} on mil for {SHORT_S:g} s in lockstep, no report; all processes of the flight")
    return outcome


def _measured(arguments: tuple[str, ...], forks: bool) -> tuple[float, float]:
    """Processor time of the program with all of its processes, and wall time."""
    environment = {**os.environ, "AEROLOOP_NO_FORK": "0" if forks else "1"}
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=Path(folder),
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        wall_s, after = time.perf_counter() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall_s
