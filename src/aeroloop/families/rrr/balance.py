"""Kinetic energy of the robot and power of its forces, for the log. Its plane is horizontal: gravity does no work.

The robot is no free body, so its balance is one of energy: T1 - T0 is the work of motors, loads and friction, and of
the forces that close the loops of the multibody, which are stiff springs. Power is evaluated at the start, the middle
and the end of a step, the middle as in `sim.balance`; a motor's torques are those of the integrator's stages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.families.rrr.disturbances import Acting
from aeroloop.families.rrr.plants import Plant, Work
from aeroloop.sim.balance import mean
from aeroloop.sim.exchange import Row


class EnergyEntry(NamedTuple):
    """`sim.balance.Entry` of energies."""

    before: Work
    after: Work
    power_W: float

    @property
    def begins(self) -> Row:
        return (self.before.kinetic_J,)

    @property
    def ends(self) -> Row:
        return (self.after.kinetic_J,)

    @property
    def start_row(self) -> Row:
        return 0.0, 0.0, self.before.kinetic_J, 0.0

    def step_row(self, dt_s: float) -> Row:
        return dt_s, 0.0, self.after.kinetic_J, self.power_W


class EnergyLedger:
    """`sim.balance.Ledger` of a robot."""

    def __init__(self, plant: Plant, acting: Callable[[], Acting], lag_s: float) -> None:
        self._plant, self._acting, self._lag_s = plant, acting, lag_s

    def begin(self, dt_s: float) -> None:
        self._dt_s, self._acts = dt_s, self._acting()
        self._was, self._torque = self._plant.coordinates, np.array(self._plant.torque)

    def end(self, effort: object) -> EnergyEntry:
        plant, acts, dt_s = self._plant, self._acts, self._dt_s
        (x0, v0), (x1, v1) = self._was, plant.coordinates
        first, last = self._torque, np.array(plant.torque)
        before, after = plant.work(x0, v0, first, acts), plant.work(x1, v1, last, acts)
        eighth_s = dt_s / 8.0
        position = 0.5 * (x0 + x1) + eighth_s * (v0 - v1)
        rates = 0.5 * (v0 + v1) + eighth_s * (before.accelerations - after.accelerations)
        halfway, late = self._stages(first, last)
        middle, end = plant.work(position, rates, halfway, acts), plant.work(x1, v1, late, acts)
        return EnergyEntry(before, after, mean([work.power_W for work in (before, middle, end)]))

    def _stages(self, first: Vec, last: Vec) -> tuple[Vec, Vec]:
        """Torques that pushed the robot in the middle and at the end of the step: those of the stages of Runge-Kutta,
        which leaves first + (command - first) (1 - z + z^2/2 - z^3/6 + z^4/24) of a lag with z = h / lag."""
        z = self._dt_s / self._lag_s
        way = (last - first) / (z * (1.0 - z / 2.0 * (1.0 - z / 3.0 * (1.0 - z / 4.0))))  # to the command
        second, third = z / 2.0, z / 2.0 * (1.0 - z / 2.0)
        return first + 0.5 * (second + third) * way, first + z * (1.0 - third) * way
