"""When the sensors of a wing's batch sample, and which normal numbers they draw.

A cycle of the batch is a plant step. The flight begins in cycle `before`: each sensor is called once before it, one of
its periods earlier, to draw its initial errors (`sensors/error_functions.py`). The bench draws the same numbers
(`[noise] generator = "philox"`).
"""

from __future__ import annotations

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.sensors.error_functions import Channel, SensorNoise
from aeroloop.sensors.noise import Errors
from aeroloop.sensors.schedule import Sensor
from aeroloop.sensors.streams import Drawn

WIND_DRAWS = 5
WIND, IMU, MAGNETOMETER, BAROMETER, AIRSPEED, GNSS = range(6)
"""Numbers of the random streams."""


def sensors(scenario: FixedWingScenario) -> dict[str, SensorNoise]:
    """The errors and times of all sensors that the board reads, by name."""
    own = scenario.aircraft.aboard
    imu, magnetometer, barometer, gnss, pitot = own.imu, own.magnetometer, own.barometer, own.gnss, own.airspeed
    assert imu and magnetometer and barometer and gnss and pitot  # the scenario's own check
    found: dict[str, tuple[int, Sensor, dict[str, tuple[Errors, int]]]] = {
        "imu": (IMU, imu, {"gyro": (imu.gyro.errors, 3), "accel": (imu.accel.errors, 3)}),
        "magnetometer": (MAGNETOMETER, magnetometer, {"field": (magnetometer.errors, 3)}),
        "barometer": (BAROMETER, barometer, {"pressure": (barometer.pressure, 1)}),
        "airspeed": (AIRSPEED, pitot, {"pressure": (pitot.pressure, 1)}),
        "gnss": (GNSS, gnss, {"position": (gnss.position, 3), "velocity": (gnss.velocity, 3)}),
    }
    step_s = scenario.aircraft.world.step_s
    every = {name: steps(f"sensors.{name}.rate_hz", row[1].period_s, step_s) for name, row in found.items()}
    lead = max(every.values())
    return {
        name: SensorNoise(
            tuple(Channel(key, errors, axes, config.period_s) for key, (errors, axes) in channels.items()),
            stream,
            every=every[name],
            origin=lead - every[name],
        )
        for name, (stream, config, channels) in found.items()
    }


def steps(key: str, period_s: float, step_s: float) -> int:
    """Plant steps of a period; ConfigError unless they are whole."""
    period_ns, step_ns = round(period_s * NS), round(step_s * NS)
    if period_ns % step_ns:
        raise ConfigError(
            f"{key}: a batch of the fixed wing needs whole steps of world.step_s; expected engine = bench"
        )
    return period_ns // step_ns


def before(sampled: dict[str, SensorNoise]) -> int:
    """Cycles before the flight begins."""
    return max(sensor.every for sensor in sampled.values())


def channels(scenario: FixedWingScenario) -> dict[str, Drawn]:
    """The streams of the bench that a batch draws too, by their names there."""
    sampled = sensors(scenario)
    found = {"wind": Drawn(WIND, WIND_DRAWS, phase=before(sampled) - 1)}
    for name, sensor in sampled.items():
        found |= sensor.drawn(name)
    return found
