"""Kinetic energy of the robot and power of its forces, for the log. Its plane is horizontal: gravity does no work.

The robot is no free body, so its balance is one of energy: T1 - T0 is the work of motors, loads and friction, and of
the forces that close the loops of the multibody, which are stiff springs. Power is evaluated at the start, the middle
and the end of a step, the middle as in `sim.balance`; a motor's torque there follows from its lag.
"""

from __future__ import annotations

import math
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
        middle = plant.work(position, rates, self._halfway(first, last), acts)
        return EnergyEntry(before, after, mean([work.power_W for work in (before, middle, after)]))

    def _halfway(self, first: Vec, last: Vec) -> Vec:
        """first + (command - first) (1 - e), where e is half the step's decay, and last is the same after e^2."""
        half = math.exp(-0.5 * self._dt_s / self._lag_s)
        torque: Vec = first + (last - first) / (1.0 + half)
        return torque
