"""Discrete LQR with integral action: the gain, and the law as a CasADi function.

    u = u_eq - K (X - X_ref),   X = (state, integral of the errors in x, y, z and yaw)

The integrals follow the trapezoidal rule: i_k = i_{k-1} + T/2 (e_k + e_{k-1}). The gain is designed at yaw 0.
`heading=True` rotates horizontal errors into the heading frame first, so that the same gain flies any heading; the
paper's law does not.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from aeroloop.control import toolkit
from aeroloop.control.toolkit import VX, VY, YAW, X, Y, Z
from aeroloop.core.frames import Vec

INTEGRATED = (X, Y, Z, YAW)
"""x, y, z and yaw among the sixteen states."""

HORIZONTAL = ((X, Y), (VX, VY), (16, 17))
"""Pairs among the twenty augmented states that turn with the heading: position, velocity, position integral."""

LAW_STATE = 2 * len(INTEGRATED)
"""State of the law: the integrals, then the errors of the previous cycle."""


def gain(Ad: Vec, Bd: Vec, state_weights: Vec, input_weights: Vec) -> Vec:
    """K of the infinite-horizon discrete LQR, through the Riccati equation."""
    from scipy.linalg import solve_discrete_are  # slow to import, and most processes of a flight need no design

    Q, R = np.diag(state_weights), np.diag(input_weights)
    P = solve_discrete_are(Ad, Bd, Q, R)
    return np.linalg.solve(R + Bd.T @ P @ Bd, Bd.T @ P @ Ad)


def law(K: Vec, state_eq: Vec, u_eq: Vec, period_s: float, *, heading: bool) -> ca.Function:
    """(sensors (16,), reference (8,), law state (8,)) -> (command (4,), law state (8,))."""
    sensors, reference, memory = toolkit.inputs(LAW_STATE)
    error = toolkit.error(sensors, reference, state_eq)
    tracked = ca.vertcat(*(error[i] for i in INTEGRATED))
    integral, previous = memory[: len(INTEGRATED)], memory[len(INTEGRATED) :]
    integral = integral + period_s / 2 * (tracked + previous)
    augmented = ca.vertcat(error, integral)
    if heading:
        cos_yaw, sin_yaw = ca.cos(sensors[YAW]), ca.sin(sensors[YAW])
        to_heading = ca.vertcat(ca.horzcat(cos_yaw, sin_yaw), ca.horzcat(-sin_yaw, cos_yaw))
        for east, north in HORIZONTAL:
            augmented[[east, north]] = to_heading @ augmented[[east, north]]
    command = ca.DM(u_eq) - ca.DM(K) @ augmented
    return toolkit.function(sensors, reference, memory, command, ca.vertcat(integral, tracked))
