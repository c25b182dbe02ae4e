"""Times and random numbers of a multirotor's batch: the events of its schedule, and where each sensor draws.

The bench draws the same numbers (`[noise] generator = "philox"`), so this is read without building the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.controllers.law.guided_tables import GuidedTables
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS
from aeroloop.estimation.config import NavigationConfig
from aeroloop.families.multirotor.scenario import MultirotorTables
from aeroloop.sensors.error_functions import Channel, SensorNoise
from aeroloop.sensors.schedule import Sensor
from aeroloop.sensors.streams import Drawn

BatchScenario = Scenario[MultirotorTables, GuidedTables]

WIND, IMU, MAGNETOMETER, BAROMETER, GNSS = range(5)
"""Streams of random numbers."""
GUST_NORMALS = 5


@dataclass(frozen=True)
class Schedule:
    """Cycles of the events."""

    period_s: float
    aligned: int  # the cycle in which the estimator begins
    covariance_every: int
    magnetometer_every: int
    barometer_every: int
    gnss_every: int
    gnss_first: int  # step at whose end the first fix is taken; 0: the first step's, the second one after `gnss_every`
    gnss_late: int  # steps from taking to use
    setpoint_every: int


def steps(time_s: float, step_s: float) -> int:
    """Whole steps, rounded up to the first step's end at or after a time."""
    return -(-round(time_s * NS) // round(step_s * NS))


def covariance_every(config: NavigationConfig, period_s: float) -> int:
    """Periods between two propagations of the covariance, in the board's own arithmetic."""
    since, count = 0.0, 0
    while not since > config.covariance_period_s - period_s / 2:
        since, count = since + period_s, count + 1
    return count


def schedule(scenario: BatchScenario) -> Schedule:
    aboard, control, step_s = scenario.aircraft.aboard, scenario.controller.control, scenario.aircraft.step_s
    magnetometer, barometer, gnss = aboard.magnetometer, aboard.barometer, aboard.gnss
    assert magnetometer is not None and barometer is not None and gnss is not None  # the board needs them
    config = NavigationConfig()

    def every(sensor: Sensor) -> int:
        return round(sensor.period_s / step_s)

    return Schedule(
        control.period_s,
        aligned=round(config.align_s / control.period_s) - 1,
        covariance_every=covariance_every(config, control.period_s),
        magnetometer_every=every(magnetometer),
        barometer_every=every(barometer),
        gnss_every=every(gnss),
        gnss_first=steps(gnss.start_s, step_s),
        gnss_late=steps(gnss.delay_s, step_s),
        setpoint_every=steps(1 / control.setpoint_hz, step_s),
    )


def noise(scenario: BatchScenario) -> dict[str, SensorNoise]:
    """Errors of the sensors that the board reads."""
    aboard, times = scenario.aircraft.aboard, schedule(scenario)
    imu, magnetometer, barometer, gnss = aboard.imu, aboard.magnetometer, aboard.barometer, aboard.gnss
    assert imu is not None and magnetometer is not None and barometer is not None and gnss is not None
    gyro = Channel("gyro", imu.gyro.errors, 3, imu.period_s)
    accel = Channel("accel", imu.accel.errors, 3, imu.period_s)
    field = Channel("field", magnetometer.errors, 3, magnetometer.period_s)
    pressure = Channel("pressure", barometer.pressure, 1, barometer.period_s)
    position = Channel("position", gnss.position, 3, gnss.period_s)
    velocity = Channel("velocity", gnss.velocity, 3, gnss.period_s)
    return {
        "imu": SensorNoise((gyro, accel), IMU),
        "magnetometer": SensorNoise((field,), MAGNETOMETER, every=times.magnetometer_every),
        "barometer": SensorNoise((pressure,), BAROMETER, every=times.barometer_every),
        "gnss": SensorNoise((position, velocity), GNSS, every=times.gnss_every, origin=times.gnss_first),
    }


def drawn(scenario: BatchScenario) -> dict[str, Drawn]:
    """Where a batch draws the numbers of the bench's streams."""
    found = {"wind": Drawn(WIND, GUST_NORMALS)}
    for sensor, errors in noise(scenario).items():
        found |= errors.drawn(sensor)
    return found
