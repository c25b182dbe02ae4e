"""Processor time of a SLAM frame of 640x480 pixels by front end, against the period of 10 Hz."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from aeroloop.perception.slam import tum
from aeroloop.perception.slam.run import run as run_slam
from aeroloop.perception.slam.settings import FRONT_ENDS, settings_of
from benchmarks.measure import Aim, Outcome, row, take_turns

PERIOD_MS = 100.0
LAPS, QUICK_LAPS = 1.1, 0.01
AIM = Aim(1.0, at_least=False)


def run(quick: bool) -> Outcome:
    laps, rounds = (QUICK_LAPS, 1) if quick else (LAPS, 3)
    with tempfile.TemporaryDirectory() as folder:
        options = ("--laps", str(laps), "--rate", "10", *(("--texture", "64") if quick else ()))
        # In a process of its own: importing MuJoCo chooses the renderer.
        command = [sys.executable, "-m", "tools.room_sequence", folder, *options]
        subprocess.run(command, env={**os.environ, "MUJOCO_GL": "egl"}, check=True)
        sequence = tum.open_sequence(Path(folder))
        contestants = {f"{name}, {laps:g} laps": partial(_frame_ms, sequence, name) for name in FRONT_ENDS}
        taken = take_turns(contestants, rounds)
    outcome = Outcome([row(what, "ms", values, "100 ms", [PERIOD_MS] * rounds, AIM) for what, values in taken.items()])
    outcome.notes.append("processor time of one thread, mean over the frames; reading the images is not counted")
    return outcome


def _frame_ms(sequence: tum.Sequence, front_end: str) -> float:
    return float(run_slam(sequence, settings_of((f"front_end={front_end}",))).frame_ms.mean())
