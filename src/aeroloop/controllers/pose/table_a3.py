"""What rebuilding sensors from packets costs in accuracy, by rate and line: the errors of one manoeuvre, computed once.

The manoeuvre: 4 m at 1.2 and 0.9 rad/s with ripples of 5 cm at 6 and 5 rad/s, tilt to 43 deg, 6.3 m/s; packets of 54
bytes, the last one held; RMS over three axes. `tests/sensors/test_reconstruction.py` computes it again.
"""

from __future__ import annotations

from typing import NamedTuple


class Errors(NamedTuple):
    """Accelerometer in m/s2, gyro in rad/s, attitude in deg, magnetometer in nT."""

    tilt: float
    position_filtered: float
    position: float
    position_float: float
    velocity: float
    force: float
    rates: float
    attitude_rates: float
    attitude: float
    field: float


TABLE = {
    (10, 115_200): Errors(2.80, 0.95, 0.88, 0.90, 0.342, 0.124, 0.166, 0.285, 2.15, 1774),
    (20, 115_200): Errors(2.82, 0.80, 2.4, 0.38, 0.177, 0.067, 0.089, 0.152, 1.16, 953),
    (50, 115_200): Errors(2.83, 0.72, 14, 0.158, 0.075, 0.032, 0.043, 0.069, 0.554, 457),
    (100, 115_200): Errors(2.83, 0.70, 59, 0.081, 0.041, 0.021, 0.028, 0.041, 0.356, 293),
    (200, 115_200): Errors(2.83, 0.71, 221, 0.065, 0.024, 0.015, 0.020, 0.027, 0.259, 213),
    (200, 921_600): Errors(2.83, 0.70, 221, 0.061, 0.018, 0.007, 0.0096, 0.016, 0.124, 103),
    (250, 921_600): Errors(2.83, 0.67, 368, 0.057, 0.015, 0.006, 0.0081, 0.013, 0.104, 86),
    (400, 921_600): Errors(2.84, 0.72, 851, 0.049, 0.010, 0.004, 0.0057, 0.0090, 0.074, 61),
    (1000, 921_600): Errors(2.84, 0.65, 6040, 0.041, 0.004, 0.003, 0.0034, 0.0048, 0.045, 37),
}


def nearest(rate_hz: float, baud: int) -> tuple[int, int]:
    """The row for a line: the nearest rate of those that a line of about this speed has."""
    lines = {line for _, line in TABLE}
    line = min(lines, key=lambda other: abs(other - baud))
    return min((row for row in TABLE if row[1] == line), key=lambda row: abs(row[0] - rate_hz))
