"""The forces on a fixed wing for the log: those of its design model at the start, the middle and the end of a step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aeroloop.actuators.propeller_power import PropellerPower
from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import RigidState
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.models import fixedwing
from aeroloop.sim.balance import Body, Loads, State
from aeroloop.world.flight_model import FlightModel, FlightModelInGusts
from aeroloop.world.surroundings import Surroundings


class WingForces:
    """`sim.balance.Forces` of a fixed wing."""

    def __init__(
        self,
        airframe: Airframe,
        world: FlightModel,
        around: Surroundings,
        supported: Callable[[], bool],
        power: PropellerPower | None,
    ) -> None:
        """`supported`: whether a catapult moves it, or its wheels may touch the ground."""
        self._world, self._around, self._supported, self._power = world, around, supported, power
        self._empty_kg, inertia = airframe.body.mass_kg, np.array(airframe.body.inertia_rows_kgm2)
        self.body = Body(self._empty_kg, inertia, np.zeros(3))
        self._gusts = world.air_rate_W if isinstance(world, FlightModelInGusts) else None
        self._run = Evaluator(fixedwing.forces(airframe, in_gusts=self._gusts is not None))

    def carry(self, payload_kg: float) -> None:
        """A point mass at the centre of mass."""
        self.body = self.body._replace(mass_kg=self._empty_kg + payload_kg)

    @property
    def supported(self) -> bool:
        return self._supported()

    @property
    def air(self) -> tuple[Vec3, float]:
        return self._wind_W, self._density_kg_m3

    def motion(self) -> RigidState:
        return self._world.state(0)

    def hold(self, dt_s: float) -> None:
        air = self._around.air
        self._wind_W, self._density_kg_m3 = air.wind_W, air.density_kg_m3
        self._air_rate_W = self._gusts() if self._gusts is not None else ()
        self._gravity_W: Vec = np.array([0.0, 0.0, -self._around.place.gravity_m_s2])

    def loads(self, effort: SurfaceEffort, at: State) -> Loads:
        state, controls, wind_W, density, *air_rate = self._run.inputs
        state[:] = np.concatenate([at.pos_W, at.quat_WB, at.vel_W, at.rate_B])
        controls[:], wind_W[:], density[:] = effort.controls, self._wind_W, self._density_kg_m3
        if self._power is not None:
            controls[3] = self._power.throttle
        for given in air_rate:
            given[:] = self._air_rate_W
        self._run()
        force_B, moment_B = self._run.outputs
        return Loads(force_B.copy(), moment_B.copy(), self._gravity_W)
