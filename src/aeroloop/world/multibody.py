"""The world of one aircraft with hinges, as a MuJoCo multibody over its ground.

Drag is held over a step at its value in the middle of the step, as in `rigid.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.signals import NS, Air, Effort, Truth
from aeroloop.world.airflow import mid_step
from aeroloop.world.engine import Engine
from aeroloop.world.feet import Feet
from aeroloop.world.surroundings import Surroundings

INPUTS = 4
DRAGGED = INPUTS + 3
Drag = Callable[[Vec3, Vec3, float], Vec3]
"""(velocity through the air in B, body rates, air density) -> force in B, of the three actuators after the inputs."""


def whole_inertia_W(model: mujoco.MjModel, data: mujoco.MjData) -> Vec:
    """Of all bodies where the data has them, about their common centre of mass, in kg m2."""
    inertia_W = np.zeros((3, 3))
    for body in range(1, model.nbody):
        axes, arm = data.ximat[body].reshape(3, 3), data.xipos[body] - data.subtree_com[1]
        inertia_W += axes @ np.diag(model.body_inertia[body]) @ axes.T
        inertia_W += model.body_mass[body] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return inertia_W


class Multibody:
    """A free-flying body with two hinges; ctrl = (thrusts, torques, then the drag if the model has it)."""

    def __init__(self, model: mujoco.MjModel, feet: Feet | None = None) -> None:
        """`feet`: on springs; None: all contacts are MuJoCo's."""
        self._engine, self.feet = Engine(model), feet
        self._advance = self._engine.step if feet is None else feet.stepping(self._engine)
        self._held: Effort | None = None
        self._change = np.zeros(model.nv)  # of the velocities over the last step, per second

    def reset(
        self,
        pos_W: Vec3,
        quat_WB: Quat,
        hinges_rad: tuple[float, float],
        *,
        vel_W: Vec3 = (0.0, 0.0, 0.0),
        rate_B: Vec3 = (0.0, 0.0, 0.0),
        hinge_rates_rad_s: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._held = None
        self._change[:] = 0.0
        self._engine.reset((*pos_W, *quat_WB, *hinges_rad), (*vel_W, *rate_B, *hinge_rates_rad_s))

    def carry(self, values: Sequence[float]) -> None:
        """A point mass at the flying body's own centre of mass from now on, in kg, in place of an earlier one."""
        self._engine.carry(values[0])

    def step(self, effort: Effort, dt_ns: int) -> None:
        """Advance with the effort held. A step may be shorter than usual: a message can arrive in between."""
        if effort is not self._held:
            self._engine.ctrl[:INPUTS] = (*effort.thrust_N, *effort.tilt_torque_Nm)
            self._held = effort
        self._advance(dt_ns)

    def step_in_air(self, effort: Effort, air: Air, drag: Drag, dt_ns: int) -> None:
        """The same with drag in a wind that is held too; the model needs the drag actuators."""
        engine = self._engine
        was = engine.qvel.copy()
        vel_air_B, rate_B = mid_step(
            engine.qpos.tolist(), was.tolist(), self._change.tolist(), air.wind_W, 0.5 * dt_ns / NS
        )
        engine.ctrl[INPUTS:DRAGGED] = drag(vel_air_B, rate_B, air.density_kg_m3)
        self.step(effort, dt_ns)
        np.subtract(engine.qvel, was, out=self._change)
        self._change *= NS / dt_ns

    @property
    def engine(self) -> Engine:
        return self._engine

    def mid_step_air(self, air: Air, dt_s: float) -> tuple[Vec3, Vec3]:
        """Velocity through the air and rates at which the next step holds its drag."""
        qpos, qvel = self._engine.qpos.tolist(), self._engine.qvel.tolist()
        return mid_step(qpos, qvel, self._change.tolist(), air.wind_W, 0.5 * dt_s)

    def state(self, t_ns: int) -> Truth:
        x, y, z, qw, qx, qy, qz, tilt_right, tilt_left = self._engine.qpos.tolist()
        vx, vy, vz, p, q, r, rate_right, rate_left = self._engine.qvel.tolist()
        return Truth(
            t_ns,
            (x, y, z),
            (qw, qx, qy, qz),
            (vx, vy, vz),
            (p, q, r),
            (tilt_right, tilt_left),
            (rate_right, rate_left),
        )

    def strike(self, pos_W: Vec3, vel_W: Vec3, rate_B: Vec3) -> None:
        """Continue after an impact, with the hinges as they are."""
        self._engine.qpos[:3] = pos_W
        self._engine.qvel[:6] = (*vel_W, *rate_B)

    @property
    def mass_properties(self) -> tuple[float, Vec, Vec]:
        """Of all bodies as they are: mass, inertia about the common centre of mass in body axes, and where that is."""
        model = self._engine.model
        data = mujoco.MjData(model)
        data.qpos[:] = self._engine.qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        R_WB = data.xmat[1].reshape(3, 3)
        inertia_B = R_WB.T @ whole_inertia_W(model, data) @ R_WB
        return self._engine.mass_kg, inertia_B, R_WB.T @ (data.subtree_com[1] - data.xpos[1])

    @property
    def touching(self) -> bool:
        """Whether anything touches the ground."""
        return self._engine.touching or (self.feet is not None and self.feet.touching)


class Dragged:
    """A multibody with drag from the air of its surroundings."""

    def __init__(self, world: Multibody, drag: Drag, surroundings: Surroundings) -> None:
        self._world, self._drag, self._surroundings = world, drag, surroundings
        self.state = world.state

    def step(self, effort: Effort, dt_ns: int) -> None:
        self._world.step_in_air(effort, self._surroundings.air, self._drag, dt_ns)
