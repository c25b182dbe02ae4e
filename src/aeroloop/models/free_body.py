"""A rigid body that falls around a rotating earth, in earth-fixed axes E, as CasADi expressions.

    r' = v,                            v' = R_EB f_B / m + g(r) - 2 W x v - W x (W x r)
    q_EB' = 1/2 q_EB (0, w - R_BE W),  I w' + w x I w = t_B

E turns with the earth: x through latitude and longitude 0, z through the north pole. w is the rate with respect to
inertial space, which is what gyros measure; g is gravitation alone, so that the centrifugal acceleration is a term of
its own. State: (pos_E, quat_EB, vel_E, rate_B), 13 numbers, in the order of `rigid_body`.

Gravitation with J2: NIMA TR8350.2; g = -mu r / |r|^3 where the earth is a sphere.
"""

from __future__ import annotations

from typing import Any, Literal

import casadi as ca

from aeroloop.core.geodesy import A_M
from aeroloop.models.rigid_body import POS, QUAT, RATE, VEL, quat_dot, rotation

MU_M3_S2 = 3.986004418e14
J2 = 1.08262982e-3

Field = Literal["j2", "inverse-square"]


def gravitation_E(pos_E: ca.SX, field: Field) -> ca.SX:
    """m/s2"""
    r_m = ca.norm_2(pos_E)
    towards = -MU_M3_S2 / r_m**3 * pos_E
    if field == "inverse-square":
        return towards
    flattening = 1.5 * J2 * (A_M / r_m) ** 2
    along = 5.0 * (pos_E[2] / r_m) ** 2
    return towards * (1.0 + flattening * (ca.vertcat(1.0, 1.0, 3.0) - along))


def state_dot(state: ca.SX, force_B: Any, torque_B: Any, body: Any, *, field: Field, earth_rate_rad_s: float) -> ca.SX:
    """`body` has mass_kg and inertia_kgm2, about its principal axes."""
    pos_E, quat, vel_E, rate_B = state[POS], state[QUAT], state[VEL], state[RATE]
    R_EB, inertia = rotation(quat), ca.DM(body.inertia_kgm2)
    turn_E = ca.DM([0.0, 0.0, earth_rate_rad_s])
    fictitious_E = -2.0 * ca.cross(turn_E, vel_E) - ca.cross(turn_E, ca.cross(turn_E, pos_E))
    accel_E = R_EB @ force_B / body.mass_kg + gravitation_E(pos_E, field) + fictitious_E
    rate_dot_B = (torque_B - ca.cross(rate_B, inertia * rate_B)) / inertia
    return ca.vertcat(vel_E, quat_dot(quat, rate_B - R_EB.T @ turn_E), accel_E, rate_dot_B)
