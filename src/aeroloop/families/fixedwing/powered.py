"""A fixed wing with a battery: its motor gets the battery's voltage, and discharges it."""

from __future__ import annotations

import math

from aeroloop.actuators.power import BatteryFile, chosen
from aeroloop.actuators.propeller_power import PropellerPower
from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import RigidState
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.families.fixedwing.scenario import FixedWingTables
from aeroloop.sim.vehicle import Body
from aeroloop.world.surroundings import Surroundings


def file_of(tables: FixedWingTables, airframe: Airframe) -> BatteryFile | None:
    """The battery that is flown with; None: there is none."""
    file = chosen(tables.battery, airframe.battery)
    if file is not None and file.motor is not None:
        raise ConfigError(
            "battery.pack: it has a table [motor], of a multirotor's motors; the motor of a fixed wing is in "
            "[propulsion] of its airframe: expected a battery without [motor]"
        )
    return file


def power_of(tables: FixedWingTables, airframe: Airframe) -> PropellerPower | None:
    file = file_of(tables, airframe)
    if file is None:
        return None
    return PropellerPower(file, airframe.propulsion, tables.battery.charge if tables.battery is not None else 1.0)


def check(tables: FixedWingTables) -> None:
    """ConfigError if the battery does not fit."""
    file_of(tables, airframes.load(tables.vehicle.airframe))


class ElectricWing:
    """A body in the air or on its wheels, whose throttle is that of its battery."""

    def __init__(self, flying: Body[SurfaceEffort, RigidState], around: Surroundings, power: PropellerPower) -> None:
        self._flying, self._around, self._power = flying, around, power
        self.state = flying.state

    def step(self, effort: SurfaceEffort, dt_ns: int) -> None:
        air = self._around.air
        airspeed_m_s = math.dist(self.state(0).vel_W, air.wind_W)
        aileron, elevator, rudder, throttle = effort.controls
        given = self._power.given(throttle, airspeed_m_s, air.density_kg_m3, dt_ns)
        self._flying.step(effort._replace(controls=(aileron, elevator, rudder, given)), dt_ns)
