"""The film of a flight of 60 s as a command, `aeroloop video`: drawn from its log and encoded, with default settings,
and with instruments."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Aim, Outcome, row

SCENARIO, DURATION_S, QUICK_S = "tiltrotor-spiral", 60.0, 1.2
FILMS = {"film": (), "film with instruments": ("--instruments",)}
TIMEOUT_S = 1800.0


class Took(NamedTuple):
    wall_s: float
    processor_s: float  # of all processes that draw and encode


def run(quick: bool) -> Outcome:
    length_s, rounds = (QUICK_S, 1) if quick else (DURATION_S, 3)
    films, outcome = dict([next(iter(FILMS.items()))]) if quick else FILMS, Outcome()
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        flight = Path(folder) / "run"
        shorter = ("--set", f"duration_s={length_s}", "--set", "checks=[]") if quick else ()
        _took("fly", SCENARIO, "--loop", "mil", "--no-report", *shorter, "--out", str(flight))
        for name, options in films.items():
            took = [_took("video", str(flight), *options, "--out", str(flight / "film.mp4")) for _ in range(rounds)]
            aim = Aim(1.0, at_least=False) if not quick and not options else None
            what, lengths_s = f"{name} of {length_s:g} s", [length_s] * rounds
            walls_s, used_s = [each.wall_s for each in took], [each.processor_s for each in took]
            outcome.rows.append(row(f"{what}: wall time", "s", walls_s, "flight", lengths_s, aim))
            outcome.rows.append(row(f"{what}: processor time", "s", used_s, "flight", lengths_s))
    outcome.notes.append(f"{SCENARIO}, .mp4, {len(os.sched_getaffinity(0))} cores")
    return outcome


def _took(*arguments: str) -> Took:
    """A command and all its processes; RuntimeError where it fails."""
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "aeroloop.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    wall_s, after = time.perf_counter() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return Took(wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
