"""The forces on a multirotor for the log: the airframe's formulas once more, with the mean rotor speeds of the step.

The compiled step has its own expressions of them, and MuJoCo integrates by itself: both are held to these numbers.
Loads are held over a step in body axes, at their value in its middle, extrapolated from the step before.
"""

from __future__ import annotations

import numpy as np

from aeroloop.actuators.motors import RotorEffort
from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import NS, RigidState
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.families.multirotor.motion import MultirotorMotion
from aeroloop.sim.balance import Body, Loads, State
from aeroloop.world.airflow import mid_step
from aeroloop.world.rigid import Rigid

BODY_LOADS = 6
"""Force and torque of air and gyroscopic effects, before the thrusts."""


class RotorForces:
    """`sim.balance.Forces` of a multirotor."""

    def __init__(self, airframe: Airframe, motion: MultirotorMotion, world: Rigid[RotorEffort]) -> None:
        self._motion, self._world = motion, world
        self._blades = airframes.blade_loads(airframe)
        self._loads = airframes.loads(airframe, self._blades)
        rotors = airframe.rotors
        pos_B, spin, share = np.array(rotors.pos_B_m), np.array(rotors.spin), np.array(rotors.shares)
        self._force_of_thrust = np.vstack([np.zeros((2, rotors.count)), share])
        self._moment_of_thrust = np.vstack(
            [share * pos_B[:, 1], -share * pos_B[:, 0], -spin * rotors.torque_to_thrust_m]
        )

    @property
    def body(self) -> Body:
        return Body(*self._world.mass_properties)

    @property
    def supported(self) -> bool:
        return not self._motion.free

    @property
    def air(self) -> tuple[Vec3, float]:
        return self._wind_W, self._density_kg_m3

    def motion(self) -> RigidState:
        return self._motion.state(0)

    def hold(self, dt_s: float) -> None:
        motion = self._motion.held_motion
        self._wind_W, self._density_kg_m3, gravity_m_s2 = self._motion.held_air
        self._gravity_W: Vec = np.array([0.0, 0.0, -gravity_m_s2])
        if self._blades is not None:
            self._blades.begin(motion, self._motion.ground_m, round(dt_s * NS))
        pos_quat, change = motion[:7], motion[13:19]
        self._vel_air_B, self._rate_B = mid_step(pos_quat, motion[7:13], change, self._wind_W, 0.5 * dt_s)

    def loads(self, effort: RotorEffort, at: State) -> Loads:
        values = np.array(self._loads(effort, self._vel_air_B, self._rate_B, self._density_kg_m3))
        thrusts = values[BODY_LOADS:]
        force_B = values[:3] + self._force_of_thrust @ thrusts
        about_origin_B = values[3:BODY_LOADS] + self._moment_of_thrust @ thrusts
        return Loads(force_B, about_origin_B - np.cross(self.body.centre_B_m, force_B), self._gravity_W)
