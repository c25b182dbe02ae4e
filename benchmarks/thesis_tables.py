"""The quadrotor thesis' Tables 3.3 to 3.5, our own numbers: rates set and measured, and RMS of tracking, in real time,
with and without other programs that keep every core busy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import Outcome, row

FLIGHTS = {"manual": "quad-manual", "mission": "quad-mission"}
RATE_LIMIT_PCT = 0.5
HELD = ("IMU", "GNSS")
"""Signals whose ratio error must stay below the limit."""


def run(quick: bool) -> Outcome:
    outcome = Outcome()
    worst_pct = 0.0
    for mode, scenario in FLIGHTS.items():
        if quick and mode == "manual":
            continue
        for busy in (0, os.cpu_count() or 1):
            load = "every core busy" if busy else "no load"
            summary = _fly(scenario, busy, quick)
            for rate in summary["rates"]:
                if rate["set_hz"] and rate["measured_hz"] is not None:
                    what = f"{mode}, {load}: {rate['signal']} at the {rate['at']}"
                    outcome.rows.append(row(what, "Hz", [rate["measured_hz"]], "rate set", [rate["set_hz"]]))
                    if rate["signal"] in HELD:
                        worst_pct = max(worst_pct, rate["ratio_error_pct"])
            outcome.notes.append(f"{mode}, {load}: RMS of {_tracking(summary, mode)}")
    outcome.notes.append(
        f"largest ratio error of {' and '.join(HELD)}: {worst_pct:.3f} % (aim: below {RATE_LIMIT_PCT} %)"
    )
    return outcome


def _fly(scenario: str, busy: int, quick: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        pace = ("--pace", "4x", "--set", "duration_s=3") if quick else ("--pace", "real")
        command = [sys.executable, "-m", "aeroloop.cli", "fly", scenario, *pace, "--no-report", "--out", str(out)]
        command += ["--set", f"busy_processes={busy}"]
        subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
        return summary


def _tracking(summary: dict[str, Any], mode: str) -> str:
    metrics = summary["metrics"]
    names = ("roll_rms_deg", "pitch_rms_deg", "yaw_rms_deg", "altitude_rms_m", "pos_rms_m")
    told = {name: metrics[f"{mode}_{name}"] for name in names} | {"waypoint_rms_m": metrics["waypoint_rms_m"]}
    words = [f"{name.replace('_rms_', ' ')} {value:.3g}" for name, value in told.items() if value is not None]
    return ", ".join(words) or "nothing: it never left the ground"
