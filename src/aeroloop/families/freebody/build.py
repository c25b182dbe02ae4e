"""A free body as stages of the bench's vehicle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import Switch, Switched
from aeroloop.core.frames import Quat, Vec3, quat_product
from aeroloop.core.signals import NS
from aeroloop.families.freebody import equations
from aeroloop.families.freebody.balance import FallForces
from aeroloop.families.freebody.earth import origin
from aeroloop.families.freebody.initial import initial
from aeroloop.families.freebody.scenario import FreeBodyScenario, FreeBodyTables
from aeroloop.models.rigid_body import POS, QUAT, RATE, VEL
from aeroloop.sim.balance import RigidLedger, balanced
from aeroloop.sim.exchange import Row
from aeroloop.sim.rows import CommonRows
from aeroloop.sim.vehicle import Stages, Vehicle
from aeroloop.world.atmosphere import HIGHEST_M, LOWEST_M


@dataclass(frozen=True, slots=True)
class State:
    pos_W: Vec3
    vel_W: Vec3
    quat_WB: Quat
    rate_B: Vec3  # relative to inertial space
    geodetic: Row  # columns of the stream
    air: Row


class Fall:
    """Its motion, and its state in the tangent plane W of the start."""

    def __init__(self, tables: FreeBodyTables) -> None:
        self._step, self._observed = Evaluator(equations.step(tables)), Evaluator(equations.observed(tables))
        place, begins = origin(tables), initial(tables)
        self._origin_E, self._R_WE, self._quat_WE = place.pos_E, place.R_EW.T, place.quat_WE
        state = np.zeros(13)
        state[POS], state[VEL] = place.pos_E, place.R_EW @ np.array(tables.start.vel_W)
        w, x, y, z = place.quat_WE
        state[QUAT] = quat_product((w, -x, -y, -z), begins.quat_WB)
        state[RATE] = begins.rate_B
        self._step.inputs[0][:] = state

    def drive(self, command: Row, dt_ns: int) -> None:
        self._step.inputs[1][:] = dt_ns / NS
        self._step()
        self._step.inputs[0][:] = self._step.outputs[0]

    def state(self, t_ns: int) -> State:
        state = self._step.inputs[0]
        self._observed.inputs[0][:] = state
        self._observed()
        geodetic, air = (tuple(found.tolist()) for found in self._observed.outputs)
        pos_W = tuple((self._R_WE @ (state[POS] - self._origin_E)).tolist())
        vel_W = tuple((self._R_WE @ state[VEL]).tolist())
        qw, qx, qy, qz = state[QUAT].tolist()
        rate_B = tuple(state[RATE].tolist())
        return State(pos_W, vel_W, quat_product(self._quat_WE, (qw, qx, qy, qz)), rate_B, geodetic, air)


class Rows(CommonRows):
    def step(self, vehicle: Vehicle[None, State], effort: None, samples: list[Any]) -> None:
        t_s, state = vehicle.t_ns / NS, vehicle.state
        self._publish["truth"](t_s, *state.pos_W, *state.vel_W, *state.quat_WB, *state.rate_B)
        self._publish["geodetic"](t_s, *state.geodetic)
        self._publish["air"](t_s, *state.air)


def no_faults(switch: Switch) -> Switched:
    raise ConfigError(f"{switch.target}: a free body has nothing that fails")


def lost(state: State) -> bool:
    """Outside the atmosphere; NaN too."""
    return not LOWEST_M <= state.geodetic[2] <= HIGHEST_M


def vehicle(
    scenario: FreeBodyScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[None, State]:
    fall, rows = Fall(scenario.aircraft), Rows(publish)
    ledger = None
    if scenario.log.balance:
        forces = FallForces(scenario.aircraft, fall)
        ledger = RigidLedger(forces, forces.turn_W)
    stages: Stages[None, State] = Stages(
        motion=balanced(fall, ledger, rows.balance),
        surroundings=None,
        sense=lambda state, effort: [],
        lost=lost,
        contact=lambda t_ns, state: None,
        switch=no_faults,
        rows=rows,
    )
    return Vehicle(stages, step_ns=round(scenario.aircraft.world.step_s * NS), command=())
