"""A lockstep flight as a user starts it: `aeroloop fly`, in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

TIMEOUT_S = 300.0
SHORT_S = 1.2
SHORT = ("--no-report", "--set", f"duration_s={SHORT_S}", "--set", "checks=[]")
"""Options of a flight that only shows that it works; checks are for the whole one."""


class Flown(NamedTuple):
    summary: dict[str, Any]
    took_s: float  # wall time of the whole command

    @property
    def real_time_factor(self) -> float:
        """Of the flight alone."""
        return float(self.summary["real_time_factor"])


def fly(scenario: str, *options: str) -> Flown:
    """RuntimeError where the flight or one of its checks fails."""
    with tempfile.TemporaryDirectory(prefix="aeroloop-bench-") as folder:
        command = [sys.executable, "-m", "aeroloop.cli", "fly", scenario, "--pace", "lockstep", "--json", *options]
        command += ["--out", str(Path(folder) / "run")]
        began_s = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        took_s = time.perf_counter() - began_s
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return Flown(json.loads(done.stdout), took_s)
