"""The fixed wing between pairs of places drawn from seeds: does it get there, and over what?

The rows count flights. Twenty are flown in moderate turbulence as `aeroloop fly` flies it, two at a time, some of them
by the firmware on rung pil, and fifty in severe turbulence; the notes are a table of all of them.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Aim, Outcome, Row, row

SCENARIO = "fixedwing-hierarchical"
QUICK_SEED = 13
QUICK_APART_M = 900.0
"""With this seed: the shortest way there is."""
AT_ONCE = 2
TIMEOUT_S = 600.0
MOST, ALL = Aim(0.95, at_least=True), Aim(1.0, at_least=True)
COLUMNS = {
    "arrived": "arrived",
    "over_blocked_cells": "blocked",
    "outside_channel": "outside",
    "clearance_min_m": "clear m",
    "roll_max_deg": "roll deg",
    "cross_track_rms_m": "cross m",
    "altitude_error_max_m": "height m",
    "airspeed_error_max_m_s": "air m/s",
    "airspeed_error_p99_m_s": "p99 m/s",
    "plans": "plans",
    "flown_s": "flown s",
}


class Case(NamedTuple):
    """Flights of one kind."""

    rung: str
    seeds: Sequence[int]
    settings: tuple[str, ...] = ()


SEVERE = "world.wind.turbulence.w20_m_s=23.15"
"""45 knots at 20 feet."""
CASES = {
    "mil": Case("mil", range(1, 21)),
    "pil": Case("pil", range(1, 5)),
    "severe": Case("mil", range(1, 51), (SEVERE,)),
}


class Flight(NamedTuple):
    seed: int
    metrics: dict[str, float]

    def held(self, name: str, limit: float) -> bool:
        """NaN is not."""
        return self.metrics[name] < limit

    @property
    def arrived(self) -> bool:
        return self.metrics["arrived"] == 1.0

    @property
    def free(self) -> bool:
        """Never over a blocked cell, never on the ground, never lost."""
        return all(self.metrics[name] == 0.0 for name in ("over_blocked_cells", "ground_contacts", "diverged"))


COUNTS: dict[str, tuple[Callable[[Flight], bool], Aim | None]] = {
    "arrived": (lambda flight: flight.arrived, MOST),
    "over no blocked cell": (lambda flight: flight.free, ALL),
    "10 m above the ground": (lambda flight: flight.metrics["clearance_min_m"] > 10.0, ALL),
    "inside the channel": (lambda flight: flight.metrics["outside_channel"] == 0.0, ALL),
    "roll under 30 deg": (lambda flight: flight.held("roll_max_deg", 30.0), None),
    "cross-track RMS under 5 m": (lambda flight: flight.held("cross_track_rms_m", 5.0), None),
    "height within 10 m": (lambda flight: flight.held("altitude_error_max_m", 10.0), None),
    "airspeed within 2 m/s": (lambda flight: flight.held("airspeed_error_max_m_s", 2.0), None),
    "airspeed within 2 m/s, 99 % of the time": (lambda flight: flight.held("airspeed_error_p99_m_s", 2.0), None),
}


def run(quick: bool) -> Outcome:
    outcome = Outcome()
    shortest = (f"mission.apart_m={QUICK_APART_M}", "mission.linger_s=0")
    for name, case in {"mil": Case("mil", (QUICK_SEED,), shortest)}.items() if quick else CASES.items():
        with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
            flights = list(pool.map(partial(_fly, Path(folder), case), case.seeds))
        outcome.rows += [_counted(name, what, flights) for what in COUNTS]
        outcome.notes += _table(name, flights)
    return outcome


def _fly(folder: Path, case: Case, seed: int) -> Flight:
    out = folder / str(seed)
    command = [sys.executable, "-m", "aeroloop.cli", "fly", SCENARIO, "--no-report", "--loop", case.rung]
    command += ["--seed", str(seed), "--set", "checks=[]", "--out", str(out)]
    command += [argument for setting in case.settings for argument in ("--set", setting)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0 and not (out / "summary.json").is_file():
        raise RuntimeError(
            f"{case.rung}, seed {seed}: the flight failed with {done.returncode}\n{done.stdout}{done.stderr}"
        )
    told = json.loads((out / "summary.json").read_bytes())["metrics"]
    return Flight(seed, {name: math.nan if value is None else value for name, value in told.items()})


def _counted(name: str, what: str, flights: Sequence[Flight]) -> Row:
    counts, aim = COUNTS[what]
    held = float(sum(counts(flight) for flight in flights))
    return row(f"{name}, {what}", "flights", [held], "flown", [float(len(flights))], aim)


def _table(case: str, flights: Sequence[Flight]) -> list[str]:
    widths = {name: max(len(title), 7) for name, title in COLUMNS.items()}
    lines = [f"{case}  seed " + " ".join(f"{title:>{widths[name]}}" for name, title in COLUMNS.items())]
    for flight in flights:
        cells = (f"{flight.metrics[name]:>{width}.4g}" for name, width in widths.items())
        lines.append(f"{case}  {flight.seed:>4} " + " ".join(cells))
    return lines
