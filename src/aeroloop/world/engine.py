"""MuJoCo's model and data with the operations that a flying world needs; integrated with Runge-Kutta 4."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from aeroloop.core.frames import Vec, Vec3, rotation_rows
from aeroloop.core.signals import NS


class Engine:
    """MuJoCo's free joint has velocity in W and rates in B, as ours: qpos = (pos_W, quat_WB, hinges),
    qvel = (vel_W, rate_B, hinge rates), qacc likewise."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = self._model = model
        self._data = mujoco.MjData(model)
        self._dt_ns = 0
        self._body = int(model.jnt_bodyid[0]) if model.njnt else 0
        self._empty_kg = float(model.body_mass[self._body])
        self._gravity = model.opt.gravity
        self._gravity_m_s2 = -float(self._gravity[2])
        self.qpos, self.qvel, self.qacc = self._data.qpos, self._data.qvel, self._data.qacc
        self.ctrl = self._data.ctrl

    def reset(self, qpos: Sequence[float], qvel: Sequence[float]) -> None:
        mujoco.mj_resetData(self._model, self._data)
        self.qpos[:] = qpos
        self.qvel[:] = qvel
        mujoco.mj_forward(self._model, self._data)

    def carry(self, mass_kg: float) -> None:
        """A point mass, fixed to the flying body at that body's own centre of mass, in place of an earlier one."""
        self._model.body_mass[self._body] = self._empty_kg + mass_kg
        mujoco.mj_setConst(self._model, mujoco.MjData(self._model))

    def set_gravity(self, gravity_m_s2: float) -> None:
        if gravity_m_s2 != self._gravity_m_s2:
            self._gravity[2] = -gravity_m_s2
            self._gravity_m_s2 = gravity_m_s2

    def step(self, dt_ns: int) -> None:
        """Advance with ctrl held. A step may be shorter than usual: a message can arrive in between."""
        if dt_ns != self._dt_ns:
            self._model.opt.timestep = dt_ns / NS
            self._dt_ns = dt_ns
        mujoco.mj_step(self._model, self._data)

    def push(self, force_W: Vec3, torque_W: Vec3) -> None:
        """Force and torque at the flying body's own centre of mass, held until the next ones."""
        self._data.xfrc_applied[self._body] = (*force_W, *torque_W)

    def set_contacts(self, on: bool) -> None:
        """Off saves the contact search in each of the four stages; without contacts the motion is the same."""
        flag = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        flags = self._model.opt.disableflags
        self._model.opt.disableflags = flags & ~flag if on else flags | flag

    @property
    def mass_kg(self) -> float:
        """Of the aircraft with all its bodies."""
        return float(self._model.body_subtreemass[1])

    @property
    def inertia_kgm2(self) -> Vec3:
        """Of its first body; hinged ones are small."""
        x, y, z = (float(value) for value in self._model.body_inertia[1])
        return x, y, z

    @property
    def centre_B(self) -> Vec3:
        """Centre of mass of its first body."""
        x, y, z = (float(value) for value in self._model.body_ipos[1])
        return x, y, z

    @property
    def mass_properties(self) -> tuple[float, Vec, Vec]:
        """Of its first body: mass, inertia about the centre of mass in body axes, and where that is."""
        model = self._model
        axes = np.array(rotation_rows(model.body_iquat[1]))
        return float(model.body_mass[1]), axes @ np.diag(model.body_inertia[1]) @ axes.T, np.array(model.body_ipos[1])

    @property
    def touching(self) -> bool:
        """Whether anything touches the ground."""
        return bool(self._data.ncon)
