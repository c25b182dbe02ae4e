"""The world: one aircraft as a MuJoCo multibody over flat ground, integrated with Runge-Kutta 4."""

from __future__ import annotations

import mujoco

from aeroloop.frames import Quat, Vec3
from aeroloop.signals import NS, Effort, Truth


class Multibody:
    """A free-flying body with hinges; MuJoCo's free joint has velocity in W and rates in B, as ours.

    qpos = (pos_W, quat_WB, hinge angles), qvel = (vel_W, rate_B, hinge rates), ctrl = (thrusts, torques).
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        self._held: Effort | None = None
        self._dt_ns = 0
        self._qpos, self._qvel, self._ctrl = self._data.qpos, self._data.qvel, self._data.ctrl

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
        mujoco.mj_resetData(self._model, self._data)
        self._held = None
        self._qpos[:] = (*pos_W, *quat_WB, *hinges_rad)
        self._qvel[:] = (*vel_W, *rate_B, *hinge_rates_rad_s)
        mujoco.mj_forward(self._model, self._data)

    def step(self, effort: Effort, dt_ns: int) -> None:
        """Advance with the effort held. A step may be shorter than usual: a message can arrive in between."""
        if effort is not self._held:
            self._ctrl[:] = (*effort.thrust_N, *effort.tilt_torque_Nm)
            self._held = effort
        if dt_ns != self._dt_ns:
            self._model.opt.timestep = dt_ns / NS
            self._dt_ns = dt_ns
        mujoco.mj_step(self._model, self._data)

    def truth(self, t_ns: int) -> Truth:
        x, y, z, qw, qx, qy, qz, tilt_right, tilt_left = self._qpos.tolist()
        vx, vy, vz, p, q, r, rate_right, rate_left = self._qvel.tolist()
        return Truth(
            t_ns,
            (x, y, z),
            (qw, qx, qy, qz),
            (vx, vy, vz),
            (p, q, r),
            (tilt_right, tilt_left),
            (rate_right, rate_left),
        )

    @property
    def touching(self) -> bool:
        """Whether anything touches the ground."""
        return bool(self._data.ncon)
