"""A rigid body that falls around a rotating earth, in earth-fixed axes E, as CasADi expressions.

    r' = v,                            v' = R_EB f_B / m + g(r) - 2 W x v - W x (W x r)
    q_EB' = 1/2 q_EB (0, w - R_BE W),  I w' + w x I w = t_B

E turns with the earth: x through latitude and longitude 0, z through the north pole. w is the rate with respect to
inertial space, which is what gyros measure; g is gravitation alone, so that the centrifugal acceleration is a term of
its own. State: (pos_E, quat_EB, vel_E, rate_B), 13 numbers, in the order of `rigid_body`.

Gravitation with J2: NIMA TR8350.2; g = -mu r / |r|^3 where the earth is a sphere.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import casadi as ca

from aeroloop.core.frames import Vec3
from aeroloop.core.geodesy import A_M
from aeroloop.models.rigid_body import POS, QUAT, RATE, VEL, quat_dot, rotation

MU_M3_S2 = 3.986004418e14
J2 = 1.08262982e-3

Field = Literal["j2", "inverse-square"]


class Mass(NamedTuple):
    """Of a body symmetric left and right; without the product its axes are principal ones."""

    mass_kg: float
    inertia_kgm2: Vec3
    product_xz_kgm2: float = 0.0  # integral of x z dm with z down

    @property
    def inertia_rows_kgm2(self) -> tuple[Vec3, Vec3, Vec3]:
        x, y, z = self.inertia_kgm2
        xz = self.product_xz_kgm2  # the tensor has -xz in axes with z down, and so +xz in ours
        return (x, 0.0, xz), (0.0, y, 0.0), (xz, 0.0, z)


def gravitation_E(pos_E: ca.SX, field: Field) -> ca.SX:
    """m/s2"""
    r_m = ca.norm_2(pos_E)
    towards = -MU_M3_S2 / r_m**3 * pos_E
    if field == "inverse-square":
        return towards
    flattening = 1.5 * J2 * (A_M / r_m) ** 2
    along = 5.0 * (pos_E[2] / r_m) ** 2
    return towards * (1.0 + flattening * (ca.vertcat(1.0, 1.0, 3.0) - along))


def state_dot(state: ca.SX, force_B: Any, torque_B: Any, body: Mass, *, field: Field, earth_rate_rad_s: float) -> ca.SX:
    pos_E, quat, vel_E, rate_B = state[POS], state[QUAT], state[VEL], state[RATE]
    R_EB = rotation(quat)
    turn_E = ca.DM([0.0, 0.0, earth_rate_rad_s])
    fictitious_E = -2.0 * ca.cross(turn_E, vel_E) - ca.cross(turn_E, ca.cross(turn_E, pos_E))
    accel_E = R_EB @ force_B / body.mass_kg + gravitation_E(pos_E, field) + fictitious_E
    rate_dot_B = _rate_dot_B(body, rate_B, torque_B)
    return ca.vertcat(vel_E, quat_dot(quat, rate_B - R_EB.T @ turn_E), accel_E, rate_dot_B)


def _rate_dot_B(body: Mass, rate_B: ca.SX, torque_B: Any) -> Any:
    inertia = ca.DM(body.inertia_kgm2)
    if not body.product_xz_kgm2:
        return (torque_B - ca.cross(rate_B, inertia * rate_B)) / inertia
    tensor = ca.DM(body.inertia_rows_kgm2)
    return ca.inv(tensor) @ (torque_B - ca.cross(rate_B, tensor @ rate_B))
