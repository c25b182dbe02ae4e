"""The world of one rigid aircraft in wind, over its ground.

Forces fixed in the body (thrust) are MuJoCo actuators and exact in every Runge-Kutta stage. Those that depend on the
motion (drag, gyroscopic torque) are held over a step at their value in its middle: this is second order, and costs one
evaluation instead of four calls out of MuJoCo. The test of the quadrotor's world states the remaining error.

The acceleration is the mean over the last step: its sum is the change of velocity, and no impact falls between samples.

High above the ground there is no contact search, which is half of a step's cost; the motion is the same to the bit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import mujoco

from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.signals import NS, Air, RigidState
from aeroloop.world.airflow import mid_step
from aeroloop.world.clearance import Clearance
from aeroloop.world.engine import Engine
from aeroloop.world.feet import Feet

E = TypeVar("E")
Loads = Callable[[E, Vec3, Vec3, float], Sequence[float]]
"""(effort, velocity through the air in B, body rates, air density) -> one value for each of the model's actuators."""

NO_KICK: Vec3 = (0.0, 0.0, 0.0)
CLEARANCE_M = 1.0
"""Contacts are searched when any part may come this near to the ground within a step."""


class Rigid(Generic[E]):
    """One free body, with its frame at the centre of mass."""

    def __init__(self, model: mujoco.MjModel, loads: Loads[E], feet: Feet | None = None) -> None:
        """`feet`: on springs; None: all contacts are MuJoCo's."""
        self._engine, self.feet = Engine(model), feet
        self._advance = self._engine.step if feet is None else feet.stepping(self._engine)
        self._loads = loads
        self._pack_ctrl, self._ctrl = struct.Struct(f"{model.nu}d").pack_into, self._engine.ctrl.data
        self.low_m = _low_m(model)
        """Height of the body's origin below which a part of it may touch the ground within two steps."""
        self._high = False
        self._clearance: Clearance | None = None  # made when first asked for
        self._per_s = 0.0  # of the last step
        self.kick_W: Vec3 = NO_KICK  # acceleration by an impact at the end of the last step
        self._qpos: list[float]
        self._qvel: list[float]
        self._qacc: list[float]
        self._read_all()

    def reset(
        self, pos_W: Vec3, quat_WB: Quat, *, vel_W: Vec3 = (0.0, 0.0, 0.0), rate_B: Vec3 = (0.0, 0.0, 0.0)
    ) -> None:
        self._engine.set_contacts(True)
        self._high = False
        self._engine.reset((*pos_W, *quat_WB), (*vel_W, *rate_B))
        self._read_all()

    @property
    def motion(self) -> list[float]:
        """pos_W, quat_WB, vel_W, rate_B, then the mean change of the last six over the last step: 19 numbers."""
        return [*self._qpos, *self._qvel, *self._qacc]

    def resume(self, motion: Sequence[float]) -> None:
        """Continue from a motion of another integrator, as if it had been computed here."""
        self._qpos, self._qvel, self._qacc = list(motion[:7]), list(motion[7:13]), list(motion[13:19])
        self._engine.qpos[:], self._engine.qvel[:] = self._qpos, self._qvel

    def strike(self, pos_W: Vec3, vel_W: Vec3, rate_B: Vec3) -> None:
        """Continue after an impact; the state's acceleration in the last step has the change of velocity, that from
        which the next step is extrapolated has not."""
        x, y, z = ((after - before) * self._per_s for after, before in zip(vel_W, self._qvel[:3], strict=True))
        self.displace(pos_W, vel_W, rate_B)
        self.kick_W = (x, y, z)

    def displace(self, pos_W: Vec3, vel_W: Vec3, rate_B: Vec3) -> None:
        """Continue from there; the acceleration of the last step stays."""
        self.resume([*pos_W, *self._qpos[3:], *vel_W, *rate_B, *self._qacc])

    @property
    def mass_kg(self) -> float:
        return self._engine.mass_kg

    @property
    def inertia_kgm2(self) -> Vec3:
        return self._engine.inertia_kgm2

    @property
    def mass_properties(self) -> tuple[float, Vec, Vec]:
        """Mass, inertia about the centre of mass in body axes, and the centre of mass from the body's origin."""
        return self._engine.mass_properties

    def exchange(self, model: mujoco.MjModel) -> None:
        """Continue the present motion with another model of the aircraft, which has the same actuators."""
        self._engine = Engine(model)
        self._advance = self._engine.step if self.feet is None else self.feet.stepping(self._engine)
        self._ctrl = self._engine.ctrl.data
        self._engine.set_contacts(not self._high)
        self.resume(self.motion)

    def carry(self, values: Sequence[float]) -> None:
        """A point mass at the centre of mass from now on, in kg, in place of an earlier one."""
        self._engine.carry(values[0])

    def settle(self, dt_ns: int) -> None:
        """Simulate one second without thrust: the ground is soft, and the aircraft still sinks a little."""
        self._look_for_contacts(0.0)
        for _ in range(NS // dt_ns):
            self._advance(dt_ns)
        self._read_all()

    def step(self, effort: E, air: Air, gravity_m_s2: float, dt_ns: int) -> None:
        """Advance with effort, wind and gravity held."""
        half_s = 0.5 * dt_ns / NS
        height = self._qpos[2]
        was_vx, was_vy, was_vz, was_p, was_q, was_r = self._qvel
        vel_air_B, rate_B = mid_step(self._qpos, self._qvel, self._qacc, air.wind_W, half_s)
        engine = self._engine
        self._pack_ctrl(self._ctrl, 0, *self._loads(effort, vel_air_B, rate_B, air.density_kg_m3))
        engine.set_gravity(gravity_m_s2)
        sinks_m = 4.0 * half_s * was_vz if was_vz < 0.0 else 0.0  # in two steps
        if (height + sinks_m > self.low_m) is not self._high:
            self._look_for_contacts(sinks_m)
        self._advance(dt_ns)
        self.kick_W = NO_KICK
        self._qpos, self._qvel = engine.qpos.tolist(), engine.qvel.tolist()
        vx, vy, vz, p, q, r = self._qvel
        self._per_s = per_s = NS / dt_ns
        self._qacc = [
            (vx - was_vx) * per_s,
            (vy - was_vy) * per_s,
            (vz - was_vz) * per_s,
            (p - was_p) * per_s,
            (q - was_q) * per_s,
            (r - was_r) * per_s,
        ]

    def _look_for_contacts(self, sinks_m: float) -> None:
        """Search contacts unless the aircraft is high, and stays so after this displacement."""
        self._high = self._qpos[2] + sinks_m > self.low_m  # False for NaN
        self._engine.set_contacts(not self._high)

    def state(self, t_ns: int) -> RigidState:
        x, y, z, qw, qx, qy, qz = self._qpos
        vx, vy, vz, p, q, r = self._qvel
        ax, ay, az = self._qacc[:3]
        if self.kick_W is not NO_KICK:
            ax, ay, az = (mean + kick for mean, kick in zip((ax, ay, az), self.kick_W, strict=True))
        return RigidState(t_ns, (x, y, z), (qw, qx, qy, qz), (vx, vy, vz), (p, q, r), (ax, ay, az))

    @property
    def touching(self) -> bool:
        """Whether anything touches the ground."""
        return not self._high and (self._engine.touching or (self.feet is not None and self.feet.touching))

    @property
    def near_ground(self) -> bool:
        """Whether any part is so near that the next step may touch."""
        if self._high:
            return False
        if self._clearance is None:
            self._clearance = Clearance(self._engine.model)
        return self._clearance.near(self._qpos)

    def _read_all(self) -> None:
        self._qpos, self._qvel = self._engine.qpos.tolist(), self._engine.qvel.tolist()
        self._qacc = self._engine.qacc.tolist()


def _low_m(model: mujoco.MjModel) -> float:
    """Height of the body's origin below which a part of it may touch: the highest ground plus the body's extent."""
    reach_m, ground_m = 0.0, -math.inf
    for i in range(model.ngeom):
        geom = model.geom(i)
        if not (geom.contype[0] or geom.conaffinity[0]):
            continue
        if model.geom_bodyid[i]:
            reach_m = max(reach_m, math.hypot(*geom.pos) + float(model.geom_rbound[i]))
        elif model.geom_type[i] == mujoco.mjtGeom.mjGEOM_PLANE and abs(geom.quat[0]) == 1.0:
            ground_m = max(ground_m, float(geom.pos[2]))
        elif model.geom_type[i] == mujoco.mjtGeom.mjGEOM_HFIELD and abs(geom.quat[0]) == 1.0:
            ground_m = max(ground_m, float(geom.pos[2] + model.hfield_size[model.geom_dataid[i], 2]))
        else:
            ground_m = math.inf  # slopes, buildings: contacts may be anywhere
    return ground_m + reach_m + CLEARANCE_M
