"""The robot that moves: in MuJoCo, with loops closed by constraints, or by its reduced equations.

Both take torque commands and what acts on the robot, and give the platform's pose and rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np

from aeroloop.codegen.host import fastest
from aeroloop.core.angles import wrap_pi
from aeroloop.core.frames import Vec
from aeroloop.families.rrr import dynamics
from aeroloop.families.rrr.disturbances import NOTHING, Acting
from aeroloop.families.rrr.kinematics import Kinematics
from aeroloop.families.rrr.robot import LEG_ANGLES_RAD, LEGS, Robot
from aeroloop.models import integrate

STEP_S = 0.001
"""Longest step that the closed loops bear."""


class Plant(Protocol):
    @property
    def torque(self) -> list[float]:
        """Torque of each motor."""

    @property
    def motion(self) -> list[float]:
        """Pose, then rate of the platform."""

    @property
    def q(self) -> list[float]:
        """Angles of the driven joints."""

    def step(self, command: Sequence[float], acts: Acting, dt_s: float) -> None: ...

    @property
    def coordinates(self) -> tuple[Vec, Vec]:
        """All coordinates of its equations, and their rates."""

    def work(self, coordinates: Vec, rates: Vec, torque: Vec, acts: Acting) -> Work:
        """What forces do in this motion; the motion itself stays."""


class Work(NamedTuple):
    kinetic_J: float
    power_W: float
    accelerations: Vec


class Reduced:
    """Three coordinates, by Runge-Kutta 4."""

    def __init__(self, robot: Robot, motion: Sequence[float]) -> None:
        self._robot = robot
        self._run = fastest(integrate.rk4(dynamics.dynamics(robot)))
        self._state = [*motion, *NOTHING]
        self._kinematics = Kinematics(robot)

    @property
    def torque(self) -> list[float]:
        return self._state[dynamics.TORQUE]

    @property
    def motion(self) -> list[float]:
        return self._state[:6]

    @property
    def q(self) -> list[float]:
        return list(self._kinematics.at(self._state[dynamics.POSE]).q)

    def step(self, command: Sequence[float], acts: Acting, dt_s: float) -> None:
        state, u, dt = self._run.inputs
        state[:] = self._state
        u[:] = (*command, *acts.load_Nm, *acts.shares, *acts.friction, *acts.payload)
        dt[:] = dt_s
        self._run()
        self._state = self._run.outputs[0].tolist()

    @property
    def coordinates(self) -> tuple[Vec, Vec]:
        state = np.array(self._state)
        return state[dynamics.POSE], state[dynamics.RATE]

    def work(self, coordinates: Vec, rates: Vec, torque: Vec, acts: Acting) -> Work:
        mass, h, at_q, q_rate, kinetic_J = dynamics.terms(self._robot)(coordinates, rates, acts.payload)
        dry, viscous = acts.friction
        joints = np.array(acts.shares) * torque + acts.load_Nm
        joints = joints - np.array(dynamics.friction(q_rate, dry, viscous)).ravel()
        accelerations = np.linalg.solve(np.array(mass), np.array(at_q).T @ joints - np.array(h).ravel())
        return Work(float(kinetic_J), float(joints @ np.array(q_rate).ravel()), accelerations)


class Multibody:
    """Seven bodies in MuJoCo; each leg ends in a constraint at the platform."""

    _other: Any  # data for `work`, made when first needed

    def __init__(self, robot: Robot, motion: Sequence[float]) -> None:
        self._robot = robot
        self._load(NOTHING)
        self._place(motion)

    def _place(self, motion: Sequence[float]) -> None:
        """Put all bodies where this pose and rate of the platform have them."""
        pose, rate = motion[:3], np.array(motion[3:6])
        kinematics, data = Kinematics(self._robot), self._data
        reached = kinematics.at(pose)
        q_rate = kinematics.jacobian(pose) @ rate
        for leg, (q, distal) in enumerate(zip(reached.q, reached.distal, strict=True)):
            data.qpos[2 * leg : 2 * leg + 2] = q, wrap_pi(distal - q)
            data.qvel[2 * leg : 2 * leg + 2] = q_rate[leg], self._distal_rate(pose, rate, leg, q, distal, q_rate[leg])
        data.qpos[2 * LEGS :], data.qvel[2 * LEGS :] = pose, rate
        mujoco.mj_forward(self._model, data)

    def _distal_rate(self, pose: Sequence[float], rate: Vec, leg: int, q: float, distal: float, q_rate: float) -> float:
        """Relative to the driven link: the joint's velocity across the link, over its length."""
        robot, angle = self._robot, LEG_ANGLES_RAD[leg] + pose[2]
        joint = rate[:2] + rate[2] * robot.platform_m * np.array([-math.sin(angle), math.cos(angle)])
        elbow = q_rate * robot.proximal_m * np.array([-math.sin(q), math.cos(q)])
        across = np.array([-math.sin(distal), math.cos(distal)])
        return float(across @ (joint - elbow)) / robot.distal_m - q_rate

    @property
    def torque(self) -> list[float]:
        torque: list[float] = self._data.act.tolist()
        return torque

    @property
    def motion(self) -> list[float]:
        return [*self._data.qpos[2 * LEGS :].tolist(), *self._data.qvel[2 * LEGS :].tolist()]

    @property
    def q(self) -> list[float]:
        q: list[float] = self._data.qpos[0 : 2 * LEGS : 2].tolist()
        return q

    @property
    def gap_m(self) -> float:
        """Largest distance between a leg's end and its joint on the platform."""
        data = self._data
        ends = [data.site(f"end{i}").xpos - data.site(f"joint{i}").xpos for i in range(LEGS)]
        return float(np.linalg.norm(ends, axis=1).max())

    def step(self, command: Sequence[float], acts: Acting, dt_s: float) -> None:
        if acts.payload != self._payload:
            self._carry(acts.payload)
        model, data = self._model, self._data
        q_rate = data.qvel[0 : 2 * LEGS : 2]
        dry, viscous = acts.friction
        drag = dry * np.tanh(q_rate / dynamics.SMOOTH_RAD_S) + viscous * q_rate
        data.ctrl[:] = command
        data.qfrc_applied[0 : 2 * LEGS : 2] = acts.load_Nm - drag
        model.actuator_gear[:, 0] = acts.shares
        model.opt.timestep = dt_s
        mujoco.mj_step(model, data)

    @property
    def coordinates(self) -> tuple[Vec, Vec]:
        return self._data.qpos.copy(), self._data.qvel.copy()

    def work(self, coordinates: Vec, rates: Vec, torque: Vec, acts: Acting) -> Work:
        """Friction is held over a step, as `step` has set it; the forces that close the loops work too, since they
        yield."""
        if self._other is None:
            self._other = mujoco.MjData(self._model)
        model, data = self._model, self._other
        data.qpos[:], data.qvel[:], data.act[:] = coordinates, rates, torque
        data.qfrc_applied[:] = self._data.qfrc_applied
        mujoco.mj_forward(model, data)
        mujoco.mj_energyVel(model, data)
        force = data.qfrc_actuator + data.qfrc_applied + data.qfrc_constraint
        return Work(float(data.energy[1]), float(force @ rates), data.qacc.copy())

    def _carry(self, payload: Sequence[float]) -> None:
        """A new model with the payload, in the same state."""
        was = self._data
        self._load(payload)
        for name in ("qpos", "qvel", "act", "qacc_warmstart"):
            getattr(self._data, name)[:] = getattr(was, name)
        mujoco.mj_forward(self._model, self._data)

    def _load(self, payload: Sequence[float]) -> None:
        self._payload = payload
        self._model: Any = mujoco.MjModel.from_xml_string(model_xml(self._robot, payload))
        self._data: Any = mujoco.MjData(self._model)
        self._other = None


