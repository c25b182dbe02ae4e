"""One scenario on three rungs: the law in Python, as C on this host, and as firmware on the emulated board."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.recording.log import read

RUNGS = ("mil", "sil", "pil")
FARTHEST_M = 0.005
GUARD_S = 240
SHORT = ("--no-report", "--json")


def aeroloop(*args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "aeroloop.cli", *args], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def positions_m(run: Path) -> np.ndarray:
    log = read(run / "flight.mcap")
    return np.stack([log.column("truth", name) for name in ("x_m", "y_m", "z_m")], axis=1)


def limits(summary: dict[str, Any]) -> list[tuple[str, str]]:
    assert all(check["ok"] for check in summary["checks"])
    return [(check["name"], check["limit"]) for check in summary["checks"]]


@pytest.mark.parametrize("duration_s", [9.0, pytest.param(60.0, marks=pytest.mark.soak)])
def test_all_rungs_fly_the_same_spiral(
    tmp_path: Path, duration_s: float, record_property: pytest.RecordProperty
) -> None:
    runs = {rung: tmp_path / rung for rung in RUNGS}
    fly = ("fly", "tiltrotor-spiral", "--no-report", "--json", "--set", f"duration_s={duration_s}")
    summaries = {rung: json.loads(aeroloop(*fly, "--loop", rung, "--out", str(run))) for rung, run in runs.items()}
    assert [summary["loop"] for summary in summaries.values()] == list(RUNGS)
    assert all(summary["metrics"]["flown_s"] == duration_s for summary in summaries.values())
    assert limits(summaries["mil"]) == limits(summaries["sil"]) == limits(summaries["pil"])

    mil_m = positions_m(runs["mil"])
    farthest_m = {
        rung: float(np.max(np.linalg.norm(positions_m(runs[rung]) - mil_m, axis=1))) for rung in ("sil", "pil")
    }
    record_property("table", "\n".join(f"{rung} to mil: {1e6 * far:.3f} um" for rung, far in farthest_m.items()))
    assert 0 < farthest_m["pil"] < FARTHEST_M  # zero would be the same run twice: single precision shows
    assert farthest_m["sil"] < FARTHEST_M

    page = tmp_path / "rungs.html"
    folders = [str(run) for run in runs.values()]
    told = json.loads(aeroloop("compare", *folders, "--within", str(FARTHEST_M), "--out", str(page), "--json"))
    assert [run["ok"] for run in told["runs"]] == [True] * 3
    assert [d["position_max_m"] for d in told["differences"]] == pytest.approx(list(farthest_m.values()), rel=1e-6)
    html = page.read_text()
    labels = [run["label"] for run in told["runs"]]
    assert len(set(labels)) == 3
    header = next(row for row in html.split("</tr>") if all(label in row for label in labels))
    assert header.count("<th") >= 3
    for label in labels:
        assert html.count(label) > html[: html.index("</table>")].count(label) > 0  # beyond the table: in a picture
