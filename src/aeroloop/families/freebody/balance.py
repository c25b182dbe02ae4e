"""Forces on a free body for the log: of air and engine, gravitation and the centrifugal acceleration where it is."""

from __future__ import annotations

from typing import Any, Protocol

import casadi as ca
import numpy as np

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Quat, Vec, Vec3, quat_product, rotation_rows
from aeroloop.core.signals import RigidState
from aeroloop.families.freebody import loads
from aeroloop.families.freebody.earth import origin
from aeroloop.families.freebody.initial import initial
from aeroloop.families.freebody.scenario import FreeBodyTables
from aeroloop.models import free_body
from aeroloop.models.rigid_body import POS, QUAT, RATE, STATES, VEL
from aeroloop.sim.balance import Body, Loads, State
from aeroloop.sim.exchange import Row


def acting(tables: FreeBodyTables) -> ca.Function:
    """state in E -> force_B (N), moment_B (N m), gravity in E (m/s2)."""
    state, turn_E = ca.SX.sym("state", STATES), ca.DM([0.0, 0.0, tables.world.earth_rate_rad_s])
    force_B, moment_B = loads.forces_B(tables, state, initial(tables).controls)
    gravity_E = free_body.gravitation_E(state[POS], tables.world.gravitation)
    gravity_E -= ca.cross(turn_E, ca.cross(turn_E, state[POS]))
    return ca.Function("free_body_acting", [state], [force_B, moment_B, gravity_E])


class Falling(Protocol):
    def state(self, t_ns: int, /) -> FallState: ...


class FallState(Protocol):
    """The part of the body's state that is used here."""

    @property
    def pos_W(self) -> Vec3: ...
    @property
    def vel_W(self) -> Vec3: ...
    @property
    def quat_WB(self) -> Quat: ...
    @property
    def rate_B(self) -> Vec3: ...
    @property
    def air(self) -> Row: ...


class FallForces:
    """`sim.balance.Forces` of a free body, in the tangent plane W of its start, which turns with the earth."""

    supported = False

    def __init__(self, tables: FreeBodyTables, fall: Falling) -> None:
        self._fall, self._run = fall, Evaluator(acting(tables))
        place, mass = origin(tables), loads.mass(tables.vehicle)
        self._origin_E, self._R_EW = place.pos_E, place.R_EW
        w, x, y, z = place.quat_WE
        self._quat_EW: Quat = (w, -x, -y, -z)
        self.body = Body(mass.mass_kg, np.array(mass.inertia_rows_kgm2), np.zeros(3))
        x, y, z = (place.R_EW.T @ np.array([0.0, 0.0, tables.world.earth_rate_rad_s])).tolist()
        self.turn_W: Vec3 = (x, y, z)
        self.air: tuple[Vec3, float]

    def _turn_B(self, quat_WB: Any) -> Vec:
        turn_B: Vec = np.array(rotation_rows(quat_WB)).T @ np.array(self.turn_W)
        return turn_B

    def motion(self) -> RigidState:
        """The rate of a free body is that relative to inertial space."""
        now = self._fall.state(0)
        p, q, r = (np.array(now.rate_B) - self._turn_B(now.quat_WB)).tolist()
        return RigidState(0, now.pos_W, now.quat_WB, now.vel_W, (p, q, r), (0.0, 0.0, 0.0))

    def hold(self, dt_s: float) -> None:
        *wind_W, density_kg_m3 = self._fall.state(0).air
        x, y, z = wind_W
        self.air = (x, y, z), density_kg_m3

    def loads(self, effort: None, at: State) -> Loads:
        state = self._run.inputs[0]
        state[POS], state[VEL] = self._origin_E + self._R_EW @ at.pos_W, self._R_EW @ at.vel_W
        w, x, y, z = at.quat_WB.tolist()
        state[QUAT], state[RATE] = quat_product(self._quat_EW, (w, x, y, z)), at.rate_B + self._turn_B(at.quat_WB)
        self._run()
        force_B, moment_B, gravity_E = self._run.outputs
        return Loads(force_B.copy(), moment_B.copy(), self._R_EW.T @ gravity_E)
