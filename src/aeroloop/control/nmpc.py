"""Nonlinear model predictive control: the problem, and its functions for a real-time iteration.

    minimise    sum over k of  e_k' Q e_k + (u_k - u_rest)' R (u_k - u_rest) + slack s_k' s_k,  and  e_N' P e_N
    subject to  z_{k+1} = F(z_k, u_k),   u_low <= u_k <= u_high,   low <= limits(z_k, r_k) - s_k <= high

z = (x, i): the state of the model and the integrals of C x - D r. e = error(z, r) is nonlinear in z, and r_k the
reference of step k. F is one step of Runge and Kutta (4) with constant u. The slacks s make every problem feasible.

F is differentiated through its stages: of the equations of motion only one function with its Jacobian becomes C, and is
called four times in a step. The Jacobian of a whole step as one expression would be some 300,000 operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from aeroloop.core.frames import Vec

RUNGE_KUTTA = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))
"""Where a stage is evaluated, as a fraction of the step, and its weight."""


@dataclass(frozen=True)
class Weights:
    """Of one step of the horizon."""

    Q: Vec  # (errors,)
    R: Vec  # (inputs,)
    P: Vec  # (errors, errors) of the last step
    slack: float
    change: Vec  # (z,) of the change of each state in one iteration: it damps the iterations, not their solution


@dataclass(frozen=True)
class Bounds:
    """Infinite where there is none."""

    u_low: Vec
    u_high: Vec
    low: Vec  # of the limits
    high: Vec


@dataclass(frozen=True)
class Problem:
    """What does not change in flight."""

    model: ca.Function  # (x, u, disturbance) -> (x_dot, its Jacobian with respect to (x, u))
    error: ca.Function  # (z, reference) -> errors
    limits: ca.Function  # (z, reference) -> what is bounded
    integrated: tuple[Vec, Vec]  # C, D
    weights: Weights
    bounds: Bounds
    u_rest: Vec
    steps: int
    step_s: float

    @cached_property
    def x(self) -> int:
        return int(self.model.size1_in(0))

    @cached_property
    def u(self) -> int:
        return int(self.model.size1_in(1))

    @cached_property
    def disturbance(self) -> int:
        return int(self.model.size1_in(2))

    @cached_property
    def reference(self) -> int:
        return int(self.error.size1_in(1))

    @cached_property
    def z(self) -> int:
        return self.x + len(self.integrated[0])


def step(p: Problem) -> ca.Function:
    """(z, u, disturbance) -> (z after a step with a reference of 0, its Jacobian with respect to (z, u)).

    The integrals follow the trapezoidal rule; the reference's share of them is `integrals_of_reference`."""
    z, u, d = ca.MX.sym("z", p.z), ca.MX.sym("u", p.u), ca.MX.sym("d", p.disturbance)
    x, integral = z[: p.x], z[p.x :]
    unit = ca.MX(ca.DM(np.hstack([np.eye(p.x), np.zeros((p.x, p.u))])))
    of_input = ca.MX(ca.DM(np.hstack([np.zeros((p.u, p.x)), np.eye(p.u)])))
    slope, S_slope = ca.MX.zeros(p.x), ca.MX.zeros(p.x, p.x + p.u)
    after, S = x, unit
    for at, weight in RUNGE_KUTTA:
        x_stage, S_stage = x + at * p.step_s * slope, unit + at * p.step_s * S_slope
        slope, jacobian = p.model(x_stage, u, d)
        S_slope = jacobian @ ca.vertcat(S_stage, of_input)
        after, S = after + weight * p.step_s * slope, S + weight * p.step_s * S_slope
    C, half, n = ca.DM(p.integrated[0]), p.step_s / 2, p.z - p.x
    S_integral = half * (C @ (unit + S))
    whole = ca.vertcat(
        ca.horzcat(S[:, : p.x], ca.MX.zeros(p.x, n), S[:, p.x :]),
        ca.horzcat(S_integral[:, : p.x], ca.DM.eye(n), S_integral[:, p.x :]),
    )
    z_after = ca.vertcat(after, integral + half * (C @ (x + after)))
    return ca.Function("step", [z, u, d], [z_after, ca.densify(whole)])


def integrals_of_reference(p: Problem, references: Vec) -> Vec:
    """(N, integrals) What the reference (N + 1, r) subtracts from the integrals in each step."""
    shares: Vec = p.step_s / 2 * (references[:-1] + references[1:]) @ p.integrated[1].T
    return shares


def along(p: Problem) -> ca.Function:
    """(states of the guess (z, N), inputs (u, N), disturbance) -> (states after each step, Jacobians side by side)."""
    Z, U, d = ca.MX.sym("Z", p.z, p.steps), ca.MX.sym("U", p.u, p.steps), ca.MX.sym("d", p.disturbance)
    after, S = step(p).map(p.steps, "serial")(Z, U, ca.repmat(d, 1, p.steps))
    return ca.Function("along", [Z, U, d], [after, S])


def outputs(p: Problem) -> ca.Function:
    """(states of steps 1 to N (z, N), their references) -> (errors and limits, their Jacobians side by side)."""
    z, r = ca.SX.sym("z", p.z), ca.SX.sym("r", p.reference)
    rows = ca.vertcat(p.error(z, r), p.limits(z, r))
    one = ca.Function("output", [z, r], [ca.densify(part) for part in ca.cse([rows, ca.jacobian(rows, z)])])
    Z, R = ca.MX.sym("Z", p.z, p.steps), ca.MX.sym("R", p.reference, p.steps)
    return ca.Function("outputs", [Z, R], list(one.map(p.steps, "serial")(Z, R)))
