"""Forces and motion of a tilt-rotor for the log: of all its bodies together, about their common centre of mass.

Thrusts and drag push the aircraft; the servos' torques act between its bodies and cancel, except in the energy. Momenta
are MuJoCo's sums over the bodies; forces are added here from the thrusts in the axes of the pods at that time. MuJoCo's
accelerations serve for the middle of a step, and for the power of its turning discs, alone.
"""

from __future__ import annotations

import mujoco
import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.core.signals import Effort
from aeroloop.families.tiltrotor.turning_earth import Joints, OnTurningEarth
from aeroloop.families.tiltrotor.turning_rotors import TurningRotors
from aeroloop.sim.balance import STILL, Account, Stage, State, middle_quat
from aeroloop.world.clearance import Clearance
from aeroloop.world.multibody import DRAGGED, INPUTS, Drag, Multibody, whole_inertia_W
from aeroloop.world.surroundings import Surroundings

NO_AIR = (STILL, 0.0)
AIRFRAME = 1
"""The body with the free joint; all others hang on it."""
QUAT, RATE = slice(3, 7), slice(3, 6)


class TiltrotorLedger:
    """`sim.balance.Ledger` of a tilt-rotor."""

    def __init__(
        self,
        world: Multibody,
        air: tuple[Surroundings, Drag | None] | None,
        turn_W: Vec3 | None,
        turning: OnTurningEarth | None,
    ) -> None:
        """`air`: what surrounds it, and its drag in it. `turning`: its motion, if the earth turns."""
        self._world, self._air, self._turning = world, air, turning
        self._model, self._clearance = world.engine.model, Clearance(world.engine.model)
        self._data = mujoco.MjData(self._model)
        self._rotors = world if isinstance(world, TurningRotors) else None
        self._discs = [] if self._rotors is None else self._rotors.disc_rates
        self._turn_W: Vec = np.array(turn_W or STILL)

    def begin(self, dt_s: float) -> None:
        self._dt_s, self._was = dt_s, self._motion()
        self._near = self._clearance.near(self._was.qpos)
        self._held_air, self._drag_B = NO_AIR, np.zeros(3)
        if self._air is not None:
            around, drag = self._air
            self._held_air = around.air.wind_W, around.air.density_kg_m3
            if drag is not None:
                self._flow = self._world.mid_step_air(around.air, dt_s)
                self._drag_B = np.array(drag(*self._flow, around.air.density_kg_m3))

    def end(self, effort: Effort) -> Account:
        was, now = self._was, self._motion()
        stepped = now if self._turning is None else self._turning.stepped
        ctrl = self._ctrl(effort)
        if self._rotors is not None:
            self._spin(was, self._rotors.turned[0])
            self._spin(now, self._rotors.turned[1])
            self._spin(stepped, self._rotors.turned[1])
        before, start, was_accel = self._at(was, ctrl)
        _, end, end_accel = self._at(stepped, ctrl)
        _, middle, _ = self._at(self._middle(was, was_accel, stepped, end_accel), ctrl)
        after, _, _ = self._at(now, ctrl)
        supported = self._near or self._clearance.near(now.qpos)
        mass_kg = float(self._model.body_subtreemass[AIRFRAME])
        stages = start, middle, end
        return Account(before, after, stages, mass_kg, supported, self._held_air, self._turn_W)

    def _ctrl(self, effort: Effort) -> Vec:
        """Of the model's actuators; the torques that speed up the rotors are those that it has used."""
        ctrl: Vec = self._world.engine.ctrl.copy()
        ctrl[:INPUTS] = (*effort.thrust_N, *effort.tilt_torque_Nm)
        if self._air is None or self._air[1] is None:
            return ctrl
        ctrl[INPUTS:DRAGGED] = self._drag_B
        rotors = self._rotors
        if rotors is not None and rotors.drags:
            tilts_rad = rotors.tilts_rad(self._was.qpos.tolist(), self._was.qvel.tolist(), 0.5 * self._dt_s)
            speeds_rad_s = [0.5 * (was + now) for was, now in zip(*rotors.turned, strict=True)]
            ctrl[rotors.drags] = rotors.rotor_drag_N(self._flow, tilts_rad, speeds_rad_s)
        return ctrl

    def _spin(self, joints: Joints, speed_rad_s: tuple[float, float]) -> None:
        """Discs begin a step with the speeds of its thrusts."""
        assert self._rotors is not None
        if self._discs:
            joints.qvel[self._discs] = self._rotors.disc_rad_s(speed_rad_s)

    def _motion(self) -> Joints:
        return Joints(self._world.engine.qpos.copy(), self._world.engine.qvel.copy())

    def _middle(self, was: Joints, was_accel: Vec, now: Joints, now_accel: Vec) -> Joints:
        """As in `sim.balance`."""
        eighth_s = self._dt_s / 8.0
        qvel = 0.5 * (was.qvel + now.qvel) + eighth_s * (was_accel - now_accel)
        qpos = np.empty_like(was.qpos)
        # Of the free joint three velocities and three rates; of each hinge one of both.
        for places, rates in ((slice(0, 3), slice(0, 3)), (slice(7, None), slice(6, None))):
            ends = was.qpos[places] + now.qpos[places]
            qpos[places] = 0.5 * ends + eighth_s * (was.qvel[rates] - now.qvel[rates])
        qpos[QUAT] = middle_quat(was.qpos[QUAT], was.qvel[RATE], now.qpos[QUAT], now.qvel[RATE], self._dt_s)
        return Joints(qpos, qvel)

    def _at(self, motion: Joints, ctrl: Vec) -> tuple[State, Stage, Vec]:
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
        kinetic_J, power_W = self._energy(motion.qvel)
        state = State(
            centre_W,
            data.subtree_linvel[AIRFRAME].copy(),
            motion.qpos[QUAT].copy(),
            motion.qvel[RATE].copy(),
            data.subtree_angmom[AIRFRAME] + whole_inertia_W(model, data) @ self._turn_W,
            kinetic_J,
        )
        rate_dot_B = data.qacc[RATE].copy()
        stage = Stage(R_WB.T @ force_W, R_WB.T @ moment_W, rate_dot_B, model.opt.gravity.copy(), power_W)
        return state, stage, data.qacc.copy()

    def _energy(self, qvel: Vec) -> tuple[float, float]:
        """Kinetic energy and power, both without what turns the discs relative to their pods: that energy is a hundred
        times a rotor's and more (`airframe.FASTER`). What is left of a disc is the part that its momentum has in the
        motion of its pod."""
        model, data = self._model, self._data
        if not self._discs:
            return float(data.energy[1]), float(data.qfrc_actuator @ qvel)
        mass = np.empty((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        mass[self._discs, self._discs] = 0.0
        others, spins = np.delete(np.arange(model.nv), self._discs), self._discs
        force, accel = data.qfrc_actuator, data.qacc
        if self._turning is not None:  # over all joints its forces do no work
            force, accel = force + self._turning.lacking, accel + self._turning.accel
        coupling_Nm = mass[spins] @ accel + data.qfrc_bias[spins]
        power_W = force[others] @ qvel[others] + coupling_Nm @ qvel[spins]
        return float(0.5 * qvel @ mass @ qvel), float(power_W)
