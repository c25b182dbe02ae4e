"""Dynamics of a 3-RRR robot in the coordinates of its platform (Lagrange), as CasADi functions.

    T = platform + payload + sum over legs [ (m1 l1^2 / 3 + Jm) q'^2 / 2 + m2 |c'|^2 / 2 + m2 l2^2 / 12 psi'^2 / 2 ]
    M x'' + h = Jq' (torque - friction + load),    torque' = (command - torque) / lag

with M = d2T/dx'2 and h = d(dT/dx')/dx x' - dT/dx; c are the middles of the links to the platform, psi their
directions. The plane is horizontal: gravity does no work.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca

from aeroloop.families.rrr.kinematics import jacobian, legs
from aeroloop.families.rrr.robot import Robot

POSE, RATE, TORQUE, STATES = slice(0, 3), slice(3, 6), slice(6, 9), 9
COMMAND, LOAD, SHARE, FRICTION, PAYLOAD, INPUTS = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 11), slice(11, 14), 14
"""Of the input: torque commands, loads on the joints, fraction that each motor gives, dry and viscous friction, and the
payload's mass and place on the platform."""
SMOOTH_RAD_S = 0.05
"""Dry friction changes its sign over this rate."""


def _kinetic(robot: Robot, pose: Any, rate: Any, payload: Any) -> Any:
    at = legs(robot, pose)
    q_rate = ca.jtimes(at.q, pose, rate)
    distal_rate = ca.jtimes(at.distal, pose, rate)
    middles = ca.vec((at.elbows + at.joints) / 2)
    turned = ca.vertcat(
        ca.cos(pose[2]) * payload[1] - ca.sin(pose[2]) * payload[2],
        ca.sin(pose[2]) * payload[1] + ca.cos(pose[2]) * payload[2],
    )
    payload_rate = ca.jtimes(pose[0:2] + turned, pose, rate)
    driven = robot.proximal_kg * robot.proximal_m**2 / 3 + robot.motor_kgm2
    return 0.5 * (
        robot.platform_kg * ca.sumsqr(rate[0:2])
        + robot.platform_kgm2 * rate[2] ** 2
        + payload[0] * ca.sumsqr(payload_rate)
        + driven * ca.sumsqr(q_rate)
        + robot.distal_kg * ca.sumsqr(ca.jtimes(middles, pose, rate))
        + robot.distal_kg * robot.distal_m**2 / 12 * ca.sumsqr(distal_rate)
    )


@cache
def terms(robot: Robot) -> ca.Function:
    """(pose, rate, payload) -> M, h, Jq, q', kinetic energy."""
    pose, rate, payload = ca.SX.sym("pose", 3), ca.SX.sym("rate", 3), ca.SX.sym("payload", 3)
    energy = _kinetic(robot, pose, rate, payload)
    momentum = ca.gradient(energy, rate)
    mass = ca.jacobian(momentum, rate)
    h = ca.jtimes(momentum, pose, rate) - ca.gradient(energy, pose)
    at_q = jacobian(legs(robot, pose))
    return ca.Function("rrr_terms", [pose, rate, payload], [mass, h, at_q, at_q @ rate, energy])


@cache
def joint_torque(robot: Robot) -> ca.Function:
    """(pose, rate, acceleration, payload) -> torque on the joints, without friction."""
    pose, rate, accel, payload = (ca.SX.sym(name, 3) for name in ("pose", "rate", "accel", "payload"))
    mass, h, at_q, _, _ = terms(robot)(pose, rate, payload)
    return ca.Function("rrr_torque", [pose, rate, accel, payload], [ca.solve(at_q.T, mass @ accel + h)])


@cache
def joint_inertia(robot: Robot) -> float:
    """Diagonal of the inertia seen from the joints, at the centre: the law's model of one joint."""
    mass, _, at_q, _, _ = terms(robot)((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    inverse = ca.inv(at_q)
    return float((inverse.T @ mass @ inverse)[0, 0])


def friction(q_rate: Any, dry: Any, viscous: Any) -> Any:
    return dry * ca.tanh(q_rate / SMOOTH_RAD_S) + viscous * q_rate


@cache
def dynamics(robot: Robot) -> ca.Function:
    """(state (9,), input (14,)) -> derivative of the state."""
    state, u = ca.SX.sym("state", STATES), ca.SX.sym("u", INPUTS)
    mass, h, at_q, q_rate, _ = terms(robot)(state[POSE], state[RATE], u[PAYLOAD])
    torque = u[SHARE] * state[TORQUE] - friction(q_rate, u[FRICTION][0], u[FRICTION][1]) + u[LOAD]
    accel = ca.solve(mass, at_q.T @ torque - h)
    torque_rate = (u[COMMAND] - state[TORQUE]) / robot.torque_lag_s
    return ca.Function("rrr_dynamics", [state, u], [ca.vertcat(state[RATE], accel, torque_rate)])
