"""A rigid body in the world frame with a quaternion for attitude: Newton and Euler, as CasADi expressions.

    m a_W = R_WB f_B - m g e_z,   I w' + w x I w = t_B,   q' = 1/2 q (0, w)

State: (pos_W, quat_WB, vel_W, rate_B), 13 numbers; the position is that of the centre of mass.
"""

from __future__ import annotations

from typing import Annotated

import casadi as ca

from aeroloop.core.config import Config, meta
from aeroloop.core.frames import Vec3, rotation_rows

STATES = 13
POS, QUAT, VEL, RATE = slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13)

LEAST_KG, LEAST_KGM2 = 1e-3, 1e-9
"""Smaller values are implausible, and the physics engine refuses zero mass."""
Positive = Annotated[float, meta("-", "positive", gt=0)]
Moment = Annotated[float, meta("kg m2", "moment of inertia", ge=LEAST_KGM2)]
NotNegative = Annotated[float, meta("-", "not negative", ge=0)]


class Body(Config, frozen=True):
    """Mass and shape; the body frame is at the centre of mass, along the principal axes of inertia."""

    mass_kg: Annotated[float, meta("kg", "mass with everything on board", ge=LEAST_KG)]
    inertia_kgm2: Annotated[tuple[Moment, Moment, Moment], meta("kg m2", "principal moments of inertia")]
    drag_area_m2: Annotated[
        tuple[NotNegative, NotNegative, NotNegative],
        meta("m2", "drag coefficient times area of the airframe without rotors, for air along x, y and z"),
    ]


def rotation(quat: ca.SX) -> ca.SX:
    """R_WB, exact for a unit quaternion."""
    matrix: ca.SX = ca.vertcat(*(ca.horzcat(*row) for row in rotation_rows(quat)))
    return matrix


def quat_dot(quat: ca.SX, rate_B: ca.SX) -> ca.SX:
    w, v = quat[0], quat[1:4]
    return 0.5 * ca.vertcat(-ca.dot(v, rate_B), w * rate_B + ca.cross(v, rate_B))


def drag_B(vel_air_B: ca.SX, density_kg_m3: ca.SX, drag_area_m2: Vec3) -> ca.SX:
    """Drag of the airframe in N; `vel_air_B` is its velocity through the air."""
    speed = ca.sqrt(ca.sumsqr(vel_air_B) + 1e-12)  # the root of zero has no derivative
    return -0.5 * density_kg_m3 * speed * ca.DM(drag_area_m2) * vel_air_B


def state_dot(state: ca.SX, force_B: ca.SX, torque_B: ca.SX, gravity_m_s2: ca.SX | float, body: Body) -> ca.SX:
    quat, vel_W, rate_B = state[QUAT], state[VEL], state[RATE]
    inertia = ca.DM(body.inertia_kgm2)
    accel_W = rotation(quat) @ force_B / body.mass_kg - ca.vertcat(0, 0, gravity_m_s2)
    rate_dot_B = (torque_B - ca.cross(rate_B, inertia * rate_B)) / inertia
    return ca.vertcat(vel_W, quat_dot(quat, rate_B), accel_W, rate_dot_B)
