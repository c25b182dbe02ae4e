"""Integration of a continuous CasADi model: one classical Runge-Kutta step."""

from __future__ import annotations

import casadi as ca


def rk4(dynamics: ca.Function) -> ca.Function:
    """(state, input, dt) -> state after dt with the input held."""
    state = ca.SX.sym("state", dynamics.size1_in(0))
    u = ca.SX.sym("u", dynamics.size1_in(1))
    dt = ca.SX.sym("dt")
    k1 = dynamics(state, u)
    k2 = dynamics(state + dt / 2 * k1, u)
    k3 = dynamics(state + dt / 2 * k2, u)
    k4 = dynamics(state + dt * k3, u)
    return ca.Function("rk4", [state, u, dt], [state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])
