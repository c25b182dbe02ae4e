"""Real time over a pty while another program keeps every core busy: 20 s of it, with `--soak` (`make soak`) a minute.
No wall-clock time is asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLIGHT_GUARD_S = 240
SHORT_S, MINUTE_S = 20.0, 60.0
CYCLES_HZ = 4000 / 60
"""Of the board's 83 a second, so many must have been measured."""

pytestmark = pytest.mark.realtime


@contextmanager
def hogs(niceness: int) -> Iterator[None]:
    """Every core kept busy by another program."""
    command = ["nice", "-n", str(niceness), sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for hog in started:
            hog.kill()
            hog.wait()


@pytest.fixture
def flight_s(pytestconfig: pytest.Config) -> float:
    return MINUTE_S if pytestconfig.getoption("soak") else SHORT_S


@pytest.fixture
def busy_cores() -> Iterator[None]:
    """At ordinary priority."""
    with hogs(0):
        yield


@pytest.fixture
def busy_cores_for_an_emulator() -> Iterator[None]:
    """At ordinary priority where the emulator may have a higher one: each byte wakes two of its threads in turn, and
    without that priority no such loop keeps 9 ms on a machine whose every core another program holds."""
    may_be_urgent = [sys.executable, "-c", "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"]
    permitted = subprocess.run(may_be_urgent, stderr=subprocess.DEVNULL, check=False).returncode == 0
    if not permitted:
        print("no real-time priority here, so the load runs at low priority")
    with hogs(0 if permitted else 19):
        yield


def fly(folder: Path, *arguments: str, scenario: str = "tiltrotor-spiral") -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "aeroloop.cli", "fly", scenario, "--out", str(folder), *arguments],
        timeout=FLIGHT_GUARD_S,
        check=False,
    )
    return done.returncode, json.loads((folder / "summary.json").read_text())


def assert_kept_time(folder: Path, summary: dict[str, Any], flight_s: float) -> None:
    """A whole flight, its periods in a histogram, and the board's timer at what it is set to."""
    assert summary["metrics"]["flown_s"] == pytest.approx(flight_s)
    timing = summary["timing"]
    histogram = timing["period_histogram"]
    assert sum(histogram["counts"]) + histogram["overflow"] == timing["period_s"]["count"] > CYCLES_HZ * flight_s
    assert timing["period_s"]["p50"] == pytest.approx(0.012, rel=0.05)
    assert timing["answer_latency_s"]["count"] > CYCLES_HZ * flight_s
    assert timing["missed_deadlines"] is not None
    assert "Period between sensor requests" in (folder / "report.html").read_text()


def test_real_time_on_a_loaded_machine(tmp_path: Path, flight_s: float, busy_cores: None) -> None:
    arguments = ("--loop", "sil", "--link", "pty://", "--pace", "real", "--set", f"duration_s={flight_s}")
    exit_code, summary = fly(tmp_path / "run", *arguments)
    assert exit_code == 0, summary
    assert_kept_time(tmp_path / "run", summary, flight_s)
    assert summary["timing"]["round_trip_s"]["count"] > CYCLES_HZ * flight_s


def test_the_emulated_board_in_real_time_on_a_loaded_machine(
    tmp_path: Path, flight_s: float, busy_cores_for_an_emulator: None
) -> None:
    arguments = ("--loop", "pil", "--link", "pty://", "--pace", "real", "--set", f"duration_s={flight_s}")
    exit_code, summary = fly(tmp_path / "run", *arguments)
    assert exit_code == 0, summary
    assert_kept_time(tmp_path / "run", summary, flight_s)
    assert summary["board"]["clock"] == "emulator"
    assert summary["links"]["board_link_at_board"]["frames_in"] > CYCLES_HZ * flight_s


def test_four_times_real_time_paces_the_board_too(tmp_path: Path) -> None:
    exit_code, summary = fly(tmp_path / "run", "--pace", "4x", "--set", "duration_s=12", "--no-report")
    assert exit_code == 0, summary
    assert summary["timing"]["period_s"]["p50"] == pytest.approx(0.003, rel=0.1)
    assert summary["real_time_factor"] == pytest.approx(4, rel=0.1)


def test_the_quadrotors_rates_hold_on_a_loaded_machine(tmp_path: Path, busy_cores: None) -> None:
    """IMU at 500 Hz and GNSS at 5 Hz, at both ends of the link; it takes off and flies its first leg meanwhile."""
    flying = ("--pace", "real", "--set", "duration_s=25", "--set", "checks=[]", "--no-report")
    exit_code, summary = fly(tmp_path / "run", *flying, scenario="quad-mission")
    assert exit_code == 0, summary
    rates = {(rate["signal"], rate["at"]): rate for rate in summary["rates"]}
    for signal, at, set_hz in (("IMU", "plant", 500.0), ("IMU", "autopilot", 500.0), ("GNSS", "plant", 5.0)):
        assert rates[signal, at]["set_hz"] == set_hz
        assert rates[signal, at]["ratio_error_pct"] < 0.5, rates
    assert summary["metrics"]["height_max_m"] > 8.0
    assert summary["metrics"]["pos_rms_m"] < 0.5
