"""The world of one aircraft with hinges, as a MuJoCo multibody over flat ground."""

from __future__ import annotations

import mujoco

from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.signals import Effort, Truth
from aeroloop.world.engine import Engine


class Multibody:
    """A free-flying body with two hinges; ctrl = (thrusts, torques)."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._engine = Engine(model)
        self._held: Effort | None = None

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
        self._engine.reset((*pos_W, *quat_WB, *hinges_rad), (*vel_W, *rate_B, *hinge_rates_rad_s))

    def step(self, effort: Effort, dt_ns: int) -> None:
        """Advance with the effort held. A step may be shorter than usual: a message can arrive in between."""
        if effort is not self._held:
            self._engine.ctrl[:] = (*effort.thrust_N, *effort.tilt_torque_Nm)
            self._held = effort
        self._engine.step(dt_ns)

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

    @property
    def touching(self) -> bool:
        """Whether anything touches the ground."""
        return self._engine.touching