def model_xml(robot: Robot, payload: Sequence[float]) -> str:
    """Platform and payload are one body. About axes in the plane the inertias do not matter."""
    mass_kg, x_m, y_m = payload
    total_kg = robot.platform_kg + mass_kg
    moved = mass_kg / total_kg
    inertia = robot.platform_kgm2 + robot.platform_kg * moved * (x_m**2 + y_m**2)

    def bar(mass_kg: float, length_m: float) -> str:
        return f'<inertial mass="{mass_kg}" pos="{length_m / 2} 0 0" diaginertia="1 1 {mass_kg * length_m**2 / 12}"/>'

    chains, ends, links, motors = "", "", "", ""
    for i, angle in enumerate(LEG_ANGLES_RAD):
        x, y = math.cos(angle), math.sin(angle)
        chains += f"""
        <body name="proximal{i}" pos="{robot.base_m * x} {robot.base_m * y} 0">
          <joint name="q{i}" axis="0 0 1" armature="{robot.motor_kgm2}"/>
          {bar(robot.proximal_kg, robot.proximal_m)}
          <body name="distal{i}" pos="{robot.proximal_m} 0 0"><joint name="elbow{i}" axis="0 0 1"/>
            {bar(robot.distal_kg, robot.distal_m)}
            <site name="end{i}" pos="{robot.distal_m} 0 0"/>
          </body>
        </body>"""
        ends += f'<site name="joint{i}" pos="{robot.platform_m * x} {robot.platform_m * y} 0"/>'
        links += f'<connect site1="end{i}" site2="joint{i}" solref="0.004 1" solimp="0.9999 0.9999 0.001"/>'
        motors += f'<general joint="q{i}" dyntype="filter" dynprm="{robot.torque_lag_s}"/>'
    return f"""
    <mujoco>
      <compiler balanceinertia="false" boundinertia="0"/>
      <option integrator="RK4" timestep="{STEP_S}" gravity="0 0 0"><flag contact="disable"/></option>
      <worldbody>{chains}
        <body name="platform">
          <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
          <joint name="angle" axis="0 0 1"/>
          <inertial mass="{total_kg}" pos="{moved * x_m} {moved * y_m} 0" diaginertia="1 1 {inertia}"/>
          {ends}
        </body>
      </worldbody>
      <equality>{links}</equality>
      <actuator>{motors}</actuator>
    </mujoco>"""
