"""The world of one rigid aircraft in wind, over flat ground.

Forces that turn with the body (thrust) are MuJoCo actuators and exact in every Runge-Kutta stage. Those that depend
on the motion (drag, gyroscopic torque) are held over a step, as the motion in its middle makes them: that is right to
second order, and costs one evaluation instead of four calls out of MuJoCo. The test of the quadrotor's world states
what is left.

The acceleration is the mean over the last step: its sum is the change of velocity, and no impact falls between samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import mujoco

from aeroloop.frames import Quat, Vec3
from aeroloop.signals import NS, Air, RigidState
from aeroloop.world.engine import Engine

E = TypeVar("E")
Loads = Callable[[E, Vec3, Vec3, float], Sequence[float]]
"""(effort, velocity through the air in B, body rates, air density) -> one value for each of the model's actuators."""


class Rigid(Generic[E]):
    """One free body, whose frame sits in its centre of mass."""

    def __init__(self, model: mujoco.MjModel, loads: Loads[E]) -> None:
        self._engine = Engine(model)
        self._loads = loads
        self._qpos: list[float]
        self._qvel: list[float]
        self._qacc: list[float]
        self._read_all()

    def reset(
        self, pos_W: Vec3, quat_WB: Quat, *, vel_W: Vec3 = (0.0, 0.0, 0.0), rate_B: Vec3 = (0.0, 0.0, 0.0)
    ) -> None:
        self._engine.reset((*pos_W, *quat_WB), (*vel_W, *rate_B))
        self._read_all()

    def settle(self, dt_ns: int) -> None:
        """One second with nothing running: the ground is soft, and what was just put on it still sinks a little."""
        for _ in range(NS // dt_ns):
            self._engine.step(dt_ns)
        self._read_all()

    def step(self, effort: E, air: Air, gravity_m_s2: float, dt_ns: int) -> None:
        """Advance with effort, wind and gravity held."""
        half_s = 0.5 * dt_ns / NS
        _, _, _, w, x, y, z = self._qpos
        vx, vy, vz, p, q, r = self._qvel
        ax, ay, az, p_dot, q_dot, r_dot = self._qacc
        wind_x, wind_y, wind_z = air.wind_W
        vx += half_s * ax - wind_x
        vy += half_s * ay - wind_y
        vz += half_s * az - wind_z
        p, q, r = p + half_s * p_dot, q + half_s * q_dot, r + half_s * r_dot
        # R_WB' v, then turned by what the body turns in half a step.
        a = (1.0 - 2.0 * (y * y + z * z)) * vx + 2.0 * (x * y + w * z) * vy + 2.0 * (x * z - w * y) * vz
        b = 2.0 * (x * y - w * z) * vx + (1.0 - 2.0 * (x * x + z * z)) * vy + 2.0 * (y * z + w * x) * vz
        c = 2.0 * (x * z + w * y) * vx + 2.0 * (y * z - w * x) * vy + (1.0 - 2.0 * (x * x + y * y)) * vz
        vel_air_B = (a - half_s * (q * c - r * b), b - half_s * (r * a - p * c), c - half_s * (p * b - q * a))
        engine = self._engine
        engine.ctrl[:] = self._loads(effort, vel_air_B, (p, q, r), air.density_kg_m3)
        engine.set_gravity(gravity_m_s2)
        engine.step(dt_ns)
        before, self._qpos, self._qvel = self._qvel, engine.qpos.tolist(), engine.qvel.tolist()
        per_s = NS / dt_ns
        self._qacc = [(new - old) * per_s for new, old in zip(self._qvel, before, strict=True)]

    def state(self, t_ns: int) -> RigidState:
        x, y, z, qw, qx, qy, qz = self._qpos
        vx, vy, vz, p, q, r = self._qvel
        ax, ay, az = self._qacc[:3]
        return RigidState(t_ns, (x, y, z), (qw, qx, qy, qz), (vx, vy, vz), (p, q, r), (ax, ay, az))

    @property
    def touching(self) -> bool:
        """Whether anything touches the ground."""
        return self._engine.touching

    def _read_all(self) -> None:
        self._qpos, self._qvel = self._engine.qpos.tolist(), self._engine.qvel.tolist()
        self._qacc = self._engine.qacc.tolist()
