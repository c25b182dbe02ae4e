"""The tilt-rotor's equations of motion with their Jacobian, small enough to become C.

With the accelerations a = M^-1 (B u - h), the derivative of a with respect to anything y in q, qd, u is

    da/dy = M^-1 d(B u - h - M a)/dy     with a held constant on the right

so that no inverse is differentiated: M is factorised once (L D L'), and its factors solve for a and for each column.
That is 18,647 operations.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.models.tiltrotor import COORDINATES, INPUTS, Parameters, applied, matrices

_STATES = 2 * COORDINATES
_MATTER = (*range(3, COORDINATES), *range(COORDINATES + 3, _STATES + INPUTS))
"""Columns of (q, qd, u) on which accelerations depend: without air, not on position and velocity."""


def dynamics_and_jacobian(p: Parameters) -> ca.Function:
    """(state (16,), input (4,), nothing (0,)) -> (state derivative, its Jacobian (16, 20) with respect to both)."""
    q, qd, u = ca.SX.sym("q", COORDINATES), ca.SX.sym("qd", COORDINATES), ca.SX.sym("u", INPUTS)
    accel = ca.SX.sym("accel", COORDINATES)
    M, h, B = matrices(p, q, qd)
    force = applied(p, q, qd, u, B) - h
    L, D = factorised(M)
    solved = solution(L, D, force)
    every = ca.vertcat(q, qd, u)
    residual = ca.substitute(ca.jacobian(force - M @ accel, every), accel, solved)
    J = ca.SX(_STATES, _STATES + INPUTS)
    for i in range(COORDINATES):
        J[i, COORDINATES + i] = 1
    for column in _MATTER:
        J[COORDINATES:, column] = solution(L, D, ca.densify(residual[:, column]))
    outputs = ca.cse([ca.vertcat(qd, solved), J])
    state, nothing = ca.vertcat(q, qd), ca.SX.sym("nothing", 0)
    return ca.Function("tiltrotor_jacobian", [state, u, nothing], outputs)


def factorised(M: Any) -> tuple[list[list[Any]], list[Any]]:
    """L (unit diagonal, its rows below it) and D of a symmetric matrix M = L D L'."""
    size = M.shape[0]
    L: list[list[Any]] = [[] for _ in range(size)]
    D: list[Any] = []
    for i in range(size):
        for j in range(i):
            rest = M[i, j]
            for k in range(j):
                rest -= L[i][k] * D[k] * L[j][k]
            L[i].append(rest / D[j])
        pivot = M[i, i]
        for k in range(i):
            pivot -= L[i][k] ** 2 * D[k]
        D.append(pivot)
    return L, D


def solution(L: list[list[Any]], D: list[Any], right: Any) -> Any:
    """x of L D L' x = right."""
    rows = ca.vertsplit(right)
    for i, below in enumerate(L):
        for k, factor in enumerate(below):
            rows[i] -= factor * rows[k]
    rows = [row / pivot for row, pivot in zip(rows, D, strict=True)]
    for i in reversed(range(len(L))):
        for k in range(i):
            rows[k] -= L[i][k] * rows[i]
    return ca.vertcat(*rows)
