"""The forces on a helicopter for the log: those of its rotors, which have states of their own, as a step holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import RigidState
from aeroloop.sim.balance import Body, Loads, State
from aeroloop.world.rigid import Rigid
from aeroloop.world.surroundings import Surroundings


class Rotorcraft(Protocol):
    """The part of its motion that is used here."""

    body: Rigid[Any]
    surroundings: Surroundings | None
    loads_B: Sequence[float]


class RotorcraftForces:
    """`sim.balance.Forces` of a helicopter."""

    def __init__(self, motion: Rotorcraft) -> None:
        self._motion = motion
        self.air: tuple[Vec3, float]

    @property
    def body(self) -> Body:
        return Body(*self._motion.body.mass_properties)

    @property
    def supported(self) -> bool:
        return self._motion.body.near_ground

    def motion(self) -> RigidState:
        return self._motion.body.state(0)

    def hold(self, dt_s: float) -> None:
        around = self._motion.surroundings
        assert around is not None
        self.air = around.air.wind_W, around.air.density_kg_m3
        self._gravity_W: Vec = np.array([0.0, 0.0, -around.place.gravity_m_s2])

    def loads(self, effort: object, at: State) -> Loads:
        loads_B = np.array(self._motion.loads_B)
        return Loads(loads_B[:3], loads_B[3:], self._gravity_W)
