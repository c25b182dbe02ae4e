"""A multirotor with a battery: its motors reach what the battery's voltage allows, and discharge it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from aeroloop.actuators.motors import RotorEffort
from aeroloop.actuators.power import BatteryFile, Power, chosen
from aeroloop.codegen.host import fastest
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS, RigidState
from aeroloop.core.stream import Publish
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.families.multirotor.motion import MultirotorMotion, Supply
from aeroloop.families.multirotor.rotor_drive import HEADROOM
from aeroloop.families.multirotor.rows import MultirotorRows
from aeroloop.families.multirotor.scenario import MultirotorTables
from aeroloop.families.multirotor.shaft_torque import ShaftTorque, of_motor
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.models import quadrotor
from aeroloop.sensors.suite import Sample
from aeroloop.sim.vehicle import Vehicle


def file_of(tables: MultirotorTables, airframe: Airframe) -> BatteryFile | None:
    """The battery that is flown with; None: there is none."""
    return chosen(tables.battery, airframe.battery)


def power_of(tables: MultirotorTables, airframe: Airframe) -> Power | None:
    """`airframe`: the simulated one."""
    file = file_of(tables, airframe)
    if file is None:
        return None
    if file.motor is None:
        raise ConfigError("battery.pack: a multirotor's battery needs the table [motor], of its motors; it has none")
    charge = tables.battery.charge if tables.battery is not None else 1.0
    return Power(file, file.motor, airframe.motors, airframe.rotors, charge)


def feel_air(power: Power, airframe: Airframe, motion: MultirotorMotion) -> None:
    """The current follows the flow through the rotors of an airframe with their aerodynamics."""
    if airframe.rotors.aerodynamics is not None:
        power.air_torque = ShaftTorque(of_motor(airframe.rotors, power.lever_m), motion, fastest)


def check(tables: MultirotorTables, airframe: Airframe) -> None:
    """ConfigError if the battery does not fit, or cannot lift the aircraft."""
    power = power_of(tables, airframe)
    if power is None:
        return
    of_motor(airframe.rotors, power.lever_m)
    needed = float(max(quadrotor.hover_speeds_rad_s(airframe.flight)))
    top = power.top_rad_s()
    if top <= needed:
        raise ConfigError(
            f"battery: at the start its motors reach {top:.0f} rad/s, and hover needs {needed:.0f}; "
            "expected more cells, more charge or motors with a larger KV"
        )


def metered(supply: Supply, power: Power) -> Supply:
    """What sensors notice of the power supply: the battery's current, and the thrust."""
    return lambda effort, air: (power.battery.current_A, supply(effort, air)[1])


class PoweredMotion:
    """The motion of a multirotor whose motors are as the airframe's but for their battery."""

    def __init__(self, motion: MultirotorMotion, power: Power, airframe: Airframe) -> None:
        """`motion`: with the motors of `rotor_drive.free_motor`; their ESCs limit them."""
        self._motion, self._power = motion, power
        motor = airframe.motors
        self._idle, self._span = motor.speed_idle_rad_s, motor.speed_max_rad_s - motor.speed_idle_rad_s
        self._per_command = 1.0 / (HEADROOM * motor.speed_max_rad_s)
        self.state = motion.state

    def drive(self, command: Sequence[float], dt_ns: int) -> RotorEffort:
        motion, power, idle, span = self._motion, self._power, self._idle, self._span
        setpoints_rad_s = [idle + span * u if u > 0.0 else u for u in command]  # NaN stays NaN
        density = motion.air.density_kg_m3
        reached = power.reached(motion.speed_rad_s, setpoints_rad_s, dt_ns, density)
        effort = motion.drive([speed * self._per_command for speed in reached], dt_ns)
        power.drew(effort, dt_ns)
        return effort


class PoweredRows(MultirotorRows):
    """The rows of a multirotor with a battery."""

    def __init__(self, publish: Mapping[str, Publish], rotors: int, power: Power) -> None:
        super().__init__(publish, rotors)
        self._power, self._power_row = power, publish["power"]
        self._missing = (math.nan,) * (MOST_ROTORS - rotors)

    def step(self, vehicle: Vehicle[Any, RigidState], effort: RotorEffort, samples: list[Sample]) -> None:
        super().step(vehicle, effort, samples)
        power, missing = self._power, self._missing
        self._power_row(vehicle.t_ns / NS, *power.battery.row, *power.motor_A, *missing, *power.duty, *missing)
