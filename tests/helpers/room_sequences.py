"""Rendered sequences of the textured room, in a process of their own: importing MuJoCo chooses the renderer."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from aeroloop.perception.slam import tum
from aeroloop.perception.slam.tum import Sequence

ROOT = Path(__file__).resolve().parents[2]


def rendered(folder: Path, *options: str) -> Sequence:
    """As `python -m tools.room_sequence` writes it."""
    command = [sys.executable, "-m", "tools.room_sequence", str(folder), *options]
    environment = {**os.environ, "MUJOCO_GL": "egl"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return tum.open_sequence(folder)


def part(sequence: Sequence, begin: int, end: int) -> Sequence:
    return replace(
        sequence,
        t_s=sequence.t_s[begin:end],
        colour=sequence.colour[begin:end],
        depth=sequence.depth[begin:end],
    )
