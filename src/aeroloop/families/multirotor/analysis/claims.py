"""What is left of the quadrotor thesis' numbers, beside a flight with its sensors: rates, and noise of IMU and GPS.

Noise is measured in the log, from third differences of the samples: the motion of an aircraft changes little within
four samples, and n-th differences of white noise have its standard deviation times sqrt((2n)! / n!^2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from aeroloop.analysis.page import NOT_MEASURED, number
from aeroloop.analysis.section import Column, Note, Section, Table
from aeroloop.core.frames import Vec
from aeroloop.core.geodesy import radii_m
from aeroloop.core.stream import ACCEL, GYRO
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.recording.log import Log

COLUMNS = (Column("", "name"), Column("Thesis", "text"), Column("This flight", "text"))
RATES = {"IMU": 500.0, "GNSS": 5.0}
"""Section 3.2 of the thesis, Hz."""
NOISE = {"gyroscope": "0.67, 0.78, 0.12 deg/s", "accelerometer": "0.04, 0.06, 0.07 m/s²", "GPS": "0.3mG"}
"""Table 3.1: standard deviations of white noise of x, y, z; of latitude, longitude, height."""
PRESET = "thesis"
DIFFERENCES = 3
MEDIAN = 1.4826
"""A normal deviation's standard deviation over the median of its magnitude, which a few impacts do not change."""
NOTE = (
    "Noise is that of the samples in the log, of the first aircraft; mG is no length, and was read as metres. "
    "The text that we have of the thesis lacks the numbers of Tables 3.3 to 3.5 and all results: the tables of this "
    "report have our own numbers alone. docs/papers.md has every table and figure."
)


def sections(scenario: QuadrotorScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    """Empty unless an autopilot flew over MAVLink with the thesis' sensors."""
    if scenario.aircraft.sensors.preset != PRESET or scenario.flown_by.tells:
        return []
    rows = [(f"{signal} at the plant", f"{hz:g} Hz", _measured(summary, signal)) for signal, hz in RATES.items()]
    noise = measured_noise(log)
    rows += [(f"Noise of the {sensor} (Table 3.1)", text, noise[sensor]) for sensor, text in NOISE.items()]
    rows += [(name, "lost", "table below") for name in ("Rates at both ends", "RMS tracking error")]
    return [Section("paper", "Comparison with the thesis", [Table(COLUMNS, rows), Note(NOTE)])]


def _measured(summary: Mapping[str, Any], signal: str) -> str:
    found = [rate for rate in summary["rates"] if (rate["signal"], rate["at"]) == (signal, "plant")]
    if not found or found[0]["measured_hz"] is None:
        return NOT_MEASURED
    return f"set {number(found[0]['set_hz'])} Hz, measured {number(found[0]['measured_hz'], digits=5)} Hz"


def measured_noise(log: Log) -> dict[str, str]:
    """As texts, by sensor."""
    imu, fixes = (log.rows[stream][log.column(stream, "vehicle") == 0] for stream in ("imu", "gnss"))
    at = {name: log.columns["imu"].index(name) for name, _, _ in (*GYRO, *ACCEL)}
    gyro_rad_s, accel_m_s2 = (np.array([white_std(imu[:, at[name]]) for name, _, _ in axes]) for axes in (GYRO, ACCEL))
    lat_deg, lon_deg, alt_m = (fixes[:, log.columns["gnss"].index(name)] for name in ("lat_deg", "lon_deg", "alt_m"))
    lat_rad = math.radians(float(lat_deg[0])) if len(lat_deg) else math.nan
    prime_m, meridian_m = radii_m(lat_rad)
    gnss_m = [
        meridian_m * math.radians(white_std(lat_deg)),
        prime_m * math.cos(lat_rad) * math.radians(white_std(lon_deg)),
        white_std(alt_m),
    ]
    return {
        "gyroscope": _axes(np.degrees(gyro_rad_s), "deg/s"),
        "accelerometer": _axes(accel_m_s2, "m/s²"),
        "GPS": _axes(np.array(gnss_m), "m"),
    }


def white_std(samples: Vec) -> float:
    """Standard deviation of the white noise of a signal that is otherwise smooth; NaN of too few samples."""
    given = samples[np.isfinite(samples)]
    if len(given) <= DIFFERENCES:
        return math.nan
    steps = np.abs(np.diff(given, DIFFERENCES))
    return MEDIAN * float(np.median(steps)) / math.sqrt(math.comb(2 * DIFFERENCES, DIFFERENCES))


def _axes(values: Vec, unit: str) -> str:
    if np.isnan(values).any():
        return NOT_MEASURED
    return f"{', '.join(f'{value:.2f}' for value in values)} {unit}"
