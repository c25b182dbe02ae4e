"""Real time over a pty while another program keeps every core busy: 10 s of it, with `--soak` (`make soak`) a minute.
No wall-clock time is asserted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from host_time import repeated_where_the_host_stalls

FLIGHT_GUARD_S = 240
SHORT_S, MINUTE_S = 10.0, 60.0
FLYING_B = 20_000
"""A log of this size holds a part of a second of flight."""
CYCLES_HZ = 4000 / 60
"""Of the board's 83 a second, so many must have been measured."""

STALLS = 3
"""Times that a board in real time may be without sensor data because the machine stood still."""

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


@repeated_where_the_host_stalls
def test_real_time_on_a_loaded_machine(tmp_path: Path, flight_s: float, busy_cores: None) -> None:
    arguments = ("--loop", "sil", "--link", "pty://", "--pace", "real", "--set", f"duration_s={flight_s}")
    exit_code, summary = fly(tmp_path / "run", *arguments)
    assert exit_code == 0, summary
    assert_kept_time(tmp_path / "run", summary, flight_s)
    assert summary["timing"]["round_trip_s"]["count"] > CYCLES_HZ * flight_s


@repeated_where_the_host_stalls
def test_the_emulated_board_in_real_time_on_a_loaded_machine(
    tmp_path: Path, flight_s: float, busy_cores_for_an_emulator: None
) -> None:
    arguments = ("--loop", "pil", "--link", "pty://", "--pace", "real", "--set", f"duration_s={flight_s}")
    exit_code, summary = fly(tmp_path / "run", *arguments)
    assert exit_code == 0, summary
    assert_kept_time(tmp_path / "run", summary, flight_s)
    assert summary["board"]["clock"] == "emulator"
    assert summary["links"]["board_link"]["frames_in"] > CYCLES_HZ * flight_s


@repeated_where_the_host_stalls
def test_four_times_real_time_paces_the_board_too(tmp_path: Path) -> None:
    exit_code, summary = fly(tmp_path / "run", "--pace", "4x", "--set", "duration_s=12", "--no-report")
    assert exit_code == 0, summary
    assert summary["timing"]["period_s"]["p50"] == pytest.approx(0.003, rel=0.1)
    assert summary["real_time_factor"] == pytest.approx(4, rel=0.1)


@repeated_where_the_host_stalls
def test_the_quadrotors_rates_hold_on_a_loaded_machine(tmp_path: Path, busy_cores: None) -> None:
    """IMU at 500 Hz and GNSS at 5 Hz, at both ends of the link; it takes off and flies its first leg meanwhile."""
    flying = ("--pace", "real", "--set", "duration_s=25", "--set", "checks=[]", "--no-report")
    exit_code, summary = fly(tmp_path / "run", *flying, scenario="quad-mission")
    assert exit_code == 0, summary
    rates = {(rate["signal"], rate["at"]): rate for rate in summary["rates"]}
    for name, at, set_hz in (("IMU", "plant", 500.0), ("IMU", "autopilot", 500.0), ("GNSS", "plant", 5.0)):
        assert rates[name, at]["set_hz"] == set_hz
        assert rates[name, at]["ratio_error_pct"] < 0.5, rates
    assert summary["metrics"]["height_max_m"] > 8.0
    assert summary["metrics"]["pos_rms_m"] < 0.5


def plant_of(command: subprocess.Popen[bytes]) -> int | None:
    """Process id of the plant that a command has started, once it is there."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == command.pid and b"aeroloop.flight.processes.plant" in (folder / "cmdline").read_bytes():
                return int(folder.name)
    return None


def stopped_flight(folder: Path, begins: Callable[[Path], bool], *arguments: str) -> dict[str, Any]:
    """A flight whose plant stands still for a second and a half once `begins` says so of the runtime folder."""
    command = [sys.executable, "-m", "aeroloop.cli", "fly", "tiltrotor-spiral", "--pace", "real", "--no-report"]
    settings = ("--set", "duration_s=6", "--set", "checks=[]", "--out", str(folder), *arguments)
    with tempfile.TemporaryDirectory(prefix="alt-") as short:  # sockets have short paths
        flight = subprocess.Popen([*command, *settings], env={**os.environ, "XDG_RUNTIME_DIR": short})
        while not begins(Path(short)):
            assert flight.poll() is None
            time.sleep(0.005)
        plant = plant_of(flight)
        assert plant is not None
        os.kill(plant, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(plant, signal.SIGCONT)
        assert flight.wait(FLIGHT_GUARD_S) in (0, 1)
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


@repeated_where_the_host_stalls
def test_a_board_that_was_sending_before_the_plant_listened_flies(tmp_path: Path) -> None:
    """Its stale requests used to be answered all at once, and the verdict blamed the law."""

    def the_emulator_appears(runtime: Path) -> bool:
        return bool(list(runtime.glob("aeroloop/flight-*/monitor.sock")))

    for number in range(STALLS):  # stale answers failed every time; a machine that stalls costs one flight
        summary = stopped_flight(tmp_path / f"flight-{number}", the_emulator_appears, "--loop", "pil")
        if summary["ended"] == "completed":
            break
        assert summary["metrics"]["sensor_losses"] > 0, summary
    assert summary["ended"] == "completed"
    assert summary["metrics"]["diverged"] == 0


@repeated_where_the_host_stalls
def test_a_plant_that_stood_still_blames_itself_and_not_the_board(tmp_path: Path) -> None:
    log = tmp_path / "flight" / "flight.mcap"

    def it_flies(_: Path) -> bool:
        return log.exists() and log.stat().st_size > FLYING_B

    summary = stopped_flight(tmp_path / "flight", it_flies, "--loop", "mil")
    assert summary["ended"] == "completed"
    assert summary["metrics"]["diverged"] == 0
    assert "DEADLINE_MISSED" in [event["event"] for event in summary["events"]]
