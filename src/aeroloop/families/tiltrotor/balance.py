"""Forces and motion of a tilt-rotor for the log: of all its bodies together, about their common centre of mass.

Thrusts and drag push the aircraft; the servos' torques act between its bodies and cancel, except in the energy. Momenta
are MuJoCo's sums over the bodies; forces are added here from the thrusts in the axes of the pods at that time. MuJoCo's
accelerations serve for the middle of a step alone.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import Effort
from aeroloop.sim.balance import STILL, Account, Stage, State, middle_quat
from aeroloop.world.clearance import Clearance
from aeroloop.world.multibody import INPUTS, Drag, Multibody
from aeroloop.world.surroundings import Surroundings

NO_AIR = (STILL, 0.0)
AIRFRAME = 1
"""The body with the free joint; all others hang on it."""
QUAT, RATE = slice(3, 7), slice(3, 6)


class Motion(NamedTuple):
    qpos: Vec
    qvel: Vec


class TiltrotorLedger:
    """`sim.balance.Ledger` of a tilt-rotor."""

    def __init__(self, world: Multibody, air: tuple[Surroundings, Drag | None] | None, turn_W: Vec3 | None) -> None:
        """`air`: what surrounds it, and its drag in it."""
        self._world, self._air = world, air
        self._model, self._clearance = world.engine.model, Clearance(world.engine.model)
        self._data = mujoco.MjData(self._model)
        self._turn_W: Vec = np.array(turn_W or STILL)

    def begin(self, dt_s: float) -> None:
        self._dt_s, self._was = dt_s, self._motion()
        self._near = self._clearance.near(self._was.qpos)
        self._held_air, self._drag_B = NO_AIR, np.zeros(3)
        if self._air is not None:
            around, drag = self._air
            self._held_air = around.air.wind_W, around.air.density_kg_m3
            if drag is not None:
                self._drag_B = np.array(drag(*self._world.mid_step_air(around.air, dt_s), around.air.density_kg_m3))

    def end(self, effort: Effort) -> Account:
        was, now = self._was, self._motion()
        ctrl = np.zeros(self._model.nu)
        ctrl[:INPUTS] = (*effort.thrust_N, *effort.tilt_torque_Nm)
        if len(ctrl) > INPUTS:
            ctrl[INPUTS:] = self._drag_B
        before, start, was_accel = self._at(was, ctrl)
        after, end, now_accel = self._at(now, ctrl)
        _, middle, _ = self._at(self._middle(was, was_accel, now, now_accel), ctrl)
        supported = self._near or self._clearance.near(now.qpos)
        mass_kg = float(self._model.body_subtreemass[AIRFRAME])
        stages = start, middle, end
        return Account(before, after, stages, mass_kg, supported, self._held_air, self._turn_W)

    def _motion(self) -> Motion:
        return Motion(self._world.engine.qpos.copy(), self._world.engine.qvel.copy())

    def _middle(self, was: Motion, was_accel: Vec, now: Motion, now_accel: Vec) -> Motion:
        """As in `sim.balance`."""
        eighth_s = self._dt_s / 8.0
        qvel = 0.5 * (was.qvel + now.qvel) + eighth_s * (was_accel - now_accel)
        qpos = np.empty_like(was.qpos)
        # Of the free joint three velocities and three rates; of each hinge one of both.
        for places, rates in ((slice(0, 3), slice(0, 3)), (slice(7, None), slice(6, None))):
            ends = was.qpos[places] + now.qpos[places]
            qpos[places] = 0.5 * ends + eighth_s * (was.qvel[rates] - now.qvel[rates])
        qpos[QUAT] = middle_quat(was.qpos[QUAT], was.qvel[RATE], now.qpos[QUAT], now.qvel[RATE], self._dt_s)
        return Motion(qpos, qvel)

    def _at(self, motion: Motion, ctrl: Vec) -> tuple[State, Stage, Vec]:
        """State, what acts, and the accelerations of all joints."""
        model, data = self._model, self._data
        data.qpos[:], data.qvel[:], data.ctrl[:] = motion.qpos, motion.qvel, ctrl
        mujoco.mj_forward(model, data)
        mujoco.mj_subtreeVel(model, data)
        mujoco.mj_energyVel(model, data)
        R_WB = data.xmat[AIRFRAME].reshape(3, 3)
        centre_W = data.subtree_com[AIRFRAME].copy()
        force_W, moment_W = np.zeros(3), np.zeros(3)
        for number in range(model.nu):
            if model.actuator_trntype[number] != mujoco.mjtTrn.mjTRN_SITE:
                continue  # a servo, between two bodies
            site = model.actuator_trnid[number, 0]
            axes = data.site_xmat[site].reshape(3, 3)
            gear = model.actuator_gear[number]
            push_W = axes @ gear[:3] * ctrl[number]
            force_W += push_W
            moment_W += np.cross(data.site_xpos[site] - centre_W, push_W) + axes @ gear[3:] * ctrl[number]
        state = State(
            centre_W,
            data.subtree_linvel[AIRFRAME].copy(),
            motion.qpos[QUAT].copy(),
            motion.qvel[RATE].copy(),
            data.subtree_angmom[AIRFRAME].copy(),
            float(data.energy[1]),
        )
        power_W = float(data.qfrc_actuator @ motion.qvel)
        rate_dot_B = data.qacc[RATE].copy()
        stage = Stage(R_WB.T @ force_W, R_WB.T @ moment_W, rate_dot_B, model.opt.gravity.copy(), power_W)
        return state, stage, data.qacc.copy()
