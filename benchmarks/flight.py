"""Lockstep flights of the spiral end to end, as a user starts them: sensors, protocol, link, log and report."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Aim, Outcome, row, take_turns

DEFAULT_LINK = {"mil": "loopback://", "sil": "tcp://127.0.0.1:0", "pil": "loopback://"}
LINKS = ("loopback://", "tcp://127.0.0.1:0", "udp://127.0.0.1:0", "pty://")
AIMS = {"mil": Aim(30.0, at_least=True), "sil": Aim(30.0, at_least=True), "pil": Aim(20.0, at_least=True)}
TIMEOUT_S = 300.0
SHORT_S = 1.2


class Contestant(NamedTuple):
    rung: str
    link: str

    def __str__(self) -> str:
        own = " (its own link)" if self.link == DEFAULT_LINK[self.rung] else ""
        return f"{self.rung} over {self.link.partition(':')[0]}{own}"


def run(quick: bool) -> Outcome:
    if quick:
        quickest = [Contestant("mil", LINKS[0]), Contestant("sil", LINKS[-1]), Contestant("pil", LINKS[0])]
        contestants, rounds, duration_s = quickest, 1, SHORT_S
    else:
        contestants, rounds, duration_s = _all(), 5, 60.0
    wall_s: dict[str, list[float]] = {str(c): [] for c in contestants}

    def timed(contestant: Contestant) -> float:
        factor, took_s = fly(contestant, duration_s)
        wall_s[str(contestant)].append(took_s)
        return factor

    for rung in ("sil", "pil"):  # C and image are compiled once and kept: no part of a flight
        fly(Contestant(rung, DEFAULT_LINK[rung]), SHORT_S)
    factors = take_turns({str(c): partial(timed, c) for c in contestants}, rounds)
    outcome = Outcome()
    for contestant in contestants:
        name = str(contestant)
        aim = AIMS[contestant.rung] if contestant.link == DEFAULT_LINK[contestant.rung] else None
        outcome.rows.append(row(name, "times", factors[name], "real time", [1.0] * rounds, aim))
    for name, took in wall_s.items():
        outcome.rows.append(row(f"{name}, whole command", "s", took, "the time flown", [duration_s] * rounds))
    outcome.notes.append("the whole command is process start, flight, checks and report")
    return outcome


def _all() -> list[Contestant]:
    hosts = [Contestant(rung, link) for rung in ("mil", "sil") for link in LINKS]
    return [*hosts, Contestant("pil", DEFAULT_LINK["pil"])]


def fly(contestant: Contestant, duration_s: float) -> tuple[float, float]:
    """(real-time factor of the flight alone, wall time of the whole command in s)."""
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        command = [sys.executable, "-m", "aeroloop.cli", "fly", "tiltrotor-spiral", "--pace", "lockstep", "--json"]
        command += ["--loop", contestant.rung, "--link", contestant.link, "--out", str(Path(folder) / "run")]
        command += ["--set", f"duration_s={duration_s}"]
        if duration_s == SHORT_S:
            command += ["--set", "checks=[]", "--no-report"]  # they are for the whole spiral
        began_s = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        took_s = time.perf_counter() - began_s
    if done.returncode != 0:
        raise RuntimeError(f"{contestant}: the flight failed with status {done.returncode}\n{done.stdout}{done.stderr}")
    return float(json.loads(done.stdout)["real_time_factor"]), took_s
