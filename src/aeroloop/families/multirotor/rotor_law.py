"""The law of the rotor speeds of a scenario: its axes and gains, and what must fit before a flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeroloop.control.synchronisation import Axes
from aeroloop.control.synchronisation_certificate import RotorPlants, check
from aeroloop.control.synchronisation_gains import ROTOR, ROTOR_POLES, Gains
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS

if TYPE_CHECKING:
    from aeroloop.actuators.motors import Motor
    from aeroloop.families.multirotor.scenario import MultirotorTables

LEAST_GAIN, MOST_GAIN = 0.7, 1.05
"""Range of the motors' gains that a law must be stable for: a motor with 70 % of its speed, and one with 5 % more."""


def period_s(tables: MultirotorTables) -> float:
    """Of the law: the IMU's."""
    imu = tables.aboard.imu
    return imu.period_s if imu is not None else tables.world.step_s


def axes_and_gains(tables: MultirotorTables, motor: Motor, rotors: int) -> tuple[Axes, Gains] | None:
    """None: there is no law."""
    table = tables.synchronisation
    if table is None or table.law == "none":
        return None
    axes = Axes(
        count=rotors, order=1, period_s=period_s(tables), low=0.0, high=motor.speed_max_rad_s, lag_s=table.nominal_lag_s
    )
    return axes, table.gains(ROTOR, ROTOR_POLES)


def check_drive(tables: MultirotorTables, motor: Motor, rotors: int) -> None:
    """ConfigError if the drive's tables do not fit the aircraft, or if the law can be unstable."""
    spread = tables.motors.spread
    for name in ("gain", "lag"):
        given = getattr(spread, name)
        if given and len(given) != rotors:
            raise ConfigError(f"motors.spread.{name}: expected {rotors} numbers, one for each rotor, not {len(given)}")
    for index, load in enumerate(tables.motors.loads):
        if load.rotor > rotors:
            raise ConfigError(f"motors.loads[{index}].rotor: expected 1 to {rotors}, not {load.rotor}")
    designed = axes_and_gains(tables, motor, rotors)
    table = tables.synchronisation
    if designed is None or table is None:
        return
    axes, gains = designed
    tachometer = tables.aboard.tachometer
    if tachometer is None:
        raise ConfigError("synchronisation.law: the law needs rotor speeds; add tachometer to sensors.fitted")
    if tachometer.period_s > axes.period_s * (1 + 1e-9):
        raise ConfigError(
            f"sensors.tachometer.rate_hz: expected at least the rate of the law, which is the IMU's "
            f"({1 / axes.period_s:g} Hz), not {tachometer.rate_hz:g}"
        )
    if round(axes.period_s * NS) % round(tables.world.step_s * NS):
        raise ConfigError(
            f"world.step_s: the law of the rotors runs every {axes.period_s:g} s, with the IMU; expected a step that "
            f"divides it, not {tables.world.step_s:g}"
        )
    if motor.lag_up_s <= 0.0 or motor.lag_down_s <= 0.0:
        raise ConfigError("synchronisation.law: the airframe's motors have no lag, so their speeds need no law")
    lags, factors = (motor.lag_up_s, motor.lag_down_s), spread.lag or (1.0,)
    most = max(MOST_GAIN, *spread.gain) if spread.gain else MOST_GAIN
    fastest_s, slowest_s = min(lags) * min(factors), max(lags) * max(factors)
    plants = RotorPlants((fastest_s, slowest_s), (LEAST_GAIN, most), table.nominal_lag_s / fastest_s)
    check(axes, gains, table.coupling, plants, certified=table.certified)
