"""Linearisation by automatic differentiation, and exact discretisation under a zero-order hold."""

from __future__ import annotations

import casadi as ca
import numpy as np

from aeroloop.core.frames import Vec


def linearise(dynamics: ca.Function, state: Vec, u: Vec) -> tuple[Vec, Vec]:
    """A = df/dx and B = df/du at a point."""
    x, v = ca.SX.sym("x", dynamics.size1_in(0)), ca.SX.sym("v", dynamics.size1_in(1))
    f = dynamics(x, v)
    jacobians = ca.Function("jacobians", [x, v], [ca.jacobian(f, x), ca.jacobian(f, v)])
    A, B = jacobians(state, u)
    return np.array(A), np.array(B)


def with_integrators(A: Vec, B: Vec, integrated: tuple[int, ...]) -> tuple[Vec, Vec]:
    """Append one integrator state for each of the listed states."""
    n, m, k = A.shape[0], B.shape[1], len(integrated)
    picks = np.zeros((k, n))
    picks[range(k), integrated] = 1.0
    return np.block([[A, np.zeros((n, k))], [picks, np.zeros((k, k))]]), np.vstack([B, np.zeros((k, m))])


def zero_order_hold(A: Vec, B: Vec, period_s: float) -> tuple[Vec, Vec]:
    """Ad = exp(A T), Bd = integral of exp(A s) ds B, from one exponential of the block matrix."""
    from scipy.linalg import expm  # slow to import, and most processes of a flight need no design

    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A, B
    exponential = expm(block * period_s)
    return exponential[:n, :n], exponential[:n, n:]
