"""Do a camera and its companion make the plant late? Flights in real time, in turns without and with them.

`quad-camera` renders 640 x 480 at 30 Hz on the same machine, in a process of its own at ordinary priority, and
`quad-landing` at its 20 Hz, with a companion that looks for the pad in every frame. A row of the stream `pace` is the
worst step of 20 ms, so a flight has 50 a second.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from aeroloop.flight.results import LOG
from aeroloop.recording.log import Log, read
from benchmarks.measure import Aim, Outcome, row, take_turns

PEER = "neither"
SETTLED_S = 3.0
"""Measured is from here on: until then processes start."""
HANG_S = 180.0
PERCENTILES = {"median": 50.0, "99th percentile": 99.0, "99.9th percentile": 99.9}
AIMS = {"99.9th percentile": Aim(1.1, at_least=False)}


@dataclass
class Taken:
    """One number per flight and percentile."""

    times_us: dict[str, list[float]] = field(default_factory=dict)
    missed: list[int] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Pair:
    """Two flights of one scenario, alike but for these settings."""

    scenario: str
    without: tuple[str, ...]
    having: tuple[str, ...]


PAIRS = {
    "camera": Pair("quad-camera", ("cameras=[]",), ("cameras[0].rate_hz=30.0",)),
    "camera and companion": Pair("quad-landing", ("cameras=[]", "landing.use=gps"), ("cameras[0].start_s=0.0",)),
}


def run(quick: bool) -> Outcome:
    """Quick: one short flight of each."""
    rounds, duration_s = (1, SETTLED_S + 0.5) if quick else (5, SETTLED_S + 20.0)
    outcome = Outcome()
    for name, pair in PAIRS.items():
        _compare(outcome, name, pair, rounds, duration_s)
    return outcome


def _compare(outcome: Outcome, name: str, pair: Pair, rounds: int, duration_s: float) -> None:
    alone, seen = Taken(), Taken()
    take_turns(
        {
            PEER: partial(_fly, pair.scenario, duration_s, alone, pair.without),
            name: partial(_fly, pair.scenario, duration_s, seen, pair.having),
        },
        rounds,
    )
    for percentile in PERCENTILES:
        what = f"{name}: lateness of a step, worst in 20 ms, {percentile}"
        times_us = seen.times_us[percentile], alone.times_us[percentile]
        outcome.rows.append(row(what, "µs", times_us[0], PEER, times_us[1], AIMS.get(percentile)))
    missed = (", ".join(map(str, taken.missed)) for taken in (alone, seen))
    outcome.notes.append("{}: deadlines missed without {}, with {}".format(name, *missed))
    outcome.notes.append(f"{name}: frames of each flight: {'; '.join(seen.frames)}")


def _fly(scenario: str, duration_s: float, taken: Taken, settings: tuple[str, ...]) -> float:
    """One flight; its numbers go to `taken`. Returns the deadlines missed."""
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "aeroloop.cli", "fly", scenario, "--pace", "real", "--no-report"]
        for setting in (f"duration_s={duration_s}", "checks=[]", *settings):
            command += ["--set", setting]
        command += ["--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the flight failed with status {done.returncode}\n{done.stdout}{done.stderr}")
        log = read(out / LOG)
    late_s = _settled(log, "lateness_s")
    for name, q in PERCENTILES.items():
        taken.times_us.setdefault(name, []).append(1e6 * float(np.percentile(late_s, q)))
    missed = _settled(log, "missed")
    taken.missed.append(int(missed[-1] - missed[0]))
    if "camera" in log.rows and len(log.rows["camera"]):
        late, dropped = log.column("camera", "late"), log.column("camera", "dropped")
        taken.frames.append(f"{len(late)} delivered, {int(late.sum())} of them late, {int(dropped[-1])} dropped")
    return float(taken.missed[-1])


def _settled(log: Log, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = log.column("pace", name)[log.column("pace", "t_s") >= SETTLED_S]
    return values[np.isfinite(values)]
