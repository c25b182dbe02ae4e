"""A tilt-rotor on a rotating earth: what a step that was made as if the earth did not turn lacks, for each body.

With W the earth's rate, v and w velocity of a body's centre of mass and its rate relative to the earth, I its inertia:

    force    -2 m W x v
    torque   -w x I W + I (w x W) - W x I (w + W)

Their mean over the step changes the velocities of all joints at its end; positions and angles get half of that times
the step. The centrifugal acceleration is a part of gravity.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import NS, Effort, Truth
from aeroloop.sim.exchange import Row
from aeroloop.sim.vehicle import Motion
from aeroloop.world.multibody import Multibody

Mat = Vec
"""A row for each body."""
_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


class Joints(NamedTuple):
    qpos: Vec
    qvel: Vec


class OnTurningEarth:
    """A motion whose every step is followed by what the earth's rotation adds to it."""

    def __init__(self, motion: Motion[Effort, Truth], world: Multibody, turn_W: Vec3) -> None:
        self._motion, self._engine, self._turn_W = motion, world.engine, np.array(turn_W)
        self._data = mujoco.MjData(world.engine.model)
        self._masses, self._inertias = self._engine.model.body_mass[1:], self._engine.model.body_inertia[1:]
        self.state = motion.state
        self.stepped = self._joints()
        """At the end of the last step, before the rotation was added."""
        self.lacking: Vec = np.zeros(world.engine.model.nv)
        """Forces on the joints that the rotation added to the last step, and accelerations by them."""
        self.accel: Vec = np.zeros(world.engine.model.nv)

    def drive(self, command: Row, dt_ns: int) -> Effort:
        before, dt_s = self._joints(), dt_ns / NS
        effort = self._motion.drive(command, dt_ns)
        self.stepped = self._joints()
        self.lacking = 0.5 * (self._lacking(before) + self._lacking(self.stepped))
        mujoco.mj_solveM(self._engine.model, self._data, self.accel[None], self.lacking[None])
        change = dt_s * self.accel
        self._engine.qvel += change
        mujoco.mj_integratePos(self._engine.model, self._engine.qpos, change, 0.5 * dt_s)
        return effort

    def _joints(self) -> Joints:
        return Joints(self._engine.qpos.copy(), self._engine.qvel.copy())

    def _lacking(self, joints: Joints) -> Vec:
        """As forces on the joints; the data then have the mass matrix of this position."""
        model, data, turn_W = self._engine.model, self._data, self._turn_W
        data.qpos[:], data.qvel[:] = joints
        mujoco.mj_fwdPosition(model, data)
        force: Vec = np.zeros(model.nv)
        if not joints.qvel.any():  # the rest is below 1e-8 rad/s2, and no reason to leave the ground
            return force
        mujoco.mj_comVel(model, data)
        places, masses = data.xipos[1:], self._masses
        rates_W = data.cvel[1:, :3]
        vels_W = data.cvel[1:, 3:] + _cross(rates_W, places - data.subtree_com[1])
        axes = data.ximat[1:].reshape(-1, 3, 3)
        inertias_W = (axes * self._inertias[:, None]) @ axes.transpose(0, 2, 1)
        turns_W = np.broadcast_to(turn_W, rates_W.shape)
        push_W = -2.0 * masses[:, None] * _cross(turns_W, vels_W)
        torque_W = _turned(inertias_W, _cross(rates_W, turns_W)) - _cross(rates_W, inertias_W @ turn_W)
        torque_W -= _cross(turns_W, _turned(inertias_W, rates_W + turn_W))
        for body, (push, torque, place) in enumerate(zip(push_W, torque_W, places, strict=True), 1):
            mujoco.mj_applyFT(model, data, push, torque, place, body, force)
        return force


def _cross(one: Mat, other: Mat) -> Mat:
    """Row by row; numpy.cross takes several times as long for so few."""
    crossed: Mat = one[:, _NEXT] * other[:, _LAST] - one[:, _LAST] * other[:, _NEXT]
    return crossed


def _turned(matrices: Vec, vectors: Mat) -> Mat:
    turned: Mat = (matrices @ vectors[:, :, None])[:, :, 0]
    return turned
