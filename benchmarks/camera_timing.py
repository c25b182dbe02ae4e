"""Does a camera make the plant late? Flights of `quad-camera` in real time, in turns without and with its camera.

The camera renders 640 x 480 at 30 Hz on the same machine, in a process of its own at ordinary priority. A row of the
stream `pace` is the worst step of 20 ms, so a flight has 50 a second.
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

PEER = "no camera"
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


def run(quick: bool) -> Outcome:
    """Quick: one short flight of each."""
    rounds, duration_s = (1, SETTLED_S + 0.5) if quick else (5, SETTLED_S + 20.0)
    alone, seen = Taken(), Taken()
    take_turns(
        {
            PEER: partial(_fly, duration_s, alone, ["cameras=[]"]),
            "camera": partial(_fly, duration_s, seen, ["cameras[0].rate_hz=30.0"]),
        },
        rounds,
    )
    outcome = Outcome()
    for name in PERCENTILES:
        what = f"lateness of a step, worst in 20 ms, {name}"
        outcome.rows.append(row(what, "µs", seen.times_us[name], PEER, alone.times_us[name], AIMS.get(name)))
    missed = (", ".join(map(str, taken.missed)) for taken in (alone, seen))
    outcome.notes.append("deadlines missed without a camera {}, with it {}".format(*missed))
    outcome.notes.append(f"frames of each flight: {'; '.join(seen.frames)}")
    return outcome


def _fly(duration_s: float, taken: Taken, settings: list[str]) -> float:
    """One flight; its numbers go to `taken`. Returns the deadlines missed."""
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "aeroloop.cli", "fly", "quad-camera", "--pace", "real", "--no-report"]
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
