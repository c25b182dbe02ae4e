"""Two hundred whole spirals of the tilt-rotor on the bench with two workers, as one command: wall time and processor
time, start-up and report included."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.campaign_flight import campaign_s
from benchmarks.measure import Aim, Outcome, row

FLIGHTS, QUICK_FLIGHTS, WORKERS, DURATION_S = 200, 2, 2, 60.0
MOST_S, TIMEOUT_S = 300.0, 3600.0


def run(quick: bool) -> Outcome:
    flights, duration_s = (QUICK_FLIGHTS, 1.2) if quick else (FLIGHTS, DURATION_S)
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        began_s = time.monotonic()
        used_s = campaign_s(Path(folder), duration_s, flights, WORKERS, TIMEOUT_S)
        wall_s = time.monotonic() - began_s
    aim = None if quick else Aim(1.0, at_least=False)
    what = f"{flights} spirals of {duration_s:g} s, {WORKERS} workers"
    return Outcome(
        [
            row(f"{what}: wall time", "s", [wall_s], "spec", [MOST_S], aim),
            row(f"{what}: processor time", "s", [used_s], "simulated time", [flights * duration_s]),
        ]
    )
