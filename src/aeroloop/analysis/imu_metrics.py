"""Samples of the IMU at a limit of its range, from the stream `imu`; only where `sensors.imu.count_clipped` asks."""

from __future__ import annotations

import math

from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import ACCEL, GYRO
from aeroloop.recording.log import Log
from aeroloop.sensors.imu import ImuConfig
from aeroloop.sensors.suite import SensorSet

COLUMNS = {"accel": ACCEL, "gyro": GYRO}


def metrics(scenario: Scenario, log: Log) -> dict[str, float]:
    """Of each axis, and of all together: a sample that is clipped in two axes counts twice."""
    imu = _counted(scenario)
    if imu is None:
        return {}
    if "imu" not in log.rows:
        raise ConfigError("sensors.imu.count_clipped: this aircraft's log has no samples of the IMU; expected false")
    numbers = {}
    for name, columns in COLUMNS.items():
        low, high = getattr(imu, name).errors.range or (-math.inf, math.inf)
        for axis, (column, _, _) in zip("xyz", columns, strict=True):
            values = log.column("imu", column)
            numbers[f"imu_clipped_{name}_{axis}"] = float(((values <= low) | (values >= high)).sum())
    return {"imu_clipped_samples": sum(numbers.values()), **numbers}


def fitted_imu(scenario: Scenario) -> ImuConfig | None:
    aboard: SensorSet | None = scenario.aircraft.aboard
    return aboard.imu if aboard is not None else None


def _counted(scenario: Scenario) -> ImuConfig | None:
    imu = fitted_imu(scenario)
    return imu if imu is not None and imu.count_clipped else None
