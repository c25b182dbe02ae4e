"""Wheels and skids: springs and dampers that stand on the ground, with friction along and across them.

For each contact point at r_B, d is its depth below the plane of the ground with the normal n, and v its velocity:

    N = max(0, k d - c v.n) while d > 0
    F = N n - N mu_r v_f/sqrt(v_f^2 + e^2) f - N mu_s v_l/sqrt(v_l^2 + e^2) l

f is the wheel's direction in that plane, turned by its steering, l points to its left. The friction is Coulomb's with
a continuous sign: below the slip speed e it is proportional to the slip, so a side load that is less than mu_s N makes
the wheel creep, by less than e. A skid has equal coefficients along and across.
"""

from __future__ import annotations

from typing import Annotated

import casadi as ca

from aeroloop.core.config import Config, meta
from aeroloop.core.frames import Vec3
from aeroloop.models import rigid_body
from aeroloop.models.rigid_body import POS, QUAT, RATE, VEL

SLIP_M_S = 0.1
"""Slip speed e."""
PLANE = 3
"""Ground as z = a + b x + c y: a, b, c."""
TINY = 1e-12


class Wheel(Config, frozen=True):
    """A wheel or a skid."""

    pos_B_m: Annotated[Vec3, meta("m", "its lowest point, unloaded, from the centre of mass: forward, left, up")]
    stiffness_N_m: Annotated[float, meta("N/m", "of tyre and strut", gt=0, le=1e7)]
    damping_Ns_m: Annotated[float, meta("N s/m", "of tyre and strut", ge=0, le=1e6)]
    rolling: Annotated[float, meta("-", "coefficient of friction along it; of a skid as much as `side`", ge=0, le=2)]
    side: Annotated[float, meta("-", "coefficient of friction across it", ge=0, le=2)]
    travel_m: Annotated[float, meta("m", "compression at which it breaks: the flight ends as crashed", gt=0, le=10)]
    steering: Annotated[
        float, meta("-", "its angle for each angle of the rudder; positive: it steers the way the rudder does", ge=-10)
    ] = 0.0


def wrench_B(gear: tuple[Wheel, ...], state: ca.SX, rudder: ca.SX, plane: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Force (N) and torque (N m) of all wheels in body axes."""
    R_WB = rigid_body.rotation(state[QUAT])
    normal_W = ca.vertcat(-plane[1], -plane[2], 1)
    normal_W /= ca.norm_2(normal_W)
    force_B, torque_B = ca.SX.zeros(3), ca.SX.zeros(3)
    for wheel in gear:
        at_B = ca.DM(wheel.pos_B_m)
        at_W = state[POS] + R_WB @ at_B
        vel_W = state[VEL] + R_WB @ ca.cross(state[RATE], at_B)
        depth_m = normal_W[2] * (plane[0] + plane[1] * at_W[0] + plane[2] * at_W[1] - at_W[2])
        load_N = wheel.stiffness_N_m * depth_m - wheel.damping_Ns_m * ca.dot(vel_W, normal_W)
        load_N = ca.if_else(depth_m > 0, ca.fmax(load_N, 0), 0)
        turned = wheel.steering * rudder
        ahead_W = R_WB @ ca.vertcat(ca.cos(turned), ca.sin(turned), 0)
        ahead_W -= ca.dot(ahead_W, normal_W) * normal_W
        ahead_W /= ca.sqrt(ca.sumsqr(ahead_W) + TINY)
        left_W = ca.cross(normal_W, ahead_W)
        along, across = (_sign(ca.dot(vel_W, axis)) for axis in (ahead_W, left_W))
        own_B = R_WB.T @ (load_N * (normal_W - wheel.rolling * along * ahead_W - wheel.side * across * left_W))
        force_B, torque_B = force_B + own_B, torque_B + ca.cross(at_B, own_B)
    return force_B, torque_B


def _sign(slip_m_s: ca.SX) -> ca.SX:
    return slip_m_s / ca.sqrt(slip_m_s**2 + SLIP_M_S**2)
