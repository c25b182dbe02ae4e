"""A flight of an external autopilot in lockstep (`--loop hil`), with log and checks, against a bare HIL simulator.

A stand-in takes PX4's place, the same for both. Where it works as long as PX4 does in a cycle, what the bench adds to
the simulator's own work hardly shows; where it answers at once, it shows in full.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks.command import TIMEOUT_S, fly
from benchmarks.measure import Aim, Outcome, row, take_turns

WORK_US = {"an autopilot that works 300 µs a cycle": 300.0, "an autopilot that answers at once": 0.0}
"""PX4's SITL flew at 10.7 times real time (docs/px4-hil.md): 370 µs a cycle with its simulator."""
AIM = Aim(0.95, at_least=True)
PEER = "bare simulator"


STRAIGHT = ("--set", "world.earth_rotation=false")
"""The stand-in does not control: what tilts the aircraft, as the Coriolis acceleration does, lets it fall."""


def run(quick: bool) -> Outcome:
    rounds, duration_s = (1, 1.0) if quick else (5, 20.0)
    contestants = {}
    for name, work_us in WORK_US.items():
        contestants[name] = partial(_bench, work_us, duration_s)
        contestants[f"{name}, peer"] = partial(_bare, work_us, duration_s)
    factors = take_turns(contestants, rounds)
    ours = [row(name, "times", factors[name], PEER, factors[f"{name}, peer"], AIM) for name in WORK_US]
    return Outcome(ours, ["real-time factor of the flight; the bench's with its log, the bare simulator keeps none"])


@contextmanager
def _stand_in(work_us: float) -> Iterator[int]:
    """The port that it will connect to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with subprocess.Popen([sys.executable, "-m", "benchmarks.px4_stand_in", str(port), str(work_us)]) as process:
        try:
            yield port
        finally:
            process.terminate()


def _bench(work_us: float, duration_s: float) -> float:
    with _stand_in(work_us) as port:
        options = ("--loop", "hil", "--link", f"tcp://127.0.0.1:{port}?listen", "--no-report")
        return fly(
            "quad-px4", *options, "--set", f"duration_s={duration_s}", "--set", "checks=[]", *STRAIGHT
        ).real_time_factor


def _bare(work_us: float, duration_s: float) -> float:
    with _stand_in(work_us) as port:
        command = [sys.executable, "-m", "benchmarks.bare_simulator", str(port), str(duration_s)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    return float(done.stdout)
