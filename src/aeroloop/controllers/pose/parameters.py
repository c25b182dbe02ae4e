"""Parameters of a pose board, once: SENS_SOFT and its kin, and what one enters before a simulated flight.

All are single precision. A place in degrees would then have steps of half a metre, so that latitude and longitude are
whole degrees and a rest of 1e-7 deg, both exact. A parameter changes only while the board is disarmed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from aeroloop.controllers.pose.driver_table import ALL_SOFT

DEGREE = 10_000_000
"""Counts of 1e-7 deg."""


@dataclass(frozen=True)
class Parameter:
    name: str
    low: float
    high: float
    meaning: str


TABLE = (
    Parameter("SENS_SOFT", 0, ALL_SOFT, "a bit for each class of sensor whose soft driver is in use"),
    Parameter("SENS_SOFT_NOISE", 0, 1, "1: the board adds noise to rebuilt samples"),
    Parameter("SENS_SHADOW", 0, 1, "1: the driver that is not in use is read and logged too"),
    Parameter("SENS_STALE", 0.001, 3600, "s without a complete set after which samples are flagged"),
    Parameter("SENS_FAIL", 0.001, 3600, "s without a complete set after which the failsafe acts"),
    Parameter("SENS_SEED", 1, 16_777_215, "seed of the board's noise (xorshift32)"),
    Parameter("HOME_LAT", -90, 90, "latitude of the take-off place, whole deg"),
    Parameter("HOME_LAT_E7", -DEGREE, DEGREE, "rest of the latitude, 1e-7 deg"),
    Parameter("HOME_LON", -180, 180, "longitude of the take-off place, whole deg"),
    Parameter("HOME_LON_E7", -DEGREE, DEGREE, "rest of the longitude, 1e-7 deg"),
    Parameter("HOME_ALT", -1000, 10_000, "m above mean sea level"),
    Parameter("HOME_HEIGHT", -1000, 10_000, "m above the ellipsoid"),
    Parameter("HOME_PRES", 20_000, 120_000, "pressure at the take-off place, Pa"),
    Parameter("HOME_TEMP", 200, 340, "temperature at the take-off place, K"),
    Parameter("HOME_GRAV", 9, 10, "gravity at the take-off place, m/s2"),
    Parameter("FIELD_NORTH", -1e-4, 1e-4, "magnetic field to the north, T"),
    Parameter("FIELD_EAST", -1e-4, 1e-4, "magnetic field to the east, T"),
    Parameter("FIELD_DOWN", -1e-4, 1e-4, "magnetic field downwards, T"),
    Parameter("GNSS_EPH", 0, 1000, "reported horizontal accuracy of a rebuilt fix, m"),
    Parameter("GNSS_EPV", 0, 1000, "reported vertical accuracy of a rebuilt fix, m"),
    Parameter("NOISE_ACCELEROMETER", 0, 100, "standard deviation of the board's noise, m/s2"),
    Parameter("NOISE_GYRO", 0, 10, "standard deviation of the board's noise, rad/s"),
    Parameter("NOISE_MAGNETOMETER", 0, 1e-3, "standard deviation of the board's noise, T"),
    Parameter("NOISE_BAROMETER", 0, 1000, "standard deviation of the board's noise, m"),
    Parameter("NOISE_GNSS", 0, 1000, "standard deviation of the board's noise, m"),
    Parameter("NOISE_VELOCITY", 0, 100, "standard deviation of the board's noise, m/s"),
)
NAMES = tuple(parameter.name for parameter in TABLE)


class Answer(IntEnum):
    """Of the board to a changed parameter."""

    SET = 0
    ARMED = 1  # refused: only disarmed
    RANGE = 2  # refused: unknown, or out of its range


ANSWER_WORDS = {
    Answer.SET: "set",
    Answer.ARMED: "refused, the board is armed",
    Answer.RANGE: "refused, out of range",
}
