"""The classes of sensors on a pose board, once: both drivers of each, in Python and in C, are made from this table."""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.estimation.board_filter import SENSORS


@dataclass(frozen=True)
class Driver:
    """One class of sensor: {name, hard_init, hard_read, soft_init, soft_read} in C (`firmware/pose/drivers.c`)."""

    name: str
    group: int  # of the ordinary sensor message, that is of the law's values
    offset: int  # of its first value among all
    count: int  # values of a sample
    aged: bool  # the message has the sample's age in front of it
    soft_from: int  # its first value in what is rebuilt
    units: tuple[str, ...]  # of each part: three values, or one

    @property
    def bit(self) -> int:
        """In SENS_SOFT."""
        return 1 << CLASSES.index(self.name)


DRIVERS = (
    Driver("accelerometer", 0, 3, 3, False, 0, ("m/s2",)),
    Driver("gyro", 0, 0, 3, False, 0, ("rad/s",)),
    Driver("magnetometer", 1, 6, 3, False, 0, ("T",)),
    Driver("barometer", 2, 9, 1, False, 1, ("m",)),
    Driver("gnss", 3, 10, 8, True, 0, ("m", "m/s")),
)
CLASSES = tuple(driver.name for driver in DRIVERS)
ACCELEROMETER, GYRO, MAGNETOMETER, BAROMETER, GNSS = range(len(DRIVERS))
ALL_SOFT = (1 << len(DRIVERS)) - 1
SENSED_VALUES = sum(SENSORS)
REBUILT_FIX = 6
"""Values of a rebuilt fix: position and velocity; the reported accuracies are parameters."""

PARTS = (*CLASSES, "gnss velocity")
"""Of the stream `pose_sensor`: a fix is two rows."""
PART_VALUES = (3, 3, 3, 1, 3, 3)
PART_UNITS = ("m/s2", "rad/s", "T", "m", "m", "m/s")

SENSOR_ROW, STATE_ROW, COST_ROW, PARAMETER_ROW = "pose_sensor", "pose_state", "pose_cost", "pose_parameter"
ROW_SIZES = {SENSOR_ROW: 10, STATE_ROW: 13, COST_ROW: 2 + len(DRIVERS), PARAMETER_ROW: 4}
"""Rows that the front end reports, after those of the law."""
LOG_SOFT, LOG_HARD, LOG_USES_SOFT, LOG_STALE, LOG_HELD = 1, 2, 4, 8, 16
"""Bits of `flags` of the stream `pose_sensor`."""


def mask_of(names: tuple[str, ...]) -> int:
    """SENS_SOFT with a bit for each of these classes."""
    return sum(driver.bit for driver in DRIVERS if driver.name in names)
