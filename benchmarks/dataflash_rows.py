"""Rows a second of processor time read from an ArduPilot .bin, against pymavlink; and the memory of a large one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from pymavlink import DFReader

from aeroloop.flown import dataflash_writer
from aeroloop.flown.dataflash import parse
from aeroloop.flown.read import read
from aeroloop.flown.record import FlightRecord, Signal
from benchmarks.measure import Aim, Outcome, row, take_turns

RATES_HZ = {"roll": 50.0, "gyro_x": 250.0, "mag_x": 50.0, "height": 50.0, "lat": 5.0, "throttle": 50.0, "pulse_1": 50.0}
BESIDE = {
    "roll": ("pitch", "yaw", "roll_setpoint", "pitch_setpoint", "yaw_setpoint"),
    "gyro_x": ("gyro_y", "gyro_z", "accel_x", "accel_y", "accel_z"),
    "mag_x": ("mag_y", "mag_z"),
    "height": ("pressure",),
    "lat": ("lon", "alt", "speed"),
    "pulse_1": ("pulse_2", "pulse_3", "pulse_4"),
}
"""Signals of the same message."""
DURATION_S = 148.0  # 75,000 rows
MEMORY = """
import resource, sys
from pathlib import Path
from aeroloop.flown.read import read
import aeroloop.flown.dataflash
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read(Path(sys.argv[1]))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def run(quick: bool) -> Outcome:
    rounds, parts, duration_s = (1, 1, DURATION_S / 10) if quick else (7, 46, DURATION_S)
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flight.bin"
        dataflash_writer.write(_record(0.0, duration_s), path)
        rows, theirs = _rows(path), _rows_of_pymavlink(path)
        if rows != theirs:
            raise RuntimeError(f"{rows} rows read, but pymavlink reads {theirs}: not the same log")
        taken = take_turns(
            {"aeroloop": partial(_rate, path, rows), "pymavlink": partial(_pymavlink_rate, path, rows)}, rounds
        )
        megabytes = path.stat().st_size / 1e6
        aim = Aim(0.5, at_least=True)
        outcome.rows.append(row("rows", "rows/s", taken["aeroloop"], "pymavlink", taken["pymavlink"], aim))
        outcome.notes.append(f"a log of {rows} rows, {megabytes:.1f} MB; pymavlink returns every row as a message")
        large = Path(folder) / "large.bin"
        with large.open("wb") as file:
            for index in range(parts):
                file.writelines(dataflash_writer.blocks(_record(index * duration_s, duration_s)))
        taken_mb = [_memory_mb(large) for _ in range(rounds)]
        size_mb = [large.stat().st_size / 1e6] * rounds
        outcome.rows.append(row("memory", "MB", taken_mb, "size of the log", size_mb, Aim(2.5, at_least=False)))
    return outcome


def _rows(path: Path) -> int:
    with path.open("rb") as file:
        return parse(file, path.stat().st_size).rows


def _record(start_s: float, duration_s: float) -> FlightRecord:
    random = np.random.default_rng(1)
    signals = {}
    for leader, rate_hz in RATES_HZ.items():
        t_s = start_s + np.arange(1, int(duration_s * rate_hz)) / rate_hz
        for name in (leader, *BESIDE.get(leader, ())):
            signals[name] = Signal(name, t_s, 1.0 + 0.1 * random.normal(size=len(t_s)), "")
    return FlightRecord(Path("flight.bin"), "benchmark", signals)


def _rate(path: Path, rows: int) -> float:
    began_s = time.process_time()
    read(path)
    return rows / (time.process_time() - began_s)


def _pymavlink_rate(path: Path, rows: int) -> float:
    began_s = time.process_time()
    _rows_of_pymavlink(path)
    return rows / (time.process_time() - began_s)


def _rows_of_pymavlink(path: Path) -> int:
    log, rows = DFReader.DFReader_binary(str(path)), 0
    while log.recv_msg() is not None:
        rows += 1
    return rows


def _memory_mb(path: Path) -> float:
    done = subprocess.run([sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True)
    return max(float(done.stdout), 0.1)
