"""The world of a tilt-rotor whose rotors turn, with angular momentum, drag, or both.

A rotor is a disc on a hinge, which turns as fast as its thrust needs: MuJoCo computes the gyroscopic torques in every
stage of a step. Its speed changes within the step in which the thrust changes, and its pod takes the reaction. The
drag of the rotors is held over a step at its value in the middle, as that of the airframe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco

from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.signals import NS, Air, Effort, Truth
from aeroloop.families.tiltrotor.airframe import ARMATURE_KGM2, FASTER, SIDES
from aeroloop.models.tiltrotor import Parameters
from aeroloop.world.airflow import mid_step
from aeroloop.world.feet import Feet
from aeroloop.world.multibody import Drag, Multibody

Pair = tuple[float, float]


class TurningRotors(Multibody):
    def __init__(self, model: mujoco.MjModel, p: Parameters, feet: Feet | None = None) -> None:
        super().__init__(model, feet)
        self._p, self._thrust_N, self._speed = p, (-1.0, -1.0), (math.nan, math.nan)
        self.turned = self._speed, self._speed
        """Speeds at the start and the end of the last step, rad/s."""
        self.disc_rates: list[int] = []
        """Of the discs' hinges, in `qvel`."""
        self._has_discs, self._senses = p.rotor_inertia_kgm2 > 0, [-spin * FASTER for spin in p.spin]
        if self._has_discs:
            self.disc_rates = [int(model.joint(f"spin_{side}").dofadr[0]) for side in SIDES]
            self._tilts = [int(model.joint(f"tilt_{side}").qposadr[0]) for side in SIDES]
            self._tilt_rates = [int(model.joint(f"tilt_{side}").dofadr[0]) for side in SIDES]
            self._spin = [int(model.actuator(f"spin_{side}").id) for side in SIDES]
        else:
            self._tilts, self._tilt_rates = [7, 8], [6, 7]
        names = [f"rotor_drag_{side}_{axis}" for side in SIDES for axis in "xy"]
        known = {model.actuator(i).name for i in range(model.nu)}
        self.drags = [int(model.actuator(name).id) for name in names if name in known]
        """Of the rotors' drag along x and y of their pods, in `ctrl`."""

    def reset(
        self,
        pos_W: Vec3,
        quat_WB: Quat,
        hinges_rad: Pair,
        *,
        vel_W: Vec3 = (0.0, 0.0, 0.0),
        rate_B: Vec3 = (0.0, 0.0, 0.0),
        hinge_rates_rad_s: Pair = (0.0, 0.0),
    ) -> None:
        self._speed, self._thrust_N = (math.nan, math.nan), (-1.0, -1.0)
        if not self._has_discs:
            super().reset(pos_W, quat_WB, hinges_rad, vel_W=vel_W, rate_B=rate_B, hinge_rates_rad_s=hinge_rates_rad_s)
            return
        self._held = None
        self._change[:] = 0.0
        angles = [0.0] * 4
        rates = [0.0] * 4
        for i in range(2):
            angles[self._tilts[i] - 7], rates[self._tilt_rates[i] - 6] = hinges_rad[i], hinge_rates_rad_s[i]
        self._engine.reset((*pos_W, *quat_WB, *angles), (*vel_W, *rate_B, *rates))

    def step(self, effort: Effort, dt_ns: int) -> None:
        """The first step after a reset begins with rotors that turn already."""
        speed = self._speeds(effort)
        self.turned = (speed if math.isnan(self._speed[0]) else self._speed), speed
        if self._has_discs:
            inertia = self._p.rotor_inertia_kgm2 / FASTER + ARMATURE_KGM2
            for sense, joint, motor, was, now in zip(
                self._senses, self.disc_rates, self._spin, *self.turned, strict=True
            ):
                self._engine.qvel[joint] = sense * was
                self._engine.ctrl[motor] = sense * inertia * (now - was) * NS / dt_ns
        super().step(effort, dt_ns)
        self._speed = speed

    def disc_rad_s(self, speed_rad_s: Pair) -> list[float]:
        """Of the discs' hinges."""
        return [sense * speed for sense, speed in zip(self._senses, speed_rad_s, strict=True)]

    def step_in_air(self, effort: Effort, air: Air, drag: Drag, dt_ns: int) -> None:
        if self.drags:
            self._engine.ctrl[self.drags] = self._drag(effort, air, 0.5 * dt_ns / NS)
        super().step_in_air(effort, air, drag, dt_ns)

    def state(self, t_ns: int) -> Truth:
        if not self._has_discs:
            return super().state(t_ns)
        x, y, z, qw, qx, qy, qz, *angles = self._engine.qpos.tolist()
        vx, vy, vz, p, q, r, *rates = self._engine.qvel.tolist()
        right, left = (angles[at - 7] for at in self._tilts)
        rate_right, rate_left = (rates[at - 6] for at in self._tilt_rates)
        velocities = (vx, vy, vz), (p, q, r), (right, left), (rate_right, rate_left)
        return Truth(t_ns, (x, y, z), (qw, qx, qy, qz), *velocities)

    def _speeds(self, effort: Effort) -> Pair:
        if effort.thrust_N != self._thrust_N:
            self._thrust_N = effort.thrust_N
            right, left = (math.sqrt(max(thrust, 0.0) / self._p.thrust_Ns2) for thrust in effort.thrust_N)
            self._new_speed = right, left
        return self._new_speed

    def _drag(self, effort: Effort, air: Air, half_s: float) -> list[float]:
        """With the mean speed of the step."""
        speeds = [
            now if math.isnan(was) else 0.5 * (was + now)
            for was, now in zip(self._speed, self._speeds(effort), strict=True)
        ]
        qpos, qvel = self._engine.qpos.tolist(), self._engine.qvel.tolist()
        flow = mid_step(qpos, qvel, self._change.tolist(), air.wind_W, half_s)
        return self.rotor_drag_N(flow, self.tilts_rad(qpos, qvel, half_s), speeds)

    def tilts_rad(self, qpos: Sequence[float], qvel: Sequence[float], half_s: float) -> list[float]:
        """So long after this motion."""
        return [qpos[at] + half_s * qvel[rate] for at, rate in zip(self._tilts, self._tilt_rates, strict=True)]

    def rotor_drag_N(
        self, flow: tuple[Vec3, Vec3], tilts_rad: Sequence[float], speeds_rad_s: Sequence[float]
    ) -> list[float]:
        """-c W v of each rotor along x and y of its pod; `flow`: velocity through the air in B and body rates."""
        p, ((u, v, w), (roll, pitch, yaw)) = self._p, flow
        forces: list[float] = []
        for i, (inward, tilt, speed) in enumerate(zip((-1.0, 1.0), tilts_rad, speeds_rad_s, strict=True)):
            x, y, z = p.pod_pivot_B_m[i]
            a, b, c = u + pitch * z - yaw * y, v + yaw * x - roll * z, w + roll * y - pitch * x
            sin_cant, cos_cant = math.sin(inward * p.cant_rad), math.cos(inward * p.cant_rad)
            side, up = cos_cant * b + sin_cant * c, cos_cant * c - sin_cant * b
            forward = math.cos(tilt) * a - math.sin(tilt) * up
            forces += (-p.rotor_drag_Ns2_m * speed * forward, -p.rotor_drag_Ns2_m * speed * side)
        return forces
