"""Whether any part of an aircraft is near the ground, so that a stage of its next step may touch it."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import mujoco

from aeroloop.core.frames import Vec

NEAR_M = 0.05
"""Farther than a step of a landing moves any part."""


class Clearance:
    """Searches contacts in a copy of the model, whose parts are as much thicker."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = copy.copy(model)
        self._model.geom_margin[:] = NEAR_M
        self._model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._data = mujoco.MjData(self._model)

    def near(self, qpos: Sequence[float] | Vec) -> bool:
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_collision(self._model, self._data)
        return bool(self._data.ncon)
