"""Design model of a multirotor with upright rotors: a rigid body, rotors and the air. Four rotors or any other number.

State: (pos_W, quat_WB, vel_W, rate_B). Inputs: rotor speeds and their rates of change, wind, air density, gravity.
Reference: Nguyen 2018, equations 2.1 to 2.4; rotor drag, spin-up torque and a quaternion are added. The world
describes the same aircraft independently.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from msgspec import Struct

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Vec
from aeroloop.models import linear, rigid_body, rotors
from aeroloop.models.rigid_body import QUAT, RATE, STATES, VEL

ERRORS = 12
"""Error state near hover: position, rotation vector, velocity, body rates. No redundant number, so it linearises."""


class Parameters(Struct, frozen=True, kw_only=True):
    body: rigid_body.Body
    rotors: rotors.Rotors


def state_dot(p: Parameters) -> ca.Function:
    """(state (13,), speed (n,), spin-up (n,), wind_W (3,), density, gravity) -> derivative of the state."""
    n = p.rotors.count
    state, speed, spin_up = ca.SX.sym("state", STATES), ca.SX.sym("speed", n), ca.SX.sym("spin_up", n)
    wind_W, density, gravity = ca.SX.sym("wind_W", 3), ca.SX.sym("density"), ca.SX.sym("gravity")
    vel_air_B = rigid_body.rotation(state[QUAT]).T @ (state[VEL] - wind_W)
    force, torque = rotors.wrench_B(vel_air_B, state[RATE], speed, spin_up, density, p.rotors)
    force += rigid_body.drag_B(vel_air_B, density, p.body.drag_area_m2)
    return ca.Function(
        "state_dot",
        [state, speed, spin_up, wind_W, density, gravity],
        [rigid_body.state_dot(state, force, torque, gravity, p.body)],
        ["state", "speed_rad_s", "spin_up_rad_s2", "wind_W", "density_kg_m3", "gravity_m_s2"],
        ["state_dot"],
    )


def dynamics(p: Parameters) -> ca.Function:
    """The same with one stacked input, for integrators: (state, (speed, spin-up, wind, density, gravity))."""
    n = p.rotors.count
    state, u = ca.SX.sym("state", STATES), ca.SX.sym("u", 2 * n + 5)
    parts = (u[:n], u[n : 2 * n], u[2 * n : 2 * n + 3], u[2 * n + 3], u[2 * n + 4])
    return ca.Function("dynamics", [state, u], [state_dot(p)(state, *parts)], ["state", "u"], ["state_dot"])


def hover_speeds_rad_s(p: Parameters, gravity_m_s2: float = GRAVITY_M_S2) -> Vec:
    """(n,) Speeds that hover level in still air of the coefficients' density.

    With more than four rotors many speeds do; these have the least sum of fourth powers (least squares of thrust).
    """
    r = p.rotors
    pos, spin, share = np.array(r.pos_B_m), np.array(r.spin, dtype=float), np.array(r.shares)
    per_thrust = np.vstack([share, share * pos[:, 1], -share * pos[:, 0], -spin * r.torque_to_thrust_m])
    wanted = np.array([p.body.mass_kg * gravity_m_s2, 0.0, 0.0, 0.0])
    thrust = np.linalg.lstsq(per_thrust, wanted, rcond=None)[0]
    if np.max(np.abs(per_thrust @ thrust - wanted)) > 1e-9 * wanted[0] or np.min(thrust) <= 0.0:
        raise ConfigError(
            "rotors: expected positions and directions that balance thrust and torques at hover; no thrusts do"
        )
    speeds: Vec = np.sqrt(thrust / r.thrust_Ns2)
    return speeds


def error_dynamics(p: Parameters, gravity_m_s2: float = GRAVITY_M_S2) -> ca.Function:
    """(error state (12,), speed (n,)) -> derivative, in still air of the coefficients' density.

    The quaternion is (sqrt(1 - |e/2|^2), e/2): near level with yaw 0, e is the rotation vector.
    """
    n = p.rotors.count
    error, speed = ca.SX.sym("error", ERRORS), ca.SX.sym("speed", n)
    half = error[3:6] / 2
    state = ca.vertcat(error[:3], ca.sqrt(1 - ca.sumsqr(half)), half, error[6:])
    dot = state_dot(p)(state, speed, ca.DM.zeros(n), ca.DM.zeros(3), p.rotors.density_kg_m3, gravity_m_s2)
    return ca.Function("error_dynamics", [error, speed], [ca.vertcat(dot[:3], 2 * dot[4:7], dot[7:])])


def hover_linear(p: Parameters, gravity_m_s2: float = GRAVITY_M_S2) -> tuple[Vec, Vec, Vec]:
    """A (12, 12) and B (12, n) at hover, and the speeds (n,) it is linear about."""
    speeds = hover_speeds_rad_s(p, gravity_m_s2)
    A, B = linear.linearise(error_dynamics(p, gravity_m_s2), np.zeros(ERRORS), speeds)
    return A, B, speeds
